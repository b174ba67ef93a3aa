/* The quantise pass: activations become u8, dequantisations move behind what only moves bytes, then every quantisation asks the rules. */
#include "ir/pass/quantise.h"

#include <math.h>
#include <string.h>

#include "ir/builder.h"

/* A constant scalar zero point; absent: 0. */
static bool point_read(const rlx_graph_t *graph, const rlx_value_t *value, int32_t *out)
{
    int64_t count;

    *out = 0;
    if (value == NULL)
        return true;
    if (value->data == NULL || !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, value), &count) || count != 1)
        return false;
    if (value->dtype == RLX_U8)
        *out = *(const uint8_t *)value->data;
    else if (value->dtype == RLX_I8)
        *out = *(const int8_t *)value->data;
    return value->dtype == RLX_U8 || value->dtype == RLX_I8;
}

/* The constant scale and zero point of a quantize or dequantize op. */
static bool numbers_read(const rlx_graph_t *graph, const rlx_op_t *op, float *out_scale, int32_t *out_point)
{
    double scale;

    if (!rlx_value_scalar(graph, op->in[1], &scale) || !(scale > 0) || isinf(scale) || !point_read(graph, rlx_op_in(op, 2), out_point))
        return false;
    *out_scale = (float)scale;
    return true;
}

bool rlx_quant_tensor_read(const rlx_graph_t *graph, const rlx_value_t *value, rlx_quant_tensor_t *out)
{
    const rlx_op_t *op = rlx_value_made_by(value, RLX_OP_dequantize);

    if (op == NULL || op->in[0]->dtype != RLX_U8 || op->in[0]->data != NULL || !numbers_read(graph, op, &out->scale, &out->point))
        return false;
    out->q = op->in[0];
    return true;
}

uint8_t rlx_quant_target_byte(const rlx_quant_target_t *t, float number)
{
    float v = rintf(number / t->scale) + (float)t->point;

    return (uint8_t)(v >= (float)t->hi ? t->hi : v > (float)t->lo ? (int32_t)v : t->lo);
}

rlx_op_t *rlx_quant_op(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const rlx_op_t *like, int n_in, rlx_value_t *const *in)
{
    rlx_value_t *out = rlx_graph_value(graph, like->out[0] != NULL ? like->out[0]->name : like->name, RLX_DTYPE_NONE);
    rlx_op_t *op = rlx_graph_op(graph, before, kind, like->name, n_in, in, 1, &out);

    op->source = like->source;
    return op;
}

rlx_value_t *rlx_quant_op_end(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    return rlx_op_infer(graph, op, diag) == RLX_OK ? op->out[0] : NULL;
}

void rlx_quant_target_set(rlx_graph_t *graph, rlx_op_t *op, const rlx_quant_target_t *target)
{
    rlx_op_set_int(graph, op, "lo", target->lo);
    rlx_op_set_int(graph, op, "hi", target->hi);
    rlx_op_set_int(graph, op, "point", target->point);
}

static rlx_value_t *point_const(rlx_graph_t *graph, const char *name, int32_t point)
{
    uint8_t byte = (uint8_t)point;

    return rlx_graph_const(graph, name, RLX_U8, 0, NULL, &byte, false);
}

static rlx_value_t *flipped(rlx_graph_t *graph, rlx_op_t *before, rlx_value_t *value, const rlx_op_t *like, rlx_diag_t *diag)
{
    rlx_op_t *flip = rlx_value_made_by(value, RLX_OP_qflip);

    if (flip != NULL)
        return flip->in[0];
    return rlx_quant_op_end(graph, rlx_quant_op(graph, before, RLX_OP_qflip, like, 1, &value), diag);
}

/* The same op with operands (x, scale, point + 128) of u8. */
static rlx_op_t *as_unsigned(rlx_graph_t *graph, rlx_op_t *op, rlx_value_t *x, int32_t point)
{
    rlx_value_t *in[3] = {x, op->in[1], point_const(graph, op->name, point + 128)};
    rlx_op_t *made = rlx_quant_op(graph, op, op->kind, op, 3, in);

    if (op->kind == RLX_OP_quantize)
        rlx_op_set_int(graph, made, "to", RLX_U8);
    return made;
}

/* i8 activations count from -128: u8 inside, a flip where somebody else sees them. */
static rlx_status_t make_unsigned(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    bool quantize = op->kind == RLX_OP_quantize;
    const rlx_value_t *bytes = quantize ? op->out[0] : op->in[0];
    rlx_value_t *value = op->in[0];
    int32_t point;
    float scale;

    if (bytes->dtype != RLX_I8 || bytes->data != NULL || op->out[0]->is_output || !numbers_read(graph, op, &scale, &point))
        return RLX_OK;
    if (!quantize && (value = flipped(graph, op, value, op, diag)) == NULL)
        return diag->status;
    value = rlx_quant_op_end(graph, as_unsigned(graph, op, value, point), diag);
    if (value != NULL && quantize)
        value = flipped(graph, op, value, op, diag);
    if (value == NULL)
        return diag->status;
    rlx_op_replace(graph, op, value);
    return RLX_OK;
}

/* Moves bytes and computes nothing, or chooses the greatest: the same on bytes as on the numbers they stand for. */
static bool only_moves(const rlx_op_t *op)
{
    switch (op->kind) {
    case RLX_OP_reshape:
    case RLX_OP_transpose:
    case RLX_OP_expand:
    case RLX_OP_slice:
    case RLX_OP_tile:
    case RLX_OP_depth_to_space:
    case RLX_OP_space_to_depth:
    case RLX_OP_gather: return true;
    case RLX_OP_max_pool: return op->n_out == 1 || op->out[1] == NULL;
    default: return false;
    }
}

/* mover(dequantize(q)) to dequantize(mover(q)). */
static rlx_status_t move_before(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_op_t *dequantize = rlx_value_made_by(op->in[0], RLX_OP_dequantize);
    rlx_value_t *in[3], *made, *old = op->out[0];
    rlx_quant_tensor_t x;
    rlx_op_t *after;

    if (!only_moves(op) || old == NULL || old->is_output || !rlx_quant_tensor_read(graph, op->in[0], &x))
        return RLX_OK;
    in[1] = dequantize->in[1];
    in[2] = rlx_op_in(dequantize, 2);
    made = rlx_graph_value(graph, old->name, RLX_F32);
    rlx_value_replace_uses(graph, old, made);
    rlx_op_set_input(op, 0, x.q);
    RLX_TRY(rlx_op_infer(graph, op, diag));
    in[0] = old;
    after = rlx_graph_op(graph, op->next, RLX_OP_dequantize, op->name, in[2] != NULL ? 3 : 2, in, 1, &made);
    after->source = op->source;
    return rlx_op_infer(graph, after, diag);
}

/* Takes a relu or a clip off `value`, whose only user is a quantisation, and narrows the target instead. */
static rlx_value_t *clamp_strip(const rlx_graph_t *graph, rlx_value_t *value, rlx_quant_target_t *target)
{
    rlx_op_t *op = value->producer;
    double lo = 0, hi = INFINITY;
    int32_t least, most;

    if (op == NULL || rlx_value_single_user(graph, value) == NULL || (op->kind != RLX_OP_relu && op->kind != RLX_OP_clip))
        return NULL;
    if (op->kind == RLX_OP_clip) {
        lo = -INFINITY;
        if ((rlx_op_in(op, 1) != NULL && !rlx_value_scalar(graph, op->in[1], &lo)) ||
            (rlx_op_in(op, 2) != NULL && !rlx_value_scalar(graph, op->in[2], &hi)) || isnan(lo) || isnan(hi) || lo > hi)
            return NULL;
    }
    least = rlx_quant_target_byte(target, (float)lo);
    most = rlx_quant_target_byte(target, (float)hi);
    target->lo = least;
    target->hi = most;
    return op->in[0];
}

/* quantize(dequantize(q)). */
static rlx_status_t rule_same(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target, rlx_value_t **out,
                              rlx_diag_t *diag)
{
    rlx_quant_tensor_t x;

    (void)diag;
    (void)quantize;
    if (rlx_quant_tensor_read(graph, value, &x) && x.scale == target->scale && x.point == target->point && target->lo == 0 &&
        target->hi == 255)
        *out = x.q;
    return RLX_OK;
}

static rlx_status_t fuse_quantize(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    static rlx_quant_rule_t *const rules[] = {rule_same, rlx_quant_rule_product, rlx_quant_rule_add, rlx_quant_rule_mul,
                                              rlx_quant_rule_average, rlx_quant_rule_concat, rlx_quant_rule_lookup};
    rlx_quant_target_t target = {.hi = 255};
    rlx_value_t *value = op->in[0], *stripped, *made = NULL;

    if (op->out[0]->dtype != RLX_U8 || value->data != NULL || !numbers_read(graph, op, &target.scale, &target.point))
        return RLX_OK;
    while ((stripped = clamp_strip(graph, value, &target)) != NULL)
        value = stripped;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && made == NULL; i++)
        RLX_TRY(rules[i](graph, op, value, &target, &made, diag));
    if (made != NULL && !(op->out[0]->is_output && (made->is_input || made->is_output)))
        rlx_op_replace(graph, op, made);
    return RLX_OK;
}

/* Quantised constants (weights in floats with quantize and dequantize before them) as the integers they become. */
static rlx_status_t fold_constant(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int64_t dims[RLX_RANK_MAX];
    rlx_value_t *constant;
    void *data;

    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] != NULL && op->in[i]->data == NULL)
            return RLX_OK;
    if (op->out[0]->is_output || !rlx_value_dims_const(graph, op->out[0], dims))
        return RLX_OK;
    RLX_TRY(rlx_evaluate_op(graph, op, &data, diag));
    constant = rlx_graph_const(graph, op->out[0]->name, op->out[0]->dtype, op->out[0]->rank, dims, data, true);
    rlx_value_replace_uses(graph, op->out[0], constant);
    rlx_graph_remove(graph, op);
    return RLX_OK;
}

/* The greatest byte that a value can hold, as far as its producers say. */
static int64_t greatest(const rlx_value_t *value, int depth)
{
    const rlx_op_t *op = value->producer;
    int64_t most = 0;

    if (op == NULL || depth == 0)
        return 255;
    switch (op->kind) {
    case RLX_OP_qconv:
    case RLX_OP_qmatmul:
    case RLX_OP_qadd:
    case RLX_OP_qmul:
    case RLX_OP_qavg_pool: return rlx_op_int(op, "hi");
    case RLX_OP_qlookup:
        for (int i = 0; i < 256; i++)
            if (((const uint8_t *)op->in[1]->data)[i] > most)
                most = ((const uint8_t *)op->in[1]->data)[i];
        return most;
    case RLX_OP_concat:
        for (int i = 0; i < op->n_in; i++) {
            int64_t part = greatest(op->in[i], depth - 1);

            most = part > most ? part : most;
        }
        return most;
    default: return only_moves(op) ? greatest(op->in[0], depth - 1) : 255;
    }
}

static void note_ranges(rlx_graph_t *graph)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        int64_t most, point;

        if (op->kind != RLX_OP_qconv && op->kind != RLX_OP_qmatmul)
            continue;
        most = greatest(op->in[0], 8);
        point = rlx_op_int(op, "x_point"); /* padding counts as the zero point */
        rlx_op_set_int(graph, op, "x_max", most > point ? most : point);
    }
}

static rlx_status_t rewrite(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_quantize: return fuse_quantize(graph, op, diag);
    case RLX_OP_mul: return rlx_quant_rewrite_scaled(graph, op, diag);
    default: return move_before(graph, op, diag);
    }
}

typedef rlx_status_t visit_fn_t(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

static rlx_status_t unsign(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->kind == RLX_OP_quantize || op->kind == RLX_OP_qflip)
        RLX_TRY(fold_constant(graph, op, diag));
    return op->kind == RLX_OP_quantize || op->kind == RLX_OP_dequantize ? make_unsigned(graph, op, diag) : RLX_OK;
}

static rlx_status_t visit_all(rlx_graph_t *graph, visit_fn_t *visit, rlx_diag_t *diag)
{
    rlx_op_t *next;

    for (rlx_op_t *op = graph->first; op != NULL; op = next) {
        next = op->next;
        if (visit(graph, op, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s", op->source);
    }
    rlx_pass_dead_code(graph);
    return RLX_OK;
}

rlx_status_t rlx_pass_quantise(rlx_graph_t *graph, rlx_diag_t *diag)
{
    RLX_TRY(visit_all(graph, unsign, diag));
    RLX_TRY(visit_all(graph, rewrite, diag));
    RLX_TRY(visit_all(graph, rlx_quant_rewrite_product, diag));
    note_ranges(graph);
    return RLX_OK;
}
