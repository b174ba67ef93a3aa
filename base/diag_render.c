/* The text form of a list of findings:
 *
 *   stem.rlx:12:29: error RLX-2010: rlx.conv2d has no argument `stride`
 *    12 |     conv = rlx.conv2d(x, w, stride=[2, 2])
 *       |                             ^~~~~~
 *     expected: one of input, weight, bias, strides, ...
 *     fix: did you mean `strides`?
 *
 * The source line is shown through a window around the span, so that a line of any length stays readable; tabs become spaces, and what a
 * terminal must not see is escaped: the caret still stands below the first character of the span. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/diag_list.h"
#include "base/diag_order.h"
#include "base/printable.h"

#define WINDOW_COLUMNS 110 /* of the source line that are shown */
#define WINDOW_BEFORE 60   /* of them before the span, where the line is cut */
#define TAB_COLUMNS 4
#define RENDER_BYTES_MAX ((size_t)16 << 20)

typedef struct paint {
    const char *severity[3], *caret, *strong, *off;
} paint_t;

static const paint_t plain = {{"", "", ""}, "", "", ""};
static const paint_t colour = {{"\033[1;31m", "\033[1;35m", "\033[1;36m"}, "\033[1;32m", "\033[1m", "\033[0m"};
static const char *const severity_names[] = {"error", "warning", "note"};

static void escaped_add(rlx_text_t *out, const char *text)
{
    size_t bytes = strlen(text);
    int columns;

    for (size_t i = 0; i < bytes;)
        i += rlx_printable_next(out, text + i, bytes - i, &columns);
}

/* One character of a source line; a tab fills up to its stop. Returns its bytes, adds its columns to *column. */
static size_t line_next(rlx_text_t *out, const char *at, size_t bytes, int *column)
{
    int columns = TAB_COLUMNS - *column % TAB_COLUMNS;
    size_t n = 1;

    if (*at != '\t')
        n = rlx_printable_next(out, at, bytes, &columns);
    else if (out != NULL)
        rlx_text_printf(out, "%*s", columns, "");
    *column += columns;
    return n;
}

static int columns_of(const char *line, size_t bytes)
{
    int column = 0;

    for (size_t i = 0; i < bytes;)
        i += line_next(NULL, line + i, bytes - i, &column);
    return column;
}

/* Adds the characters of the line that begin in columns [first, last). */
static void window_add(rlx_text_t *out, const char *line, size_t bytes, int first, int last)
{
    int column = 0;

    for (size_t i = 0; i < bytes && column < last;)
        i += line_next(column >= first ? out : NULL, line + i, bytes - i, &column);
}

/* The source line and the mark below it. */
static void snippet_add(rlx_text_t *out, const rlx_diag_list_t *list, rlx_span_t span, const paint_t *paint)
{
    rlx_line_t line = rlx_diag_list_line(list, span.line);
    size_t begin = span.column - 1 < line.bytes ? span.column - 1 : line.bytes,
           end = begin + span.length < line.bytes ? begin + span.length : line.bytes;
    int total = columns_of(line.text, line.bytes), mark = columns_of(line.text, begin), length = columns_of(line.text, end) - mark;
    int first = total > WINDOW_COLUMNS && mark > WINDOW_BEFORE ? mark - WINDOW_BEFORE : 0;

    rlx_text_printf(out, "%4u | %s", span.line, first > 0 ? "..." : "");
    window_add(out, line.text, line.bytes, first, first + WINDOW_COLUMNS);
    rlx_text_printf(out, "%s\n     | %*s%s^", total > first + WINDOW_COLUMNS ? "..." : "", mark - first + (first > 0 ? 3 : 0), "", paint->caret);
    for (int i = 1; i < length && mark - first + i < WINDOW_COLUMNS; i++)
        rlx_text_puts(out, "~");
    rlx_text_printf(out, "%s\n", paint->off);
}

static void place_add(rlx_text_t *out, const rlx_diag_list_t *list, rlx_span_t span, const char *where)
{
    if (list->path != NULL)
        escaped_add(out, list->path);
    if (span.line > 0 && list->text != NULL) {
        rlx_text_printf(out, ":%u:%u", span.line, rlx_diag_list_column(list, span));
    } else if (where[0] != '\0') {
        rlx_text_puts(out, list->path != NULL ? ": " : "");
        escaped_add(out, where);
    }
    if (list->path != NULL || where[0] != '\0')
        rlx_text_puts(out, ": ");
}

static void line_add(rlx_text_t *out, const char *title, const char *text)
{
    if (text[0] == '\0')
        return;
    rlx_text_puts(out, title);
    escaped_add(out, text);
    rlx_text_puts(out, "\n");
}

static void finding_add(rlx_text_t *out, const rlx_diag_list_t *list, const rlx_finding_t *finding, const paint_t *paint)
{
    const rlx_error_info_t *info = rlx_error_find((int)finding->code);
    bool located = finding->span.line > 0 && list->text != NULL;

    rlx_text_puts(out, paint->strong);
    place_add(out, list, finding->span, finding->where);
    rlx_text_printf(out, "%s%s RLX-%04d:%s%s ", paint->severity[finding->severity], severity_names[finding->severity], (int)finding->code,
                    paint->off, paint->strong);
    escaped_add(out, finding->message);
    rlx_text_printf(out, "%s\n", paint->off);
    if (located)
        snippet_add(out, list, finding->span, paint);
    line_add(out, "  expected: ", finding->expected);
    line_add(out, "  fix: ", finding->hint[0] != '\0' || info == NULL || finding->severity == RLX_SEVERITY_NOTE ? finding->hint : info->fix);
    for (int i = 0; i < finding->n_notes; i++) {
        const rlx_finding_note_t *note = &finding->notes[i];

        rlx_text_puts(out, "  note: ");
        if (note->span.line > 0 && list->text != NULL)
            place_add(out, list, note->span, "");
        escaped_add(out, note->text);
        rlx_text_puts(out, "\n");
        if (note->span.line > 0 && list->text != NULL)
            snippet_add(out, list, note->span, paint);
    }
}

static void totals_add(rlx_text_t *out, const rlx_diag_list_t *list)
{
    int hidden = list->n_errors - list->errors_max;

    if (hidden > 0)
        rlx_text_printf(out, "%d more error%s not shown; --max-errors shows more\n", hidden, hidden == 1 ? " is" : "s are");
    if (list->n_errors + list->n_warnings > 1)
        rlx_text_printf(out, "%d error%s, %d warning%s\n", list->n_errors, list->n_errors == 1 ? "" : "s", list->n_warnings,
                        list->n_warnings == 1 ? "" : "s");
}

void rlx_diag_list_render(const rlx_diag_list_t *list, rlx_diag_format_t format, rlx_text_t *out)
{
    const rlx_finding_t **order = rlx_diag_list_order(list);

    if (format == RLX_DIAG_JSON) {
        rlx_diag_list_json(list, order, out);
    } else if (order != NULL) {
        for (int i = 0; i < list->n_findings; i++)
            finding_add(out, list, order[i], format == RLX_DIAG_COLOUR ? &colour : &plain);
        totals_add(out, list);
    }
    free(order);
}

void rlx_diag_list_print(const rlx_diag_list_t *list, rlx_diag_format_t format, FILE *out)
{
    rlx_text_t text;

    rlx_text_init(&text, RENDER_BYTES_MAX);
    rlx_diag_list_render(list, format, &text);
    if (text.bytes > 0)
        fwrite(text.data, 1, text.bytes, out);
    rlx_text_fini(&text);
}

rlx_diag_format_t rlx_diag_format_for(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;

    return isatty(fileno(out)) && !dumb && (no_colour == NULL || no_colour[0] == '\0') ? RLX_DIAG_COLOUR : RLX_DIAG_TEXT;
}
