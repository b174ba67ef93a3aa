/* Shape inference of one op: checks the operator's form, then calls the rule of its family (ir/shape_<family>.c).
 *
 * Rules may rely on what is checked here: operand and output counts are in the declared range, required operands are present, every
 * operand's shape is known. A rule may run again after an edit: it sets the same outputs anew. */
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"
#include "ir/verify.h"

typedef rlx_status_t shape_fn_t(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

static shape_fn_t *const shape_rules[RLX_OP_COUNT] = {
#define RLX_OP(id, family, min_in, max_in, max_out, traits, attrs, doc) [RLX_OP_##id] = rlx_shape_##family,
#include "ir/op_list.h"
#undef RLX_OP
};

static rlx_status_t check_form(const rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_op_info_t *info = rlx_op_info(op->kind);
    int n_in = op->n_in - rlx_op_residuals(op);

    if (n_in < info->min_in || n_in > info->max_in)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%d operands given, %d to %d expected", n_in, info->min_in, info->max_in);
    if (op->n_out < 1 || op->n_out > info->max_out)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%d outputs given, at most %d exist", op->n_out, info->max_out);
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i] == NULL && i < info->min_in)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is missing", i);
        if (op->in[i] != NULL && op->in[i]->rank < 0)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the shape of operand %d ('%s') is not known", i, op->in[i]->name);
    }
    return RLX_OK;
}

rlx_status_t rlx_op_infer(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_status_t status = check_form(op, diag);

    if (status == RLX_OK)
        status = shape_rules[op->kind](graph, op, diag);
    if (status != RLX_OK && diag != NULL)
        rlx_diag_at(diag, "%s", op->source);
    return status;
}
