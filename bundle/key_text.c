/* Reading blocks of "name: value" lines (bundle/key_text.h). No allocation. */
#include "bundle/key_text.h"

#include <string.h>

#include "base/utf8.h"

typedef struct line {
    const char *text;
    int bytes;
} line_t;

/* The line at the cursor, without its end. The cursor stays. */
static line_t line_look(const rlx_key_lines_t *lines, const char **out_next)
{
    const char *end = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    line_t line = {lines->at, (int)((end != NULL ? end : lines->end) - lines->at)};

    *out_next = end != NULL ? end + 1 : lines->end;
    if (line.bytes > 0 && line.text[line.bytes - 1] == '\r')
        line.bytes--;
    return line;
}

bool rlx_key_block_next(rlx_key_lines_t *lines)
{
    const char *next;

    while (lines->at < lines->end && line_look(lines, &next).bytes == 0) {
        lines->at = next;
        lines->line++;
    }
    return lines->at < lines->end;
}

static rlx_status_t line_fail(const rlx_key_lines_t *lines, rlx_diag_t *diag, const char *format, const char *what)
{
    rlx_fail(diag, RLX_E_KEY_FILE, format, what);
    return rlx_diag_at(diag, "%.200s:%d", lines->name, lines->line);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex_read(const char *text, size_t bytes, uint8_t *out, size_t n)
{
    if (bytes != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool text_printable(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < 32 || text[i] == 127)
            return false;
    return rlx_utf8_is_text(text, bytes);
}

static rlx_status_t value_read(const rlx_key_lines_t *lines, rlx_key_field_t *field, const char *text, size_t bytes, rlx_diag_t *diag)
{
    if (field->seen)
        return line_fail(lines, diag, "'%s' stands twice", field->name);
    field->seen = true;
    if (field->bytes != NULL) {
        if (hex_read(text, bytes, field->bytes, field->n))
            return RLX_OK;
        rlx_fail(diag, RLX_E_KEY_FILE, "'%s' is not %zu hexadecimal digits", field->name, 2 * field->n);
        return rlx_diag_at(diag, "%.200s:%d", lines->name, lines->line);
    }
    if (bytes > field->n || !text_printable(text, bytes))
        return line_fail(lines, diag, "'%s' is too long, or not printable UTF-8", field->name);
    memcpy(field->text, text, bytes);
    field->text[bytes] = '\0';
    return RLX_OK;
}

static rlx_status_t field_read(const rlx_key_lines_t *lines, line_t line, rlx_key_field_t *fields, int n_fields, rlx_diag_t *diag)
{
    const char *colon = memchr(line.text, ':', (size_t)line.bytes), *value, *end = line.text + line.bytes;

    if (colon == NULL)
        return line_fail(lines, diag, "a line is not of the form 'name: value'%s", "");
    for (value = colon + 1; value < end && *value == ' ';)
        value++;
    while (end > value && end[-1] == ' ')
        end--;
    for (int i = 0; i < n_fields; i++)
        if (strlen(fields[i].name) == (size_t)(colon - line.text) && memcmp(fields[i].name, line.text, strlen(fields[i].name)) == 0)
            return value_read(lines, &fields[i], value, (size_t)(end - value), diag);
    return line_fail(lines, diag, "the name before the colon is none that this program knows%s", "");
}

rlx_status_t rlx_key_block_read(rlx_key_lines_t *lines, const char *title, rlx_key_field_t *fields, int n_fields, rlx_diag_t *diag)
{
    const char *next;
    line_t line;

    if (!rlx_key_block_next(lines))
        return line_fail(lines, diag, "the file is empty; its first line must be '%s'", title);
    line = line_look(lines, &next);
    if ((size_t)line.bytes != strlen(title) || memcmp(line.text, title, strlen(title)) != 0)
        return line_fail(lines, diag, "expected the line '%s'", title);
    for (;;) {
        lines->at = next;
        lines->line++;
        if (!rlx_key_block_next(lines))
            break;
        line = line_look(lines, &next);
        if (line.bytes >= 4 && memcmp(line.text, "RLX ", 4) == 0)
            break;
        RLX_TRY(field_read(lines, line, fields, n_fields, diag));
    }
    for (int i = 0; i < n_fields; i++)
        if (!fields[i].seen && !fields[i].optional)
            return line_fail(lines, diag, "'%s' is missing", fields[i].name);
    return RLX_OK;
}
