/* Shape rules of the element-wise family: types, broadcasting, and elements of shape arithmetic.
 *
 * The result's extents are the common shape of the operands. Integer and bool results carry elements where the operation is exact on
 * expressions; an element whose value would leave the dtype is dropped, since the kernels wrap. */
#include "ir/lower/dispatch.h"
#include "ir/schedule.h"
#include "ir/shape/common.h"

enum { TYPE_FLOAT = 1, TYPE_SIGNED = 2, TYPE_UNSIGNED = 4, TYPE_BOOL = 8 };
#define TYPE_INTEGER (TYPE_SIGNED | TYPE_UNSIGNED)
#define TYPE_NUMBER (TYPE_FLOAT | TYPE_INTEGER)
#define TYPE_ANY (TYPE_NUMBER | TYPE_BOOL)

static unsigned type_of(rlx_dtype_t dtype)
{
    if (rlx_dtype_is_float(dtype))
        return TYPE_FLOAT;
    if (dtype == RLX_BOOL)
        return TYPE_BOOL;
    return dtype >= RLX_U8 ? TYPE_UNSIGNED : TYPE_SIGNED;
}

/* The operand types an operator is defined on. */
static unsigned types_allowed(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_identity:
    case RLX_OP_cast:
    case RLX_OP_equal:
    case RLX_OP_where:
        return TYPE_ANY;
    case RLX_OP_not:
    case RLX_OP_and:
    case RLX_OP_or:
    case RLX_OP_xor:
        return TYPE_BOOL;
    case RLX_OP_bit_not:
    case RLX_OP_bit_and:
    case RLX_OP_bit_or:
    case RLX_OP_bit_xor:
        return TYPE_INTEGER;
    case RLX_OP_bit_shift:
        return TYPE_UNSIGNED;
    case RLX_OP_abs:
    case RLX_OP_sign:
    case RLX_OP_shrink:
    case RLX_OP_clip:
    case RLX_OP_add:
    case RLX_OP_sub:
    case RLX_OP_mul:
    case RLX_OP_div:
    case RLX_OP_pow:
    case RLX_OP_mod:
    case RLX_OP_min:
    case RLX_OP_max:
    case RLX_OP_less:
    case RLX_OP_less_equal:
    case RLX_OP_greater:
    case RLX_OP_greater_equal:
    case RLX_OP_prelu:
        return TYPE_NUMBER;
    case RLX_OP_neg:
    case RLX_OP_relu:
        return TYPE_FLOAT | TYPE_SIGNED;
    default:
        return TYPE_FLOAT;
    }
}

static bool result_is_bool(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_not:
    case RLX_OP_is_nan:
    case RLX_OP_is_inf:
    case RLX_OP_and:
    case RLX_OP_or:
    case RLX_OP_xor:
    case RLX_OP_equal:
    case RLX_OP_less:
    case RLX_OP_less_equal:
    case RLX_OP_greater:
    case RLX_OP_greater_equal:
        return true;
    default:
        return false;
    }
}

static rlx_status_t check_type(const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    const rlx_value_t *value = op->in[index];

    if (type_of(value->dtype) & types_allowed(op->kind))
        return RLX_OK;
    return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d ('%s') is %s, on which the operator is not defined", index, value->name,
                          rlx_dtype_name(value->dtype));
}

/* Elements. */

static rlx_expr_t negated(rlx_exprs_t *e, rlx_expr_t condition) { return rlx_expr_eq(e, condition, rlx_expr_const(e, 0)); }

static rlx_expr_t element_sign(rlx_exprs_t *e, rlx_expr_t x)
{
    rlx_expr_t zero = rlx_expr_const(e, 0);

    return rlx_expr_sub(e, rlx_expr_lt(e, zero, x), rlx_expr_lt(e, x, zero));
}

static rlx_expr_t element_unary(rlx_exprs_t *e, const rlx_op_t *op, rlx_expr_t x)
{
    rlx_expr_t zero = rlx_expr_const(e, 0);

    switch (op->kind) {
    case RLX_OP_identity:
        return x;
    case RLX_OP_cast:
        return op->out[0]->dtype == RLX_BOOL && op->in[0]->dtype != RLX_BOOL ? negated(e, negated(e, x)) : x;
    case RLX_OP_abs:
        return rlx_expr_max(e, x, rlx_expr_sub(e, zero, x));
    case RLX_OP_neg:
        return rlx_expr_sub(e, zero, x);
    case RLX_OP_sign:
        return element_sign(e, x);
    case RLX_OP_relu:
        return rlx_expr_max(e, x, zero);
    case RLX_OP_not:
        return negated(e, x);
    default:
        return RLX_EXPR_NONE;
    }
}

static rlx_expr_t element_power(rlx_exprs_t *e, rlx_expr_t x, rlx_expr_t y)
{
    rlx_expr_t result = rlx_expr_const(e, 1);
    int64_t exponent;

    if (!rlx_expr_is_const(e, y, &exponent) || exponent < 0 || exponent > 64)
        return RLX_EXPR_NONE;
    for (int64_t i = 0; i < exponent; i++)
        result = rlx_expr_mul(e, result, x);
    return result;
}

/* ONNX: fmod=0 takes the divisor's sign, fmod=1 the dividend's, as C does. */
static rlx_expr_t element_mod(rlx_exprs_t *e, const rlx_op_t *op, rlx_expr_t x, rlx_expr_t y)
{
    if (rlx_op_int(op, "fmod") == 0)
        return rlx_expr_binary(e, RLX_EXPR_MOD, x, y);
    return rlx_expr_sub(e, x, rlx_expr_mul(e, rlx_expr_binary(e, RLX_EXPR_TRUNCDIV, x, y), y));
}

static rlx_expr_t element_binary(rlx_exprs_t *e, const rlx_op_t *op, rlx_expr_t x, rlx_expr_t y)
{
    switch (op->kind) {
    case RLX_OP_add:
        return rlx_expr_add(e, x, y);
    case RLX_OP_sub:
        return rlx_expr_sub(e, x, y);
    case RLX_OP_mul:
        return rlx_expr_mul(e, x, y);
    case RLX_OP_div:
        return rlx_expr_binary(e, RLX_EXPR_TRUNCDIV, x, y);
    case RLX_OP_mod:
        return element_mod(e, op, x, y);
    case RLX_OP_pow:
        return element_power(e, x, y);
    case RLX_OP_min:
    case RLX_OP_and:
        return rlx_expr_min(e, x, y);
    case RLX_OP_max:
    case RLX_OP_or:
        return rlx_expr_max(e, x, y);
    case RLX_OP_equal:
        return rlx_expr_eq(e, x, y);
    case RLX_OP_xor:
        return negated(e, rlx_expr_eq(e, x, y));
    case RLX_OP_less:
        return rlx_expr_lt(e, x, y);
    case RLX_OP_greater:
        return rlx_expr_lt(e, y, x);
    case RLX_OP_less_equal:
        return negated(e, rlx_expr_lt(e, y, x));
    case RLX_OP_greater_equal:
        return negated(e, rlx_expr_lt(e, x, y));
    default:
        return RLX_EXPR_NONE;
    }
}

/* Element of operand `index` that meets element `at` of the output. Absent operand: NONE. */
static rlx_expr_t operand_element(const rlx_graph_t *graph, const rlx_op_t *op, int index, int rank, const int64_t *at)
{
    const rlx_value_t *value = rlx_op_in(op, index);
    int64_t dims[RLX_RANK_MAX], own[RLX_RANK_MAX];

    if (value == NULL || value->elements == NULL || !rlx_value_dims_const(graph, value, dims))
        return RLX_EXPR_NONE;
    for (int i = 0; i < value->rank; i++)
        own[i] = dims[i] == 1 ? 0 : at[rank - value->rank + i];
    return rlx_shape_element(value, (int)rlx_shape_ravel(value->rank, dims, own));
}

static rlx_expr_t element_clip(const rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t x)
{
    rlx_expr_t lo = rlx_op_in(op, 1) ? rlx_shape_element(op->in[1], 0) : x,
               hi = rlx_op_in(op, 2) ? rlx_shape_element(op->in[2], 0) : RLX_EXPR_NONE;

    if (rlx_op_in(op, 1))
        x = rlx_expr_max(graph->exprs, x, lo);
    return rlx_op_in(op, 2) ? rlx_expr_min(graph->exprs, x, hi) : x;
}

static rlx_expr_t element_where(rlx_exprs_t *e, rlx_expr_t condition, rlx_expr_t a, rlx_expr_t b)
{
    return condition < 0 ? RLX_EXPR_NONE : rlx_expr_select(e, condition, a, b);
}

static void elements_fill(rlx_graph_t *graph, rlx_op_t *op)
{
    rlx_value_t *out = op->out[0];
    rlx_expr_t *elements = rlx_shape_track(graph, out);
    int64_t dims[RLX_RANK_MAX], at[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims))
        return;
    for (int i = 0; i < out->n_elements; i++) {
        rlx_expr_t x, y, z, result;
        rlx_shape_unravel(i, out->rank, dims, at);
        x = operand_element(graph, op, 0, out->rank, at);
        y = operand_element(graph, op, 1, out->rank, at);
        z = operand_element(graph, op, 2, out->rank, at);
        if (op->kind == RLX_OP_where)
            result = element_where(graph->exprs, x, y, z);
        else if (op->kind == RLX_OP_clip)
            result = element_clip(graph, op, x);
        else
            result = op->n_in == 1 ? element_unary(graph->exprs, op, x) : element_binary(graph->exprs, op, x, y);
        elements[i] = rlx_shape_wrap(graph, out->dtype, result);
    }
}

static rlx_status_t check_divisor(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *divisor = op->in[1];

    if (op->kind != RLX_OP_div && op->kind != RLX_OP_mod)
        return RLX_OK;
    for (int i = 0; divisor->elements != NULL && i < divisor->n_elements; i++) {
        if (rlx_expr_is(graph->exprs, divisor->elements[i], 0) && !rlx_expr_is(graph->exprs, rlx_value_count(graph, op->in[0]), 0))
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "element %d of the divisor ('%s') is 0", i, divisor->name);
    }
    return RLX_OK;
}

/* Rules. */

static rlx_status_t shape_unary(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = op->in[0]->dtype;

    RLX_TRY(check_type(op, 0, diag));
    if (op->kind == RLX_OP_cast)
        dtype = (rlx_dtype_t)rlx_op_int(op, "to");
    else if (result_is_bool(op->kind))
        dtype = RLX_BOOL;
    if (rlx_dtype_size(dtype) == 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "the target type is not supported");
    RLX_TRY(rlx_shape_set_like(graph, op, 0, dtype, 0, diag));
    if (op->out[0] != NULL && !rlx_dtype_is_float(op->in[0]->dtype))
        elements_fill(graph, op);
    return RLX_OK;
}

/* The slope of prelu broadcasts to x, never x to the slope. */
static rlx_status_t check_prelu(rlx_graph_t *graph, const rlx_op_t *op, const rlx_expr_t *dims, int rank, rlx_diag_t *diag)
{
    if (rank != op->in[0]->rank)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "the slope has rank %d, x has rank %d", op->in[1]->rank, op->in[0]->rank);
    for (int i = 0; i < rank; i++)
        RLX_TRY(rlx_shape_require_equal(graph, op, dims[i], op->in[0]->dims[i], "the extents of x and of x with the slope", diag));
    return RLX_OK;
}

static rlx_status_t shape_binary(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    int rank;

    RLX_TRY(check_type(op, 0, diag));
    RLX_TRY(check_type(op, 1, diag));
    if (op->kind != RLX_OP_pow)
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, 1, diag));
    RLX_TRY(rlx_shape_broadcast(graph, op, 0, 2, dims, &rank, diag));
    if (op->kind == RLX_OP_prelu)
        RLX_TRY(check_prelu(graph, op, dims, rank, diag));
    RLX_TRY(check_divisor(graph, op, diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, result_is_bool(op->kind) ? RLX_BOOL : op->in[0]->dtype, rank, dims, diag));
    if (op->out[0] != NULL)
        elements_fill(graph, op);
    return RLX_OK;
}

static rlx_status_t shape_where(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    int rank;

    if (op->in[0]->dtype != RLX_BOOL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "the condition ('%s') is %s, expected bool", op->in[0]->name,
                              rlx_dtype_name(op->in[0]->dtype));
    RLX_TRY(rlx_shape_need_same_dtype(op, 1, 2, diag));
    RLX_TRY(rlx_shape_broadcast(graph, op, 0, 3, dims, &rank, diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, op->in[1]->dtype, rank, dims, diag));
    if (op->out[0] != NULL)
        elements_fill(graph, op);
    return RLX_OK;
}

static rlx_status_t shape_clip(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(check_type(op, 0, diag));
    for (int i = 1; i < op->n_in; i++) {
        if (op->in[i] == NULL)
            continue;
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, i, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[i]), rlx_expr_const(graph->exprs, 1),
                                        "the bound's count and 1", diag));
    }
    RLX_TRY(rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag));
    if (op->out[0] != NULL)
        elements_fill(graph, op);
    return RLX_OK;
}

/* All results have the common shape; their types stand in the chain. */
static rlx_status_t shape_fused(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_schedule_t *schedule = op->sched;
    const rlx_chain_t *chain = schedule ? schedule->chain : NULL;
    rlx_expr_t dims[RLX_RANK_MAX];
    int rank;

    if (chain == NULL || op->n_out > chain->n_results)
        return rlx_shape_fail(diag, op, RLX_E_IR_INVALID, "the op has no chain, or fewer results than outputs");
    RLX_TRY(rlx_shape_broadcast(graph, op, 0, op->n_in, dims, &rank, diag));
    for (int i = 0; i < op->n_out; i++)
        RLX_TRY(rlx_shape_set(graph, op, i, chain->steps[chain->result[i]].dtype, rank, dims, diag));
    return RLX_OK;
}

rlx_status_t rlx_shape_elementwise(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_where:
        return shape_where(graph, op, diag);
    case RLX_OP_clip:
        return shape_clip(graph, op, diag);
    case RLX_OP_fused:
        return shape_fused(graph, op, diag);
    default:
        return rlx_op_info(op->kind)->max_in == 1 ? shape_unary(graph, op, diag) : shape_binary(graph, op, diag);
    }
}
