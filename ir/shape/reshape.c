/* Reshape, expand, tile: shapes given by an integer operand.
 *
 * Reshape knows three kinds of elements of its shape operand. A constant is what ONNX says (0 copies an extent, -1 is inferred). Arithmetic
 * on extents is an extent: where it happens to be 0 it stays 0. Data of an input may be anything: there the special values are decided by
 * selects when the plan is made. */
#include "ir/shape/reshape.h"

typedef enum element_kind { ELEMENT_EXTENT, ELEMENT_COPY, ELEMENT_INFER, ELEMENT_DATA } element_kind_t;

typedef struct reshape {
    rlx_graph_t *graph;
    const rlx_op_t *op;
    const rlx_value_t *x;
    bool allowzero;
    int rank;
    rlx_expr_t element[RLX_RANK_MAX];
    element_kind_t kind[RLX_RANK_MAX];
    int infer; /* axis of -1, or -1 */
    bool has_data;
} reshape_t;

static rlx_status_t classify_constant(reshape_t *r, int axis, int64_t value, rlx_diag_t *diag)
{
    r->kind[axis] = ELEMENT_EXTENT;
    if (value < -1)
        return rlx_shape_fail(diag, r->op, RLX_E_CONST_VALUE, "element %d of the shape is %lld", axis, (long long)value);
    if (value == -1) {
        if (r->infer >= 0)
            return rlx_shape_fail(diag, r->op, RLX_E_CONST_VALUE, "elements %d and %d of the shape are both -1", r->infer, axis);
        r->infer = axis;
        r->kind[axis] = ELEMENT_INFER;
    }
    if (value == 0 && !r->allowzero) {
        if (axis >= r->x->rank)
            return rlx_shape_fail(diag, r->op, RLX_E_CONST_VALUE, "element %d of the shape is 0, but the operand has rank %d", axis,
                                  r->x->rank);
        r->kind[axis] = ELEMENT_COPY;
    }
    return RLX_OK;
}

static rlx_status_t classify(reshape_t *r, rlx_diag_t *diag)
{
    int64_t value;

    for (int i = 0; i < r->rank; i++) {
        r->kind[i] = ELEMENT_EXTENT;
        if (rlx_expr_is_const(r->graph->exprs, r->element[i], &value))
            RLX_TRY(classify_constant(r, i, value, diag));
        else if (rlx_expr_node(r->graph->exprs, r->element[i])->min < 0 && rlx_shape_depends_on_data(r->graph, r->element[i]))
            r->kind[i] = ELEMENT_DATA;
        r->has_data = r->has_data || r->kind[i] == ELEMENT_DATA;
    }
    return RLX_OK;
}

/* Without data in the shape. A copied extent is left out on both sides, so that -1 works beside an extent that is 0. */
static rlx_status_t resolve_plain(const reshape_t *r, rlx_expr_t *dims, rlx_diag_t *diag)
{
    rlx_exprs_t *e = r->graph->exprs;
    rlx_expr_t have = rlx_expr_const(e, 1), want = have, zero = rlx_expr_const(e, 0);

    for (int i = 0; i < r->x->rank; i++) {
        if (i >= r->rank || r->kind[i] != ELEMENT_COPY)
            have = rlx_expr_mul(e, have, r->x->dims[i]);
    }
    for (int i = 0; i < r->rank; i++) {
        dims[i] = r->kind[i] == ELEMENT_COPY ? r->x->dims[i] : r->element[i];
        if (r->kind[i] == ELEMENT_EXTENT)
            want = rlx_expr_mul(e, want, dims[i]);
    }
    if (r->infer < 0)
        return rlx_shape_require_equal(r->graph, r->op, have, want, "the element counts before and after", diag);
    if (rlx_expr_is(e, want, 0))
        return rlx_shape_fail(diag, r->op, RLX_E_CONST_VALUE, "-1 cannot be inferred beside an extent of 0");
    dims[r->infer] = rlx_expr_floordiv(e, have, want);
    return rlx_shape_require(r->graph, r->op, rlx_expr_eq(e, rlx_expr_binary(e, RLX_EXPR_MOD, have, want), zero),
                             "the element count does not divide by the given extents", diag);
}

/* The element with 0 replaced by the copied extent. */
static rlx_expr_t data_copied(const reshape_t *r, int i)
{
    rlx_exprs_t *e = r->graph->exprs;

    if (r->kind[i] == ELEMENT_COPY)
        return r->x->dims[i];
    if (r->kind[i] != ELEMENT_DATA || r->allowzero || i >= r->x->rank)
        return r->element[i];
    return rlx_expr_select(e, rlx_expr_eq(e, r->element[i], rlx_expr_const(e, 0)), r->x->dims[i], r->element[i]);
}

static rlx_status_t resolve_data(const reshape_t *r, rlx_expr_t *dims, rlx_diag_t *diag)
{
    rlx_exprs_t *e = r->graph->exprs;
    rlx_expr_t one = rlx_expr_const(e, 1), minus = rlx_expr_const(e, -1), count = rlx_value_count(r->graph, r->x), known = one, inferred;
    rlx_expr_t is_inferred[RLX_RANK_MAX];

    for (int i = 0; i < r->rank; i++) {
        dims[i] = data_copied(r, i);
        is_inferred[i] = rlx_expr_eq(e, r->element[i], minus);
        known = rlx_expr_mul(e, known, rlx_expr_select(e, is_inferred[i], one, dims[i]));
    }
    inferred = rlx_expr_floordiv(e, count, rlx_expr_max(e, known, one));
    for (int i = 0; i < r->rank; i++)
        dims[i] = rlx_expr_select(e, is_inferred[i], inferred, dims[i]);
    return rlx_shape_require_equal(r->graph, r->op, count, rlx_shape_product(r->graph, dims, 0, r->rank),
                                   "the element counts before and after", diag);
}

static void elements_copy(rlx_graph_t *graph, const rlx_value_t *x, rlx_value_t *out)
{
    rlx_expr_t *elements = out && x->elements ? rlx_shape_track(graph, out) : NULL;

    for (int i = 0; elements != NULL && i < out->n_elements; i++)
        elements[i] = rlx_shape_element(x, i);
}

rlx_status_t rlx_shape_op_reshape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    reshape_t r = {.graph = graph, .op = op, .x = op->in[0], .allowzero = rlx_op_int(op, "allowzero") != 0, .infer = -1};
    rlx_expr_t dims[RLX_RANK_MAX];

    RLX_TRY(rlx_shape_ints(graph, op, 1, r.element, RLX_RANK_MAX, &r.rank, diag));
    RLX_TRY(classify(&r, diag));
    RLX_TRY(r.has_data ? resolve_data(&r, dims, diag) : resolve_plain(&r, dims, diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, op->in[0]->dtype, r.rank, dims, diag));
    elements_copy(graph, op->in[0], op->out[0]);
    return RLX_OK;
}

/* Element i of the result comes from x at the same multi-index, modulo x's extents (0 where an extent is 1): expand and tile alike. */
static void elements_repeat(rlx_graph_t *graph, const rlx_value_t *x, rlx_value_t *out)
{
    rlx_expr_t *elements = out && x->elements ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], x_dims[RLX_RANK_MAX], at[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims) || !rlx_value_dims_const(graph, x, x_dims))
        return;
    for (int i = 0; i < out->n_elements; i++) {
        rlx_shape_unravel(i, out->rank, dims, at);
        for (int k = 0; k < x->rank; k++)
            at[k] = at[out->rank - x->rank + k] % x_dims[k];
        elements[i] = rlx_shape_element(x, (int)rlx_shape_ravel(x->rank, x_dims, at));
    }
}

rlx_status_t rlx_shape_op_expand(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t shape[RLX_RANK_MAX], dims[RLX_RANK_MAX];
    int count, rank = x->rank;
    int64_t value;

    RLX_TRY(rlx_shape_ints(graph, op, 1, shape, RLX_RANK_MAX, &count, diag));
    for (int i = 0; i < count; i++) {
        if (rlx_expr_is_const(graph->exprs, shape[i], &value) && value < 0)
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "element %d of the shape is %lld", i, (long long)value);
    }
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    RLX_TRY(rlx_shape_broadcast_dims(graph, op, dims, &rank, shape, count, diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, rank, dims, diag));
    elements_repeat(graph, x, op->out[0]);
    return RLX_OK;
}

rlx_status_t rlx_shape_op_tile(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t repeats[RLX_RANK_MAX], dims[RLX_RANK_MAX];
    int count;
    int64_t value;

    RLX_TRY(rlx_shape_ints(graph, op, 1, repeats, RLX_RANK_MAX, &count, diag));
    if (count != x->rank)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d repeats for an operand of rank %d", count, x->rank);
    for (int i = 0; i < count; i++) {
        if (rlx_expr_is_const(graph->exprs, repeats[i], &value) && value < 0)
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "repeat %d is %lld", i, (long long)value);
        dims[i] = rlx_expr_mul(graph->exprs, x->dims[i], repeats[i]);
    }
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag));
    elements_repeat(graph, x, op->out[0]);
    return RLX_OK;
}
