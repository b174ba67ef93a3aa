/* Which entry of the file is this machine's, and whether the machine has what the entry lists. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cpus.h"
#include "daemon/config/read.h"

static void addresses_probe(rlx_config_machine_t *machine)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) != 0)
        return;
    for (struct ifaddrs *entry = list; entry != NULL && machine->n_addresses < 64; entry = entry->ifa_next) {
        int family = entry->ifa_addr != NULL ? entry->ifa_addr->sa_family : AF_UNSPEC;
        socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

        if ((family == AF_INET || family == AF_INET6) &&
            getnameinfo(entry->ifa_addr, bytes, machine->addresses[machine->n_addresses], 64, NULL, 0, NI_NUMERICHOST) == 0)
            machine->n_addresses++;
    }
    freeifaddrs(list);
}

void rlx_config_machine_probe(rlx_config_machine_t *out_machine)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    memset(out_machine, 0, sizeof *out_machine);
    if (gethostname(out_machine->host, sizeof out_machine->host - 1) != 0)
        strcpy(out_machine->host, "localhost");
    addresses_probe(out_machine);
    out_machine->cores = rlx_cpus_allowed();
    out_machine->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

/* "gpu-node-01.internal" is the host "gpu-node-01", too; addresses are compared as they are. */
static bool host_matches(const char *host, const rlx_config_machine_t *machine)
{
    size_t n = strcspn(machine->host, "."), m = strcspn(host, ".");
    struct in_addr ignored;

    if (strcasecmp(host, machine->host) == 0 || strcasecmp(host, "localhost") == 0)
        return true;
    for (int i = 0; i < machine->n_addresses; i++)
        if (strcmp(host, machine->addresses[i]) == 0)
            return true;
    if (inet_pton(AF_INET, host, &ignored) == 1 || strncmp(host, "127.", 4) == 0)
        return strncmp(host, "127.", 4) == 0;
    /* One of both names without its domain. */
    return n == m && strncasecmp(host, machine->host, n) == 0 && (host[m] == '\0' || machine->host[n] == '\0');
}

static void entries_list(const rlx_config_t *config, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < config->n_nodes && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s (%s)", i > 0 ? ", " : "", config->nodes[i].id, config->nodes[i].host);
    if (used >= bytes)
        strcpy(out + bytes - 4, "...");
}

static rlx_status_t none_refuse(const rlx_config_t *config, const char *id, const rlx_config_machine_t *machine, bool several,
                                rlx_diag_t *diag)
{
    char list[480];

    entries_list(config, list, sizeof list);
    if (id != NULL)
        rlx_fail(diag, RLX_E_CONFIG_NODE, "no entry has the id '%s'; there are: %s", id, list);
    else
        rlx_fail(diag, RLX_E_CONFIG_NODE, "%s this machine, %s; there are: %s", several ? "several entries fit" : "no entry is for",
                 machine->host, list);
    rlx_diag_at(diag, "%s", rlx_yaml_name(config->yaml));
    return rlx_diag_hint(diag, "Name one with --node ID.");
}

static rlx_status_t own_entry(rlx_config_t *config, const char *id, const rlx_config_machine_t *machine, const rlx_config_node_t **out_node,
                              rlx_diag_t *diag)
{
    rlx_config_reader_t reader = {config, NULL, diag};
    rlx_config_node_t *node = rlx_config_allocate(&reader, sizeof *node + sizeof machine->host);
    const char *name = id != NULL ? id : machine->host;

    if (node == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    snprintf((char *)(node + 1), sizeof machine->host, "%s", name);
    *node = (rlx_config_node_t){.id = (char *)(node + 1), .host = "127.0.0.1", .port = 8080, .devices_auto = true};
    *out_node = node;
    return RLX_OK;
}

rlx_status_t rlx_config_select(rlx_config_t *config, const char *id, const rlx_config_machine_t *machine,
                               const rlx_config_node_t **out_node, rlx_diag_t *diag)
{
    const rlx_config_node_t *found = NULL;
    bool several = false;

    if (config->n_nodes == 0)
        return own_entry(config, id, machine, out_node, diag);
    for (int i = 0; i < config->n_nodes; i++) {
        const rlx_config_node_t *node = &config->nodes[i];

        if (id != NULL ? strcmp(node->id, id) != 0 : !host_matches(node->host, machine))
            continue;
        several = several || found != NULL;
        found = node;
    }
    if (found == NULL || several)
        return none_refuse(config, id, machine, several, diag);
    *out_node = found;
    return RLX_OK;
}

/* What is wrong with one device, or "". */
static void device_lack(const rlx_config_device_t *device, const rlx_config_machine_t *machine, char *out, size_t bytes)
{
    const char *type = rlx_config_device_types[device->type];

    out[0] = '\0';
    if (device->type != 0)
        snprintf(out, bytes, "%s:%lld (this version drives CPUs only)", type, (long long)device->index);
    else if (device->index != 0)
        snprintf(out, bytes, "cpu:%lld (all cores together are cpu:0)", (long long)device->index);
    else if (device->cores > machine->cores)
        snprintf(out, bytes, "cpu:0 with %lld cores (there are %d)", (long long)device->cores, machine->cores);
    else if (device->memory_bytes > machine->memory_bytes && machine->memory_bytes > 0)
        snprintf(out, bytes, "cpu:0 with %.1f GB (there are %.1f)", (double)device->memory_bytes / 1e9,
                 (double)machine->memory_bytes / 1e9);
}

rlx_status_t rlx_config_devices(const rlx_config_t *config, const rlx_config_node_t *node, const rlx_config_machine_t *machine,
                                int *out_cores, rlx_diag_t *diag)
{
    char list[512], lack[160];
    size_t used = 0;
    int cores = 0;

    list[0] = '\0';
    for (int i = 0; !config->devices_auto && !node->devices_auto && i < node->n_devices && used < sizeof list; i++) {
        device_lack(&node->devices[i], machine, lack, sizeof lack);
        if (lack[0] != '\0')
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", lack);
        if (node->devices[i].type == 0)
            cores = (int)node->devices[i].cores;
    }
    if (used == 0) {
        *out_cores = cores;
        return RLX_OK;
    }
    rlx_fail(diag, RLX_E_CONFIG_DEVICE, "node '%s' lists devices that this machine does not have: %s", node->id, list);
    rlx_diag_at(diag, "%s:%u:%u", rlx_yaml_name(config->yaml), node->line, node->column);
    return rlx_diag_hint(diag, "Start with --devices auto, which takes what the machine has in place of the list, or correct the list.");
}
