/* Fast f32 resize of the space of a C16 tensor: the bits of kernels/resize.c, with the 16 channels of a block side by side. */
#include "kernels/abi.h"
#include "kernels/params.h"
#include "kernels/vec16.h"

/* Sum over the `taps` places of an input row that an output place reads; 0 taps: the width is not resized. */
VEC16_INLINE vec16_t place_sum(const float *row, const int32_t *index, const float *weight, int64_t taps, int64_t o)
{
    if (taps == 0)
        return vec16_load(row + o * 16);
    index += o * taps;
    weight += o * taps;
    vec16_t sum = vec16_splat(weight[0]) * vec16_load(row + (int64_t)index[0] * 16);
    for (int64_t t = 1; t < taps; t++)
        sum = vec16_fma(vec16_splat(weight[t]), vec16_load(row + (int64_t)index[t] * 16), sum);
    return sum;
}

/* The tables along the width, and the input rows that an output row reads. */
typedef struct row {
    const float *x; /* the plane */
    int64_t stride; /* of an input row */
    const int32_t *index_h, *index_w;
    const float *weight_h, *weight_w;
    int64_t taps_h, taps_w, at;
} row_t;

VEC16_INLINE void row_sum(row_t r, int64_t taps_h, int64_t taps_w, int64_t n, float *restrict y)
{
    for (int64_t o = 0; o < n; o++) {
        if (taps_h == 0) {
            vec16_store(y + o * 16, place_sum(r.x + r.at * r.stride, r.index_w, r.weight_w, taps_w, o));
            continue;
        }
        vec16_t sum = vec16_splat(r.weight_h[0]) * place_sum(r.x + r.index_h[0] * r.stride, r.index_w, r.weight_w, taps_w, o);
        for (int64_t t = 1; t < taps_h; t++)
            sum = vec16_fma(vec16_splat(r.weight_h[t]), place_sum(r.x + r.index_h[t] * r.stride, r.index_w, r.weight_w, taps_w, o), sum);
        vec16_store(y + o * 16, sum);
    }
}

static void weighted_row(const rlx_resize_c16_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t row)
{
    const int32_t *index = args->in[1].base;
    const float *weight = args->in[2].base;
    float *y = (float *)args->out[0].base + (plane * p->out_h + row) * p->out_w * 16;
    row_t r = {.x = (const float *)args->in[0].base + plane * p->in_h * p->in_w * 16,
               .stride = p->in_w * 16,
               .index_w = index + p->first_w,
               .weight_w = weight + p->first_w,
               .index_h = index + p->first_h + row * p->taps_h,
               .weight_h = weight + p->first_h + row * p->taps_h,
               .at = row};

    if (p->taps_h == 2 && p->taps_w == 2)
        row_sum(r, 2, 2, p->out_w, y);
    else
        row_sum(r, p->taps_h, p->taps_w, p->out_w, y);
}

static void nearest_row(const rlx_resize_c16_params_t *p, const rlx_kernel_args_t *args, int64_t plane, int64_t row)
{
    const int32_t *index = args->in[1].base;
    int64_t i = p->taps_h > 0 ? index[p->first_h + row] : row;
    const float *x = (const float *)args->in[0].base + (plane * p->in_h + i) * p->in_w * 16;
    float *y = (float *)args->out[0].base + (plane * p->out_h + row) * p->out_w * 16;

    for (int64_t o = 0; o < p->out_w; o++)
        vec16_store(y + o * 16, vec16_load(x + (p->taps_w > 0 ? index[p->first_w + o] : o) * 16));
}

RLX_KERNEL_ENTRY(resize_c16)
{
    const rlx_resize_c16_params_t *p = (const rlx_resize_c16_params_t *)args->param;
    int64_t blocks = (p->out_h + p->rows_per_tile - 1) / p->rows_per_tile;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t first = t % blocks * p->rows_per_tile, end = first + p->rows_per_tile < p->out_h ? first + p->rows_per_tile : p->out_h;
        for (int64_t row = first; row < end; row++)
            if (args->in[2].base)
                weighted_row(p, args, t / blocks, row);
            else
                nearest_row(p, args, t / blocks, row);
    }
}
