/* Permuted views of row-major tensors. Pure. */
#include "ir/lower/product.h"
#include "ir/shape/common.h"

rlx_view_t rlx_view_make(const rlx_graph_t *graph, int rank, const rlx_expr_t *dims, const int64_t *perm)
{
    rlx_view_t view = {.rank = rank};

    for (int i = 0; i < rank; i++) {
        view.dims[i] = dims[perm[i]];
        view.strides[i] = rlx_shape_product(graph, dims, (int)perm[i] + 1, rank);
    }
    return view;
}

rlx_status_t rlx_view_perm(const rlx_op_t *op, const char *name, int rank, int64_t *out_perm, rlx_diag_t *diag)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);
    unsigned seen = 0;

    for (int i = 0; i < rank; i++)
        out_perm[i] = i;
    if (attr == NULL)
        return RLX_OK;
    if (attr->n != rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%s has %d entries for %d axes", name, attr->n, rank);
    for (int i = 0; i < rank; i++) {
        if (attr->is[i] < 0 || attr->is[i] >= rank || (seen >> attr->is[i] & 1))
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%s is no permutation of %d axes", name, rank);
        seen |= 1u << attr->is[i];
        out_perm[i] = attr->is[i];
    }
    return RLX_OK;
}
