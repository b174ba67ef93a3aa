/* Fast f32 resize of the last two dimensions: the bits of kernels/resize.c. Rows first: each input row is resized along its width once
 * and kept in scratch while output rows need it; then columns, vectorised over the width. */
#include "kernels/abi.h"
#include "kernels/params.h"

static void row_of(const float *restrict x, const int32_t *restrict index, const float *restrict weight, int64_t taps, int64_t n,
                   float *restrict to)
{
    if (taps == 2) {
        for (int64_t o = 0; o < n; o++)
            to[o] = __builtin_fmaf(weight[2 * o + 1], x[index[2 * o + 1]], weight[2 * o] * x[index[2 * o]]);
        return;
    }
    for (int64_t o = 0; o < n; o++) {
        float sum = weight[o * taps] * x[index[o * taps]];
        for (int64_t t = 1; t < taps; t++)
            sum = __builtin_fmaf(weight[o * taps + t], x[index[o * taps + t]], sum);
        to[o] = sum;
    }
}

/* A width that is not resized needs no table: its rows are read in place. */
static const float *input_row(const rlx_resize_f32_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t i)
{
    return (const float *)args->in[0].base + (plane * p->in_h + i) * p->in_w;
}

static void resized_row(const rlx_resize_f32_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t i, float *to)
{
    const float *x = input_row(p, args, plane, i);

    if (p->taps_w == 0)
        __builtin_memcpy(to, x, (size_t)p->out_w * sizeof *to);
    else
        row_of(x, (const int32_t *)args->in[1].base + p->first_w, (const float *)args->in[2].base + p->first_w, p->taps_w, p->out_w, to);
}

/* Input row `i` of a plane, resized; places of one output row are neighbours, so i mod taps never collides within it. */
static const float *cached_row(const rlx_resize_f32_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t i)
{
    int64_t *held = args->scratch, slot = i % p->taps_h;
    float *rows = (float *)(held + p->taps_h) + slot * p->out_w;

    if (p->taps_w == 0)
        return input_row(p, args, plane, i);
    if (held[slot] != plane * p->in_h + i) {
        held[slot] = plane * p->in_h + i;
        resized_row(p, args, plane, i, rows);
    }
    return rows;
}

static void add_row(const float *restrict row, float weight, int first, int64_t n, float *restrict y)
{
    if (first)
        for (int64_t o = 0; o < n; o++)
            y[o] = weight * row[o];
    else
        for (int64_t o = 0; o < n; o++)
            y[o] = __builtin_fmaf(weight, row[o], y[o]);
}

static void join_rows(const float *restrict a, const float *restrict b, float weight_a, float weight_b, int64_t n, float *restrict y)
{
    for (int64_t o = 0; o < n; o++)
        y[o] = __builtin_fmaf(weight_b, b[o], weight_a * a[o]);
}

static void resize_f32_row(const rlx_resize_f32_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t o)
{
    const int32_t *index = (const int32_t *)args->in[1].base + p->first_h + o * p->taps_h;
    const float *weight = (const float *)args->in[2].base + p->first_h + o * p->taps_h;
    float *y = (float *)args->out[0].base + (plane * p->out_h + o) * p->out_w;

    if (p->taps_h == 0) {
        resized_row(p, args, plane, o, y);
        return;
    }
    if (p->taps_h == 2) {
        const float *a = cached_row(p, args, plane, index[0]);
        join_rows(a, cached_row(p, args, plane, index[1]), weight[0], weight[1], p->out_w, y);
        return;
    }
    for (int64_t t = 0; t < p->taps_h; t++)
        add_row(cached_row(p, args, plane, index[t]), weight[t], t == 0, p->out_w, y);
}

RLX_KERNEL_ENTRY(resize_f32)
{
    const rlx_resize_f32_params_t *p = (const rlx_resize_f32_params_t *)args->param;
    int64_t blocks = (p->out_h + p->rows_per_tile - 1) / p->rows_per_tile;

    for (int64_t t = 0; t < p->taps_h && tile_begin < tile_end; t++)
        ((int64_t *)args->scratch)[t] = -1;
    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t first = t % blocks * p->rows_per_tile, end = first + p->rows_per_tile < p->out_h ? first + p->rows_per_tile : p->out_h;
        for (int64_t o = first; o < end; o++)
            resize_f32_row(p, args, t / blocks, o);
    }
}
