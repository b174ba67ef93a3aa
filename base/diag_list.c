/* Findings are heap objects of their own, so that the array may grow; what is beyond the caps goes to `spare`. */
#include "base/diag_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/diag_order.h"
#include "base/utf8.h"

void rlx_diag_list_init(rlx_diag_list_t *list, int errors_max)
{
    RLX_ASSERT(errors_max >= 0 && errors_max <= RLX_DIAG_ERRORS_CAP);
    *list = (rlx_diag_list_t){.errors_max = errors_max > 0 ? errors_max : RLX_DIAG_ERRORS_MAX};
}

static void finding_clear(rlx_finding_t *finding)
{
    free(finding->notes);
    memset(finding, 0, sizeof *finding);
}

void rlx_diag_list_fini(rlx_diag_list_t *list)
{
    for (int i = 0; i < list->n_findings; i++) {
        finding_clear(list->findings[i]);
        free(list->findings[i]);
    }
    finding_clear(&list->spare);
    free(list->findings);
    free(list->path);
    free(list->text);
    memset(list, 0, sizeof *list);
}

rlx_status_t rlx_diag_list_source(rlx_diag_list_t *list, const char *path, const char *text, size_t bytes)
{
    char *path_copy = strdup(path), *copy = malloc(bytes + 1);

    if (path_copy == NULL || copy == NULL || bytes >= UINT32_MAX) {
        free(path_copy);
        free(copy);
        return RLX_RESOURCE_EXHAUSTED;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    free(list->path);
    free(list->text);
    list->path = path_copy;
    list->text = copy;
    list->bytes = bytes;
    return RLX_OK;
}

static bool is_at(const rlx_finding_t *finding, rlx_severity_t severity, rlx_span_t span)
{
    return finding->severity == severity && finding->span.line == span.line && finding->span.column == span.column;
}

/* There is a finding of the kind at that place, as far as findings are remembered: all that are kept, and the last of the others. */
static bool list_holds(const rlx_diag_list_t *list, rlx_severity_t severity, rlx_span_t span)
{
    if (span.line == 0)
        return false;
    for (int i = 0; i < list->n_findings; i++)
        if (is_at(list->findings[i], severity, span))
            return true;
    return is_at(&list->spare, severity, span);
}

/* A remark about the whole text: a text that is read twice in one run is remarked on once. */
static bool list_holds_remark(const rlx_diag_list_t *list, rlx_severity_t severity, rlx_error_code_t code, rlx_span_t span)
{
    for (int i = 0; severity == RLX_SEVERITY_NOTE && span.line == 0 && i < list->n_findings; i++)
        if (list->findings[i]->severity == severity && list->findings[i]->span.line == 0 && list->findings[i]->code == code)
            return true;
    return false;
}

/* A new kept finding, or NULL: out of memory. */
static rlx_finding_t *list_grow(rlx_diag_list_t *list)
{
    rlx_finding_t *finding = calloc(1, sizeof *finding);

    if (finding != NULL && list->n_findings == list->cap_findings) {
        int cap = list->cap_findings > 0 ? 2 * list->cap_findings : 16;
        rlx_finding_t **findings = realloc(list->findings, (size_t)cap * sizeof(rlx_finding_t *));

        if (findings == NULL) {
            free(finding);
            return NULL;
        }
        list->findings = findings;
        list->cap_findings = cap;
    }
    if (finding != NULL)
        list->findings[list->n_findings++] = finding;
    return finding;
}

static rlx_finding_t *list_add(rlx_diag_list_t *list, rlx_severity_t severity, rlx_error_code_t code, rlx_span_t span)
{
    int *count = severity == RLX_SEVERITY_ERROR ? &list->n_errors : severity == RLX_SEVERITY_WARNING ? &list->n_warnings : &list->n_remarks;
    int max = severity == RLX_SEVERITY_ERROR ? list->errors_max : RLX_DIAG_WARNINGS_MAX;
    bool again = list_holds(list, severity, span) || list_holds_remark(list, severity, code, span);
    rlx_finding_t *finding = !again && *count < max ? list_grow(list) : NULL;

    if (!again && *count < INT32_MAX)
        *count += 1;
    if (finding == NULL) {
        finding = &list->spare;
        finding_clear(finding);
    }
    finding->code = code;
    finding->severity = severity;
    finding->span = span;
    finding->order = list->n_findings;
    return finding;
}

static void text_format(char *out, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(out, size, format, args);

    if (n >= (int)size)
        memcpy(out + size - 4, "...", 4);
}

#define FORMAT(to, last)                           \
    do {                                           \
        va_list format_args_;                      \
        va_start(format_args_, last);              \
        text_format(to, sizeof(to), last, format_args_); \
        va_end(format_args_);                      \
    } while (0)

rlx_finding_t *rlx_report(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
{
    rlx_finding_t *finding = list_add(list, RLX_SEVERITY_ERROR, code, span);

    FORMAT(finding->message, format);
    return finding;
}

rlx_finding_t *rlx_report_warning(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
{
    rlx_finding_t *finding = list_add(list, RLX_SEVERITY_WARNING, code, span);

    FORMAT(finding->message, format);
    return finding;
}

rlx_finding_t *rlx_report_note(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
{
    rlx_finding_t *finding = list_add(list, RLX_SEVERITY_NOTE, code, span);

    FORMAT(finding->message, format);
    return finding;
}

/* The word at a place, for errors that know no more than where it begins. */
static uint32_t word_length(const rlx_diag_list_t *list, rlx_span_t span)
{
    rlx_line_t line = rlx_diag_list_line(list, span.line);
    uint32_t n = 0;

    while (span.column - 1 + n < line.bytes && line.text[span.column - 1 + n] != '\0' &&
           (isalnum((unsigned char)line.text[span.column - 1 + n]) || strchr("_.%:", line.text[span.column - 1 + n]) != NULL))
        n++;
    return n;
}

rlx_span_t rlx_diag_list_where(const rlx_diag_list_t *list, const char *where)
{
    const char *slash = list->path != NULL ? strrchr(list->path, '/') : NULL, *name = slash != NULL ? slash + 1 : list->path;
    rlx_span_t span = RLX_SPAN_NONE;
    size_t n = name != NULL ? strlen(name) : 0;

    if (list->text == NULL || n == 0 || strncmp(where, name, n) != 0 || sscanf(where + n, ":%u:%u", &span.line, &span.column) != 2 || span.line == 0 ||
        span.column == 0)
        return RLX_SPAN_NONE;
    span.length = word_length(list, span);
    return span;
}

rlx_finding_t *rlx_report_diag(rlx_diag_list_t *list, const rlx_diag_t *diag, rlx_span_t span)
{
    rlx_finding_t *finding = list_add(list, RLX_SEVERITY_ERROR, diag->code, span.line > 0 ? span : rlx_diag_list_where(list, diag->where));

    snprintf(finding->message, sizeof finding->message, "%.500s", diag->message);
    snprintf(finding->hint, sizeof finding->hint, "%s", diag->hint);
    snprintf(finding->where, sizeof finding->where, "%s", diag->where);
    for (const char *at = diag->path; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
        rlx_finding_note(finding, RLX_SPAN_NONE, "%.*s", (int)strcspn(at, "\n"), at);
    return finding;
}

rlx_finding_t *rlx_finding_expected(rlx_finding_t *finding, const char *format, ...)
{
    FORMAT(finding->expected, format);
    return finding;
}

rlx_finding_t *rlx_finding_hint(rlx_finding_t *finding, const char *format, ...)
{
    FORMAT(finding->hint, format);
    return finding;
}

rlx_finding_t *rlx_finding_note(rlx_finding_t *finding, rlx_span_t span, const char *format, ...)
{
    rlx_finding_note_t *note;

    if (finding->notes == NULL)
        finding->notes = calloc(RLX_FINDING_NOTES_MAX, sizeof *finding->notes);
    if (finding->notes == NULL || finding->n_notes == RLX_FINDING_NOTES_MAX)
        return finding;
    note = &finding->notes[finding->n_notes++];
    note->span = span;
    FORMAT(note->text, format);
    return finding;
}

rlx_line_t rlx_diag_list_line(const rlx_diag_list_t *list, uint32_t line)
{
    const char *at = list->text, *end = list->text + list->bytes, *next;

    for (uint32_t i = 1; i < line && at < end; i++) {
        next = memchr(at, '\n', (size_t)(end - at));
        at = next != NULL ? next + 1 : end;
    }
    next = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    end = next != NULL ? next : end;
    return (rlx_line_t){at, (size_t)(end - at) - (end > at && end[-1] == '\r')};
}

uint32_t rlx_diag_list_column(const rlx_diag_list_t *list, rlx_span_t span)
{
    rlx_line_t line = list->text != NULL ? rlx_diag_list_line(list, span.line) : (rlx_line_t){"", 0};
    uint32_t column = 1;

    for (size_t i = 0; i + 1 < span.column && i < line.bytes; column++) {
        size_t n = rlx_utf8_bytes(line.text + i, line.bytes - i);

        i += n > 0 ? n : 1;
    }
    return column;
}

/* The order of findings in the output. Those of the whole file come first. */
int rlx_finding_compare(const rlx_finding_t *a, const rlx_finding_t *b)
{
    if (a->span.line != b->span.line)
        return a->span.line < b->span.line ? -1 : 1;
    if (a->span.column != b->span.column)
        return a->span.column < b->span.column ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

rlx_status_t rlx_diag_list_close(const rlx_diag_list_t *list, rlx_diag_t *diag)
{
    const rlx_finding_t *first = NULL;
    rlx_status_t status;

    for (int i = 0; i < list->n_findings; i++) {
        const rlx_finding_t *finding = list->findings[i];

        if (finding->severity == RLX_SEVERITY_ERROR && (first == NULL || rlx_finding_compare(finding, first) < 0))
            first = finding;
    }
    if (first == NULL)
        return list->n_errors == 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory while errors were collected");
    status = rlx_fail(diag, first->code, first->expected[0] != '\0' ? "%s; expected %s" : "%s", first->message, first->expected);
    if (first->span.line > 0 && list->text != NULL)
        rlx_diag_at(diag, "%s:%u:%u", list->path, first->span.line, rlx_diag_list_column(list, first->span));
    else if (first->where[0] != '\0')
        rlx_diag_at(diag, "%s", first->where);
    if (first->hint[0] != '\0')
        rlx_diag_hint(diag, "%s", first->hint);
    return status;
}
