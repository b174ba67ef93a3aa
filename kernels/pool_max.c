/* max_pool: the definition of max pooling, with the index of the first maximum. Row-major.
 *
 * Cells of a window are visited in row-major order; a cell replaces the maximum when it is greater, or is NaN and the maximum is not.
 * A window without any cell gives the lowest value and index -1. One tile is one plane. Every supported type is exact in double. */
#include "kernels/number.h"
#include "kernels/window.h"

typedef struct best_cell {
    double value;
    int64_t at; /* in the plane, row-major; -1: none yet */
} best_cell_t;

static double lowest(int64_t dtype)
{
    return dtype == RLX_KD_I8 ? -128 : dtype == RLX_KD_U8 ? 0 : -__builtin_inf();
}

static double element(int64_t dtype, const void *x, int64_t at)
{
    switch (dtype) {
    case RLX_KD_F32: return ((const float *)x)[at];
    case RLX_KD_F64: return ((const double *)x)[at];
    case RLX_KD_F16: return (double)rlx_half_widen(((const rlx_half_t *)x)[at]);
    case RLX_KD_BF16: return rlx_number_from_bf16(((const uint16_t *)x)[at]);
    case RLX_KD_I8: return ((const int8_t *)x)[at];
    default: return ((const uint8_t *)x)[at];
    }
}

static best_cell_t window_best(const rlx_pool_params_t *p, const void *x, int64_t plane_at, const int64_t o[3])
{
    const rlx_conv_window_t *w = &p->window;
    best_cell_t best = {.value = lowest(p->dtype), .at = -1};
    int64_t lo[3], hi[3];

    for (int axis = 0; axis < 3; axis++)
        rlx_window_kernel_range(w, axis, o[axis], &lo[axis], &hi[axis]);
    for (int64_t kd = lo[0]; kd < hi[0]; kd++)
        for (int64_t kh = lo[1]; kh < hi[1]; kh++) {
            int64_t row = (rlx_window_cell(w, 0, o[0], kd) * w->in[1] + rlx_window_cell(w, 1, o[1], kh)) * w->in[2];

            for (int64_t kw = lo[2]; kw < hi[2]; kw++) {
                int64_t at = row + rlx_window_cell(w, 2, o[2], kw);
                double v = element(p->dtype, x, plane_at + at);

                if (best.at < 0 || v > best.value || (v != v && best.value == best.value))
                    best = (best_cell_t){.value = v, .at = at};
            }
        }
    return best;
}

/* Index of cell `at` of a plane as ONNX counts it: row-major, or column-major inside the plane. */
static int64_t index_of(const rlx_pool_params_t *p, int64_t plane, int64_t at)
{
    const int64_t *in = p->window.in;
    int64_t w, h, d;

    if (at < 0) /* a window without cells: the map may have none, too */
        return -1;
    w = at % in[2];
    h = at / in[2] % in[1];
    d = at / in[2] / in[1];
    return plane * rlx_window_cells(in) + (p->storage_order == 0 ? at : (w * in[1] + h) * in[0] + d);
}

static void value_store(int64_t dtype, void *y, int64_t at, double value)
{
    float f = (float)value;
    int64_t i = dtype == RLX_KD_I8 || dtype == RLX_KD_U8 ? (int64_t)value : 0;

    if (dtype == RLX_KD_F64)
        ((double *)y)[at] = value;
    else if (dtype == RLX_KD_I8 || dtype == RLX_KD_U8)
        rlx_number_store_i64(dtype, y, at, 1, 1, &i);
    else
        rlx_number_store_f32(dtype, y, at, 1, 1, &f);
}

RLX_KERNEL_ENTRY(max_pool)
{
    const rlx_pool_params_t *p = (const rlx_pool_params_t *)args->param;
    const int64_t *out = p->window.out;
    int64_t in_plane = rlx_window_cells(p->window.in), out_plane = rlx_window_cells(out), *indices = args->out[1].base;

    for (int64_t plane = tile_begin; plane < tile_end; plane++)
        for (int64_t at = 0; at < out_plane; at++) {
            int64_t o[3] = {at / out[2] / out[1], at / out[2] % out[1], at % out[2]};
            best_cell_t best = window_best(p, args->in[0].base, plane * in_plane, o);

            if (args->out[0].base != NULL)
                value_store(p->dtype, args->out[0].base, plane * out_plane + at, best.value);
            if (indices != NULL)
                indices[plane * out_plane + at] = index_of(p, plane, best.at);
        }
}
