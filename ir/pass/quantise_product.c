/* Convolutions and products of dequantised operands as qconv and qmatmul. See ir/pass/quantise.h. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "ir/pass/quantise.h"

#define SUMS_MAX ((int64_t)1 << 30) /* products per output: keeps every partial sum of |x| * |w| far from overflow checks of callers */

/* A dequantised constant: whole numbers less their zero points, and their scales. */
typedef struct constant {
    const rlx_op_t *dequantize;
    int64_t dims[RLX_RANK_MAX];
    int64_t count;
    int axis;         /* of the scales */
    bool per_axis;
} constant_t;

static bool constant_read(const rlx_graph_t *graph, const rlx_value_t *value, constant_t *out)
{
    const rlx_op_t *op = rlx_value_made_by(value, RLX_OP_dequantize);
    int64_t scales;

    if (op == NULL || op->in[0]->data == NULL || op->in[1]->data == NULL || (rlx_op_in(op, 2) != NULL && op->in[2]->data == NULL) ||
        !rlx_value_dims_const(graph, op->in[0], out->dims) || !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, op->in[1]), &scales))
        return false;
    out->dequantize = op;
    out->per_axis = scales != 1;
    out->axis = (int)rlx_op_int(op, "axis");
    if (out->axis < 0)
        out->axis += op->in[0]->rank;
    out->count = 1;
    for (int i = 0; i < op->in[0]->rank; i++)
        out->count *= out->dims[i];
    return true;
}

static int32_t byte_at(const rlx_value_t *value, int64_t at)
{
    return value->dtype == RLX_U8 ? ((const uint8_t *)value->data)[at] : ((const int8_t *)value->data)[at];
}

static float scale_at(const constant_t *c, int64_t index) { return ((const float *)c->dequantize->in[1]->data)[c->per_axis ? index : 0]; }

static int32_t point_at(const constant_t *c, int64_t index)
{
    const rlx_value_t *point = rlx_op_in(c->dequantize, 2);

    return point != NULL ? byte_at(point, c->per_axis ? index : 0) : 0;
}

/* Weights of bytes whose scales belong to the outputs, which are axis `axis`. */
static bool weight_read(const rlx_graph_t *graph, const rlx_value_t *value, int axis, constant_t *out)
{
    const rlx_value_t *q;

    if (!constant_read(graph, value, out))
        return false;
    q = out->dequantize->in[0];
    if ((q->dtype != RLX_U8 && q->dtype != RLX_I8) || (out->per_axis && out->axis != axis) || out->count > SUMS_MAX)
        return false;
    for (int64_t o = 0; o < (out->per_axis ? out->dims[axis] : 1); o++)
        if (!(scale_at(out, o) > 0) || isinf(scale_at(out, o)))
            return false;
    return true;
}

/* i16 [outputs][rest], less the zero points; outputs are axis 0, or axis 1 of a matrix. */
static rlx_value_t *weight_make(rlx_graph_t *graph, const constant_t *c, bool transposed)
{
    const rlx_value_t *q = c->dequantize->in[0];
    int64_t outputs = c->dims[transposed ? 1 : 0], rest = c->count / (outputs > 0 ? outputs : 1), dims[RLX_RANK_MAX];
    int16_t *data = rlx_graph_alloc(graph, (size_t)c->count * sizeof *data + 64);

    memcpy(dims, c->dims, sizeof dims);
    if (transposed) {
        dims[0] = outputs;
        dims[1] = rest;
    }
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < rest; i++)
            data[o * rest + i] = (int16_t)(byte_at(q, transposed ? i * outputs + o : o * rest + i) - point_at(c, o));
    return rlx_graph_const(graph, q->name, RLX_I16, q->rank, dims, data, true);
}

static rlx_value_t *floats_make(rlx_graph_t *graph, const char *name, const float *data, int64_t count)
{
    return rlx_graph_const(graph, name, RLX_F32, 1, &count, data, false);
}

/* The product to be replaced, and what was found out about it. */
typedef struct product {
    rlx_op_t *op;
    rlx_quant_tensor_t x;
    constant_t w;
    bool transposed;   /* of a matmul: the weight's outputs are its columns */
    int64_t outputs;
    rlx_value_t *bias; /* or NULL */
} product_t;

static bool is_rank_one(const rlx_value_t *value) { return value->rank == 1; }

static bool product_read(const rlx_graph_t *graph, rlx_op_t *op, product_t *out)
{
    bool matmul = op->kind == RLX_OP_matmul;
    int axis = matmul && rlx_op_int(op, "trans_b") == 0 ? 1 : 0;

    if (!matmul && op->kind != RLX_OP_conv)
        return false;
    *out = (product_t){.op = op, .transposed = axis == 1, .bias = rlx_op_in(op, 2)};
    if (op->sched != NULL || !rlx_quant_tensor_read(graph, op->in[0], &out->x) || !weight_read(graph, op->in[1], axis, &out->w) ||
        (out->bias != NULL && !is_rank_one(out->bias)))
        return false;
    if (matmul && (out->w.dequantize->in[0]->rank != 2 || rlx_op_int(op, "trans_a") != 0 || rlx_op_attr(op, "perm_a") != NULL ||
                   rlx_op_attr(op, "perm_b") != NULL || rlx_op_attr(op, "perm_out") != NULL))
        return false;
    out->outputs = out->w.dims[axis];
    return out->outputs > 0;
}

/* A bias that was quantised: i32, no zero point (or zero). */
static bool bias_read(const rlx_graph_t *graph, const rlx_value_t *value, int64_t outputs, constant_t *out)
{
    const rlx_value_t *point;

    if (!constant_read(graph, value, out) || out->dequantize->in[0]->dtype != RLX_I32 || out->count != outputs)
        return false;
    point = rlx_op_in(out->dequantize, 2);
    for (int64_t i = 0; point != NULL && i < (out->per_axis ? outputs : 1); i++)
        if (((const int32_t *)point->data)[i] != 0)
            return false;
    return true;
}

/* The bias in units of the sums: as it stands where it was quantised so, else rounded to them. False: not constant, or out of range. */
static bool sums_make(rlx_graph_t *graph, const product_t *p, rlx_value_t **out)
{
    int32_t *data = rlx_graph_alloc(graph, (size_t)p->outputs * sizeof *data + 64);
    const rlx_op_t *dequantize = rlx_value_made_by(p->bias, RLX_OP_dequantize);
    const rlx_value_t *bias = p->bias;
    constant_t c = {0};

    *out = NULL;
    if (bias == NULL)
        return true;
    if (dequantize != NULL && !bias_read(graph, bias, p->outputs, &c))
        return false;
    if (dequantize == NULL && (bias->data == NULL || bias->dtype != RLX_F32))
        return false;
    for (int64_t o = 0; o < p->outputs; o++) {
        double unit = (double)p->x.scale * scale_at(&p->w, o), v;

        if (dequantize != NULL)
            v = (double)((const int32_t *)c.dequantize->in[0]->data)[o] * scale_at(&c, o) / unit;
        else
            v = ((const float *)bias->data)[o] / unit;
        v = rint(v);
        if (!(fabs(v) < 0x1p31))
            return false;
        data[o] = (int32_t)v;
    }
    *out = rlx_graph_const(graph, bias->name, RLX_I32, 1, &p->outputs, data, true);
    return true;
}

static void copy_attrs(rlx_graph_t *graph, rlx_op_t *made, const rlx_op_t *op)
{
    static const char *const lists[] = {"strides", "dilations"};

    if (op->kind != RLX_OP_conv)
        return;
    for (int i = 0; i < 2; i++) {
        const rlx_attr_t *attr = rlx_op_attr(op, lists[i]);

        if (attr != NULL)
            rlx_op_set_ints(graph, made, lists[i], attr->is, attr->n);
    }
    rlx_op_set_int(graph, made, "group", rlx_op_int(op, "group"));
    made->pads = op->pads;
}

/* The op with its operands; `before` is where it goes, `like` names it. target NULL: the result is f32. */
static rlx_status_t product_make(rlx_graph_t *graph, rlx_op_t *before, const rlx_op_t *like, const product_t *p,
                                 const rlx_quant_target_t *target, rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_value_t *in[7] = {p->x.q, NULL, NULL, NULL, NULL, NULL, target == NULL ? p->bias : NULL};
    float *scale = rlx_graph_alloc(graph, (size_t)p->outputs * sizeof *scale + 64);
    rlx_op_t *made;

    if (target != NULL && !sums_make(graph, p, &in[2]))
        return RLX_OK;
    for (int64_t o = 0; o < p->outputs; o++) {
        scale[o] = p->x.scale * scale_at(&p->w, o);
        if (target != NULL)
            scale[o] /= target->scale;
        if (!isfinite(scale[o]))
            return RLX_OK;
    }
    in[1] = weight_make(graph, &p->w, p->transposed);
    in[3] = floats_make(graph, like->name, scale, p->outputs);
    made = rlx_quant_op(graph, before, p->op->kind == RLX_OP_conv ? RLX_OP_qconv : RLX_OP_qmatmul, like, in[6] != NULL ? 7 : 4, in);
    copy_attrs(graph, made, p->op);
    rlx_op_set_int(graph, made, "x_point", p->x.point);
    rlx_op_set_int(graph, made, "result", target != NULL ? 0 : 1);
    if (target != NULL)
        rlx_quant_target_set(graph, made, target);
    *out = rlx_quant_op_end(graph, made, diag);
    return *out != NULL ? RLX_OK : diag->status;
}

/* add(matmul, bias): the matmul, with the bias that was found. */
static bool added_bias(const rlx_graph_t *graph, rlx_op_t *add, product_t *out)
{
    for (int i = 0; i < 2 && add != NULL && add->kind == RLX_OP_add; i++) {
        rlx_op_t *op = add->in[i]->producer;

        if (op != NULL && op->kind == RLX_OP_matmul && rlx_op_in(op, 2) == NULL && rlx_value_single_user(graph, add->in[i]) != NULL &&
            is_rank_one(add->in[1 - i]) && add->in[i]->rank >= 2 && product_read(graph, op, out) &&
            rlx_expr_is(graph->exprs, add->in[1 - i]->dims[0], out->outputs)) {
            out->bias = add->in[1 - i];
            return true;
        }
    }
    return false;
}

rlx_status_t rlx_quant_rule_product(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                    rlx_value_t **out, rlx_diag_t *diag)
{
    product_t p;

    if (value->producer == NULL || value->n_uses != 1 || value->is_output ||
        (!product_read(graph, value->producer, &p) && !added_bias(graph, value->producer, &p)))
        return RLX_OK;
    return product_make(graph, quantize, value->producer, &p, target, out, diag);
}

rlx_status_t rlx_quant_rewrite_product(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_value_t *made = NULL;
    product_t p;

    if (!product_read(graph, op, &p))
        return RLX_OK;
    if (p.bias != NULL && p.bias->data == NULL) { /* a quantised bias is a constant; as f32 it needs its numbers */
        constant_t c;
        float *bias = rlx_graph_alloc(graph, (size_t)p.outputs * sizeof *bias + 64);

        if (!bias_read(graph, p.bias, p.outputs, &c))
            return RLX_OK;
        for (int64_t o = 0; o < p.outputs; o++)
            bias[o] = (float)((const int32_t *)c.dequantize->in[0]->data)[o] * scale_at(&c, o);
        p.bias = floats_make(graph, p.bias->name, bias, p.outputs);
    }
    RLX_TRY(product_make(graph, op, op, &p, NULL, &made, diag));
    if (made != NULL)
        rlx_op_replace(graph, op, made);
    return RLX_OK;
}
