/* avg_pool: the definition of average pooling. Row-major. The cells of a window that lie in the input are added in row-major order,
 * from +0, in f32 (f64 for f64); the sum is divided by the number of cells: those in the input, or with count_include_pad those in the
 * padded input. Cells that ceil mode puts beyond the declared padding never count. One tile is one plane. */
#include "kernels/number.h"
#include "kernels/window.h"

typedef struct pool_window {
    int64_t o[3], lo[3], hi[3];
    int64_t count;
} pool_window_t;

static pool_window_t window_at(const rlx_pool_params_t *p, int64_t at)
{
    const int64_t *out = p->window.out;
    pool_window_t v = {.o = {at / out[2] / out[1], at / out[2] % out[1], at % out[2]}, .count = 1};

    for (int axis = 0; axis < 3; axis++) {
        rlx_window_kernel_range(&p->window, axis, v.o[axis], &v.lo[axis], &v.hi[axis]);
        v.count *= rlx_window_counted(&p->window, axis, v.o[axis], p->count_include_pad != 0);
    }
    return v;
}

/* First cell of kernel row (kd, kh); the row's next cells are a dilation apart. */
static int64_t row_first(const rlx_conv_window_t *w, const pool_window_t *v, int64_t kd, int64_t kh)
{
    return (rlx_window_cell(w, 0, v->o[0], kd) * w->in[1] + rlx_window_cell(w, 1, v->o[1], kh)) * w->in[2] +
           rlx_window_cell(w, 2, v->o[2], v->lo[2]);
}

#define AVG_DEFINE(name, A, load)                                                                              \
    static A name(const rlx_pool_params_t *p, const void *x, int64_t plane_at, const pool_window_t *v)         \
    {                                                                                                          \
        const rlx_conv_window_t *w = &p->window;                                                             \
        A sum = 0, cell;                                                                                       \
                                                                                                               \
        for (int64_t kd = v->lo[0]; kd < v->hi[0]; kd++)                                                       \
            for (int64_t kh = v->lo[1]; kh < v->hi[1]; kh++) {                                                 \
                int64_t at = plane_at + row_first(w, v, kd, kh);                                               \
                                                                                                               \
                for (int64_t kw = v->lo[2]; kw < v->hi[2]; kw++, at += w->dilation[2]) {                       \
                    load(p->dtype, x, at, 1, 1, &cell);                                                        \
                    sum += cell;                                                                               \
                }                                                                                              \
            }                                                                                                  \
        return sum / (A)v->count;                                                                              \
    }
AVG_DEFINE(window_average_f32, float, rlx_number_load_f32)
AVG_DEFINE(window_average_f64, double, rlx_number_load_f64)

RLX_KERNEL_ENTRY(avg_pool)
{
    const rlx_pool_params_t *p = (const rlx_pool_params_t *)args->param;
    int64_t in_plane = rlx_window_cells(p->window.in), out_plane = rlx_window_cells(p->window.out);

    for (int64_t plane = tile_begin; plane < tile_end; plane++)
        for (int64_t at = 0; at < out_plane; at++) {
            pool_window_t v = window_at(p, at);
            void *y = args->out[0].base;

            if (p->dtype == RLX_KD_F64) {
                double mean = window_average_f64(p, args->in[0].base, plane * in_plane, &v);
                rlx_number_store_f64(p->dtype, y, plane * out_plane + at, 1, 1, &mean);
            } else {
                float mean = window_average_f32(p, args->in[0].base, plane * in_plane, &v);
                rlx_number_store_f32(p->dtype, y, plane * out_plane + at, 1, 1, &mean);
            }
        }
}
