/* The daemon's configuration: one YAML file that all machines of a cluster may share, and the command line's words over it.
 *
 *     read (file or nothing) -> set (command line) -> select (this machine's entry, its devices) -> used
 *
 * Every key is one row of the tables in keys.c: kind, range, default, whether a reload can change it, one line of help.
 * A key that is no row is an error with line, column and the keys that are known there; so is a value of the wrong kind or range.
 * Sizes read "40GB" or "512MiB", durations "30s" or "500ms"; a plain number is in the unit that the row names. Relative paths are relative
 * to the file's folder, on the command line to the working folder.
 *
 * Texts live as long as the configuration. One thread; only `select` looks at the machine. */
#ifndef RLX_DAEMON_CONFIG_CONFIG_H
#define RLX_DAEMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/yaml.h"

#define RLX_CONFIG_NODES_MAX 16384
#define RLX_CONFIG_DEVICES_MAX 64   /* of one node */
#define RLX_CONFIG_TEXTS_MAX 64     /* in one list: addresses, endpoints */

typedef enum rlx_config_mode { RLX_MODE_STANDALONE, RLX_MODE_DISTRIBUTED } rlx_config_mode_t;
typedef enum rlx_config_compression { RLX_COMPRESSION_NONE, RLX_COMPRESSION_ZSTD, RLX_COMPRESSION_AUTO } rlx_config_compression_t;

typedef struct rlx_config_texts {
    const char *text[RLX_CONFIG_TEXTS_MAX];
    int n;
} rlx_config_texts_t;

typedef struct rlx_config_device {
    int64_t type; /* index into rlx_config_device_types */
    int64_t index;
    int64_t memory_bytes; /* 0: not said */
    int64_t cores;        /* 0: not said */
} rlx_config_device_t;
extern const char *const rlx_config_device_types[]; /* "cpu" first; NULL-terminated */

typedef struct rlx_config_node {
    const char *id, *host;
    int64_t port;
    rlx_config_device_t *devices;
    int n_devices;
    bool devices_auto; /* found on the machine: `devices: auto`, none listed, or --devices auto */
    uint32_t line, column;
} rlx_config_node_t;

typedef struct rlx_config {
    struct {
        int64_t mode;
        rlx_config_texts_t gss_endpoints;
    } cluster;
    rlx_config_node_t *nodes;
    int n_nodes;
    struct {
        int64_t compression, heartbeat_interval_ms, health_check_timeout_ms;
        bool rdma, prefetch;
    } network;
    struct {
        rlx_config_texts_t listen; /* none: host and port of the node's entry */
        /* Sockets for clients of this machine. NULL: where systemd gives a runtime folder, in it; "": none. */
        const char *unix_socket, *memory_socket;
        int64_t drain_timeout_ms, start_timeout_ms;
        bool admin_remote;
        struct {
            int64_t connections, streams, header_bytes, message_bytes, output_bytes, window_bytes;
            int64_t handshake_ms, idle_ms, stall_ms, keepalive_ms;
        } limits;
        struct {
            const char *certificate, *key, *client_ca;
        } tls;
    } server;
    struct {
        const char *repository, *store, *trusted_keys;
        bool verify_signature;
        int64_t warm_up;
    } models;
    struct {
        int64_t requests, queue, batch_delay_us, workers, request_memory, progress_timeout_ms;
    } scheduling;
    struct {
        int64_t level, format;
    } logging;
    struct {
        const char *file;
        int64_t size;
    } profiling;
    const char *vulkan_driver;

    bool devices_auto; /* --devices auto: replaces the list of whichever entry is chosen */
    const char *path;  /* of the file, or NULL */
    rlx_yaml_t *yaml;  /* its arena holds the texts */
} rlx_config_t;

/* Defaults, then the file's keys where `path` is not NULL. On failure nothing is to be freed. */
rlx_status_t rlx_config_read(const char *path, rlx_config_t *out_config, rlx_diag_t *diag);
/* The same from memory; `name` stands in diagnoses, and its folder is what relative paths start from. */
rlx_status_t rlx_config_parse(const char *text, size_t bytes, const char *name, rlx_config_t *out_config, rlx_diag_t *diag);
/* Sets one key ("server.limits.streams") from text, as `source` ("--streams") wrote it. Relative paths stay as they are. */
rlx_status_t rlx_config_set(rlx_config_t *config, const char *key, const char *text, const char *source, rlx_diag_t *diag);
void rlx_config_fini(rlx_config_t *config);

/* What keys together must keep: a key beside a certificate, and the like. */
rlx_status_t rlx_config_check(const rlx_config_t *config, rlx_diag_t *diag);
/* What this version cannot do although the file may say it: cluster.mode distributed. */
rlx_status_t rlx_config_supported(const rlx_config_t *config, rlx_diag_t *diag);

/* What the machine is. Kept apart from the choice, so that the choice can be tested. */
typedef struct rlx_config_machine {
    char host[256];              /* its name, as the kernel has it */
    char addresses[64][64];      /* of its interfaces, as text */
    int n_addresses;
    int cores;                   /* that this process may use */
    int64_t memory_bytes;
} rlx_config_machine_t;
void rlx_config_machine_probe(rlx_config_machine_t *out_machine);
/* This machine's entry: by `id` (--node) or by host name or address. Without any entry in the file: one named after the host, on
 * 127.0.0.1:8080 with the machine's devices. */
rlx_status_t rlx_config_select(rlx_config_t *config, const char *id, const rlx_config_machine_t *machine,
                               const rlx_config_node_t **out_node, rlx_diag_t *diag);
/* Every device of the entry is there, or an error that names all that are not. `out_cores`: CPU cores to use; 0: all there are. */
rlx_status_t rlx_config_devices(const rlx_config_t *config, const rlx_config_node_t *node, const rlx_config_machine_t *machine,
                                int *out_cores, rlx_diag_t *diag);

/* Calls `changed` for every key whose value differs. `live`: a reload applies it; else it needs a restart. */
void rlx_config_compare(const rlx_config_t *old, const rlx_config_t *new, void (*changed)(void *context, const char *key, bool live),
                        void *context);
/* The reference of all keys, for people: key, default, help. */
void rlx_config_help(FILE *out);

#endif
