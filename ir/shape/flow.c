/* Shape rules of ops that run graphs. An extent of a result is what the bodies say, where they agree and it can be said outside; else it is a
 * symbol of the result itself, known when the op has run. */
#include <stdlib.h>

#include "ir/lower/dispatch.h"
#include "ir/flow.h"
#include "ir/shape/common.h"

static rlx_expr_t extent_open(rlx_graph_t *graph, const rlx_op_t *op, int index, int axis)
{
    return op->out[index] == NULL ? rlx_expr_const(graph->exprs, 0)
                                  : rlx_graph_symbol_computed(graph, op->out[index], axis, 0, 0, RLX_EXTENT_MAX);
}

static rlx_status_t check_counts(const rlx_op_t *op, rlx_diag_t *diag)
{
    int n_bodies = op->kind == RLX_OP_if ? 2 : 1, n_in = op->kind == RLX_OP_if ? 1 : 0, last = n_bodies - 1;

    if (op->n_bodies != n_bodies || op->bodies == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%d bodies given, %d expected", op->n_bodies, n_bodies);
    for (int i = 0; i < n_bodies; i++) {
        n_in += op->bodies[i]->n_inputs;
        if (op->bodies[i]->n_outputs != rlx_flow_output(op, op->n_out))
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "a body with %d outputs gives %d results", op->bodies[i]->n_outputs, op->n_out);
    }
    if (op->n_in > n_in || op->n_in < rlx_flow_first(op, last))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%d operands given, %d expected", op->n_in, n_in);
    return RLX_OK;
}

/* Types and ranks of operands are those of the bodies' inputs. */
static rlx_status_t check_inputs(const rlx_op_t *op, int body, rlx_diag_t *diag)
{
    const rlx_graph_t *graph = op->bodies[body];

    for (int i = op->kind == RLX_OP_loop ? 2 : 0; i < graph->n_inputs; i++) {
        const rlx_value_t *operand = rlx_op_in(op, rlx_flow_first(op, body) + i);

        if (operand == NULL || operand->dtype != graph->inputs[i]->dtype || operand->rank != graph->inputs[i]->rank)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "operand %d is missing or not of the type and rank of '%s'",
                                  rlx_flow_first(op, body) + i, graph->inputs[i]->name);
    }
    return RLX_OK;
}

static rlx_status_t check_one(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_dtype_t dtype, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, index);

    if (value == NULL)
        return RLX_OK;
    if (value->dtype != dtype)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is %s, not %s", index, rlx_dtype_name(value->dtype),
                              rlx_dtype_name(dtype));
    return rlx_shape_require_equal(graph, op, rlx_value_count(graph, value), rlx_expr_const(graph->exprs, 1), "the operand's count and 1",
                                   diag);
}

static rlx_status_t shape_if(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t *maps[2] = {rlx_flow_map(graph, op, 0), rlx_flow_map(graph, op, 1)};
    rlx_status_t status = check_one(graph, op, 0, RLX_BOOL, diag);

    for (int i = 0; i < op->n_out && status == RLX_OK; i++) {
        const rlx_value_t *a = op->bodies[0]->outputs[i], *b = op->bodies[1]->outputs[i];
        rlx_expr_t dims[RLX_RANK_MAX];

        if (a->dtype != b->dtype || a->rank != b->rank)
            status = rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "result %d is %s of rank %d in one branch, %s of rank %d in the other", i,
                                    rlx_dtype_name(a->dtype), a->rank, rlx_dtype_name(b->dtype), b->rank);
        for (int k = 0; k < a->rank && status == RLX_OK; k++) {
            dims[k] = maps[0][a->dims[k]];
            if (dims[k] < 0 || dims[k] != maps[1][b->dims[k]])
                dims[k] = extent_open(graph, op, i, k);
        }
        if (status == RLX_OK)
            status = rlx_shape_set(graph, op, i, a->dtype, a->rank, dims, diag);
    }
    free(maps[0]);
    free(maps[1]);
    return status;
}

static rlx_status_t carried_set(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_diag_t *diag)
{
    const rlx_value_t *first = op->in[2 + index], *last = op->bodies[0]->outputs[1 + index];
    rlx_expr_t dims[RLX_RANK_MAX];

    if (first->dtype != last->dtype || first->rank != last->rank)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "carried value %d goes in as %s of rank %d and comes out as %s of rank %d", index,
                              rlx_dtype_name(first->dtype), first->rank, rlx_dtype_name(last->dtype), last->rank);
    for (int k = 0; k < first->rank; k++)
        dims[k] = rlx_flow_varies(op, 0, 2 + index, k) ? extent_open(graph, op, index, k) : first->dims[k];
    return rlx_shape_set(graph, op, index, first->dtype, first->rank, dims, diag);
}

static rlx_expr_t trips(rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_value_t *count = rlx_op_in(op, 0);

    if (count == NULL || !rlx_flow_always(op))
        return RLX_EXPR_NONE;
    return rlx_expr_max(graph->exprs, rlx_shape_element(count, 0), rlx_expr_const(graph->exprs, 0));
}

static rlx_status_t appended_set(rlx_graph_t *graph, rlx_op_t *op, int index, const rlx_expr_t *map, rlx_diag_t *diag)
{
    const rlx_value_t *one = op->bodies[0]->outputs[1 + index];
    rlx_expr_t dims[RLX_RANK_MAX + 1] = {trips(graph, op)};

    if (one->rank == RLX_RANK_MAX)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "appended result %d would have more than %d axes", index, RLX_RANK_MAX);
    if (dims[0] < 0)
        dims[0] = extent_open(graph, op, index, 0);
    for (int k = 0; k < one->rank; k++) {
        dims[k + 1] = map[one->dims[k]];
        if (dims[k + 1] < 0)
            dims[k + 1] = extent_open(graph, op, index, k + 1);
    }
    return rlx_shape_set(graph, op, index, one->dtype, one->rank + 1, dims, diag);
}

static rlx_status_t shape_loop(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t *map = rlx_flow_map(graph, op, 0);
    int64_t carried = rlx_op_int(op, "carried");
    rlx_status_t status = carried >= 0 && carried <= op->n_out && (carried == 0 || carried + 2 <= op->n_in)
                              ? check_one(graph, op, 0, RLX_I64, diag)
                              : rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "carries %lld values", (long long)carried);

    if (status == RLX_OK)
        status = check_one(graph, op, 1, RLX_BOOL, diag);
    for (int i = 0; i < op->n_out && status == RLX_OK; i++)
        status = i < carried ? carried_set(graph, op, i, diag) : appended_set(graph, op, i, map, diag);
    free(map);
    return status;
}

rlx_status_t rlx_shape_flow(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(check_counts(op, diag));
    for (int i = 0; i < op->n_bodies; i++)
        RLX_TRY(check_inputs(op, i, diag));
    return op->kind == RLX_OP_if ? shape_if(graph, op, diag) : shape_loop(graph, op, diag);
}
