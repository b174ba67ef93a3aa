/* Which layouts a text may fix. See ir/pass/layout_demand.h. */
#include "ir/pass/layout_demand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/annotation.h"
#include "ir/operator/conv_operands.h"

#define RULE_TENSOR "Rule: a buffer is row-major, channels-last (NHWC), or in blocks of 16 channels (NCHW16c, f32 and u8)."
#define RULE_CONSTANT "Rule: constants are packed once, for the kernel that reads them. vectorize_dim=\"width\" on a convolution of one group and at most " \
                      "16 input channels packs HWIO."

/* The letters of a layout without its block. */
static int letters_of(const char *layout) { return (int)strspn(layout, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"); }

/* The logical order that has these letters, or NULL: among NCDHW, OIDHW. */
static bool is_ordered(const char *letters, int n, const char *order)
{
    const char *at = order;

    for (int i = 0; i < n; i++, at++)
        if ((at = strchr(at, letters[i])) == NULL)
            return false;
    return true;
}

static bool is_logical(const char *layout, int n) { return is_ordered(layout, n, "NCDHW") || is_ordered(layout, n, "OIDHW"); }

static bool order_read(const rlx_value_t *value, const char *layout, rlx_layout_t *out)
{
    int n = letters_of(layout), block = atoi(layout + n);

    *out = RLX_LAYOUT_ROW_MAJOR;
    if (layout[n] == '\0' && (is_logical(layout, n) || n < 3))
        return is_logical(layout, n);
    if (layout[n] == '\0') {
        *out = RLX_LAYOUT_CHANNELS_LAST;
        return n <= 5 && layout[n - 1] == 'C' && layout[0] == 'N' && is_ordered(layout, n - 1, "NDHW");
    }
    *out = RLX_LAYOUT_C16;
    return block == 16 && layout[strlen(layout) - 1] == 'c' && is_ordered(layout, n, "NCDHW") && (n == 3 || n == 4) && layout[1] == 'C' &&
           (value->dtype == RLX_F32 || value->dtype == RLX_U8);
}

static const char *layout_of(const rlx_value_t *value) { return value->annotation != NULL ? value->annotation->layout : NULL; }

bool rlx_layout_demand(const rlx_graph_t *graph, const rlx_value_t *value, rlx_layout_t *out_layout)
{
    rlx_layout_t layout;

    (void)graph;
    if (layout_of(value) == NULL || value->data != NULL || !order_read(value, layout_of(value), &layout))
        return false;
    *out_layout = layout;
    return true;
}

bool rlx_layout_is_hwio(const rlx_value_t *value)
{
    const char *layout = layout_of(value);

    return layout != NULL && (strcmp(layout, "HWIO") == 0 || strcmp(layout, "WIO") == 0);
}

/* Whether `op` packs its constant operand `index` in the order that the text fixes. */
static bool is_packed_so(const rlx_graph_t *graph, const rlx_op_t *op, int index)
{
    const rlx_value_t *value = op->in[index];
    int64_t dims[RLX_RANK_MAX];

    return op->kind == RLX_OP_conv && index == 1 && rlx_layout_is_hwio(value) && rlx_conv_form(graph, op) == RLX_CONV_WIDTH &&
           rlx_op_int(op, "group") == 1 && rlx_value_dims_const(graph, value, dims) && dims[1] <= 16;
}

static void report(const rlx_value_t *value, const char *source, bool constant, rlx_diag_list_t *list, rlx_diag_t *diag)
{
    const char *layout = layout_of(value);
    rlx_finding_t *finding;

    rlx_fail(diag, RLX_E_LAYOUT_REFUSED, "'%s' cannot have layout %s", value->name, layout);
    rlx_diag_at(diag, "%s", source);
    rlx_diag_hint(diag, "%s", constant ? RULE_CONSTANT : RULE_TENSOR);
    if (list == NULL)
        return;
    finding = rlx_report(list, RLX_E_LAYOUT_REFUSED, value->annotation->layout_span, "%s cannot have layout %s", constant ? "this constant" : "this tensor",
                         layout);
    rlx_finding_expected(finding, "%s", constant ? "the logical order" : "NCHW, NHWC, NCHW16c, or their like of other ranks");
    rlx_finding_hint(finding, "%s", constant ? RULE_CONSTANT : RULE_TENSOR);
}

rlx_status_t rlx_layout_check(const rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_diag_list_t *list = diag != NULL ? diag->list : NULL;
    rlx_diag_t first = {0};

    for (int i = 0; i < graph->n_values; i++) {
        const rlx_value_t *value = graph->values[i];
        rlx_layout_t layout;

        if (value != NULL && layout_of(value) != NULL && value->data == NULL && !order_read(value, layout_of(value), &layout))
            report(value, value->producer != NULL ? value->producer->source : value->name, false, list, &first);
    }
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        for (int i = 0; i < op->n_in; i++) {
            const rlx_value_t *value = op->in[i];

            if (value != NULL && value->data != NULL && layout_of(value) != NULL && !is_packed_so(graph, op, i) &&
                !(is_logical(layout_of(value), letters_of(layout_of(value))) && layout_of(value)[letters_of(layout_of(value))] == '\0'))
                report(value, op->source, true, list, &first);
        }
    if (first.status == RLX_OK)
        return RLX_OK;
    rlx_fail(diag, first.code, "%s", first.message);
    rlx_diag_at(diag, "%s", first.where);
    return rlx_diag_hint(diag, "%s", first.hint);
}
