/* The reference evaluator: runs the steps of one operator with the host-compiled kernels, on constants. Used for folding: the same kernels
 * define the operators, so folded and executed results have the same bits. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/builder.h"
#include "kernels/reference.h"

#define EVALUATE_BYTES_MAX ((int64_t)2 << 30)

typedef struct evaluation {
    rlx_builder_t builder;
    void **data; /* by value id */
    rlx_diag_t *diag;
} evaluation_t;

static rlx_status_t value_data(evaluation_t *eval, const rlx_value_t *value, void **out_data)
{
    rlx_graph_t *graph = eval->builder.graph;
    int64_t bytes;

    value = rlx_builder_root(&eval->builder, value);
    if (value->data != NULL) {
        *out_data = (void *)(uintptr_t)value->data;
        return RLX_OK;
    }
    if (!rlx_expr_is_const(graph->exprs, rlx_value_bytes(graph, value), &bytes) || bytes > EVALUATE_BYTES_MAX)
        return rlx_fail(eval->diag, RLX_E_IR_LIMIT, "a constant of more than %lld bytes", (long long)EVALUATE_BYTES_MAX);
    if (eval->data[value->id] == NULL)
        eval->data[value->id] = rlx_graph_alloc(graph, (size_t)bytes + 64);
    *out_data = eval->data[value->id];
    return RLX_OK;
}

static rlx_status_t run_step(evaluation_t *eval, const rlx_step_t *step)
{
    rlx_exprs_t *exprs = eval->builder.graph->exprs;
    rlx_operand_t operands[RLX_STEP_OPERANDS_MAX] = {{0}};
    int64_t params[RLX_PARAM_MAX], tiles, scratch;
    uint32_t error = 0;
    rlx_kernel_args_t args = {.in = operands, .out = operands + step->n_in, .param = params, .error = &error};

    for (int i = 0; i < step->n_in; ++i)
        if (step->in[i] != NULL)
            RLX_TRY(value_data(eval, step->in[i], &operands[i].base));
    for (int i = 0; i < step->n_out; ++i)
        if (step->out[i] != NULL)
            RLX_TRY(value_data(eval, step->out[i], &operands[step->n_in + i].base));
    for (int i = 0; i < step->n_params; ++i)
        if (!rlx_expr_is_const(exprs, step->params[i], &params[i]))
            return rlx_fail(eval->diag, RLX_E_INTERNAL, "%s: folding met a symbolic parameter", step->op->source);
    if (!rlx_expr_is_const(exprs, step->tiles, &tiles) || !rlx_expr_is_const(exprs, step->scratch, &scratch))
        return rlx_fail(eval->diag, RLX_E_INTERNAL, "%s: folding met a symbolic size", step->op->source);
    args.scratch = aligned_alloc(64, ((size_t)scratch + 127) / 64 * 64);
    RLX_ASSERT(args.scratch != NULL);
    rlx_reference_kernel(step->kernel)(&args, 0, tiles);
    free(args.scratch);
    if (error != 0)
        return rlx_fail(eval->diag, RLX_E_CONST_VALUE, "%s: %s", step->op->source,
                        error & RLX_KERR_INDEX    ? "a constant index is out of range"
                        : error & RLX_KERR_DIVIDE ? "integer division of constants by zero"
                                                  : "a constant value is outside its domain");
    return RLX_OK;
}

rlx_status_t rlx_evaluate_op(rlx_graph_t *graph, rlx_op_t *op, void **out_data, rlx_diag_t *diag)
{
    evaluation_t eval = {.diag = diag};
    rlx_status_t status;

    rlx_builder_init(&eval.builder, graph, 1);
    status = rlx_builder_lower(&eval.builder, op, diag);
    eval.data = calloc((size_t)graph->n_values + 1, sizeof *eval.data);
    RLX_ASSERT(eval.data != NULL);
    for (int i = 0; i < eval.builder.n_steps && status == RLX_OK; ++i)
        status = run_step(&eval, eval.builder.steps[i]);
    for (int i = 0; i < op->n_out && status == RLX_OK; ++i)
        if (op->out[i] != NULL)
            status = value_data(&eval, op->out[i], &out_data[i]);
    free(eval.data);
    rlx_builder_fini(&eval.builder);
    return status;
}
