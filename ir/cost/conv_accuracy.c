/* The error of Winograd's algorithms, measured on one layer's weights. See ir/cost/conv_accuracy.h. */
#include "ir/cost/conv_accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/lower/pack_winograd.h"
#include "kernels/params_conv.h"
#include "kernels/reference.h"

#define SIDE 8              /* outputs along an axis: whole patches of both sizes */
#define CELLS (SIDE * SIDE)
#define SIDE_IN(stride) ((SIDE - 1) * (stride) + 3)
#define TAPS_MAX 36
#define CHECKED 32          /* output channels */

/* |x| of a nearly normal x: the sum of twelve uniform numbers less 6, which is exact. */
static float half_normal(uint32_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += (double)(*state >> 8) / (1 << 24);
    }
    return (float)fabs(sum);
}

/* The convolution of output channel weights `w` in float64. */
static void exact_outputs(int64_t stride, int64_t channels, const float *x, const float *w, double *out)
{
    int64_t side = SIDE_IN(stride);

    for (int i = 0; i < CELLS; i++)
        out[i] = 0;
    for (int64_t c = 0; c < channels; c++, x += side * side, w += 9)
        for (int k = 0; k < 9; k++)
            for (int i = 0; i < CELLS; i++)
                out[i] += (double)w[k] * (double)x[(i / SIDE * stride + k / 3) * side + i % SIDE * stride + k % 3];
}

static void plain_outputs(int m, int64_t stride, int64_t outputs, int64_t channels, const float *x, const float *u, float *y)
{
    rlx_conv_winograd_plain_params_t p = {.m = m, .batch = 1, .channels = channels, .outputs = outputs,
        .window = {.in = {1, SIDE_IN(stride), SIDE_IN(stride)}, .out = {1, SIDE, SIDE}, .kernel = {1, 3, 3}, .stride = {1, stride, stride},
                   .dilation = {1, 1, 1}}};
    rlx_operand_t in[3] = {{.base = (void *)(uintptr_t)x}, {.base = (void *)(uintptr_t)u}}, out = {.base = y};
    float *scratch = malloc((size_t)(channels * TAPS_MAX) * sizeof *scratch);
    uint32_t error = 0;
    rlx_kernel_args_t args = {.in = in, .out = &out, .param = (const int64_t *)&p, .scratch = scratch, .error = &error};

    RLX_ASSERT(scratch != NULL);
    rlx_reference_kernel(RLX_K_conv_winograd_plain)(&args, 0, (SIDE / m) * (SIDE / m));
    free(scratch);
}

static rlx_conv_error_t outputs_compare(int64_t stride, int64_t outputs, int64_t channels, const float *x, const float *w, const float *y)
{
    double exact[CELLS], square = 0, sum = 0, max = 0, rms;

    for (int64_t o = 0; o < outputs; o++) {
        exact_outputs(stride, channels, x, w + o * channels * 9, exact);
        for (int i = 0; i < CELLS; i++) {
            double error = fabs((double)y[o * CELLS + i] - exact[i]);

            square += exact[i] * exact[i];
            sum += error;
            max = error > max || isnan(error) ? error : max;
        }
    }
    if (square == 0)
        return (rlx_conv_error_t){0, max};
    rms = sqrt(square / (double)(outputs * CELLS));
    return (rlx_conv_error_t){sum / (double)(outputs * CELLS) / rms, max / rms};
}

rlx_conv_error_t rlx_conv_error_estimate(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w)
{
    int64_t checked = outputs < CHECKED ? outputs : CHECKED, floats = channels * 9, cells = channels * SIDE_IN(stride) * SIDE_IN(stride);
    float *x = malloc((size_t)cells * sizeof *x), *sample = malloc((size_t)(checked * floats) * sizeof *sample);
    float *u = malloc((size_t)(checked * channels * TAPS_MAX) * sizeof *u), y[CHECKED * CELLS];
    uint32_t state = 20261130;
    rlx_conv_error_t error;

    RLX_ASSERT(x != NULL);
    RLX_ASSERT(sample != NULL);
    RLX_ASSERT(u != NULL);
    for (int64_t i = 0; i < cells; i++)
        x[i] = half_normal(&state);
    for (int64_t o = 0; o < checked; o++) /* spread over all output channels */
        memcpy(sample + o * floats, w + o * outputs / checked * floats, (size_t)floats * sizeof *sample);
    rlx_pack_winograd_plain(m, stride, checked, channels, sample, u);
    plain_outputs(m, stride, checked, channels, x, u, y);
    error = outputs_compare(stride, checked, channels, x, sample, y);
    free(x);
    free(sample);
    free(u);
    return error;
}
