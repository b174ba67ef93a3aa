/* Folds transposes into the matrix products around them: the product reads or writes with strides, nothing is moved. Keeps every bit.
 * Attributes perm_a, perm_b: the operand as stored, permuted so, is the logical operand; perm_out: the result, permuted so, is what is stored. */
#include "ir/pass.h"

static bool fold_operand(rlx_graph_t *graph, rlx_op_t *matmul, int index, const char *attr)
{
    rlx_op_t *transpose = rlx_value_made_by(matmul->in[index], RLX_OP_transpose);
    int rank = matmul->in[index]->rank;
    int64_t perm[RLX_RANK_MAX];

    if (transpose == NULL || rank < 2 || rlx_op_attr(matmul, attr) != NULL || transpose->in[0]->data != NULL)
        return false;
    for (int i = 0; i < rank; ++i)
        perm[i] = rlx_op_ints_at(transpose, "perm", i, rank - 1 - i);
    rlx_op_set_ints(graph, matmul, attr, perm, rank);
    rlx_op_set_input(matmul, index, transpose->in[0]);
    return true;
}

static bool fold_result(rlx_graph_t *graph, rlx_op_t *matmul)
{
    rlx_value_t *out = matmul->out[0];
    rlx_op_t *transpose = rlx_value_single_user(graph, out);
    int rank = out->rank;
    int64_t perm[RLX_RANK_MAX];
    rlx_value_t *stored;

    if (transpose == NULL || transpose->kind != RLX_OP_transpose || rank < 3)
        return false;
    for (int i = 0; i < rank; ++i)
        perm[i] = rlx_op_ints_at(transpose, "perm", i, rank - 1 - i);
    if (perm[rank - 1] != rank - 1)
        return false; /* columns must stay contiguous */
    rlx_op_set_ints(graph, matmul, "perm_out", perm, rank);
    stored = transpose->out[0];
    rlx_value_replace_uses(graph, out, stored);
    matmul->out[0] = stored;
    stored->producer = matmul;
    transpose->out[0] = NULL;
    rlx_graph_remove(graph, transpose);
    return true;
}

rlx_status_t rlx_pass_fuse_transpose(rlx_graph_t *graph, rlx_diag_t *diag)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (op->kind != RLX_OP_matmul || op->out[0]->dtype != RLX_F32)
            continue;
        fold_operand(graph, op, 0, "perm_a");
        fold_operand(graph, op, 1, "perm_b");
        fold_result(graph, op);
        if (rlx_op_infer(graph, op, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s", op->source);
    }
    rlx_pass_dead_code(graph);
    return RLX_OK;
}
