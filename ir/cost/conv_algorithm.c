/* The attribute "algorithm" of convolutions. See ir/cost/conv_algorithm.h. */
#include "ir/cost/conv_algorithm.h"

#include <string.h>

#include "ir/operator/conv_geometry.h"
#include "ir/operator/conv_operands.h"

static const struct {
    rlx_conv_algorithm_t algorithm;
    const char *name;
} names[] = {{RLX_CONV_ALGORITHM_DIRECT, "direct"}, {RLX_CONV_ALGORITHM_F23, "F(2,3)"}, {RLX_CONV_ALGORITHM_F43, "F(4,3)"}};

#define N_NAMES (sizeof names / sizeof *names)

bool rlx_conv_algorithm_parse(const char *text, rlx_conv_algorithm_t *out_algorithm)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (strcmp(names[i].name, text) == 0) {
            *out_algorithm = names[i].algorithm;
            return true;
        }
    return false;
}

const char *rlx_conv_algorithm_name(rlx_conv_algorithm_t algorithm)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (names[i].algorithm == algorithm)
            return names[i].name;
    return "?";
}

rlx_conv_algorithm_t rlx_conv_algorithm(const rlx_op_t *op)
{
    rlx_conv_algorithm_t algorithm = RLX_CONV_ALGORITHM_DIRECT;

    if (op->kind == RLX_OP_conv)
        (void)rlx_conv_algorithm_parse(rlx_op_string(op, "algorithm"), &algorithm);
    return algorithm;
}

static bool geometry_fits(const rlx_graph_t *graph, const rlx_op_t *op, int64_t stride_max)
{
    rlx_conv_geometry_t g;

    if (rlx_conv_geometry_read(graph, op, &g, NULL) != RLX_OK || g.rank != 2)
        return false;
    for (int i = 0; i < 2; i++)
        if (g.kernel[i] != 3 || g.stride[i] > stride_max || g.stride[i] != g.stride[0] || g.dilation[i] != 1)
            return false;
    return true;
}

bool rlx_conv_winograd_fits(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_algorithm_t algorithm)
{
    const rlx_value_t *bias;
    int64_t dims[RLX_RANK_MAX];

    if (op->kind != RLX_OP_conv || op->in[0]->dtype != RLX_F32 || op->in[0]->rank != 4 || rlx_op_int(op, "group") != 1)
        return false;
    bias = rlx_conv_operand(op, 2);
    return op->in[1]->data != NULL && op->in[1]->layout == RLX_LAYOUT_ROW_MAJOR && (bias == NULL || bias->data != NULL) &&
           rlx_value_dims_const(graph, op->in[1], dims) && dims[0] > 0 && dims[1] > 0 && rlx_conv_pads_natural(graph, op) &&
           geometry_fits(graph, op, algorithm == RLX_CONV_ALGORITHM_F23 ? 2 : 1);
}
