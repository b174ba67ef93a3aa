/* Where the rows of a product's result are (ir/pass/batch_rules.h): of matmul and of einsum. */
#include "ir/pass/batch_rules.h"
#include "ir/operator/einsum.h"
#include "ir/shape/common.h"

#define NONE RLX_BATCH_NONE
#define MIXED RLX_BATCH_MIXED

bool rlx_batch_repeats_at(const rlx_batch_t *batch, const rlx_value_t *value, int rank, int axis)
{
    int own = axis - (rank - value->rank);

    return own < 0 || rlx_expr_is(batch->graph->exprs, value->dims[own], 1);
}

/* Where rows of a matmul operand go in the result: a batch axis, its row or column, or nowhere. */
static int product_axis(const rlx_op_t *op, int operand, int rows, int rank)
{
    int own = op->in[operand]->rank, inner = operand == 0 ? own - 1 : own - 2; /* the axis summed over */

    if (rlx_op_int(op, operand == 0 ? "trans_a" : "trans_b") != 0 && rows >= own - 2)
        rows = rows == own - 1 ? own - 2 : own - 1;
    return rows == inner ? MIXED : rows + rank - own;
}

int rlx_batch_matmul(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rank = op->out[index]->rank, axis[2] = {NONE, NONE};

    if (op->in[0]->rank < 2 || op->in[1]->rank < 2 || rlx_batch_in(batch, op, 2) != NONE || rlx_op_attr(op, "perm_a") != NULL ||
        rlx_op_attr(op, "perm_b") != NULL || rlx_op_attr(op, "perm_out") != NULL)
        return MIXED;
    for (int i = 0; i < 2; i++)
        if (rlx_batch_in(batch, op, i) >= 0 && (axis[i] = product_axis(op, i, rlx_batch_in(batch, op, i), rank)) == MIXED)
            return MIXED;
    if (axis[0] != NONE && axis[1] != NONE)
        return axis[0] == axis[1] && axis[0] < rank - 2 ? axis[0] : MIXED;
    for (int i = 0; i < 2; i++)
        if (axis[i] != NONE)
            return axis[i] >= rank - 2 || rlx_batch_repeats_at(batch, op->in[1 - i], rank, axis[i]) ? axis[i] : MIXED;
    return MIXED;
}

int rlx_batch_einsum(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    rlx_einsum_t parsed;
    int label = -1;

    (void)index;
    if (rlx_einsum_read(batch->graph, op, &parsed, NULL) != RLX_OK)
        return MIXED;
    for (int i = 0; i < op->n_in; i++) {
        int rows = rlx_batch_in(batch, op, i);

        if (rows >= 0 && label >= 0 && parsed.label[i][rows] != label)
            return MIXED;
        if (rows >= 0)
            label = parsed.label[i][rows];
    }
    for (int i = 0; i < op->n_in; i++) /* nowhere but at the rows */
        for (int axis = 0; axis < op->in[i]->rank; axis++)
            if (parsed.label[i][axis] == label && axis != rlx_batch_in(batch, op, i))
                return MIXED;
    for (int axis = 0; axis < parsed.out_rank; axis++)
        if (parsed.out[axis] == label)
            return axis;
    return MIXED;
}
