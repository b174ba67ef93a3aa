/* Repeats the shape rule of an op and compares it with what stands in the graph.
 *
 * Ops that carry a schedule stand for several ops, whose rule is not theirs alone: they are skipped. A rule that cannot be repeated (a pass
 * bound what it needs) is skipped as well; what was inferred then is checked by the other rules. */
#include "ir/schedule.h"
#include "ir/verify.h"

#include <stdlib.h>

int rlx_op_residuals(const rlx_op_t *op)
{
    const rlx_schedule_t *schedule = op->sched;
    int n = 0;

    for (int i = 0; schedule != NULL && schedule->epilogue != NULL && i < schedule->epilogue->n_steps; i++)
        n += schedule->epilogue->steps[i].tensor != NULL;
    return n;
}

static rlx_status_t compare(const rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *held, const rlx_value_t *found,
                            rlx_diag_t *diag)
{
    if (held->dtype != found->dtype || held->rank != found->rank)
        return rlx_verify_fail(op, diag, "'%s' is %s of rank %d, its rule says %s of rank %d", held->name, rlx_dtype_name(held->dtype),
                               held->rank, rlx_dtype_name(found->dtype), found->rank);
    for (int i = 0; i < held->rank; i++) {
        if (rlx_expr_is(graph->exprs, rlx_expr_eq(graph->exprs, held->dims[i], found->dims[i]), 0))
            return rlx_verify_fail(op, diag, "extent %d of '%s' is not what its rule says", i, held->name);
    }
    return RLX_OK;
}

rlx_status_t rlx_verify_op_shape(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *writable = (rlx_graph_t *)(uintptr_t)graph; /* every field the rule sets is restored below */
    rlx_diag_t ignored = {0};
    rlx_value_t *held;
    int n_checks = graph->n_checks;
    rlx_status_t inferred, status = RLX_OK;

    if (op->sched != NULL || op->kind == RLX_OP_store_elements)
        return RLX_OK;
    held = calloc((size_t)op->n_out, sizeof(*held));
    if (held == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "the verifier needs memory");
    for (int i = 0; i < op->n_out; i++) {
        if (op->out[i] != NULL)
            held[i] = *op->out[i];
    }
    inferred = rlx_op_infer(writable, (rlx_op_t *)(uintptr_t)op, &ignored);
    for (int i = 0; i < op->n_out; i++) {
        rlx_value_t found;
        if (op->out[i] == NULL)
            continue;
        found = *op->out[i];
        *op->out[i] = held[i];
        if (inferred == RLX_OK && status == RLX_OK)
            status = compare(graph, op, &held[i], &found, diag);
    }
    writable->n_checks = n_checks;
    free(held);
    return status;
}
