/* The three forms. Tables and YAML walk the value; depth is bounded by jansson (2,048 levels), columns and widths by what fits a line. */
#include "cli/ctl/show.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

/* A scalar as text; a list or map as compact JSON. Owned by the caller. */
static char *cell_text(const json_t *value)
{
    char *text = NULL;
    int n;

    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING: return strdup(json_string_value(value));
    case JSON_INTEGER: n = asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: n = asprintf(&text, "%.6g", json_real_value(value)); break;
    case JSON_TRUE: return strdup("true");
    case JSON_FALSE: return strdup("false");
    case JSON_NULL: return strdup("-");
    default: return json_dumps(value, JSON_COMPACT);
    }
    return n >= 0 ? text : NULL;
}

/* Prints with controls as \xNN; returns the columns it took. */
static int text_print(const char *text, FILE *out)
{
    int width = 0;

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x20 || byte == 0x7f)
            width += fprintf(out, "\\x%02x", byte);
        else {
            fputc(byte, out);
            width += (byte & 0xc0) != 0x80; /* not the middle of a character */
        }
    }
    return width;
}

static int text_width(const char *text)
{
    int width = 0;

    for (; *text != '\0'; text++)
        width += (unsigned char)*text < 0x20 || *text == 0x7f ? 4 : ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static int cell_width(const json_t *value)
{
    char *text = cell_text(value);
    int width = text != NULL ? text_width(text) : 0;

    free(text);
    return width;
}

static int cell_print(const json_t *value, FILE *out)
{
    char *text = cell_text(value);
    int width = text != NULL ? text_print(text, out) : 0;

    free(text);
    return width;
}

static void pad(int n, FILE *out)
{
    while (n-- > 0)
        fputc(' ', out);
}

static bool is_table(const json_t *value)
{
    size_t index;
    json_t *row;

    if (!json_is_array(value) || json_array_size(value) == 0)
        return false;
    json_array_foreach((json_t *)value, index, row)
        if (!json_is_object(row))
            return false;
    return true;
}

/* Column names in order of first appearance. What nests has no place in a line: --output json shows it. */
static int columns_collect(const json_t *rows, const char **names)
{
    int n = 0;
    size_t index;
    json_t *row, *value;
    const char *key;

    json_array_foreach((json_t *)rows, index, row)
        json_object_foreach(row, key, value) {
            int at = 0;

            while (at < n && strcmp(names[at], key) != 0)
                at++;
            if (at == n && n < COLUMNS_MAX && !json_is_object(value) && !json_is_array(value))
                names[n++] = key;
        }
    return n;
}

static void table_print(const json_t *rows, int indent, FILE *out)
{
    const char *names[COLUMNS_MAX];
    int n = columns_collect(rows, names), widths[COLUMNS_MAX];
    size_t index;
    json_t *row;

    for (int i = 0; i < n; i++) {
        widths[i] = text_width(names[i]);
        json_array_foreach((json_t *)rows, index, row) {
            int width = cell_width(json_object_get(row, names[i]));

            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    pad(indent, out);
    for (int i = 0; i < n; i++) {
        int width = text_print(names[i], out);

        pad(i + 1 < n ? widths[i] + 2 - width : 0, out);
    }
    fputc('\n', out);
    json_array_foreach((json_t *)rows, index, row) {
        pad(indent, out);
        for (int i = 0; i < n; i++) {
            int width = cell_print(json_object_get(row, names[i]), out);

            pad(i + 1 < n ? widths[i] + 2 - width : 0, out);
        }
        fputc('\n', out);
    }
}

static void value_print(const json_t *value, int indent, FILE *out);

static bool nests(const json_t *value) { return is_table(value) || (json_is_object(value) && json_object_size(value) > 0); }

static void object_print(const json_t *object, int indent, FILE *out)
{
    int width = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
        if (!nests(value) && text_width(key) > width)
            width = text_width(key);
    json_object_foreach((json_t *)object, key, value) {
        if (nests(value))
            continue;
        pad(indent, out);
        pad(width + 2 - text_print(key, out), out);
        cell_print(value, out);
        fputc('\n', out);
    }
    json_object_foreach((json_t *)object, key, value) {
        if (!nests(value))
            continue;
        pad(indent, out);
        text_print(key, out);
        fputs(":\n", out);
        value_print(value, indent + 2, out);
    }
}

static void value_print(const json_t *value, int indent, FILE *out)
{
    if (is_table(value))
        table_print(value, indent, out);
    else if (json_is_object(value))
        object_print(value, indent, out);
    else if (json_is_array(value) && json_array_size(value) == 0)
        return; /* an empty list is nothing */
    else {
        pad(indent, out);
        cell_print(value, out);
        fputc('\n', out);
    }
}

static void yaml_scalar(const json_t *value, FILE *out)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT); /* JSON's scalars are YAML's; texts in quotes are only texts */

    fputs(text != NULL ? text : "null", out);
    fputc('\n', out);
    free(text);
}

static bool yaml_block(const json_t *value)
{
    return (json_is_object(value) && json_object_size(value) > 0) || (json_is_array(value) && json_array_size(value) > 0);
}

static void yaml_key(const char *key, FILE *out)
{
    bool plain = *key != '\0' && strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(key);
    json_t *text = json_string(key);
    char *quoted = plain ? NULL : json_dumps(text, JSON_ENCODE_ANY);

    fputs(plain ? key : quoted != NULL ? quoted : "\"\"", out);
    fputc(':', out);
    free(quoted);
    json_decref(text);
}

/* `started`: the first line's indentation is there already. */
static void yaml_print(const json_t *value, int indent, bool started, FILE *out)
{
    const char *key;
    json_t *child;
    size_t index;

    if (json_is_array(value)) {
        json_array_foreach((json_t *)value, index, child) {
            pad(started && index == 0 ? 0 : indent, out);
            fputs("- ", out);
            if (yaml_block(child))
                yaml_print(child, indent + 2, true, out);
            else
                yaml_scalar(child, out);
        }
        return;
    }
    json_object_foreach((json_t *)value, key, child) {
        pad(started ? 0 : indent, out);
        started = false;
        yaml_key(key, out);
        fputc(yaml_block(child) ? '\n' : ' ', out);
        if (yaml_block(child))
            yaml_print(child, indent + 2, false, out);
        else
            yaml_scalar(child, out);
    }
}

void rlx_ctl_show(const json_t *value, rlx_ctl_form_t form, FILE *out)
{
    if (form == RLX_CTL_TABLE)
        value_print(value, 0, out);
    else if (form == RLX_CTL_YAML && yaml_block(value))
        yaml_print(value, 0, false, out);
    else {
        json_dumpf(value, out, JSON_INDENT(2) | JSON_ENCODE_ANY);
        fputc('\n', out);
    }
}
