/* col2im: adds the columns of a block matrix back into an image. Row-major. An image cell is the sum, from +0, over kernel cells in
 * row-major order, of the element of the block that covers it through that cell. f32 sums (f64 for f64), rounded once. One tile is one
 * plane of the image. */
#include "kernels/number.h"
#include "kernels/window.h"

/* The block that puts kernel cell k on image cell i, or -1. */
static int64_t block_of(const rlx_conv_window_t *w, int axis, int64_t i, int64_t k)
{
    int64_t t = i + w->pad[axis] - k * w->dilation[axis], block = t / w->stride[axis];

    return t < 0 || t % w->stride[axis] != 0 || block >= w->out[axis] ? -1 : block;
}

/* Element of column matrix row `cell` for image cell `i`, or -1 when no block covers it. */
static int64_t column_at(const rlx_conv_window_t *w, const int64_t i[3], int64_t cell)
{
    int64_t k[3] = {cell / w->kernel[2] / w->kernel[1], cell / w->kernel[2] % w->kernel[1], cell % w->kernel[2]};
    int64_t at = 0;

    for (int axis = 0; axis < 3; axis++) {
        int64_t block = block_of(w, axis, i[axis], k[axis]);

        if (block < 0)
            return -1;
        at = at * w->out[axis] + block;
    }
    return cell * rlx_window_cells(w->out) + at;
}

#define COL2IM_DEFINE(name, A, load, store)                                                               \
    static void name(const rlx_col2im_params_t *p, const void *x, int64_t x_at, void *y, int64_t y_at)    \
    {                                                                                                     \
        const rlx_conv_window_t *w = &p->window;                                                        \
        int64_t cells = rlx_window_cells(w->kernel), image = rlx_window_cells(w->in);                     \
                                                                                                          \
        for (int64_t at = 0; at < image; at++) {                                                          \
            int64_t i[3] = {at / w->in[2] / w->in[1], at / w->in[2] % w->in[1], at % w->in[2]};           \
            A sum = 0, value;                                                                             \
                                                                                                          \
            for (int64_t cell = 0; cell < cells; cell++) {                                                \
                int64_t from = column_at(w, i, cell);                                                     \
                                                                                                          \
                if (from >= 0) {                                                                          \
                    load(p->dtype, x, x_at + from, 1, 1, &value);                                         \
                    sum += value;                                                                         \
                }                                                                                         \
            }                                                                                             \
            store(p->dtype, y, y_at + at, 1, 1, &sum);                                                    \
        }                                                                                                 \
    }
COL2IM_DEFINE(plane_f32, float, rlx_number_load_f32, rlx_number_store_f32)
COL2IM_DEFINE(plane_f64, double, rlx_number_load_f64, rlx_number_store_f64)

RLX_KERNEL_ENTRY(col2im)
{
    const rlx_col2im_params_t *p = (const rlx_col2im_params_t *)args->param;
    int64_t column_plane = rlx_window_cells(p->window.kernel) * rlx_window_cells(p->window.out), image = rlx_window_cells(p->window.in);

    for (int64_t plane = tile_begin; plane < tile_end; plane++)
        if (p->dtype == RLX_KD_F64)
            plane_f64(p, args->in[0].base, plane * column_plane, args->out[0].base, plane * image);
        else
            plane_f32(p, args->in[0].base, plane * column_plane, args->out[0].base, plane * image);
}
