/* Part of the layout pass: rows that would all fall into one set of the first-level cache get some elements between them.
 *
 * A product's register tile reads a line of each of its rows of A at a time, and keeps it for sixteen steps of k. Where rows lie a multiple of
 * 4096 bytes apart, those lines share one set, which holds fewer of them than a tile has rows, so each is fetched from the second level
 * sixteen times. A value that one product writes and one other reads as its left operand can lie as it likes, unless a text says
 * anything about it. Moves elements, keeps bits. */
#include "ir/operator/matmul_read.h"
#include "ir/pass.h"
#include "ir/schedule.h"

#define SET_BYTES 4096 /* of a way: addresses this far apart share a set */

static bool reads_whole_rows(const rlx_op_t *op)
{
    return op->kind == RLX_OP_matmul && op->in[1]->data != NULL && op->in[1]->rank == 2 && !rlx_op_int(op, "trans_a") &&
           rlx_op_attr(op, "perm_a") == NULL;
}

/* Rows of the result as they are, and no residual, which would have to lie alike. */
static bool writes_whole_rows(const rlx_op_t *op)
{
    const rlx_schedule_t *sched = op->sched;

    if (op->kind != RLX_OP_matmul || op->in[1]->data == NULL || op->in[1]->rank != 2 || rlx_op_attr(op, "perm_out") != NULL)
        return false;
    for (int i = 0; sched != NULL && sched->epilogue != NULL && i < sched->epilogue->n_steps; i++)
        if (sched->epilogue->steps[i].tensor != NULL)
            return false;
    return true;
}

void rlx_rows_apart(rlx_graph_t *graph)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        rlx_value_t *a = op->kind == RLX_OP_matmul ? op->in[0] : NULL;
        int64_t columns;

        if (a == NULL || a->dtype != RLX_F32 || a->rank < 2 || a->n_uses != 1 || a->is_output || a->layout != RLX_LAYOUT_ROW_MAJOR ||
            a->annotation != NULL || a->producer == NULL || !writes_whole_rows(a->producer) || !reads_whole_rows(op))
            continue;
        if (rlx_expr_is_const(graph->exprs, a->dims[a->rank - 1], &columns) && columns > 0 && columns * 4 % SET_BYTES == 0)
            a->layout = RLX_LAYOUT_ROWS_APART;
    }
}
