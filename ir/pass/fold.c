/* Constant folding by the reference evaluator: an op whose operands are constants, or whose integer result is known symbolically to be
 * constant, is replaced by its value. What is folded has the bits that execution would give, because the kernels are the same. */
#include <string.h>

#include "ir/builder.h"
#include "ir/flow.h"
#include "ir/pass.h"

#define FOLD_BYTES_MAX ((int64_t)1 << 30)

static bool known_elements(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out)
{
    int count = 0;

    if (value->dtype != RLX_I64 && value->dtype != RLX_I32)
        return false;
    return rlx_value_ints(graph, value, out, RLX_ELEMENTS_MAX, &count);
}

static bool operands_const(const rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; ++i)
        if (op->in[i] != NULL && op->in[i]->data == NULL)
            return false;
    return op->n_in > 0;
}

/* Sizes known, and small enough to store. */
static bool worth_folding(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int64_t out_bytes = 0;

    for (int i = 0; i < op->n_out; ++i) {
        int64_t bytes;

        if (op->out[i] == NULL)
            continue;
        if (!rlx_expr_is_const(graph->exprs, rlx_value_bytes(graph, op->out[i]), &bytes))
            return false;
        out_bytes += bytes;
    }
    return out_bytes <= FOLD_BYTES_MAX;
}

static void replace_output(rlx_graph_t *graph, rlx_value_t *old, const void *data)
{
    int64_t dims[RLX_RANK_MAX];
    rlx_value_t *constant;
    const char *name = old->name;

    rlx_value_dims_const(graph, old, dims);
    constant = rlx_graph_const(graph, name, old->dtype, old->rank, dims, data, true);
    if (old->is_output) {
        old->name = constant->name;
        constant->name = name;
    }
    rlx_value_replace_uses(graph, old, constant);
}

static rlx_status_t fold_elements(rlx_graph_t *graph, rlx_op_t *op, const int64_t *elements)
{
    rlx_value_t *value = op->out[0];
    void *data = rlx_graph_alloc(graph, (size_t)(value->n_elements + 1) * 8);

    for (int i = 0; i < value->n_elements; ++i) {
        if (value->dtype == RLX_I64)
            ((int64_t *)data)[i] = elements[i];
        else
            ((int32_t *)data)[i] = (int32_t)elements[i];
    }
    replace_output(graph, value, data);
    rlx_graph_remove(graph, op);
    return RLX_OK;
}

static rlx_status_t fold_operands(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    void **data = rlx_graph_alloc(graph, (size_t)(op->n_out + 1) * sizeof *data);

    if (rlx_evaluate_op(graph, op, data, diag) != RLX_OK)
        return rlx_diag_at(diag, "%s", op->source);
    for (int i = 0; i < op->n_out; ++i)
        if (op->out[i] != NULL)
            replace_output(graph, op->out[i], data[i]);
    rlx_graph_remove(graph, op);
    return RLX_OK;
}

/* Whether all elements of the result are known expressions of the symbols. */
static bool symbolic_elements(const rlx_op_t *op)
{
    const rlx_value_t *value = op->n_out == 1 ? op->out[0] : NULL;

    if (value == NULL || op->n_in == 0 || value->n_elements < 0 || value->elements == NULL || (value->dtype != RLX_I64 && value->dtype != RLX_I32))
        return false;
    for (int i = 0; i < value->n_elements; ++i)
        if (value->elements[i] < 0)
            return false;
    return true;
}

/* Shape arithmetic that the compiler has understood needs no operands: the op becomes store_elements, and what led to it dies. */
static void forget_operands(rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; ++i)
        if (op->in[i] != NULL)
            --op->in[i]->n_uses;
    op->kind = RLX_OP_store_elements;
    op->n_in = 0;
    op->n_attrs = 0;
    op->sched = NULL;
}

rlx_status_t rlx_pass_fold(rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_op_t *next;
    int64_t elements[RLX_ELEMENTS_MAX];

    for (rlx_op_t *op = graph->first; op != NULL; op = next) {
        next = op->next;
        if (op->kind == RLX_OP_reorder || op->kind == RLX_OP_fused || op->kind == RLX_OP_custom_op || rlx_op_is_flow(op))
            continue;
        if (op->n_out == 1 && op->out[0] != NULL && op->out[0]->observed) { /* its elements are symbols that stand for what it computes */
            if (operands_const(op) && worth_folding(graph, op))
                RLX_TRY(fold_operands(graph, op, diag));
        } else if (op->n_out == 1 && op->out[0] != NULL && known_elements(graph, op->out[0], elements))
            RLX_TRY(fold_elements(graph, op, elements));
        else if (symbolic_elements(op))
            forget_operands(op);
        else if (operands_const(op) && worth_folding(graph, op))
            RLX_TRY(fold_operands(graph, op, diag));
    }
    return RLX_OK;
}
