/* conv_first_c16: direct convolution from a row-major image of a few channels to blocked activations, f32, group 1.
 *
 * Same bits as conv_plain: per output one fma per (kernel row, kernel column, channel), from the bias: with at most 16 channels there
 * is one input block. One tile is a block of output rows and a range of output blocks; its input rows are gathered into planes in which
 * columns of equal remainder by the stride lie together, so that neighbouring outputs read neighbouring floats. `step[k]` is the offset of the k-th factor.
 * Weights: RLX_LAYOUT_CONV_16O. */
#include "kernels/conv_finish.h"
#include "kernels/conv_planar.h"
#include "kernels/vec16_tile.h"

#ifdef __AVX512F__
#define FIRST_BLOCKS 2
#define FIRST_PIXELS 14
#else
#define FIRST_BLOCKS 1
#define FIRST_PIXELS 6
#endif

/* What tiles share; the rest comes in registers (kernels/conv_tile.h). */
typedef struct first_tile {
    const int64_t *step;
    int64_t steps;
    const float *w;
    int64_t w_step;     /* floats between output blocks */
    const float *start;
    int64_t y_block;
    const conv_finish_t *finish;
} first_tile_t;

VEC16_INLINE void tile_run(int n, int nb, const first_tile_t *t, const float *x, float *y)
{
    tile16_t acc[FIRST_PIXELS][2], weight[2];
    const float *w = t->w, *residual = conv_finish_residual(t->finish, y);
    int64_t w_step = t->w_step;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = tile16_load(t->start + j * 16);
    VEC16_NO_UNROLL for (int64_t k = 0; k < t->steps; k++, w += 16) {
        const float *q = x + t->step[k];

        VEC16_UNROLL for (int j = 0; j < nb; j++)
            weight[j] = tile16_load(w + j * w_step);
        VEC16_UNROLL for (int p = 0; p < n; p++) {
            tile16_t v = tile16_splat(q[p]);

            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_fma(v, weight[j], acc[p][j]);
        }
    }
    if (residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_add(acc[p][j], tile16_load(residual + j * t->y_block + p * 16));
    if (t->finish->end == CONV_FINISH_CLAMP) {
        tile16_t lo = tile16_splat(t->finish->lo), hi = tile16_splat(t->finish->hi);

        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++) { /* one by one: kernels/vec16_tile.h */
                tile16_store(y + j * t->y_block + p * 16, tile16_min(hi, tile16_max(lo, acc[p][j])));
                VEC16_FENCE();
            }
        return;
    }
    if (t->finish->end == CONV_FINISH_HARD_SWISH)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = conv_finish_tile_hard_swish(acc[p][j], t->finish->affine);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            tile16_store(y + j * t->y_block + p * 16, acc[p][j]);
}

#define FIRST_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_first_##n##x##nb(const first_tile_t *t, const float *x, float *y) { tile_run(n, nb, t, x, y); }
#define FIRST_CASE(n, nb)               \
    case n:                             \
        conv_first_##n##x##nb(t, x, y); \
        break;
#define FIRST_SMALL(X, nb) X(1, nb) X(2, nb) X(3, nb) X(4, nb) X(5, nb) X(6, nb)
#define FIRST_LARGE(X, nb) FIRST_SMALL(X, nb) X(7, nb) X(8, nb) X(9, nb) X(10, nb) X(11, nb) X(12, nb) X(13, nb) X(14, nb)

#ifdef __AVX512F__
FIRST_LARGE(FIRST_DEFINE, 1)
FIRST_LARGE(FIRST_DEFINE, 2)
#else
FIRST_SMALL(FIRST_DEFINE, 1)
#endif

static void tile_call(int64_t n, int64_t nb, const first_tile_t *t, const float *x, float *y)
{
#ifdef __AVX512F__
    if (nb == 2)
        switch (n) { FIRST_LARGE(FIRST_CASE, 2) }
    else
        switch (n) { FIRST_LARGE(FIRST_CASE, 1) }
#else
    (void)nb;
    switch (n) { FIRST_SMALL(FIRST_CASE, 1) }
#endif
}

RLX_KERNEL_ENTRY(conv_first_c16)
{
    const rlx_conv_c16_params_t *p = (const rlx_conv_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks = (p->outputs + 15) / 16, row_blocks = (win->out[1] + p->rows - 1) / p->rows, width = win->out[2],
        plane = win->out[1] * width * 16, ranges = (blocks + p->blocks - 1) / p->blocks;
    int64_t steps = win->kernel[1] * win->kernel[2] * p->channels, *step = args->scratch, tiles = (width + FIRST_PIXELS - 1) / FIRST_PIXELS;
    float *planes = (float *)(step + (steps + 7) / 8 * 8), zeros[16 * FIRST_BLOCKS] = {0};
    conv_finish_t finish;

    conv_finish_make(&p->epilogue, args, &finish);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t row = tile / ranges % row_blocks * p->rows, n = tile / ranges / row_blocks, begin = tile % ranges * p->blocks;
        int64_t rows = row + p->rows < win->out[1] ? p->rows : win->out[1] - row, end = begin + p->blocks < blocks ? begin + p->blocks : blocks;
        conv_gather_shape_t shape = conv_gather_shape_rows(win, rows);
        const float *image = (const float *)args->in[0].base + n * p->channels * win->in[1] * win->in[2];
        first_tile_t t = {.step = step, .steps = steps, .w_step = steps * 16, .y_block = plane, .finish = &finish};

        if (tile == tile_begin || tile % ranges == 0) /* else the planes are those of the tile before */
            conv_planar_gather(win, p->channels, image, row, &shape, step, planes);
        for (int64_t block = begin; block < end; block += FIRST_BLOCKS) {
            int64_t nb = block + FIRST_BLOCKS <= end ? FIRST_BLOCKS : 1;

            t.w = (const float *)args->in[1].base + block * t.w_step;
            t.start = args->in[2].base != NULL ? (const float *)args->in[2].base + block * 16 : zeros;
            float *y = (float *)args->out[0].base + (n * blocks + block) * plane + row * width * 16;

            for (int64_t r = 0; r < rows; r++) {
                const float *x = planes + r * shape.columns;

                for (int64_t i = 0; i < tiles; i++) {
                    int64_t count = width / tiles + (i < width % tiles);

                    tile_call(count, nb, &t, x, y);
                    for (int64_t j = 0; j < nb; j++)
                        conv_finish_rest(&finish, y + j * plane, count * 16);
                    x += count;
                    y += count * 16;
                }
            }
        }
    }
}
