/* Lowering of quantised convolutions and products: plain, or gathered input and packed weights. See ir/operator/quant.h. */
#include "ir/cost/conv_blocking.h"
#include "ir/operator/quant.h"
#include "ir/shape/common.h"

#define FIRST_CHANNELS_MAX 4
#define KERNEL_CELLS_MAX 4096
#define ROW_BLOCK_BYTES (160 << 10) /* input of a row block: stays in the second-level cache beside weights */
#define ROW_BLOCK_PIXELS 28         /* at least: a few register tiles */
#define OUTPUT_BLOCKS 2             /* per piece of work */
#define DEPTHWISE_BYTES (96 << 10)
#define EXACT_F32 (1 << 24)
#define FLAT_WIDTH 14               /* QUANT_FLAT_WIDTH */

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* Numbers per output are constants, and so is the weight. */
static bool constants_known(const rlx_op_t *op)
{
    static const int operands[] = {RLX_QUANT_W, RLX_QUANT_START, RLX_QUANT_SCALE, RLX_QUANT_BIAS};

    for (int i = 0; i < 4; i++)
        if (rlx_op_in(op, operands[i]) != NULL && op->in[operands[i]]->data == NULL)
            return false;
    return true;
}

static bool shape_read(const rlx_graph_t *graph, const rlx_op_t *op, rlx_quant_shape_t *out)
{
    const rlx_value_t *w = op->in[RLX_QUANT_W];
    int64_t dims[RLX_RANK_MAX];

    if (!constants_known(op) || !rlx_value_dims_const(graph, w, dims))
        return false;
    *out = (rlx_quant_shape_t){.group = op->kind == RLX_OP_qconv ? rlx_op_int(op, "group") : 1, .outputs = dims[0], .cells = 1, .pixel = 16,
                               .origin = op};
    out->channels = dims[1] * out->group;
    for (int i = 2; i < w->rank; i++)
        out->cells *= dims[i];
    return out->channels > 0 && out->outputs > 0 && out->cells > 0;
}

static bool pads_are_natural(const rlx_graph_t *graph, const rlx_op_t *op)
{
    for (int i = 0; op->pads != NULL && i < 2 * (op->in[0]->rank - 2); ++i)
        if (rlx_expr_node(graph->exprs, op->pads[i])->min < 0)
            return false;
    return true;
}

/* The sums of products of every channel are whole numbers that f32 holds. */
static bool depthwise_is_exact(const rlx_op_t *op, const rlx_quant_shape_t *s)
{
    const int16_t *w = op->in[RLX_QUANT_W]->data;

    for (int64_t o = 0; o < s->outputs; o++) {
        int64_t sum = 0;

        for (int64_t k = 0; k < s->cells; k++)
            sum += w[o * s->cells + k] < 0 ? -w[o * s->cells + k] : w[o * s->cells + k];
        if (sum * 255 >= EXACT_F32)
            return false;
    }
    return true;
}

rlx_quant_form_t rlx_quant_form(const rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_quant_shape_t s;

    if (op->in[0]->rank < 3 || op->in[0]->rank > 4 || !shape_read(graph, op, &s) || s.cells > KERNEL_CELLS_MAX || !pads_are_natural(graph, op))
        return RLX_QUANT_PLAIN;
    if (s.group > 1 && s.group == s.channels && s.group == s.outputs)
        return depthwise_is_exact(op, &s) ? RLX_QUANT_DEPTHWISE : RLX_QUANT_PLAIN;
    if (s.group == 1)
        return s.channels <= FIRST_CHANNELS_MAX ? RLX_QUANT_FIRST : RLX_QUANT_BLOCKED;
    return s.channels / s.group % 16 == 0 && s.outputs / s.group % 16 == 0 ? RLX_QUANT_BLOCKED : RLX_QUANT_PLAIN;
}

void rlx_quant_finish_params(rlx_step_t *step, int word, const rlx_op_t *op)
{
    bool product = op->kind == RLX_OP_qconv || op->kind == RLX_OP_qmatmul;
    int64_t point = rlx_op_int(op, "point");

    rlx_step_param_const(step, word + RLX_WORD(rlx_quant_finish_t, result), product ? rlx_op_int(op, "result") : RLX_QUANT_BYTES);
    rlx_step_param_f32(step, word + RLX_WORD(rlx_quant_finish_t, lo), (float)(rlx_op_int(op, "lo") - point));
    rlx_step_param_f32(step, word + RLX_WORD(rlx_quant_finish_t, hi), (float)(rlx_op_int(op, "hi") - point));
    rlx_step_param_const(step, word + RLX_WORD(rlx_quant_finish_t, point), point);
}

static int64_t point_flips(const rlx_op_t *op)
{
    const rlx_value_t *point = rlx_op_in(op, RLX_QUANT_POINT);

    return point != NULL && point->dtype == RLX_I8;
}

static rlx_expr_t flops_of(rlx_graph_t *graph, const rlx_op_t *op, const rlx_quant_shape_t *s)
{
    rlx_expr_t count = num(graph, 2 * s->cells * (s->channels / s->group));

    return rlx_expr_mul(graph->exprs, count, rlx_value_count(graph, op->out[0]));
}

static rlx_status_t lower_plain(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    bool conv = op->kind == RLX_OP_qconv;
    rlx_step_t *step = rlx_step_begin(builder, op, conv ? RLX_K_qconv_plain : RLX_K_qmatmul_plain, RLX_WORDS(rlx_qconv_plain_params_t));
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    rlx_expr_t rows = rlx_shape_product(graph, x->dims, 0, x->rank - 1);

    for (int i = RLX_QUANT_X; i <= RLX_QUANT_BIAS; i++)
        rlx_step_in(step, rlx_op_in(op, i));
    rlx_step_out(step, y);
    rlx_step_param(step, RLX_WORD(rlx_qconv_plain_params_t, batch), conv ? x->dims[0] : rows);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_plain_params_t, group), conv ? rlx_op_int(op, "group") : 1);
    rlx_step_param(step, RLX_WORD(rlx_qconv_plain_params_t, channels), x->dims[conv ? 1 : x->rank - 1]);
    rlx_step_param(step, RLX_WORD(rlx_qconv_plain_params_t, outputs), y->dims[conv ? 1 : y->rank - 1]);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_plain_params_t, x_point), rlx_op_int(op, "x_point"));
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_plain_params_t, flip), point_flips(op));
    if (conv) {
        rlx_conv_geometry_t g = rlx_conv_geometry_of(graph, op);

        rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_qconv_plain_params_t, window));
        rows = rlx_shape_product(graph, y->dims, 0, y->rank - 1);
    }
    rlx_quant_finish_params(step, RLX_WORD(rlx_qconv_plain_params_t, finish), op);
    return rlx_step_end(step, rows, RLX_EXPR_NONE, rlx_expr_mul(e, rlx_value_count(graph, y), num(graph, 2)), diag);
}

static bool is_in_place(const rlx_graph_t *graph, const rlx_conv_geometry_t *g, const rlx_quant_shape_t *s)
{
    return s->pixel == 16 && g->kernel[0] * g->kernel[1] == 1 && g->stride[0] * g->stride[1] == 1 && g->in[0] == g->out[0] &&
        g->in[1] == g->out[1] && rlx_expr_is(graph->exprs, g->pad[0], 0) && rlx_expr_is(graph->exprs, g->pad[1], 0);
}

static int64_t reach(const rlx_conv_geometry_t *g, int i) { return (g->kernel[i] - 1) * g->dilation[i]; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The step that gathers the input for all output rows (kernels/quant_gather.h). */
static rlx_status_t gather_lower(rlx_builder_t *builder, const rlx_op_t *op, const rlx_quant_shape_t *s, const rlx_conv_geometry_t *g,
                                 const rlx_value_t **out_x, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    int64_t phases = least(g->stride[0], reach(g, 0) + 1), variants = least(g->stride[1], reach(g, 1) + 1);
    rlx_expr_t rows = rlx_expr_add(e, g->out[0], num(graph, reach(g, 0) / g->stride[0])), flat, lines, columns, bytes, blocks;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qgather, RLX_WORDS(rlx_qgather_params_t));
    rlx_value_t *made;

    flat = g->kernel[1] == 1 ? num(graph, 1) : rlx_expr_lt(e, g->out[1], num(graph, FLAT_WIDTH));
    columns = rlx_expr_select(e, flat, g->out[1], rlx_expr_add(e, g->out[1], num(graph, reach(g, 1) / g->stride[1])));
    lines = rlx_expr_mul(e, rows, rlx_expr_mul(e, num(graph, phases), rlx_expr_select(e, flat, num(graph, g->kernel[1]), num(graph, variants))));
    blocks = rlx_expr_mul(e, op->in[0]->dims[0], num(graph, (s->channels + s->pixel - 1) / s->pixel));
    bytes = rlx_expr_mul(e, rlx_expr_mul(e, blocks, lines), rlx_expr_mul(e, columns, num(graph, s->pixel)));
    made = rlx_builder_temp(builder, RLX_U8, 1, &bytes, RLX_LAYOUT_ROW_MAJOR);
    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, rlx_op_in(op, RLX_QUANT_POINT));
    rlx_step_out(step, made);
    rlx_step_param(step, RLX_WORD(rlx_qgather_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_qgather_params_t, channels), s->channels);
    rlx_step_param_const(step, RLX_WORD(rlx_qgather_params_t, pixel), s->pixel);
    rlx_step_param_const(step, RLX_WORD(rlx_qgather_params_t, point), rlx_op_int(op, "x_point"));
    rlx_step_param_const(step, RLX_WORD(rlx_qgather_params_t, flip), point_flips(op));
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_qgather_params_t, window));
    *out_x = made;
    return rlx_step_end(step, rlx_expr_mul(e, blocks, lines), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* Output rows per row block: the input of one stays in cache, and it holds a few register tiles. */
static rlx_expr_t rows_choose(rlx_graph_t *graph, rlx_expr_t height, rlx_expr_t width, int64_t channels, rlx_expr_t *out_blocks)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = num(graph, 1), bytes = rlx_expr_mul(e, rlx_expr_max(e, width, one), num(graph, (channels + 15) / 16 * 16)), rows, blocks;

    rows = rlx_expr_max(e, rlx_expr_floordiv(e, num(graph, ROW_BLOCK_BYTES), bytes),
                        rlx_expr_ceildiv(e, num(graph, ROW_BLOCK_PIXELS), rlx_expr_max(e, width, one)));
    rows = rlx_expr_max(e, one, rlx_expr_min(e, rows, height));
    blocks = rlx_expr_max(e, one, rlx_expr_ceildiv(e, height, rows));
    rows = rlx_expr_max(e, one, rlx_expr_ceildiv(e, height, blocks));
    *out_blocks = rlx_expr_ceildiv(e, height, rows);
    return rows;
}

/* The step of the products; `x` is what they read. */
static rlx_status_t product_lower(rlx_builder_t *builder, const rlx_op_t *op, const rlx_quant_shape_t *s, const rlx_conv_geometry_t *g,
                                  const rlx_value_t *x, bool gathered, rlx_expr_t batch, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, s->origin, RLX_K_qconv, RLX_WORDS(rlx_qconv_params_t));
    int64_t ranges = ((s->outputs / s->group + 15) / 16 + OUTPUT_BLOCKS - 1) / OUTPUT_BLOCKS;
    bool blocked = op->kind == RLX_OP_qconv;
    rlx_expr_t plane = rlx_expr_mul(e, rlx_expr_mul(e, g->out[0], g->out[1]), num(graph, 16)), rows, row_blocks, tiles;
    int place = RLX_WORD(rlx_qconv_params_t, place);
    int64_t further;

    rlx_step_in(step, x);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, pairs), rlx_quant_weights_add(builder, step, op, s, &further));
    rlx_step_out(step, op->out[0]);
    rows = rows_choose(graph, g->out[0], g->out[1], s->channels, &row_blocks);
    rlx_step_param(step, RLX_WORD(rlx_qconv_params_t, batch), batch);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, group), s->group);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, channels), s->channels);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, outputs), s->outputs);
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_qconv_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_qconv_params_t, rows), rows);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, blocks), OUTPUT_BLOCKS);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, pixel), s->pixel);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, gathered), gathered);
    rlx_step_param_const(step, RLX_WORD(rlx_qconv_params_t, flip), point_flips(op));
    rlx_step_param(step, place + RLX_WORD(rlx_quant_place_t, image),
                   blocked ? rlx_expr_mul(e, plane, num(graph, (s->outputs + 15) / 16)) : num(graph, 0));
    rlx_step_param(step, place + RLX_WORD(rlx_quant_place_t, block), blocked ? plane : num(graph, 16));
    rlx_step_param_const(step, place + RLX_WORD(rlx_quant_place_t, pixel), blocked ? 16 : s->outputs);
    rlx_step_param_const(step, place + RLX_WORD(rlx_quant_place_t, whole), blocked);
    rlx_quant_finish_params(step, RLX_WORD(rlx_qconv_params_t, finish), op);
    tiles = rlx_expr_mul(e, rlx_expr_mul(e, batch, num(graph, s->group * ranges)), row_blocks);
    return rlx_step_end(step, tiles, num(graph, (s->cells + further + 7) / 8 * 64), flops_of(graph, op, s), diag);
}

static rlx_status_t lower_depthwise(rlx_builder_t *builder, const rlx_op_t *op, const rlx_quant_shape_t *s, const rlx_conv_geometry_t *g,
                                    rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qdepthwise, RLX_WORDS(rlx_qdepthwise_params_t));
    rlx_expr_t one = num(graph, 1), columns, row_bytes, rows, row_blocks, scratch;

    columns = rlx_expr_add(e, rlx_expr_mul(e, g->out[1], num(graph, g->stride[1])), num(graph, reach(g, 1) + 1));
    row_bytes = rlx_expr_mul(e, columns, num(graph, RLX_QDEPTHWISE_PIXEL));
    rows = rlx_expr_floordiv(e, num(graph, DEPTHWISE_BYTES), rlx_expr_mul(e, row_bytes, num(graph, g->stride[0])));
    rows = rlx_expr_max(e, one, rlx_expr_min(e, rlx_expr_sub(e, rows, num(graph, reach(g, 0) / g->stride[0])), g->out[0]));
    row_blocks = rlx_expr_max(e, one, rlx_expr_ceildiv(e, g->out[0], rows));
    rows = rlx_expr_max(e, one, rlx_expr_ceildiv(e, g->out[0], row_blocks));
    row_blocks = rlx_expr_ceildiv(e, g->out[0], rows);
    scratch = rlx_expr_add(e, rlx_expr_mul(e, rows, num(graph, g->stride[0])), num(graph, reach(g, 0) + 1));
    rlx_step_in(step, op->in[0]);
    rlx_quant_depthwise_add(builder, step, op, s);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_qdepthwise_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_qdepthwise_params_t, channels), s->channels);
    rlx_step_param_const(step, RLX_WORD(rlx_qdepthwise_params_t, x_point), rlx_op_int(op, "x_point"));
    rlx_step_param_const(step, RLX_WORD(rlx_qdepthwise_params_t, flip), point_flips(op));
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_qdepthwise_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_qdepthwise_params_t, rows), rows);
    rlx_quant_finish_params(step, RLX_WORD(rlx_qdepthwise_params_t, finish), op);
    return rlx_step_end(step, rlx_expr_mul(e, rlx_expr_mul(e, op->in[0]->dims[0], num(graph, (s->channels + 15) / 16)), row_blocks),
                        rlx_expr_mul(e, scratch, row_bytes), flops_of(graph, op, s), diag);
}

rlx_status_t rlx_quant_lower_conv(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_quant_form_t form = rlx_quant_form(graph, op);
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g;
    const rlx_value_t *x = op->in[0];
    rlx_quant_shape_t s;
    bool gathered;

    if (op->out[0]->layout == RLX_LAYOUT_ROW_MAJOR)
        return lower_plain(builder, op, diag);
    if (form == RLX_QUANT_PLAIN || !shape_read(graph, op, &s))
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "blocked layout on a convolution without a blocked kernel");
    g = rlx_conv_geometry_plane(graph, &read);
    if (form == RLX_QUANT_DEPTHWISE)
        return lower_depthwise(builder, op, &s, &g, diag);
    s.pixel = form == RLX_QUANT_FIRST ? 4 : 16;
    gathered = !is_in_place(graph, &g, &s);
    if (gathered)
        RLX_TRY(gather_lower(builder, op, &s, &g, &x, diag));
    return product_lower(builder, op, &s, &g, x, gathered, op->in[0]->dims[0], diag);
}

static rlx_conv_geometry_t rows_geometry(rlx_graph_t *graph, rlx_expr_t rows)
{
    rlx_expr_t one = num(graph, 1), zero = num(graph, 0);

    return (rlx_conv_geometry_t){.rank = 2, .in = {rows, one}, .out = {rows, one}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1},
                                 .pad = {zero, zero}, .pad_end = {zero, zero}};
}

rlx_status_t rlx_quant_lower_sums(rlx_builder_t *builder, const rlx_op_t *origin, const rlx_value_t *bytes, rlx_value_t *w, rlx_value_t *sums,
                                  rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_value_t *in[RLX_QUANT_BIAS + 1] = {[RLX_QUANT_W] = w};
    rlx_op_t op = {.kind = RLX_OP_qmatmul, .name = origin->name, .source = origin->source, .n_in = RLX_QUANT_BIAS + 1, .in = in, .n_out = 1,
                   .out = &sums};
    rlx_conv_geometry_t g = rows_geometry(graph, sums->dims[0]);
    rlx_quant_shape_t s;

    rlx_op_set_int(graph, &op, "result", RLX_QUANT_SUMS);
    if (!shape_read(graph, &op, &s))
        return rlx_shape_fail(diag, origin, RLX_E_INTERNAL, "weights of sums that are not known");
    s.origin = origin;
    return product_lower(builder, &op, &s, &g, bytes, false, num(graph, 1), diag);
}

rlx_status_t rlx_quant_lower_matmul(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_expr_t rows = rlx_shape_product(graph, x->dims, 0, x->rank - 1), one = num(graph, 1), bytes;
    rlx_conv_geometry_t g = rows_geometry(graph, rows);
    rlx_quant_shape_t s;
    rlx_value_t *made;
    rlx_step_t *step;

    if (rlx_builder_level(builder) < 3 || !shape_read(graph, op, &s))
        return lower_plain(builder, op, diag);
    bytes = rlx_expr_mul(e, rows, num(graph, (s.channels + 15) / 16 * 16));
    made = rlx_builder_temp(builder, RLX_U8, 1, &bytes, RLX_LAYOUT_ROW_MAJOR);
    step = rlx_step_begin(builder, op, RLX_K_qrows, RLX_WORDS(rlx_qrows_params_t));
    rlx_step_in(step, x);
    rlx_step_out(step, made);
    rlx_step_param(step, RLX_WORD(rlx_qrows_params_t, rows), rows);
    rlx_step_param_const(step, RLX_WORD(rlx_qrows_params_t, columns), s.channels);
    RLX_TRY(rlx_step_end(step, rlx_expr_ceildiv(e, rows, num(graph, 64)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag));
    return product_lower(builder, op, &s, &g, made, false, one, diag);
}
