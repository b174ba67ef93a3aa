/* Recognises activations that exporters spell out. A pattern matches only when its inner values have no other users. */
#include <math.h>

#include "ir/pass/canonicalise.h"

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-6 * fabs(b); }

/* For a binary op with a constant scalar operand: the other operand and the scalar. */
static rlx_value_t *with_scalar(const rlx_graph_t *graph, const rlx_op_t *op, bool commutes, double *out_scalar)
{
    if (rlx_value_scalar(graph, op->in[1], out_scalar))
        return op->in[0];
    return commutes && rlx_value_scalar(graph, op->in[0], out_scalar) ? op->in[1] : NULL;
}

static bool private_value(const rlx_graph_t *graph, const rlx_value_t *value) { return rlx_value_single_user(graph, value) != NULL; }

/* `gate` = sigmoid(x). */
static bool is_sigmoid_of(const rlx_graph_t *graph, const rlx_value_t *gate, const rlx_value_t *x)
{
    const rlx_op_t *op = rlx_value_made_by(gate, RLX_OP_sigmoid);

    return op != NULL && op->in[0] == x && private_value(graph, gate);
}

/* `gate` = hard_sigmoid(x) with slope 1/6 and offset 1/2. */
static bool is_hard_sigmoid_of(const rlx_graph_t *graph, const rlx_value_t *gate, const rlx_value_t *x)
{
    const rlx_op_t *op = rlx_value_made_by(gate, RLX_OP_hard_sigmoid);

    return op != NULL && op->in[0] == x && private_value(graph, gate) && close_to(rlx_op_float(op, "alpha"), 1.0 / 6) &&
           close_to(rlx_op_float(op, "beta"), 0.5);
}

/* `gate` = clip(x + 3, 0, 6). */
static bool is_relu6_of(const rlx_graph_t *graph, const rlx_value_t *gate, const rlx_value_t *x)
{
    const rlx_op_t *clip = rlx_value_made_by(gate, RLX_OP_clip);
    const rlx_op_t *add;
    double lo, hi, three;

    if (clip == NULL || !private_value(graph, gate) || !rlx_value_scalar(graph, rlx_op_in(clip, 1), &lo) ||
        !rlx_value_scalar(graph, rlx_op_in(clip, 2), &hi) || lo != 0 || hi != 6)
        return false;
    add = rlx_value_made_by(clip->in[0], RLX_OP_add);
    return add != NULL && private_value(graph, clip->in[0]) && with_scalar(graph, add, true, &three) == x && three == 3;
}

/* `gate` = 1 + erf(x / sqrt 2), or with the factor as a multiplication. */
static bool is_erf_gate_of(const rlx_graph_t *graph, const rlx_value_t *gate, const rlx_value_t *x)
{
    const rlx_op_t *add = rlx_value_made_by(gate, RLX_OP_add);
    const rlx_op_t *erf, *scale;
    rlx_value_t *inner;
    double one, factor;

    if (add == NULL || !private_value(graph, gate) || (inner = with_scalar(graph, add, true, &one)) == NULL || one != 1)
        return false;
    erf = rlx_value_made_by(inner, RLX_OP_erf);
    if (erf == NULL || !private_value(graph, inner) || !private_value(graph, erf->in[0]))
        return false;
    if ((scale = rlx_value_made_by(erf->in[0], RLX_OP_div)) != NULL)
        return with_scalar(graph, scale, false, &factor) == x && close_to(factor, sqrt(2));
    scale = rlx_value_made_by(erf->in[0], RLX_OP_mul);
    return scale != NULL && with_scalar(graph, scale, true, &factor) == x && close_to(factor, sqrt(0.5));
}

static rlx_status_t replace_with(rlx_graph_t *graph, rlx_op_t *op, rlx_op_kind_t kind, rlx_value_t *x, rlx_diag_t *diag)
{
    rlx_value_t *value = rlx_graph_insert(graph, op, kind, op, 1, &x, diag);

    if (value == NULL)
        return diag->status;
    rlx_op_replace(graph, op, value);
    return RLX_OK;
}

/* x * gate(x) in either order: the kind it means, or RLX_OP_NONE. */
static rlx_op_kind_t gate_kind(const rlx_graph_t *graph, const rlx_value_t *x, const rlx_value_t *gate)
{
    return is_sigmoid_of(graph, gate, x) ? RLX_OP_swish : is_hard_sigmoid_of(graph, gate, x) ? RLX_OP_hard_swish : RLX_OP_NONE;
}

/* The three groupings of 0.5 * x * (1 + erf): returns x or NULL. */
static rlx_value_t *match_gelu(const rlx_graph_t *graph, const rlx_op_t *op)
{
    double half;
    rlx_value_t *rest = with_scalar(graph, op, true, &half);
    const rlx_op_t *inner;

    if (rest != NULL && half == 0.5 && (inner = rlx_value_made_by(rest, RLX_OP_mul)) != NULL && private_value(graph, rest)) {
        for (int i = 0; i < 2; ++i)
            if (is_erf_gate_of(graph, inner->in[i], inner->in[1 - i]))
                return inner->in[1 - i];
        return NULL;
    }
    for (int i = 0; i < 2; ++i) {
        rlx_value_t *scaled = op->in[i], *gate = op->in[1 - i];

        inner = rlx_value_made_by(scaled, RLX_OP_mul);
        if (inner != NULL && private_value(graph, scaled) && (rest = with_scalar(graph, inner, true, &half)) != NULL && half == 0.5 &&
            is_erf_gate_of(graph, gate, rest))
            return rest;
        inner = rlx_value_made_by(gate, RLX_OP_mul);
        if (inner != NULL && private_value(graph, gate) && (rest = with_scalar(graph, inner, true, &half)) != NULL && half == 0.5 &&
            is_erf_gate_of(graph, rest, scaled))
            return scaled;
    }
    return NULL;
}

/* x * clip(x+3, 0, 6) / 6, the factor before or after: returns x or NULL. */
static rlx_value_t *match_hard_swish(const rlx_graph_t *graph, const rlx_op_t *op)
{
    double six;
    rlx_value_t *rest = with_scalar(graph, op, op->kind == RLX_OP_mul, &six);
    const rlx_op_t *product;

    if (rest != NULL && close_to(six, op->kind == RLX_OP_div ? 6.0 : 1.0 / 6) && (product = rlx_value_made_by(rest, RLX_OP_mul)) != NULL &&
        private_value(graph, rest)) {
        for (int i = 0; i < 2; ++i)
            if (is_relu6_of(graph, product->in[i], product->in[1 - i]))
                return product->in[1 - i];
        return NULL;
    }
    for (int i = 0; i < 2 && op->kind == RLX_OP_mul; ++i) {
        const rlx_op_t *div = rlx_value_made_by(op->in[i], RLX_OP_div);

        if (div != NULL && private_value(graph, op->in[i]) && (rest = with_scalar(graph, div, false, &six)) != NULL && six == 6 &&
            is_relu6_of(graph, rest, op->in[1 - i]))
            return op->in[1 - i];
    }
    return NULL;
}

rlx_status_t rlx_rewrite_activation(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_value_t *x;

    if (op->out[0]->dtype != RLX_F32)
        return RLX_OK;
    for (int i = 0; i < 2 && op->kind == RLX_OP_mul; ++i) {
        rlx_op_kind_t kind = gate_kind(graph, op->in[i], op->in[1 - i]);

        if (kind != RLX_OP_NONE)
            return replace_with(graph, op, kind, op->in[i], diag);
    }
    if ((x = match_hard_swish(graph, op)) != NULL)
        return replace_with(graph, op, RLX_OP_hard_swish, x, diag);
    if (op->kind == RLX_OP_mul && (x = match_gelu(graph, op)) != NULL)
        return replace_with(graph, op, RLX_OP_gelu, x, diag);
    return RLX_OK;
}
