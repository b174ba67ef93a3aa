/* Kernels and costs of a lowered program, in words. See ir/dump/explain_kernel.h. */
#include "ir/dump/explain_kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/dump/explain.h"
#include "ir/schedule.h"
#include "kernels/params_custom.h"
#include "kernels/reference.h"

/* Why a kernel was taken, and what would take another. */
static const struct {
    const char *kernel, *rule, *change;
} reasons[] = {
    {"conv_c16", "many channels: 16 output channels fill the lanes", "vectorize_dim=\"width\""},
    {"conv_first_c16", "at most 4 input channels: rows are read as they lie, 16 output channels fill the lanes", "vectorize_dim=\"width\""},
    {"conv_depthwise_c16", "a group for each channel: 16 channels fill the lanes", "vectorize_dim=\"width\""},
    {"conv_group_c16", "groups that do not fill blocks of 16 channels", "vectorize_dim=\"width\""},
    {"conv_width", "few channels, or the text asks for it: output columns fill the lanes", "vectorize_dim=\"output_channel\""},
    {"conv_winograd_c16", "the algorithm, see above", "--accuracy direct, or algorithm=\"direct\""},
    {"conv_winograd_input_c16", "a small map: its input is transformed once for all threads", "--tune"},
    {"conv_gather_c16", "a small map: its input is gathered once for all threads", "--tune"},
    {"conv_plain", "the definition: types, weights or padding that no fast kernel takes, or --opt-level below 3", "f32 tensors and constant weights"},
    {"gemm", "an f32 product: 16 columns fill the lanes", "tile_layout"},
    {"matmul_plain", "the definition: a type that gemm does not take, or --opt-level 1", "f32 tensors"},
    {"to_c16", "a layout changes, see above", "a layout on the tensor"},
    {"from_c16", "a layout changes, see above", "a layout on the tensor"},
};

static int64_t known(const rlx_graph_t *graph, rlx_expr_t expr)
{
    int64_t value;

    return expr >= 0 && rlx_expr_is_const(graph->exprs, expr, &value) ? value : -1;
}

/* A count with its unit, or "open". */
static const char *count_print(int64_t count, const char *unit, char out[32])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    double scaled = (double)count;
    int i = 0;

    for (; scaled >= 1000 && i < 4; i++)
        scaled /= 1000;
    if (count < 0)
        snprintf(out, 32, "open");
    else
        snprintf(out, 32, i == 0 ? "%.0f %s%s" : "%.3g %s%s", scaled, prefixes[i], unit);
    return out;
}

static int64_t bytes_of(const rlx_graph_t *graph, int n, const rlx_value_t *const *values)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++) {
        int64_t bytes = values[i] != NULL ? known(graph, rlx_value_bytes(graph, values[i])) : 0;

        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

static void step_explain(const rlx_graph_t *graph, const rlx_step_t *step)
{
    const char *kernel = (int)step->kernel < RLX_K_END ? rlx_kernel_name(step->kernel) : NULL;
    const char *rule = "the kernel of this operator for these types and layouts", *change = "other types or layouts";
    int64_t in = bytes_of(graph, step->n_in, step->in), out = bytes_of(graph, step->n_out, step->out);
    char tiles[32], flops[32], read[32], written[32];

    if (kernel == NULL)
        kernel = (int)step->kernel >= RLX_CUSTOM_FIRST ? "user code" : "program";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].kernel, kernel) == 0)
            rule = reasons[i].rule, change = reasons[i].change;
    rlx_explain(graph, step->op, "kernel", rule, change, "%s, %s", kernel, count_print(known(graph, step->tiles), "tiles", tiles));
    rlx_explain(graph, step->op, "cost", "counted, not measured; rlx bench measures", "--shape, where extents are open",
                "%s, reads %s, writes %s", count_print(known(graph, step->flops), "flop", flops), count_print(in, "B", read),
                count_print(out, "B", written));
}

void rlx_explain_program(const rlx_builder_t *builder)
{
    for (int i = 0; i < builder->n_steps && builder->graph->explain != NULL; i++)
        if (builder->steps[i]->live)
            step_explain(builder->graph, builder->steps[i]);
    for (int i = 0; i < builder->n_bodies; i++)
        rlx_explain_program(builder->bodies[i]);
}

static void demand_explain(const rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_demand_t *d = rlx_op_demand(op);
    char text[256] = "";
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"rows of a tile", d->rows}, {"columns of a tile", d->columns}, {"outputs of a tile", d->outputs}, {"outputs of a weight block", d->block},
                  {"vectors unrolled", d->unroll_width}, {"outputs unrolled", d->unroll_outputs}};

    snprintf(text, sizeof text, "%s", d->lanes == RLX_LANES_WIDTH ? "columns in the lanes" : d->lanes == RLX_LANES_CHANNEL ? "channels in the lanes" : "");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value > 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%" PRId64 " %s", text[0] != '\0' ? ", " : "", fields[i].value, fields[i].name);
    if (d->rows_together)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%srows on one thread", text[0] != '\0' ? ", " : "");
    if (d->outputs_together)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%soutput channels on one thread", text[0] != '\0' ? ", " : "");
    if (text[0] != '\0')
        rlx_explain(graph, op, "schedule", "the text asks for it, and the kernel can", "tile_layout, compute_schedule or a layout of the text", "%s", text);
}

void rlx_explain_graph(const rlx_graph_t *graph)
{
    for (const rlx_op_t *op = graph->first; op != NULL && graph->explain != NULL; op = op->next) {
        const rlx_value_t *x = op->n_in > 0 ? op->in[0] : NULL, *y = op->n_out > 0 ? op->out[0] : NULL;

        demand_explain(graph, op);
        if (op->kind == RLX_OP_reorder)
            rlx_explain(graph, op, "layout", "what makes the tensor and what reads it, or the text, want different orders; outputs are row-major",
                        "a layout on the tensor; vectorize_dim of the neighbours", "'%s' changes from %s to %s", x->name, rlx_layout_name(x->layout),
                        rlx_layout_name(y->layout));
        else if (y != NULL && y->rank >= 3)
            rlx_explain(graph, op, "layout", y->layout == RLX_LAYOUT_ROW_MAJOR ? "the operator's kernels read and write rows, or --opt-level is below 3"
                                                                               : "the operator's kernels take it so, or carry on what they are given",
                        "a layout on the tensor", "'%s' is %s", y->name, rlx_layout_name(y->layout));
        for (int i = 0; i < op->n_bodies; i++)
            rlx_explain_graph(op->bodies[i]);
    }
}
