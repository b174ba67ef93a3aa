/* The keys of the configuration, one row each: what `rlxd --help-config` prints, what is read, checked, compared and set. */
#include <stddef.h>

#include "base/log.h"
#include "daemon/config/read.h"

#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)
#define KIB ((int64_t)1 << 10)
#define DAY_MS INT64_C(86400000)

static const char *const modes[] = {"standalone", "distributed", NULL};
static const char *const compressions[] = {"none", "zstd", "auto", NULL};
const char *const rlx_config_device_types[] = {"cpu", "cuda", "rocm", "opencl", "vulkan", "metal", "fpga", NULL};

#define AT(member) offsetof(rlx_config_t, member)

static const rlx_config_field_t gss_fields[] = {
    {"endpoints", RLX_CONFIG_ENDPOINTS, AT(cluster.gss_endpoints), .help = "addresses of the state service: http://HOST:PORT"},
    {0},
};
static const rlx_config_field_t cluster_fields[] = {
    {"mode", RLX_CONFIG_CHOICE, AT(cluster.mode), .choices = modes, .help = "one machine by itself, or a member of a cluster"},
    {"gss", RLX_CONFIG_SECTION, .fields = gss_fields},
    {0},
};
static const rlx_config_field_t network_fields[] = {
    {"compression", RLX_CONFIG_CHOICE, AT(network.compression), RLX_COMPRESSION_AUTO, .choices = compressions,
     .help = "of tensors between nodes; does nothing on one machine"},
    {"heartbeat_interval", RLX_CONFIG_MS, AT(network.heartbeat_interval_ms), 500, 50, DAY_MS,
     .help = "between reports to the state service"},
    {"health_check_timeout", RLX_CONFIG_MS, AT(network.health_check_timeout_ms), 5000, 50, DAY_MS,
     .help = "until a silent peer is suspected"},
    {"rdma", RLX_CONFIG_BOOL, AT(network.rdma), .help = "use RDMA between nodes where there is any"},
    {"prefetch", RLX_CONFIG_BOOL, AT(network.prefetch), .help = "fetch tensors of later fragments early"},
    {0},
};
static const rlx_config_field_t limit_fields[] = {
    {"connections", RLX_CONFIG_INT, AT(server.limits.connections), 1024, 1, 1000000, .help = "open at once; more are closed at once"},
    {"streams", RLX_CONFIG_INT, AT(server.limits.streams), 1000, 1, 65536, .help = "calls open at once on one connection"},
    {"header_bytes", RLX_CONFIG_SIZE, AT(server.limits.header_bytes), 16 * KIB, 1024, MIB, .help = "headers of one call"},
    {"message_bytes", RLX_CONFIG_SIZE, AT(server.limits.message_bytes), 128 * MIB, 1024, 64 * GIB, .help = "one request"},
    {"output_bytes", RLX_CONFIG_SIZE, AT(server.limits.output_bytes), 64 * MIB, 64 * KIB, 64 * GIB,
     .help = "unsent bytes of one connection before it is read no further"},
    {"window_bytes", RLX_CONFIG_SIZE, AT(server.limits.window_bytes), MIB, 64 * KIB, 1024 * MIB, .help = "flow-control window"},
    {"handshake", RLX_CONFIG_MS, AT(server.limits.handshake_ms), 10000, 100, DAY_MS, .help = "from accept to the first whole request"},
    {"idle", RLX_CONFIG_MS, AT(server.limits.idle_ms), 3600000, 0, DAY_MS, .help = "a connection without calls is closed after; 0: never"},
    {"stall", RLX_CONFIG_MS, AT(server.limits.stall_ms), 30000, 100, DAY_MS, .help = "a message that makes no progress fails after"},
    {"keepalive", RLX_CONFIG_MS, AT(server.limits.keepalive_ms), 20000, 0, DAY_MS, .help = "pings silent peers with open calls; 0: never"},
    {0},
};
static const rlx_config_field_t tls_fields[] = {
    {"certificate", RLX_CONFIG_PATH, AT(server.tls.certificate), .live = true, .help = "PEM file, chain included; turns TLS on"},
    {"key", RLX_CONFIG_PATH, AT(server.tls.key), .live = true, .help = "PEM file"},
    {"client_ca", RLX_CONFIG_PATH, AT(server.tls.client_ca), .live = true,
     .help = "PEM file: clients need a certificate that it signed"},
    {0},
};
static const rlx_config_field_t server_fields[] = {
    {"listen", RLX_CONFIG_LISTEN, AT(server.listen), .help = "HOST:PORT, or a list; without it host and port of the node"},
    {"unix", RLX_CONFIG_PATH, AT(server.unix_socket),
     .help = "gRPC socket for clients of this machine; without it rlxd.sock in systemd's runtime folder; \"\": none"},
    {"memory_socket", RLX_CONFIG_PATH, AT(server.memory_socket),
     .help = "where clients hand memory over; without it memory.sock in systemd's runtime folder; \"\": none"},
    {"drain_timeout", RLX_CONFIG_MS, AT(server.drain_timeout_ms), 30000, 0, DAY_MS, .live = true,
     .help = "on SIGTERM, accepted requests may take this long"},
    {"start_timeout", RLX_CONFIG_MS, AT(server.start_timeout_ms), 600000, 1000, DAY_MS, .help = "for loading all models at start"},
    {"admin_remote", RLX_CONFIG_BOOL, AT(server.admin_remote), .help = "answer rlxctl (/v1/) on other machines too"},
    {"limits", RLX_CONFIG_SECTION, .fields = limit_fields},
    {"tls", RLX_CONFIG_SECTION, .fields = tls_fields},
    {0},
};
static const rlx_config_field_t model_fields[] = {
    {"repository", RLX_CONFIG_PATH, AT(models.repository), .help = "folder: NAME.rlxb, or NAME/VERSION/*.rlxb"},
    {"store", RLX_CONFIG_PATH, AT(models.store),
     .help = "folder for rlxd's own read-only copies; without it bundles are mapped where they are"},
    {"verify_signature", RLX_CONFIG_BOOL, AT(models.verify_signature), .help = "refuse bundles without a signature of a trusted key"},
    {"trusted_keys", RLX_CONFIG_PATH, AT(models.trusted_keys),
     .help = "folder of public keys, NAME.pub (docs/SIGNING.md); read again at every load and reload"},
    {"warm_up", RLX_CONFIG_INT, AT(models.warm_up), 0, 0, 1000,
     .help = "runs of a model of fixed shapes before it serves; its plan is made anyway"},
    {0},
};
static const rlx_config_field_t scheduling_fields[] = {
    {"requests", RLX_CONFIG_INT, AT(scheduling.requests), 4096, 1, 1000000, .help = "in the server at once, in all states"},
    {"queue", RLX_CONFIG_INT, AT(scheduling.queue), 1024, 1, 1000000, .help = "waiting per model; more are refused"},
    {"batch_delay_us", RLX_CONFIG_US, AT(scheduling.batch_delay_us), 0, 0, 10000000, .help = "a request waits at most this for companions"},
    {"workers", RLX_CONFIG_INT, AT(scheduling.workers), 0, 0, 1000, .help = "kernel threads; 0: the node's CPU cores"},
    {"request_memory", RLX_CONFIG_SIZE, AT(scheduling.request_memory), GIB, MIB, 4096 * GIB,
     .help = "of requests that arrive or wait, all together"},
    {"progress_timeout", RLX_CONFIG_MS, AT(scheduling.progress_timeout_ms), 60000, 100, DAY_MS,
     .help = "a run that takes longer makes the node not ready and starves the watchdog"},
    {0},
};
static const rlx_config_field_t logging_fields[] = {
    {"level", RLX_CONFIG_CHOICE, AT(logging.level), RLX_LOG_INFO, .choices = rlx_log_level_names, .live = true, .help = "what is written"},
    {"format", RLX_CONFIG_CHOICE, AT(logging.format), RLX_LOG_AUTO, .choices = rlx_log_format_names, .live = true,
     .help = "auto: with priorities under journald"},
    {0},
};
static const rlx_config_field_t profiling_fields[] = {
    {"file", RLX_CONFIG_PATH, AT(profiling.file), .help = "writes a trace of every run, for Perfetto and rlx profile"},
    {"size", RLX_CONFIG_SIZE, AT(profiling.size), 256 * MIB, 64 * KIB, 64 * GIB,
     .help = "of that file at most; what comes later is dropped and counted"},
    {0},
};
static const rlx_config_field_t driver_fields[] = {
    {"vulkan_driver", RLX_CONFIG_TEXT, AT(vulkan_driver), .help = "which Vulkan driver; this version has none"},
    {0},
};
const rlx_config_field_t rlx_config_fields[] = {
    {"cluster", RLX_CONFIG_SECTION, .fields = cluster_fields},
    {"nodes", RLX_CONFIG_NODES, .help = "one entry per machine: id, host, port, devices"},
    {"network", RLX_CONFIG_SECTION, .fields = network_fields},
    {"server", RLX_CONFIG_SECTION, .fields = server_fields},
    {"models", RLX_CONFIG_SECTION, .fields = model_fields},
    {"scheduling", RLX_CONFIG_SECTION, .fields = scheduling_fields},
    {"logging", RLX_CONFIG_SECTION, .fields = logging_fields},
    {"profiling", RLX_CONFIG_SECTION, .fields = profiling_fields},
    {"drivers", RLX_CONFIG_SECTION, .fields = driver_fields},
    {0},
};

const rlx_config_field_t rlx_config_node_fields[] = {
    {"id", RLX_CONFIG_TEXT, offsetof(rlx_config_node_t, id), .required = true, .help = "its name, unique in the file"},
    {"host", RLX_CONFIG_TEXT, offsetof(rlx_config_node_t, host), .required = true, .help = "host name or address"},
    {"port", RLX_CONFIG_INT, offsetof(rlx_config_node_t, port), 8080, 0, 65535, .help = "0: any free one"},
    {"devices", RLX_CONFIG_DEVICES, .help = "a list, or auto: what the machine has"},
    {0},
};
const rlx_config_field_t rlx_config_device_fields[] = {
    {"type", RLX_CONFIG_CHOICE, offsetof(rlx_config_device_t, type), .choices = rlx_config_device_types, .required = true, .help = "kind"},
    {"index", RLX_CONFIG_INT, offsetof(rlx_config_device_t, index), 0, 0, 1023, .help = "which of its kind"},
    {"memory", RLX_CONFIG_SIZE, offsetof(rlx_config_device_t, memory_bytes), 0, 1, INT64_MAX, .help = "that RLX may use"},
    {"cores", RLX_CONFIG_INT, offsetof(rlx_config_device_t, cores), 0, 1, 65536, .help = "that RLX may use"},
    {0},
};
