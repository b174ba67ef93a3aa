/* The JSON form of a list of findings, for editors: one object on one line. Lines and columns count from 1; `column` and `endColumn`
 * (the character after the last) are characters, `byteColumn` and `byteLength` bytes. */
#include <stdlib.h>

#include "base/diag_order.h"
#include "base/json_quote.h"

static int pointer_compare(const void *a, const void *b)
{
    return rlx_finding_compare(*(const rlx_finding_t *const *)a, *(const rlx_finding_t *const *)b);
}

const rlx_finding_t **rlx_diag_list_order(const rlx_diag_list_t *list)
{
    const rlx_finding_t **order = list->n_findings > 0 ? calloc((size_t)list->n_findings, sizeof(rlx_finding_t *)) : NULL;

    if (order == NULL)
        return NULL;
    for (int i = 0; i < list->n_findings; i++)
        order[i] = list->findings[i];
    qsort(order, (size_t)list->n_findings, sizeof *order, pointer_compare);
    return order;
}

static void member_add(rlx_text_t *out, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    rlx_text_printf(out, ",\"%s\":", name);
    rlx_json_quote(out, text);
}

static void place_add(rlx_text_t *out, const rlx_diag_list_t *list, rlx_span_t span)
{
    rlx_span_t end = {span.line, span.column + span.length, 0};

    if (span.line == 0 || list->text == NULL)
        return;
    rlx_text_printf(out, ",\"line\":%u,\"column\":%u,\"endColumn\":%u,\"byteColumn\":%u,\"byteLength\":%u", span.line,
                    rlx_diag_list_column(list, span), rlx_diag_list_column(list, end), span.column, span.length);
}

static void finding_add(rlx_text_t *out, const rlx_diag_list_t *list, const rlx_finding_t *finding)
{
    static const char *const names[] = {"error", "warning", "note"};
    const rlx_error_info_t *info = rlx_error_find((int)finding->code);
    bool general = finding->hint[0] == '\0' && info != NULL && finding->severity != RLX_SEVERITY_NOTE;

    rlx_text_printf(out, "{\"code\":\"RLX-%04d\",\"severity\":\"%s\"", (int)finding->code, names[finding->severity]);
    if (list->path != NULL)
        member_add(out, "file", list->path);
    member_add(out, "where", finding->where);
    place_add(out, list, finding->span);
    member_add(out, "message", finding->message);
    member_add(out, "expected", finding->expected);
    member_add(out, "fix", general ? info->fix : finding->hint);
    rlx_text_puts(out, ",\"notes\":[");
    for (int i = 0; i < finding->n_notes; i++) {
        rlx_text_puts(out, i > 0 ? ",{\"message\":" : "{\"message\":");
        rlx_json_quote(out, finding->notes[i].text);
        place_add(out, list, finding->notes[i].span);
        rlx_text_puts(out, "}");
    }
    rlx_text_puts(out, "]}");
}

void rlx_diag_list_json(const rlx_diag_list_t *list, const rlx_finding_t *const *order, rlx_text_t *out)
{
    rlx_text_puts(out, "{\"diagnostics\":[");
    for (int i = 0; order != NULL && i < list->n_findings; i++) {
        rlx_text_puts(out, i > 0 ? "," : "");
        finding_add(out, list, order[i]);
    }
    rlx_text_printf(out, "],\"errors\":%d,\"warnings\":%d}\n", list->n_errors, list->n_warnings);
}
