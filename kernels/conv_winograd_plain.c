/* conv_winograd_plain: the definition of F(2,3) and F(4,3). f32, row-major, 3x3, stride 1 or 2, dilation 1, one group.
 *
 * One tile is one patch of all output channels. The patch of every input channel is read with +0 outside the map and transformed along
 * height, then along width. Each sum of an output channel is a chain over blocks of 16 input channels, the cells that take part in it and
 * the channels of the block (one cell with stride 1: over the input channels) that starts from +0, cut every 128 products
 * (kernels/segment.h). The sums are transformed along height, then along width; the bias (or +0) is added, then comes
 * the epilogue. Outputs outside the map are dropped. */
#include "kernels/epilogue.h"
#include "kernels/winograd.h"

/* The input patch whose first cell is (row, column) of plane x. */
static void patch_read(const rlx_conv_window_t *w, const float *x, int64_t row, int64_t column, int64_t side, float *out)
{
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++) {
            int64_t h = row + i, v = column + j;

            out[i * side + j] = h >= 0 && h < w->in[1] && v >= 0 && v < w->in[2] ? x[h * w->in[2] + v] : 0;
        }
}

static void line_transform(int m, int64_t stride, const float *line, float *to)
{
    if (stride == 2)
        winograd_input_strided(line, to);
    else
        winograd_input(m, line, to);
}

static void input_transform(int m, int64_t stride, float *patch)
{
    float line[WINOGRAD_SIDE_MAX], to[WINOGRAD_SIDE_MAX];
    int side = (int)winograd_side(m, stride);

    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++)
            line[i] = patch[i * side + j];
        line_transform(m, stride, line, to);
        for (int i = 0; i < side; i++)
            patch[i * side + j] = to[i];
    }
    for (int i = 0; i < side; i++) {
        line_transform(m, stride, patch + i * side, to);
        for (int j = 0; j < side; j++)
            patch[i * side + j] = to[j];
    }
}

/* Stride 1. total[tap]: the chain over all channels of v[channel][tap] * u[channel][tap]. */
static void taps_sum(const float *v, const float *u, int64_t channels, int64_t taps, float *total)
{
    float segment[WINOGRAD_TAPS_MAX];

    for (int64_t begin = 0; begin < channels; begin += RLX_SEGMENT_K) {
        int64_t end = winograd_least(begin + RLX_SEGMENT_K, channels);

        for (int64_t tap = 0; tap < taps; tap++)
            segment[tap] = 0;
        for (int64_t c = begin; c < end; c++)
            for (int64_t tap = 0; tap < taps; tap++)
                segment[tap] = __builtin_fmaf(v[c * taps + tap], u[c * taps + tap], segment[tap]);
        for (int64_t tap = 0; tap < taps; tap++)
            total[tap] = begin == 0 ? segment[tap] : total[tap] + segment[tap];
    }
}

/* Stride 2: the sum at (row, column) of the three by three. */
static float strided_sum(const float *v, const float *u, int64_t channels, int64_t row, int64_t column)
{
    int64_t top = winograd_first(2, row), bottom = winograd_first(2, row + 1), left = winograd_first(2, column);
    int64_t right = winograd_first(2, column + 1), step = 16 * rlx_segment_blocks((bottom - top) * (right - left));
    float total = 0, segment = 0;

    for (int64_t block = 0; block < channels; block += 16) {
        for (int64_t i = top; i < bottom; i++)
            for (int64_t j = left; j < right; j++)
                for (int64_t c = block; c < winograd_least(block + 16, channels); c++)
                    segment = __builtin_fmaf(v[c * 25 + i * 5 + j], u[c * 25 + i * 5 + j], segment);
        if (block + 16 >= channels || (block + 16) % step == 0) {
            total = block < step ? segment : total + segment;
            segment = 0;
        }
    }
    return total;
}

static void sums_make(const rlx_conv_winograd_plain_params_t *p, const float *v, const float *u, float *total)
{
    if (p->window.stride[1] == 1) {
        taps_sum(v, u, p->channels, (p->m + 2) * (p->m + 2), total);
        return;
    }
    for (int64_t i = 0; i < 9; i++)
        total[i] = strided_sum(v, u, p->channels, i / 3, i % 3);
}

static void line_finish(int m, int64_t stride, const float *line, float *to)
{
    if (stride == 2)
        winograd_output_strided(line, to);
    else
        winograd_output(m, line, to);
}

/* The m x m outputs of the sums. */
static void output_transform(int m, int64_t stride, const float *taps, float bias, float *out)
{
    float rows[WINOGRAD_SIDE_MAX * WINOGRAD_SIDE_MAX], line[WINOGRAD_SIDE_MAX], to[WINOGRAD_SIDE_MAX];
    int side = (int)winograd_sums(m, stride);

    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++)
            line[i] = taps[i * side + j];
        line_finish(m, stride, line, to);
        for (int i = 0; i < m; i++)
            rows[i * side + j] = to[i];
    }
    for (int i = 0; i < m; i++) {
        line_finish(m, stride, rows + i * side, to);
        for (int j = 0; j < m; j++)
            out[i * m + j] = to[j] + bias;
    }
}

/* Stores the part of a patch that lies inside the map, of output channel o. */
static void patch_store(const rlx_kernel_args_t *args, const rlx_conv_winograd_plain_params_t *p, const winograd_run_t *at, int64_t o,
                        float *out)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t columns = winograd_least(p->m, w->out[2] - at->column);
    float *y = args->out[0].base;

    for (int64_t i = 0; i < p->m && at->row + i < w->out[1]; i++) {
        int64_t to = ((at->n * p->outputs + o) * w->out[1] + at->row + i) * w->out[2] + at->column;

        rlx_epilogue_apply(&p->epilogue, args, out + i * p->m, columns, to);
        for (int64_t j = 0; j < columns; j++)
            y[to + j] = out[i * p->m + j];
    }
}

RLX_KERNEL_ENTRY(conv_winograd_plain)
{
    const rlx_conv_winograd_plain_params_t *p = (const rlx_conv_winograd_plain_params_t *)args->param;
    const rlx_conv_window_t *w = &p->window;
    const float *x = args->in[0].base, *u = args->in[1].base, *bias = args->in[2].base;
    int64_t stride = w->stride[1], side = winograd_side(p->m, stride), taps = side * side, plane = w->in[1] * w->in[2];
    float *v = args->scratch, total[WINOGRAD_TAPS_MAX], out[WINOGRAD_TAPS_MAX];

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        winograd_run_t at = winograd_run_at(w, p->m, tile, 1);

        for (int64_t c = 0; c < p->channels; c++) {
            patch_read(w, x + (at.n * p->channels + c) * plane, at.row * stride - w->pad[1], at.column * stride - w->pad[2], side, v + c * taps);
            input_transform((int)p->m, stride, v + c * taps);
        }
        for (int64_t o = 0; o < p->outputs; o++) {
            sums_make(p, v, u + o * p->channels * taps, total);
            output_transform((int)p->m, stride, total, bias != NULL ? bias[o] : 0, out);
            patch_store(args, p, &at, o, out);
        }
    }
}
