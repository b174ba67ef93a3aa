/* What the shape rules and the lowerings of Fourier transforms share. The axis of a transform may be known only at run time. */
#ifndef RLX_IR_SAMPLE_H
#define RLX_IR_SAMPLE_H

#include "ir/shape/common.h"

typedef struct rlx_dft_geometry {
    rlx_expr_t axis; /* in [0, rank - 1) */
    int out_parts;
    bool inverse, half; /* half: the input is one side of a symmetric spectrum, the output real */
    rlx_expr_t outer, in_count, inner, length, out_count;
} rlx_dft_geometry_t;

typedef struct rlx_stft_geometry {
    rlx_expr_t step, length, frames, out_count;
} rlx_stft_geometry_t;

rlx_status_t rlx_dft_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, rlx_dft_geometry_t *out, rlx_diag_t *diag);
rlx_status_t rlx_stft_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, rlx_stft_geometry_t *out, rlx_diag_t *diag);

#endif
