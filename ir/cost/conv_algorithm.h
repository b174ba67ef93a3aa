/* Which algorithm a convolution has: attribute "algorithm" of the op, set once for all levels, since it decides bits. Internal to ir/. */
#ifndef RLX_IR_CONV_ALGORITHM_H
#define RLX_IR_CONV_ALGORITHM_H

#include "ir/graph.h"

typedef enum rlx_conv_algorithm {
    RLX_CONV_ALGORITHM_DIRECT = 0,
    RLX_CONV_ALGORITHM_F23 = 2, /* the value is m: outputs of a patch along an axis */
    RLX_CONV_ALGORITHM_F43 = 4,
} rlx_conv_algorithm_t;

/* What the attribute says; false when it is a word that means nothing. */
bool rlx_conv_algorithm_parse(const char *text, rlx_conv_algorithm_t *out_algorithm);
const char *rlx_conv_algorithm_name(rlx_conv_algorithm_t algorithm);
/* Of an op whose shape rule has run. */
rlx_conv_algorithm_t rlx_conv_algorithm(const rlx_op_t *op);
/* Whether Winograd's `algorithm` can compute `op`: 3x3, stride 1 or, for F(2,3), 2 along both axes, dilation 1, one group, f32, constant
 * weights. */
bool rlx_conv_winograd_fits(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_algorithm_t algorithm);

#endif
