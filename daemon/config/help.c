/* `rlxd --help-config`: the tables, in words. */
#include "daemon/config/read.h"

static void size_print(char *out, size_t bytes, int64_t value)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    int unit = 0;

    while (unit < 3 && value >= 1024 && value % 1024 == 0) {
        value /= 1024;
        unit++;
    }
    snprintf(out, bytes, "%lld%s", (long long)value, units[unit]);
}

static void time_print(char *out, size_t bytes, int64_t ms)
{
    if (ms >= 1000 && ms % 1000 == 0)
        snprintf(out, bytes, "%llds", (long long)ms / 1000);
    else
        snprintf(out, bytes, "%lldms", (long long)ms);
}

static void initial_print(const rlx_config_field_t *field, char *out, size_t bytes)
{
    switch (field->kind) {
    case RLX_CONFIG_INT: snprintf(out, bytes, "%lld", (long long)field->initial); break;
    case RLX_CONFIG_SIZE: size_print(out, bytes, field->initial); break;
    case RLX_CONFIG_MS: time_print(out, bytes, field->initial); break;
    case RLX_CONFIG_US: snprintf(out, bytes, "%lldus", (long long)field->initial); break;
    case RLX_CONFIG_BOOL: snprintf(out, bytes, "%s", field->initial != 0 ? "true" : "false"); break;
    case RLX_CONFIG_CHOICE: snprintf(out, bytes, "%s", field->choices[field->initial]); break;
    default: snprintf(out, bytes, "-"); break;
    }
}

static void field_print(const rlx_config_field_t *field, const char *key, FILE *out)
{
    char initial[64];

    if (field->required)
        snprintf(initial, sizeof initial, "needed");
    else
        initial_print(field, initial, sizeof initial);
    fprintf(out, "%-36s %-11s %s", key, initial, field->help);
    for (const char *const *choice = field->kind == RLX_CONFIG_CHOICE ? field->choices : NULL; choice != NULL && *choice != NULL; choice++)
        fprintf(out, "%s%s", choice == field->choices ? " (" : "|", *choice);
    fputs(field->kind == RLX_CONFIG_CHOICE ? ")" : "", out);
    fputs(field->live ? " [reload]\n" : "\n", out);
}

static void fields_print(const rlx_config_field_t *fields, const char *path, FILE *out)
{
    char key[192];

    for (const rlx_config_field_t *field = fields; field->key != NULL; field++) {
        snprintf(key, sizeof key, "%s%s%s", path, path[0] != '\0' ? "." : "", field->key);
        if (field->kind == RLX_CONFIG_SECTION)
            fields_print(field->fields, key, out);
        else if (field->kind == RLX_CONFIG_NODES)
            fields_print(rlx_config_node_fields, "nodes[]", out);
        else if (field->kind == RLX_CONFIG_DEVICES)
            fields_print(rlx_config_device_fields, "nodes[].devices[]", out);
        else
            field_print(field, key, out);
    }
}

void rlx_config_help(FILE *out)
{
    fprintf(out, "%-36s %-11s %s\n", "KEY", "DEFAULT", "MEANING ([reload]: SIGHUP applies it; others need a restart)");
    fields_print(rlx_config_fields, "", out);
}
