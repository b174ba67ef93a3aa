/* Operators whose code is not RLX's: custom_op and remote_call. Their results' types are given, not inferred; remote_call is not lowered yet. */
#include <string.h>

#include "ir/annotation.h"
#include "ir/custom.h"
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

rlx_status_t rlx_shape_foreign(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    for (int i = 0; i < op->n_out; i++) {
        const rlx_value_t *value = op->out[i];
        rlx_expr_t dims[RLX_RANK_MAX];

        if (value == NULL)
            continue;
        if (value->rank < 0 || rlx_dtype_size(value->dtype) == 0)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the type of result %d is not given", i);
        for (int k = 0; k < value->rank; k++)
            dims[k] = value->dims[k];
        RLX_TRY(rlx_shape_set(graph, op, i, value->dtype, value->rank, dims, diag));
    }
    return RLX_OK;
}

/* What the kernel is told of an operand (kernels/params_custom.h). */
static void operand_params(rlx_step_t *step, int index, const rlx_value_t *value)
{
    int word = RLX_WORDS(rlx_custom_params_t) + index * RLX_WORDS(rlx_custom_operand_t);

    if (value == NULL)
        return;
    rlx_step_param_const(step, word + RLX_WORD(rlx_custom_operand_t, dtype), value->dtype);
    rlx_step_param_const(step, word + RLX_WORD(rlx_custom_operand_t, rank), value->rank);
    for (int i = 0; i < value->rank; i++)
        rlx_step_param(step, word + RLX_WORD(rlx_custom_operand_t, dims) + i, value->dims[i]);
}

static int64_t f64_bits(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static rlx_status_t custom_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_op_annotation_t *note = op->annotation;
    int n = op->n_in + op->n_out;
    rlx_exprs_t *e = rlx_builder_graph(builder)->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, (rlx_kernel_id_t)note->custom_kernel,
                                      RLX_WORDS(rlx_custom_params_t) + n * RLX_WORDS(rlx_custom_operand_t));
    const rlx_value_t *first = op->n_out > 0 ? op->out[0] : NULL;
    bool split = note->custom_split && first != NULL && first->rank > 0;

    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, n_in), op->n_in);
    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, n_out), op->n_out);
    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, step), note->step_operand);
    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, step_max), f64_bits(note->max_step_size));
    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, tolerance), f64_bits(note->error_tolerance));
    rlx_step_param_const(step, RLX_WORD(rlx_custom_params_t, split), split);
    for (int i = 0; i < n; i++) {
        const rlx_value_t *value = i < op->n_in ? op->in[i] : op->out[i - op->n_in];

        (i < op->n_in ? rlx_step_in : rlx_step_out)(step, value);
        operand_params(step, i, value);
    }
    return rlx_step_end(step, split ? first->dims[0] : rlx_expr_const(e, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_foreign(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->kind == RLX_OP_custom_op && op->annotation != NULL && op->annotation->custom_kernel != 0)
        return custom_lower(builder, op, diag);
    rlx_fail(diag, RLX_E_NOT_YET, "%s can be verified and dumped, but not compiled by this version", rlx_op_info(op->kind)->name);
    return rlx_diag_at(diag, "%s", op->source);
}
