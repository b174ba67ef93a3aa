/* Shape rules and lowerings by family: the op list names the family, these are its entry points. Internal to ir/. */
#ifndef RLX_IR_DISPATCH_H
#define RLX_IR_DISPATCH_H

#include "ir/lower/lower.h"

#define RLX_FAMILIES(X) X(elementwise) X(move) X(gather) X(make) X(reduce) X(norm) X(conv) X(matmul) X(rnn) X(sample) X(flow) X(quant) X(foreign)

#define X(family)                                                                              \
    rlx_status_t rlx_shape_##family(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);       \
    rlx_status_t rlx_lower_##family(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
RLX_FAMILIES(X)
#undef X

rlx_status_t rlx_lower_attention(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
