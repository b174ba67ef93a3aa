/* The canonical form: rewrites that may change rounding, hence run at every optimisation level.
 *
 *   batch norm after a convolution   -> into its weights and bias (computed in f64, rounded once)
 *   constant per-channel add         -> bias of the convolution or product before it
 *   batch norm elsewhere             -> multiply and add per channel
 *   x*sigmoid(x), x*clip(x+3,0,6)/6, x*hard_sigmoid(x), 0.5*x*(1+erf(x/sqrt 2)) -> swish, hard_swish, gelu
 *   pow(x, 2), pow(x, 0.5), pow(x, 1) -> x*x, sqrt, x
 *   the spelled-out layer norm       -> layer_norm (ir/pass/canonicalise_norm.c)
 *   identity, transposes that cancel -> nothing */
#include "ir/pass/canonicalise.h"

#include <math.h>
#include <string.h>

static bool is_f32_const(const rlx_value_t *value) { return value != NULL && value->data != NULL && value->dtype == RLX_F32; }

static int64_t const_extent(const rlx_graph_t *graph, const rlx_value_t *value, int axis)
{
    int64_t extent = -1;

    rlx_expr_is_const(graph->exprs, value->dims[axis], &extent);
    return extent;
}

/* True when `constant` holds one number per index of `axis` (counted from the end of `like`'s shape) and broadcasts over everything else. */
static bool is_per_axis(const rlx_graph_t *graph, const rlx_value_t *constant, const rlx_value_t *like, int axis, int64_t extent)
{
    int shift = like->rank - constant->rank;

    if (!is_f32_const(constant) || shift < 0)
        return false;
    if (axis - shift < 0)
        return false;
    for (int i = 0; i < constant->rank; ++i)
        if (const_extent(graph, constant, i) != (i + shift == axis ? extent : 1))
            return false;
    return true;
}

/* The bias of a conv as f64, zero when absent. */
static bool conv_bias(const rlx_op_t *conv, int64_t channels, double *out)
{
    const rlx_value_t *bias = rlx_op_in(conv, 2);

    if (bias != NULL && !is_f32_const(bias))
        return false;
    for (int64_t i = 0; i < channels; ++i)
        out[i] = bias != NULL ? ((const float *)bias->data)[i] : 0.0;
    return true;
}

static rlx_op_t *foldable_conv(const rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_op_t *conv = rlx_value_made_by(value, RLX_OP_conv);

    if (conv == NULL)
        conv = rlx_value_made_by(value, RLX_OP_conv_transpose);
    if (conv == NULL || rlx_value_single_user(graph, value) == NULL || !is_f32_const(conv->in[1]))
        return NULL;
    return conv;
}

static rlx_value_t *vector_const(rlx_graph_t *graph, const char *name, const float *data, int64_t count)
{
    return rlx_graph_const(graph, name, RLX_F32, 1, &count, data, false);
}

/* Replaces a conv's operands: the op is made anew, since its operand count may grow. */
static rlx_status_t remake_conv(rlx_graph_t *graph, rlx_op_t *conv, rlx_value_t *weights, rlx_value_t *bias)
{
    rlx_value_t **in = rlx_graph_alloc(graph, 3 * sizeof *in);

    in[0] = conv->in[0];
    in[1] = conv->in[1];
    in[2] = rlx_op_in(conv, 2);
    conv->in = in;
    conv->n_in = 3;
    rlx_op_set_input(conv, 1, weights);
    rlx_op_set_input(conv, 2, bias);
    return RLX_OK;
}

/* Scales output channel o of `conv` by scale[o] and sets its bias. conv weights are [O, I/g, ...]; transposed ones [I, O/g, ...]. */
static rlx_status_t scale_conv(rlx_graph_t *graph, rlx_op_t *conv, int64_t channels, const double *scale, const double *bias)
{
    const rlx_value_t *w = conv->in[1];
    rlx_value_t *scaled;
    int64_t dims[RLX_RANK_MAX], count = 1, inner = 1;
    int64_t group = rlx_op_int(conv, "group");
    float *weights, *b = rlx_graph_alloc(graph, (size_t)channels * sizeof *b);

    rlx_value_dims_const(graph, w, dims);
    for (int i = 0; i < w->rank; ++i)
        count *= dims[i];
    for (int i = 2; i < w->rank; ++i)
        inner *= dims[i];
    weights = rlx_graph_alloc(graph, (size_t)count * sizeof *weights + 64);
    for (int64_t i = 0; i < count; ++i) {
        int64_t channel = conv->kind == RLX_OP_conv ? i / (inner * dims[1]) : (i / inner / dims[1]) / (dims[0] / group) * dims[1] + i / inner % dims[1];

        weights[i] = (float)(((const float *)w->data)[i] * scale[channel]);
    }
    for (int64_t i = 0; i < channels; ++i)
        b[i] = (float)bias[i];
    scaled = rlx_graph_const(graph, w->name, RLX_F32, w->rank, dims, weights, true);
    scaled->annotation = w->annotation;
    return remake_conv(graph, conv, scaled, vector_const(graph, conv->name, b, channels));
}

/* y = x*scale + shift of an inference batch norm, in f64. False when its parameters are not constants. */
static bool norm_affine(rlx_graph_t *graph, const rlx_op_t *norm, int64_t *out_channels, double **out_scale, double **out_shift)
{
    int64_t channels = norm->in[1]->rank == 1 ? const_extent(graph, norm->in[1], 0) : -1;
    double epsilon = rlx_op_float(norm, "epsilon");

    for (int i = 1; i < 5; ++i)
        if (!is_f32_const(norm->in[i]))
            return false;
    if (channels < 0 || rlx_op_int(norm, "training_mode") != 0 || norm->out[0]->dtype != RLX_F32 || norm->in[0]->rank < 2)
        return false;
    *out_scale = rlx_graph_alloc(graph, (size_t)(channels + 1) * sizeof **out_scale);
    *out_shift = rlx_graph_alloc(graph, (size_t)(channels + 1) * sizeof **out_shift);
    for (int64_t i = 0; i < channels; ++i) {
        const float *scale = norm->in[1]->data, *bias = norm->in[2]->data, *mean = norm->in[3]->data, *var = norm->in[4]->data;

        (*out_scale)[i] = scale[i] / sqrt(var[i] + epsilon);
        (*out_shift)[i] = bias[i] - mean[i] * (*out_scale)[i];
    }
    *out_channels = channels;
    return true;
}

static rlx_status_t batch_norm_to_affine(rlx_graph_t *graph, rlx_op_t *norm, int64_t channels, const double *scale, const double *shift, rlx_diag_t *diag)
{
    int64_t dims[RLX_RANK_MAX];
    int rank = norm->in[0]->rank - 1;
    float *values = rlx_graph_alloc(graph, (size_t)(2 * channels + 16) * sizeof *values);
    rlx_value_t *operands[2] = {norm->in[0], NULL};
    rlx_value_t *product, *sum;

    for (int i = 0; i < rank; ++i)
        dims[i] = i == 0 ? channels : 1;
    for (int64_t i = 0; i < channels; ++i) {
        values[i] = (float)scale[i];
        values[channels + i] = (float)shift[i];
    }
    operands[1] = rlx_graph_const(graph, norm->in[1]->name, RLX_F32, rank, dims, values, false);
    product = rlx_graph_insert(graph, norm, RLX_OP_mul, norm, 2, operands, diag);
    if (product == NULL)
        return diag->status;
    operands[0] = product;
    operands[1] = rlx_graph_const(graph, norm->in[2]->name, RLX_F32, rank, dims, values + channels, false);
    sum = rlx_graph_insert(graph, norm, RLX_OP_add, norm, 2, operands, diag);
    if (sum == NULL)
        return diag->status;
    rlx_op_replace(graph, norm, sum);
    return RLX_OK;
}

static rlx_status_t rewrite_batch_norm(rlx_graph_t *graph, rlx_op_t *norm, rlx_diag_t *diag)
{
    rlx_op_t *conv = foldable_conv(graph, norm->in[0]);
    double *scale, *shift, *bias;
    int64_t channels;

    for (int i = 1; i < norm->n_out; ++i)
        if (norm->out[i] != NULL)
            return RLX_OK;
    if (!norm_affine(graph, norm, &channels, &scale, &shift))
        return RLX_OK;
    bias = rlx_graph_alloc(graph, (size_t)(channels + 1) * sizeof *bias);
    if (conv == NULL || !conv_bias(conv, channels, bias))
        return batch_norm_to_affine(graph, norm, channels, scale, shift, diag);
    for (int64_t i = 0; i < channels; ++i)
        bias[i] = bias[i] * scale[i] + shift[i];
    scale_conv(graph, conv, channels, scale, bias);
    rlx_op_replace(graph, norm, norm->in[0]);
    return RLX_OK;
}

/* add(conv(x), c) with one number per channel. */
static bool fold_conv_add(rlx_graph_t *graph, rlx_op_t *add, rlx_value_t *made, rlx_value_t *constant)
{
    rlx_op_t *conv = foldable_conv(graph, made);
    int64_t channels = conv != NULL ? const_extent(graph, made, 1) : -1;
    const rlx_value_t *bias = conv != NULL ? rlx_op_in(conv, 2) : NULL;
    float *sum;

    if (channels < 0 || made->rank != add->out[0]->rank || !is_per_axis(graph, constant, made, 1, channels) || (bias != NULL && !is_f32_const(bias)))
        return false;
    sum = rlx_graph_alloc(graph, (size_t)(channels + 1) * sizeof *sum);
    for (int64_t i = 0; i < channels; ++i)
        sum[i] = (bias != NULL ? ((const float *)bias->data)[i] : 0.0f) + ((const float *)constant->data)[i];
    remake_conv(graph, conv, conv->in[1], vector_const(graph, constant->name, sum, channels));
    rlx_op_replace(graph, add, made);
    return true;
}

/* add(matmul(x, w), b) with one number per column. */
static bool fold_matmul_add(rlx_graph_t *graph, rlx_op_t *add, rlx_value_t *made, rlx_value_t *constant)
{
    rlx_op_t *matmul = rlx_value_made_by(made, RLX_OP_matmul);
    int64_t columns;

    if (matmul == NULL || matmul->n_in != 2 || rlx_value_single_user(graph, made) == NULL || made->rank < 2 || made->dtype != RLX_F32)
        return false;
    columns = const_extent(graph, made, made->rank - 1);
    if (columns < 0 || made->rank != add->out[0]->rank || !is_per_axis(graph, constant, made, made->rank - 1, columns))
        return false;
    remake_conv(graph, matmul, matmul->in[1], vector_const(graph, constant->name, constant->data, columns));
    rlx_op_replace(graph, add, made);
    return true;
}

static bool rewrite_add(rlx_graph_t *graph, rlx_op_t *add)
{
    for (int i = 0; i < 2; ++i) {
        rlx_value_t *made = add->in[i], *other = add->in[1 - i];

        if (is_f32_const(other) && made->data == NULL && (fold_conv_add(graph, add, made, other) || fold_matmul_add(graph, add, made, other)))
            return true;
    }
    return false;
}

static rlx_status_t rewrite_pow(rlx_graph_t *graph, rlx_op_t *pow, rlx_diag_t *diag)
{
    rlx_value_t *base = pow->in[0];
    rlx_value_t *operands[2] = {base, base};
    rlx_value_t *value = base;
    double exponent;

    if (!rlx_value_scalar(graph, pow->in[1], &exponent) || base->dtype != pow->out[0]->dtype || base->rank != pow->out[0]->rank)
        return RLX_OK;
    if (exponent == 2.0)
        value = rlx_graph_insert(graph, pow, RLX_OP_mul, pow, 2, operands, diag);
    else if (exponent == 0.5 && (base->dtype == RLX_F32 || base->dtype == RLX_F64))
        value = rlx_graph_insert(graph, pow, RLX_OP_sqrt, pow, 1, operands, diag);
    else if (exponent != 1.0 || pow->out[0]->is_output)
        return RLX_OK;
    if (value == NULL)
        return diag->status;
    rlx_op_replace(graph, pow, value);
    return RLX_OK;
}

static void rewrite_transpose(rlx_graph_t *graph, rlx_op_t *op)
{
    rlx_op_t *inner = rlx_value_made_by(op->in[0], RLX_OP_transpose);
    int rank = op->out[0]->rank;
    int64_t perm[RLX_RANK_MAX];
    bool identity = true;

    for (int i = 0; i < rank; ++i) {
        perm[i] = rlx_op_ints_at(op, "perm", i, rank - 1 - i);
        if (inner != NULL)
            perm[i] = rlx_op_ints_at(inner, "perm", (int)perm[i], rank - 1 - perm[i]);
        identity &= perm[i] == i;
    }
    if (inner != NULL) {
        rlx_op_set_input(op, 0, inner->in[0]);
        rlx_op_set_ints(graph, op, "perm", perm, rank);
    }
    if (identity && !op->out[0]->is_output)
        rlx_op_replace(graph, op, op->in[0]);
}

static rlx_status_t rewrite_op(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_identity:
        if (!op->out[0]->is_output)
            rlx_op_replace(graph, op, op->in[0]);
        return RLX_OK;
    case RLX_OP_batch_norm: return rewrite_batch_norm(graph, op, diag);
    case RLX_OP_add: return rewrite_add(graph, op) ? RLX_OK : rlx_rewrite_layer_norm(graph, op, diag);
    case RLX_OP_pow: return rewrite_pow(graph, op, diag);
    case RLX_OP_transpose: rewrite_transpose(graph, op); return RLX_OK;
    case RLX_OP_mul:
    case RLX_OP_div: return rlx_rewrite_activation(graph, op, diag);
    default: return RLX_OK;
    }
}

rlx_status_t rlx_pass_canonicalise(rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_op_t *next;

    for (rlx_op_t *op = graph->first; op != NULL; op = next) {
        next = op->next;
        if (rewrite_op(graph, op, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s", op->source);
    }
    rlx_pass_dead_code(graph);
    return RLX_OK;
}
