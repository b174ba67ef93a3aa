/* Between the two printers of a list of findings (base/diag_render.c, base/diag_json.c). Internal to base/. */
#ifndef RLX_BASE_DIAG_ORDER_H
#define RLX_BASE_DIAG_ORDER_H

#include "base/diag_list.h"

typedef struct rlx_line {
    const char *text;
    size_t bytes; /* without its end */
} rlx_line_t;

/* A line of the list's text, which must be there; behind the last one: empty. */
rlx_line_t rlx_diag_list_line(const rlx_diag_list_t *list, uint32_t line);
int rlx_finding_compare(const rlx_finding_t *a, const rlx_finding_t *b);
/* The findings by position, then in the order in which they were found; malloc'd, NULL when there is none (or no memory). */
const rlx_finding_t **rlx_diag_list_order(const rlx_diag_list_t *list);
/* `order` may be NULL: no findings. */
void rlx_diag_list_json(const rlx_diag_list_t *list, const rlx_finding_t *const *order, rlx_text_t *out);

#endif
