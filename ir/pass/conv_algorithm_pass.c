/* Chooses the algorithm of every convolution: direct, F(2,3) or F(4,3). Part of the canonical form, at every optimisation level.
 *
 * The choice depends on the op alone: kernel, stride, channels, weights, and extents where the model itself fixes them; never on batch,
 * target, threads or --shape. First speed: a model of cost whose constants were measured once and are the same for everyone. Then
 * accuracy: F(4,3) and F(2,3) must stay within the bounds with this layer's weights (ir/cost/conv_accuracy.h). */
#include <stdio.h>

#include "ir/cost/conv_accuracy.h"
#include "ir/cost/conv_algorithm.h"
#include "ir/operator/conv_geometry.h"
#include "ir/operator/conv_operands.h"
#include "ir/dump/explain.h"
#include "ir/pass.h"

#define ERROR_MEAN 3e-6
#define ERROR_MAX 5e-5

/* In multiply-adds of 16 lanes. A weight is worth a few of them besides its use: it is read, from memory where there are many. */
#define COST_WEIGHT 6
#define COST_TRANSFORM_2 90  /* of 16 channels of a patch, in or out */
#define COST_TRANSFORM_4 220
#define COST_TRANSFORM_STRIDED 60
#define COST_GAIN 0.9        /* what is not at least this much cheaper stays direct */
#define EXTENT_OPEN 28       /* of a map whose extents the model leaves open */
#define CHANNELS_LEAST 5     /* fewer have a direct kernel of their own */

typedef struct conv_size {
    int64_t stride;
    double channels, outputs, height, width;
} conv_size_t;

static double blocks_of(double count) { return (double)(((int64_t)count + 15) / 16); }

static double cost_of(rlx_conv_algorithm_t algorithm, const conv_size_t *s)
{
    int m = (int)algorithm;
    double lines = s->channels * blocks_of(s->outputs), patches, side, transform;

    if (m == 0)
        return 9 * lines * (s->height * s->width + COST_WEIGHT);
    side = s->stride == 2 ? 5 : m + 2;
    transform = s->stride == 2 ? COST_TRANSFORM_STRIDED : m == 2 ? COST_TRANSFORM_2 : COST_TRANSFORM_4;
    patches = (double)((((int64_t)s->height + m - 1) / m) * (((int64_t)s->width + m - 1) / m));
    return side * side * lines * (patches + COST_WEIGHT) + patches * transform * (blocks_of(s->channels) + blocks_of(s->outputs));
}

static conv_size_t size_read(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int64_t weights[RLX_RANK_MAX] = {0}, height, width;
    const rlx_value_t *y = op->out[0];
    bool known = !op->open && rlx_expr_is_const(graph->exprs, y->dims[2], &height) && rlx_expr_is_const(graph->exprs, y->dims[3], &width);

    rlx_value_dims_const(graph, op->in[1], weights);
    return (conv_size_t){.stride = rlx_conv_geometry_of(graph, op).stride[0], .channels = (double)weights[1], .outputs = (double)weights[0],
                         .height = known ? (double)height : EXTENT_OPEN, .width = known ? (double)width : EXTENT_OPEN};
}

static bool is_accurate(rlx_conv_algorithm_t algorithm, const conv_size_t *s, const rlx_op_t *op)
{
    rlx_conv_error_t error = rlx_conv_error_estimate((int)algorithm, s->stride, (int64_t)s->outputs, (int64_t)s->channels, op->in[1]->data);

    return error.mean <= ERROR_MEAN && error.max <= ERROR_MAX;
}

static const char *percent_print(double percent, char out[16])
{
    snprintf(out, 16, "%.0f%%", percent);
    return out;
}

/* Tells the choice, and what the others would have cost, in percent of direct. */
static rlx_conv_algorithm_t chosen(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_algorithm_t algorithm, const conv_size_t *s, const char *rule)
{
    double direct = cost_of(RLX_CONV_ALGORITHM_DIRECT, s);
    char text[16];

    rlx_explain(graph, op, "algorithm", rule, "algorithm=\"direct\" on the operator, or --accuracy",
                "%s; of direct's work F(2,3) does %.0f%%, F(4,3) %s", rlx_conv_algorithm_name(algorithm), 100 * cost_of(RLX_CONV_ALGORITHM_F23, s) / direct,
                s->stride == 1 ? percent_print(100 * cost_of(RLX_CONV_ALGORITHM_F43, s) / direct, text) : "cannot be taken at this stride");
    return algorithm;
}

static rlx_conv_algorithm_t choose(const rlx_graph_t *graph, const rlx_op_t *op)
{
    conv_size_t s = size_read(graph, op);
    double direct = cost_of(RLX_CONV_ALGORITHM_DIRECT, &s) * COST_GAIN, f23 = cost_of(RLX_CONV_ALGORITHM_F23, &s),
           f43 = cost_of(RLX_CONV_ALGORITHM_F43, &s);

    if (s.channels < CHANNELS_LEAST)
        return chosen(graph, op, RLX_CONV_ALGORITHM_DIRECT, &s, "fewer than 5 input channels: the direct kernel for them is faster");
    if (graph->accuracy == RLX_ACCURACY_DEFAULT && s.stride == 1 && f43 < f23 && f43 < direct && is_accurate(RLX_CONV_ALGORITHM_F43, &s, op))
        return chosen(graph, op, RLX_CONV_ALGORITHM_F43, &s, "the least work whose error with these weights is within 3e-6 (mean) and 5e-5 (most)");
    if (f23 < direct && is_accurate(RLX_CONV_ALGORITHM_F23, &s, op))
        return chosen(graph, op, RLX_CONV_ALGORITHM_F23, &s, "the least work within the bounds of error and of --accuracy");
    return chosen(graph, op, RLX_CONV_ALGORITHM_DIRECT, &s, "no Winograd form is 10% cheaper and within the bounds of error");
}

/* Where the author wrote the algorithm, it stays. */
static bool is_stated(const rlx_graph_t *graph, const rlx_op_t *op)
{
    if (rlx_op_attr(op, "algorithm") == NULL)
        return false;
    rlx_explain(graph, op, "algorithm", "the model says so", "leave algorithm out", "%s", rlx_op_string(op, "algorithm"));
    return true;
}

rlx_status_t rlx_pass_algorithm(rlx_graph_t *graph, rlx_diag_t *diag)
{
    (void)diag;
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        rlx_conv_algorithm_t algorithm;

        if (op->kind != RLX_OP_conv || is_stated(graph, op))
            continue;
        if (graph->accuracy == RLX_ACCURACY_DIRECT || !rlx_conv_winograd_fits(graph, op, RLX_CONV_ALGORITHM_F23)) {
            rlx_explain(graph, op, "algorithm", "Winograd is for f32, constant 3x3 kernels, stride 1 or 2, one group, and not for --accuracy direct",
                        "nothing, or --accuracy default", "direct");
            continue;
        }
        algorithm = choose(graph, op);
        if (algorithm != RLX_CONV_ALGORITHM_DIRECT)
            rlx_op_set_string(graph, op, "algorithm", rlx_conv_algorithm_name(algorithm));
    }
    return RLX_OK;
}

void rlx_conv_mark_open(rlx_graph_t *graph)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        const rlx_value_t *y = op->kind == RLX_OP_conv ? op->out[0] : NULL;
        int64_t extent;

        for (int i = 2; y != NULL && i < y->rank; ++i)
            op->open |= y->dims[i] < 0 || !rlx_expr_is_const(graph->exprs, y->dims[i], &extent);
    }
}
