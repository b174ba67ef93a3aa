/* Placement of annotated graphs, as far as the text tells (ir/check.h). */
#include "ir/annotation.h"
#include "ir/check.h"

#include <inttypes.h>
#include <string.h>

/* `place`, or where the op stands. */
static rlx_span_t span_of(const rlx_op_t *op, rlx_span_t place, const rlx_diag_list_t *findings)
{
    return place.line > 0 && rlx_diag_list_where(findings, op->source).line > 0 ? place : rlx_diag_list_where(findings, op->source);
}

/* The rows of an operator's result along axis 0 follow from the same rows of its first operand. */
static bool splits_by_rows(const rlx_op_t *op)
{
    static const char *const families[] = {"elementwise", "conv", "matmul", "norm", "reduce", "quant", "sample"};
    const rlx_value_t *in = rlx_op_in(op, 0), *out = op->out[0];
    bool family = false;

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        family = family || strcmp(rlx_op_info(op->kind)->family, families[i]) == 0;
    return family && in != NULL && out != NULL && in->rank > 0 && out->rank > 0 && in->dims[0] == out->dims[0];
}

static bool splits_by_channels(const rlx_op_t *op)
{
    return op->kind == RLX_OP_conv || op->kind == RLX_OP_conv_transpose || op->kind == RLX_OP_matmul;
}

static void strategy_report(const rlx_op_t *op, rlx_span_t span, rlx_diag_list_t *findings, const char *why)
{
    rlx_finding_t *finding = rlx_report(findings, RLX_E_PLACEMENT, span, "%s cannot be split %s", rlx_op_info(op->kind)->name, why);

    rlx_finding_expected(finding, "no sharding_strategy, or one that suits the operator");
}

static void rows_look(const rlx_graph_t *graph, const rlx_op_t *op, rlx_span_t span, rlx_diag_list_t *findings)
{
    int n = op->annotation->devices.n;
    int64_t rows;

    if (rlx_expr_is_const(graph->exprs, op->out[0]->dims[0], &rows) && rows < n)
        rlx_finding_hint(rlx_report_warning(findings, RLX_E_PLACEMENT, span, "%" PRId64 " row%s over %d devices: some have nothing to do", rows,
                                            rows == 1 ? "" : "s", n), "Take a larger batch, fewer devices, or tensor_parallel.");
}

static void sharding_look(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_list_t *findings, rlx_check_figures_t *figures)
{
    const rlx_op_annotation_t *annotation = op->annotation;
    rlx_span_t span = span_of(op, annotation->sharding_span, findings);

    if (annotation->sharding == RLX_SHARDING_UNSAID)
        return;
    figures->n_pipeline += annotation->sharding == RLX_SHARDING_PIPELINE;
    if (annotation->devices.n < 2)
        rlx_finding_expected(rlx_report(findings, RLX_E_PLACEMENT, span, "%s is split over one device", rlx_op_info(op->kind)->name),
                             "at least two in target_device_set");
    else if (annotation->sharding == RLX_SHARDING_DATA && !splits_by_rows(op))
        strategy_report(op, span, findings, "along a batch: the rows of its result do not follow from the same rows of its input");
    else if (annotation->sharding == RLX_SHARDING_TENSOR && !splits_by_channels(op))
        strategy_report(op, span, findings, "along output channels");
    else if (annotation->sharding == RLX_SHARDING_DATA)
        rows_look(graph, op, span, findings);
}

/* A tensor of a device that the set of the op does not name. False after reporting. */
static bool member_check(const rlx_op_t *op, const rlx_value_t *value, rlx_diag_list_t *findings)
{
    const char *device = rlx_check_device(value);

    if (device == NULL || op->annotation == NULL || op->annotation->devices.n == 0)
        return true;
    for (int i = 0; i < op->annotation->devices.n; i++)
        if (strcmp(op->annotation->devices.name[i], device) == 0)
            return true;
    rlx_finding_expected(rlx_report(findings, RLX_E_PLACEMENT, span_of(op, op->annotation->devices_span, findings),
                                    "'%s' is on %s, which target_device_set does not name", value->name, device),
                         "every device of the operands and results in target_device_set");
    return false;
}

static void op_look(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_list_t *findings, rlx_check_figures_t *figures)
{
    bool members = true;

    figures->n_remote += op->kind == RLX_OP_remote_call;
    for (int i = 0; i < op->n_in && members; i++)
        members = op->in[i] == NULL || member_check(op, op->in[i], findings);
    for (int i = 0; i < op->n_out && members; i++)
        members = op->out[i] == NULL || member_check(op, op->out[i], findings);
    if (op->annotation == NULL || !members)
        return;
    if (op->annotation->sync_mode == RLX_SYNC_STREAM_ORDERED && rlx_check_crosses(op))
        rlx_finding_expected(rlx_report(findings, RLX_E_SYNC_MODE, span_of(op, op->annotation->sync_span, findings),
                                        "stream_ordered orders one device's queue, and %s crosses devices",
                                        rlx_op_info(op->kind)->name), "sync_mode = \"barrier\" or \"async_barrier\"");
    else
        sharding_look(graph, op, findings, figures);
}

void rlx_check_distribution(const rlx_graph_t *graph, rlx_diag_list_t *findings, rlx_check_figures_t *out_figures)
{
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        out_figures->n_ops++;
        op_look(graph, op, findings, out_figures);
        for (int i = 0; i < op->n_bodies; i++)
            rlx_check_distribution(op->bodies[i], findings, out_figures);
    }
}
