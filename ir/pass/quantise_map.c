/* Sums, products, averages, concatenations and functions of quantised operands. See ir/pass/quantise.h. */
#include <math.h>
#include <string.h>

#include "ir/builder.h"
#include "ir/pass/quantise.h"

#define CHAIN_MAX 16

static bool made_alone(const rlx_value_t *value, rlx_op_kind_t kind)
{
    return value->producer != NULL && value->producer->kind == kind && value->n_uses == 1 && !value->is_output;
}

static bool same_extents(const rlx_value_t *a, const rlx_value_t *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

static rlx_status_t binary_make(rlx_graph_t *graph, rlx_op_t *quantize, const rlx_op_t *like, const rlx_quant_tensor_t *a,
                                const rlx_quant_tensor_t *b, const rlx_quant_target_t *target, rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_value_t *in[2] = {a->q, b->q};
    bool adds = like->kind == RLX_OP_add;
    rlx_op_t *made = rlx_quant_op(graph, quantize, adds ? RLX_OP_qadd : RLX_OP_qmul, like, 2, in);

    rlx_op_set_int(graph, made, "a_point", a->point);
    rlx_op_set_int(graph, made, "b_point", b->point);
    rlx_op_set_float(graph, made, "a_scale", adds ? a->scale / target->scale : a->scale * b->scale / target->scale);
    if (adds)
        rlx_op_set_float(graph, made, "b_scale", b->scale / target->scale);
    rlx_quant_target_set(graph, made, target);
    *out = rlx_quant_op_end(graph, made, diag);
    return *out != NULL ? RLX_OK : diag->status;
}

rlx_status_t rlx_quant_rule_add(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_quant_tensor_t a, b;
    rlx_op_t *op = value->producer;

    if (!made_alone(value, RLX_OP_add) || !rlx_quant_tensor_read(graph, op->in[0], &a) || !rlx_quant_tensor_read(graph, op->in[1], &b) ||
        !same_extents(a.q, b.q))
        return RLX_OK;
    return binary_make(graph, quantize, op, &a, &b, target, out, diag);
}

/* b is one number per image and channel. */
static bool is_per_channel(const rlx_graph_t *graph, const rlx_value_t *a, const rlx_value_t *b)
{
    if (a->rank != b->rank || a->rank < 3 || a->rank > 4 || a->dims[0] != b->dims[0] || a->dims[1] != b->dims[1])
        return false;
    for (int i = 2; i < b->rank; i++)
        if (!rlx_expr_is(graph->exprs, b->dims[i], 1))
            return false;
    return true;
}

rlx_status_t rlx_quant_rule_mul(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_quant_tensor_t a, b;
    rlx_op_t *op = value->producer;

    if (!made_alone(value, RLX_OP_mul) || !rlx_quant_tensor_read(graph, op->in[0], &a) || !rlx_quant_tensor_read(graph, op->in[1], &b))
        return RLX_OK;
    if (same_extents(a.q, b.q) || is_per_channel(graph, a.q, b.q))
        return binary_make(graph, quantize, op, &a, &b, target, out, diag);
    return is_per_channel(graph, b.q, a.q) ? binary_make(graph, quantize, op, &b, &a, target, out, diag) : RLX_OK;
}

/* A mean over exactly the spatial axes, kept. */
static bool is_global_mean(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int64_t axes[RLX_RANK_MAX];
    unsigned seen = 0;
    int count = 0, rank = op->in[0]->rank;

    if (op->kind != RLX_OP_reduce_mean || rlx_op_int(op, "keepdims") == 0 || rank < 3 || rank > 4 || rlx_op_in(op, 1) == NULL ||
        !rlx_value_ints(graph, op->in[1], axes, RLX_RANK_MAX, &count) || count != rank - 2)
        return false;
    for (int i = 0; i < count; ++i)
        seen |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
    return seen == (rank == 4 ? 0xcu : 0x4u);
}

static void pool_attrs(rlx_graph_t *graph, rlx_op_t *made, const rlx_op_t *op)
{
    static const char *const lists[] = {"kernel", "strides", "dilations"};

    for (int i = 0; i < 3; i++) {
        const rlx_attr_t *attr = rlx_op_attr(op, lists[i]);

        if (attr != NULL)
            rlx_op_set_ints(graph, made, lists[i], attr->is, attr->n);
    }
    rlx_op_set_int(graph, made, "ceil_mode", rlx_op_int(op, "ceil_mode"));
    rlx_op_set_int(graph, made, "count_include_pad", rlx_op_int(op, "count_include_pad"));
    made->pads = op->pads;
}

rlx_status_t rlx_quant_rule_average(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                    rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_op_t *op = value->producer, *made;
    rlx_quant_tensor_t x;

    if ((!made_alone(value, RLX_OP_avg_pool) && !made_alone(value, RLX_OP_reduce_mean)) || !rlx_quant_tensor_read(graph, op->in[0], &x) ||
        x.q->rank < 3 || x.q->rank > 4 || (op->kind == RLX_OP_reduce_mean && !is_global_mean(graph, op)))
        return RLX_OK;
    made = rlx_quant_op(graph, quantize, RLX_OP_qavg_pool, op, 1, &x.q);
    if (op->kind == RLX_OP_avg_pool)
        pool_attrs(graph, made, op);
    else
        rlx_op_set_int(graph, made, "global", 1);
    rlx_op_set_int(graph, made, "x_point", x.point);
    rlx_op_set_float(graph, made, "scale", x.scale / target->scale);
    rlx_quant_target_set(graph, made, target);
    *out = rlx_quant_op_end(graph, made, diag);
    return *out != NULL ? RLX_OK : diag->status;
}

static rlx_status_t lookup_make(rlx_graph_t *graph, rlx_op_t *before, const rlx_op_t *like, rlx_value_t *q, const uint8_t table[256],
                                rlx_value_t **out, rlx_diag_t *diag)
{
    static const int64_t entries = 256;
    rlx_value_t *in[2] = {q, rlx_graph_const(graph, like->name, RLX_U8, 1, &entries, table, false)};

    *out = rlx_quant_op_end(graph, rlx_quant_op(graph, before, RLX_OP_qlookup, like, 2, in), diag);
    return *out != NULL ? RLX_OK : diag->status;
}

/* The operand of an element-wise f32 op that is not a constant scalar; -1 when there is not exactly one. */
static int running_operand(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int found = -1;
    double ignored;

    if ((rlx_op_info(op->kind)->traits & RLX_TRAIT_ELEMENTWISE) == 0 || op->kind == RLX_OP_fused || op->kind == RLX_OP_cast ||
        op->kind == RLX_OP_where || op->n_out != 1 || op->out[0]->dtype != RLX_F32)
        return -1;
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i] == NULL || rlx_value_scalar(graph, op->in[i], &ignored))
            continue;
        if (found >= 0 || op->in[i]->dtype != RLX_F32)
            return -1;
        found = i;
    }
    return found;
}

/* What `op` makes of 256 numbers. */
static rlx_status_t apply(rlx_graph_t *graph, rlx_op_t *op, int operand, const float *x, const float **out_y, rlx_diag_t *diag)
{
    static const int64_t entries = 256;
    rlx_value_t *in[3] = {NULL};
    rlx_op_t *made;
    void *data;

    for (int i = 0; i < op->n_in; i++)
        in[i] = i == operand ? rlx_graph_const(graph, op->name, RLX_F32, 1, &entries, x, false) : op->in[i];
    made = rlx_quant_op(graph, op, op->kind, op, op->n_in, in);
    made->n_attrs = op->n_attrs;
    made->attrs = op->attrs;
    if (rlx_quant_op_end(graph, made, diag) == NULL)
        return diag->status;
    RLX_TRY(rlx_evaluate_op(graph, made, &data, diag));
    rlx_graph_remove(graph, made);
    *out_y = data;
    return RLX_OK;
}

/* Element-wise ops of one operand, from a dequantised activation to the quantisation: a table. */
rlx_status_t rlx_quant_rule_lookup(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                   rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_op_t *chain[CHAIN_MAX];
    int operand[CHAIN_MAX], n = 0;
    float numbers[256];
    const float *y = numbers;
    uint8_t table[256];
    rlx_quant_tensor_t x;

    for (; !rlx_quant_tensor_read(graph, value, &x); n++) {
        rlx_op_t *op = value->producer;

        if (n == CHAIN_MAX || op == NULL || value->is_output || value->rank != quantize->in[0]->rank ||
            (operand[n] = running_operand(graph, op)) < 0)
            return RLX_OK;
        chain[n] = op;
        value = op->in[operand[n]];
    }
    for (int i = 0; i < 256; i++)
        numbers[i] = (float)(i - x.point) * x.scale;
    while (n-- > 0)
        RLX_TRY(apply(graph, chain[n], operand[n], y, &y, diag));
    for (int i = 0; i < 256; i++)
        table[i] = y[i] == y[i] ? rlx_quant_target_byte(target, y[i]) : (uint8_t)target->lo;
    return lookup_make(graph, quantize, quantize, x.q, table, out, diag);
}

/* concat of dequantised activations: of their bytes, each made to mean the same. */
rlx_status_t rlx_quant_rule_concat(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                   rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_op_t *op = value->producer, *made;
    rlx_quant_tensor_t x;
    rlx_value_t **in;

    if (!made_alone(value, RLX_OP_concat))
        return RLX_OK;
    for (int i = 0; i < op->n_in; i++)
        if (!rlx_quant_tensor_read(graph, op->in[i], &x))
            return RLX_OK;
    in = rlx_graph_alloc(graph, (size_t)op->n_in * sizeof *in);
    for (int i = 0; i < op->n_in; i++) {
        uint8_t table[256];

        rlx_quant_tensor_read(graph, op->in[i], &x);
        for (int k = 0; k < 256; k++)
            table[k] = rlx_quant_target_byte(target, (float)(k - x.point) * x.scale);
        in[i] = x.q;
        if (x.scale != target->scale || x.point != target->point || target->lo != 0 || target->hi != 255)
            RLX_TRY(lookup_make(graph, quantize, quantize, x.q, table, &in[i], diag));
    }
    made = rlx_quant_op(graph, quantize, RLX_OP_concat, op, op->n_in, in);
    rlx_op_set_int(graph, made, "axis", rlx_op_int(op, "axis"));
    *out = rlx_quant_op_end(graph, made, diag);
    return *out != NULL ? RLX_OK : diag->status;
}
