/* Operators whose code is not RLX's: custom_op and remote_call. Their results' types are given, not inferred; they are not lowered yet. */
#include "ir/dispatch.h"
#include "ir/shape_common.h"

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

rlx_status_t rlx_lower_foreign(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    (void)builder;
    rlx_fail(diag, RLX_E_NOT_YET, "%s can be verified and dumped, but not compiled by this version", rlx_op_info(op->kind)->name);
    return rlx_diag_at(diag, "%s", op->source);
}
