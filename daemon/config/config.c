/* The configuration as a whole: read, set, checked, compared. */
#include "daemon/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "daemon/config/read.h"

rlx_status_t rlx_config_parse(const char *text, size_t bytes, const char *name, rlx_config_t *out_config, rlx_diag_t *diag)
{
    rlx_config_t config = {0};
    rlx_config_reader_t reader = {&config, NULL, diag};
    rlx_status_t status;

    RLX_TRY(rlx_yaml_parse(text, bytes, name, &config.yaml, diag));
    rlx_config_defaults(&config, rlx_config_fields);
    status = rlx_config_read_map(&reader, rlx_yaml_root(config.yaml), "", rlx_config_fields, &config);
    if (status == RLX_OK)
        *out_config = config;
    else
        rlx_config_fini(&config);
    return status;
}

rlx_status_t rlx_config_read(const char *path, rlx_config_t *out_config, rlx_diag_t *diag)
{
    void *data;
    size_t bytes;
    rlx_status_t status;

    if (path == NULL)
        return rlx_config_parse("", 0, "command line", out_config, diag);
    /* One byte more than is read, so that a larger file is refused by its size and not cut. */
    RLX_TRY(rlx_file_read(path, RLX_YAML_BYTES_MAX + 1, &data, &bytes, diag));
    status = rlx_config_parse(data, bytes, path, out_config, diag);
    free(data);
    if (status == RLX_OK)
        out_config->path = rlx_yaml_name(out_config->yaml);
    return status;
}

void rlx_config_fini(rlx_config_t *config)
{
    rlx_yaml_destroy(config->yaml);
    memset(config, 0, sizeof *config);
}

/* The row of "server.limits.streams". */
static const rlx_config_field_t *field_at(const char *key)
{
    const rlx_config_field_t *field = rlx_config_fields;

    for (;;) {
        size_t n = strcspn(key, ".");

        while (field->key != NULL && (strlen(field->key) != n || memcmp(field->key, key, n) != 0))
            field++;
        if (field->key == NULL || key[n] == '\0')
            return field->key != NULL && field->kind != RLX_CONFIG_SECTION ? field : NULL;
        if (field->kind != RLX_CONFIG_SECTION)
            return NULL;
        key += n + 1;
        field = field->fields;
    }
}

rlx_status_t rlx_config_set(rlx_config_t *config, const char *key, const char *text, const char *source, rlx_diag_t *diag)
{
    rlx_config_reader_t reader = {config, source, diag};
    const rlx_config_field_t *field = field_at(key);
    char *copy;
    rlx_yaml_node_t node = {.kind = RLX_YAML_SCALAR};

    if (field == NULL || field->kind == RLX_CONFIG_NODES) {
        rlx_fail(diag, RLX_E_USAGE, "%s: there is no key '%s' to set", source, key);
        return rlx_diag_hint(diag, "`rlxd --help-config` lists the keys.");
    }
    copy = rlx_config_allocate(&reader, strlen(text) + 1);
    if (copy == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    node.text = strcpy(copy, text);
    return rlx_config_read_value(&reader, &node, key, field, config);
}

rlx_status_t rlx_config_check(const rlx_config_t *config, rlx_diag_t *diag)
{
    if ((config->server.tls.certificate == NULL) != (config->server.tls.key == NULL)) {
        rlx_fail(diag, RLX_E_CONFIG_VALUE, "server.tls: certificate and key belong together, and one of them is missing");
        return rlx_diag_at(diag, "%s", rlx_yaml_name(config->yaml));
    }
    if (config->server.tls.client_ca != NULL && config->server.tls.certificate == NULL) {
        rlx_fail(diag, RLX_E_CONFIG_VALUE, "server.tls: client_ca needs certificate and key");
        return rlx_diag_at(diag, "%s", rlx_yaml_name(config->yaml));
    }
    if (config->models.verify_signature && config->models.trusted_keys == NULL) {
        rlx_fail(diag, RLX_E_CONFIG_VALUE, "models.verify_signature is on, and models.trusted_keys names no folder");
        return rlx_diag_at(diag, "%s", rlx_yaml_name(config->yaml));
    }
    return RLX_OK;
}

rlx_status_t rlx_config_supported(const rlx_config_t *config, rlx_diag_t *diag)
{
    const rlx_yaml_node_t *cluster = rlx_yaml_find(rlx_yaml_root(config->yaml), "cluster");
    const rlx_yaml_node_t *mode = cluster != NULL ? rlx_yaml_find(cluster, "mode") : NULL;

    if (config->cluster.mode == RLX_MODE_STANDALONE)
        return RLX_OK;
    rlx_fail(diag, RLX_E_CONFIG_VALUE, "cluster.mode is distributed, and this version serves one machine by itself only");
    if (mode != NULL)
        rlx_diag_at(diag, "%s:%u:%u", rlx_yaml_name(config->yaml), mode->line, mode->column);
    return rlx_diag_hint(diag, "Set cluster.mode to standalone, or start with --standalone; each machine then serves what it is sent.");
}

static bool texts_differ(const rlx_config_texts_t *a, const rlx_config_texts_t *b)
{
    if (a->n != b->n)
        return true;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->text[i], b->text[i]) != 0)
            return true;
    return false;
}

static bool text_differs(const char *a, const char *b) { return a == NULL || b == NULL ? a != b : strcmp(a, b) != 0; }

static bool nodes_differ(const rlx_config_t *a, const rlx_config_t *b)
{
    if (a->n_nodes != b->n_nodes)
        return true;
    for (int i = 0; i < a->n_nodes; i++) {
        const rlx_config_node_t *x = &a->nodes[i], *y = &b->nodes[i];

        if (strcmp(x->id, y->id) != 0 || strcmp(x->host, y->host) != 0 || x->port != y->port || x->devices_auto != y->devices_auto ||
            x->n_devices != y->n_devices ||
            (x->n_devices > 0 && memcmp(x->devices, y->devices, (size_t)x->n_devices * sizeof *x->devices) != 0))
            return true;
    }
    return false;
}

static bool field_differs(const rlx_config_field_t *field, const rlx_config_t *a, const rlx_config_t *b)
{
    const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;

    switch (field->kind) {
    case RLX_CONFIG_BOOL: return *(const bool *)x != *(const bool *)y;
    case RLX_CONFIG_TEXT:
    case RLX_CONFIG_PATH: return text_differs(*(const char *const *)x, *(const char *const *)y);
    case RLX_CONFIG_ENDPOINTS:
    case RLX_CONFIG_LISTEN: return texts_differ((const rlx_config_texts_t *)x, (const rlx_config_texts_t *)y);
    case RLX_CONFIG_NODES: return nodes_differ(a, b);
    default: return *(const int64_t *)x != *(const int64_t *)y;
    }
}

typedef void changed_fn_t(void *context, const char *key, bool live);

static void fields_compare(const rlx_config_field_t *fields, const char *path, const rlx_config_t *old, const rlx_config_t *new,
                           changed_fn_t *changed, void *context)
{
    char key[192];

    for (const rlx_config_field_t *field = fields; field->key != NULL; field++) {
        snprintf(key, sizeof key, "%s%s%s", path, path[0] != '\0' ? "." : "", field->key);
        if (field->kind == RLX_CONFIG_SECTION)
            fields_compare(field->fields, key, old, new, changed, context);
        else if (field_differs(field, old, new))
            changed(context, key, field->live);
    }
}

void rlx_config_compare(const rlx_config_t *old, const rlx_config_t *new, changed_fn_t *changed, void *context)
{
    fields_compare(rlx_config_fields, "", old, new, changed, context);
}
