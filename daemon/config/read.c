/* Reads maps by their tables: every key known, every value of its kind and in its range, or a refusal with the place. */
#include "daemon/config/read.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/scalar.h"

#define PATH_MAX_BYTES 192

rlx_status_t rlx_config_refuse(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (reader->source == NULL) {
        rlx_fail(reader->diag, RLX_E_CONFIG_VALUE, "%s: %s", path, message);
        rlx_diag_at(reader->diag, "%s:%u:%u", rlx_yaml_name(reader->config->yaml), node->line, node->column);
    } else {
        rlx_fail(reader->diag, RLX_E_USAGE, "%s (%s): %s", reader->source, path, message);
        rlx_diag_hint(reader->diag, "`rlxd --help-config` says what each key takes.");
    }
    return RLX_INVALID_ARGUMENT;
}

void *rlx_config_allocate(rlx_config_reader_t *reader, size_t bytes)
{
    void *memory = rlx_yaml_allocate(reader->config->yaml, bytes);

    if (memory == NULL)
        rlx_fail(reader->diag, RLX_E_NO_MEMORY, "out of memory");
    return memory;
}

void rlx_config_defaults(void *base, const rlx_config_field_t *fields)
{
    for (const rlx_config_field_t *field = fields; field->key != NULL; field++) {
        char *place = (char *)base + field->offset;

        switch (field->kind) {
        case RLX_CONFIG_INT:
        case RLX_CONFIG_SIZE:
        case RLX_CONFIG_MS:
        case RLX_CONFIG_US:
        case RLX_CONFIG_CHOICE: *(int64_t *)place = field->initial; break;
        case RLX_CONFIG_BOOL: *(bool *)place = field->initial != 0; break;
        case RLX_CONFIG_SECTION: rlx_config_defaults(base, field->fields); break;
        default: break; /* texts and lists: zero */
        }
    }
}

static const char *number_example(rlx_config_kind_t kind)
{
    switch (kind) {
    case RLX_CONFIG_SIZE: return "a size such as 512MiB or 40GB";
    case RLX_CONFIG_MS: return "a duration such as 500ms or 30s (plain numbers are milliseconds)";
    case RLX_CONFIG_US: return "a duration such as 200us or 5ms (plain numbers are microseconds)";
    default: return "an integer";
    }
}

static bool number_parse(const char *text, rlx_config_kind_t kind, int64_t *out_value)
{
    switch (kind) {
    case RLX_CONFIG_SIZE: return rlx_config_bytes(text, out_value);
    case RLX_CONFIG_MS: return rlx_config_duration(text, 1e3, out_value);
    case RLX_CONFIG_US: return rlx_config_duration(text, 1, out_value);
    default: return rlx_config_integer(text, out_value);
    }
}

static rlx_status_t number_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const rlx_config_field_t *field,
                                int64_t *out_value)
{
    int64_t value;

    if (!number_parse(node->text, field->kind, &value))
        return rlx_config_refuse(reader, node, path, "'%s' is not %s", node->text, number_example(field->kind));
    if (value < field->min || value > field->max)
        return rlx_config_refuse(reader, node, path, "%s is outside %lld..%lld", node->text, (long long)field->min, (long long)field->max);
    *out_value = value;
    return RLX_OK;
}

/* "a, b, c" of choices. */
static void choices_list(const char *const *choices, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (; *choices != NULL && used < bytes; choices++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used > 0 ? ", " : "", *choices);
}

static rlx_status_t choice_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const rlx_config_field_t *field,
                                int64_t *out_value)
{
    char list[256];

    for (int i = 0; field->choices[i] != NULL; i++)
        if (strcmp(field->choices[i], node->text) == 0) {
            *out_value = i;
            return RLX_OK;
        }
    choices_list(field->choices, list, sizeof list);
    return rlx_config_refuse(reader, node, path, "'%s' is none of: %s", node->text, list);
}

/* A relative path of the file starts from the file's folder. */
static rlx_status_t path_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char **out_text)
{
    const char *name = rlx_yaml_name(reader->config->yaml), *slash = strrchr(name, '/');
    size_t folder = slash != NULL ? (size_t)(slash - name) + 1 : 0, n = strlen(node->text);
    char *text;

    if (reader->source != NULL || folder == 0 || node->text[0] == '/' || n == 0) {
        *out_text = node->text;
        return RLX_OK;
    }
    text = rlx_config_allocate(reader, folder + n + 1);
    if (text == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    memcpy(text, name, folder);
    memcpy(text + folder, node->text, n);
    *out_text = text;
    return RLX_OK;
}

static rlx_status_t address_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_kind_t kind,
                                 rlx_config_texts_t *texts)
{
    const char *text = node->kind == RLX_YAML_SCALAR ? node->text : "";
    const char *address = kind == RLX_CONFIG_ENDPOINTS ? (strncmp(text, "http://", 7) == 0 ? text + 7 : "") : text;
    char host[256];
    int port;

    if (texts->n == RLX_CONFIG_TEXTS_MAX)
        return rlx_config_refuse(reader, node, path, "more than %d addresses", RLX_CONFIG_TEXTS_MAX);
    if (!rlx_config_address(address, host, sizeof host, &port))
        return rlx_config_refuse(reader, node, path, "'%s' is not %s", text,
                                 kind == RLX_CONFIG_ENDPOINTS ? "http://HOST:PORT" : "HOST:PORT");
    texts->text[texts->n++] = text;
    return RLX_OK;
}

static rlx_status_t addresses_read(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_kind_t kind,
                                   rlx_config_texts_t *texts)
{
    texts->n = 0;
    if (node->kind == RLX_YAML_SCALAR && kind == RLX_CONFIG_LISTEN)
        return address_read(reader, node, path, kind, texts);
    if (node->kind != RLX_YAML_LIST)
        return rlx_config_refuse(reader, node, path, "a list of addresses is expected, not a %s", rlx_yaml_kind_name(node->kind));
    for (const rlx_yaml_node_t *child = node->children; child != NULL; child = child->next)
        RLX_TRY(address_read(reader, child, path, kind, texts));
    return RLX_OK;
}

rlx_status_t rlx_config_read_value(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                   const rlx_config_field_t *field, void *base)
{
    void *place = (char *)base + field->offset;

    switch (field->kind) {
    case RLX_CONFIG_SECTION: return rlx_config_read_map(reader, node, path, field->fields, base);
    case RLX_CONFIG_NODES: return rlx_config_read_nodes(reader, node, path, base);
    case RLX_CONFIG_DEVICES: return rlx_config_read_devices(reader, node, path, base);
    case RLX_CONFIG_ENDPOINTS:
    case RLX_CONFIG_LISTEN: return addresses_read(reader, node, path, field->kind, place);
    default: break;
    }
    if (node->kind != RLX_YAML_SCALAR)
        return rlx_config_refuse(reader, node, path, "a single value is expected, not a %s", rlx_yaml_kind_name(node->kind));
    switch (field->kind) {
    case RLX_CONFIG_BOOL:
        return rlx_config_bool(node->text, place) ? RLX_OK : rlx_config_refuse(reader, node, path, "'%s' is not true or false", node->text);
    case RLX_CONFIG_CHOICE: return choice_read(reader, node, path, field, place);
    case RLX_CONFIG_PATH: return path_read(reader, node, place);
    case RLX_CONFIG_TEXT:
        if (node->text[0] == '\0')
            return rlx_config_refuse(reader, node, path, "a value is missing");
        *(const char **)place = node->text;
        return RLX_OK;
    default: return number_read(reader, node, path, field, place);
    }
}

static rlx_status_t key_refuse(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const rlx_config_field_t *fields)
{
    char list[384];
    size_t used = 0;

    list[0] = '\0';
    for (const rlx_config_field_t *field = fields; field->key != NULL && used < sizeof list; field++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", field->key);
    rlx_fail(reader->diag, RLX_E_CONFIG_KEY, "unknown key '%s'%s%s; known there: %s", node->key, path[0] != '\0' ? " in " : "", path, list);
    return rlx_diag_at(reader->diag, "%s:%u:%u", rlx_yaml_name(reader->config->yaml), node->key_line, node->key_column);
}

static const rlx_config_field_t *field_find(const rlx_config_field_t *fields, const char *key)
{
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

static bool is_empty(const rlx_yaml_node_t *node) { return node->kind == RLX_YAML_SCALAR && !node->quoted && node->text[0] == '\0'; }

static rlx_status_t required_check(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                   const rlx_config_field_t *fields)
{
    for (; fields->key != NULL; fields++)
        if (fields->required && rlx_yaml_find(node, fields->key) == NULL)
            return rlx_config_refuse(reader, node, path, "key '%s' is missing", fields->key);
    return RLX_OK;
}

rlx_status_t rlx_config_read_map(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                 const rlx_config_field_t *fields, void *base)
{
    char inner[PATH_MAX_BYTES];

    if (is_empty(node)) /* "server:" and nothing below it */
        return RLX_OK;
    if (node->kind != RLX_YAML_MAP)
        return rlx_config_refuse(reader, node, path[0] != '\0' ? path : "the document", "a map of keys is expected, not a %s",
                                 rlx_yaml_kind_name(node->kind));
    for (const rlx_yaml_node_t *child = node->children; child != NULL; child = child->next) {
        const rlx_config_field_t *field = field_find(fields, child->key);

        if (field == NULL)
            return key_refuse(reader, child, path, fields);
        snprintf(inner, sizeof inner, "%s%s%s", path, path[0] != '\0' ? "." : "", child->key);
        RLX_TRY(rlx_config_read_value(reader, child, inner, field, base));
    }
    return required_check(reader, node, path, fields);
}
