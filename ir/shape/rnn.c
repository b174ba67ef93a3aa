/* Shape rules of the rnn family. Layout 0: Y [steps, directions, batch, hidden], states [directions, batch, hidden]; layout 1: batch
 * first. */
#include "ir/lower/dispatch.h"
#include "ir/operator/rnn_read.h"
#include "ir/shape/common.h"

rlx_status_t rlx_shape_rnn(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = op->in[0]->dtype;
    rlx_expr_t directions;
    rlx_rnn_read_t r;

    RLX_TRY(rlx_rnn_read(graph, op, &r, diag));
    directions = rlx_expr_const(graph->exprs, r.directions);
    if (r.layout == 0)
        RLX_TRY(rlx_shape_set(graph, op, 0, dtype, 4, (rlx_expr_t[]){r.steps, directions, r.batch, r.hidden}, diag));
    else
        RLX_TRY(rlx_shape_set(graph, op, 0, dtype, 4, (rlx_expr_t[]){r.batch, r.steps, directions, r.hidden}, diag));
    for (int i = 1; i < op->n_out; i++)
        RLX_TRY(rlx_shape_set(graph, op, i, dtype, 3,
                              (rlx_expr_t[]){r.layout ? r.batch : directions, r.layout ? directions : r.batch, r.hidden}, diag));
    return RLX_OK;
}
