/* The entries of machines, and their devices. */
#include <string.h>

#include "daemon/config/read.h"

static rlx_status_t device_twin_check(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                      const rlx_config_node_t *entry)
{
    const rlx_config_device_t *last = &entry->devices[entry->n_devices - 1];

    for (int i = 0; i < entry->n_devices - 1; i++)
        if (entry->devices[i].type == last->type && entry->devices[i].index == last->index)
            return rlx_config_refuse(reader, node, path, "%s:%lld is listed twice", rlx_config_device_types[last->type],
                                     (long long)last->index);
    return RLX_OK;
}

rlx_status_t rlx_config_read_devices(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_node_t *entry)
{
    char inner[224];

    if (node->kind == RLX_YAML_SCALAR && strcmp(node->text, "auto") == 0) {
        entry->devices_auto = true;
        return RLX_OK;
    }
    if (node->kind != RLX_YAML_LIST)
        return rlx_config_refuse(reader, node, path, "a list of devices or the word auto is expected");
    if (node->n_children == 0 || node->n_children > RLX_CONFIG_DEVICES_MAX)
        return rlx_config_refuse(reader, node, path, "%u devices; 1 to %d are expected", node->n_children, RLX_CONFIG_DEVICES_MAX);
    entry->devices = rlx_config_allocate(reader, node->n_children * sizeof *entry->devices);
    if (entry->devices == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    for (const rlx_yaml_node_t *child = node->children; child != NULL; child = child->next) {
        rlx_config_device_t *device = &entry->devices[entry->n_devices++];

        snprintf(inner, sizeof inner, "%s[%d]", path, entry->n_devices - 1);
        rlx_config_defaults(device, rlx_config_device_fields);
        RLX_TRY(rlx_config_read_map(reader, child, inner, rlx_config_device_fields, device));
        RLX_TRY(device_twin_check(reader, child, inner, entry));
    }
    return RLX_OK;
}

static rlx_status_t node_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_node_t *entry)
{
    rlx_config_defaults(entry, rlx_config_node_fields);
    entry->line = node->line;
    entry->column = node->column;
    if (node->kind != RLX_YAML_MAP)
        return rlx_config_refuse(reader, node, path, "a map with id, host, port and devices is expected");
    RLX_TRY(rlx_config_read_map(reader, node, path, rlx_config_node_fields, entry));
    if (strlen(entry->id) > 127 || strlen(entry->host) > 253)
        return rlx_config_refuse(reader, node, path, "id (at most 127 bytes) or host (at most 253) is too long");
    if (entry->devices == NULL)
        entry->devices_auto = true;
    return RLX_OK;
}

static rlx_status_t node_twin_check(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const rlx_config_t *config,
                                    int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(config->nodes[i].id, config->nodes[n].id) == 0)
            return rlx_config_refuse(reader, node, path, "id '%s' is that of the entry in line %u too", config->nodes[n].id,
                                     config->nodes[i].line);
    return RLX_OK;
}

rlx_status_t rlx_config_read_nodes(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_t *config)
{
    char inner[64];

    if (node->kind != RLX_YAML_LIST)
        return rlx_config_refuse(reader, node, path, "a list of machines is expected");
    if (node->n_children > RLX_CONFIG_NODES_MAX)
        return rlx_config_refuse(reader, node, path, "%u entries; at most %d are read", node->n_children, RLX_CONFIG_NODES_MAX);
    config->nodes = rlx_config_allocate(reader, (node->n_children + 1) * sizeof *config->nodes);
    if (config->nodes == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    for (const rlx_yaml_node_t *child = node->children; child != NULL; child = child->next) {
        snprintf(inner, sizeof inner, "%s[%d]", path, config->n_nodes);
        RLX_TRY(node_read(reader, child, inner, &config->nodes[config->n_nodes]));
        RLX_TRY(node_twin_check(reader, child, inner, config, config->n_nodes));
        config->n_nodes++;
    }
    return RLX_OK;
}
