/* conv_few: convolution to at most four output channels, row-major to row-major, f32, group 1, any kernel, stride, dilation and padding.
 *
 * Same bits as conv_plain. Blocks of 16 output channels would be almost empty, so pixels fill the lanes instead: a tile is several vectors
 * of neighbouring pixels times all outputs. One tile of work is a block of output rows; its input rows are gathered into planes first
 * (conv_planar.h), and `step[k]` is the offset of the k-th factor. The last vector of a row may compute pixels past its end, from whatever
 * lies behind the planes; they are not stored. Weights: [k][outputs]. */
#include "kernels/conv_planar.h"
#include "kernels/epilogue.h"
#include "kernels/segment.h"

typedef struct few_tile {
    const float *x;
    const int64_t *step;
    int64_t steps, segment;
    const float *w, *bias; /* bias NULL: none */
    float *y;
    int64_t y_output, pixels; /* floats between outputs; pixels to store */
} few_tile_t;

/* The outputs of one segment, [begin, end) of the steps. */
VEC16_INLINE void few_segment(int n, int outputs, const few_tile_t *t, int64_t begin, int64_t end, vec16_t acc[][4])
{
    const float *w = t->w + begin * outputs;

    VEC16_NO_UNROLL for (int64_t k = begin; k < end; k++, w += outputs) {
        const float *q = t->x + t->step[k];

        VEC16_UNROLL for (int p = 0; p < n; p++) {
            vec16_t v = vec16_load(q + p * 16);

            VEC16_UNROLL for (int j = 0; j < outputs; j++)
                acc[p][j] = vec16_fma(v, vec16_splat(w[j]), acc[p][j]);
        }
    }
}

VEC16_INLINE void few_run(int n, int outputs, const few_tile_t *t)
{
    vec16_t acc[8][4], total[8][4];

    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < outputs; j++)
            total[p][j] = vec16_splat(t->bias != NULL ? t->bias[j] : 0);
    few_segment(n, outputs, t, 0, t->segment < t->steps ? t->segment : t->steps, total);
    VEC16_NO_UNROLL for (int64_t k = t->segment; k < t->steps; k += t->segment) {
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < outputs; j++)
                acc[p][j] = (vec16_t){0};
        few_segment(n, outputs, t, k, k + t->segment < t->steps ? k + t->segment : t->steps, acc);
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < outputs; j++)
                total[p][j] = total[p][j] + acc[p][j];
    }
    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < outputs; j++) {
            float *y = t->y + j * t->y_output + p * 16;

            if (p < n - 1 || t->pixels == n * 16)
                vec16_store(y, total[p][j]);
            else
                __builtin_memcpy(y, &total[p][j], (size_t)(t->pixels - p * 16) * sizeof *y);
        }
}

/* X(vectors, outputs) for what fits the registers. */
#ifdef __AVX512F__
static const int vectors_most[5] = {0, 8, 8, 6, 6};
#define FEW_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1)
#define FEW_2(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2)
#define FEW_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3)
#define FEW_4(X) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#else
static const int vectors_most[5] = {0, 5, 3, 2, 1};
#define FEW_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#define FEW_2(X) X(1, 2) X(2, 2) X(3, 2)
#define FEW_3(X) X(1, 3) X(2, 3)
#define FEW_4(X) X(1, 4)
#endif
#define FEW_DEFINE(n, outputs) \
    static __attribute__((noinline)) void conv_few_##n##x##outputs(const few_tile_t *t) { few_run(n, outputs, t); }
#define FEW_CASE(n, outputs)         \
    case n:                          \
        conv_few_##n##x##outputs(t); \
        break;
FEW_1(FEW_DEFINE)
FEW_2(FEW_DEFINE)
FEW_3(FEW_DEFINE)
FEW_4(FEW_DEFINE)

static void tile_call(int64_t n, int64_t outputs, const few_tile_t *t)
{
    if (outputs == 1)
        switch (n) { FEW_1(FEW_CASE) }
    else if (outputs == 2)
        switch (n) { FEW_2(FEW_CASE) }
    else if (outputs == 3)
        switch (n) { FEW_3(FEW_CASE) }
    else
        switch (n) { FEW_4(FEW_CASE) }
}

/* One output row of all outputs, from the planes at t->x to t->y. */
static void row_run(const rlx_conv_few_params_t *p, const rlx_kernel_args_t *args, few_tile_t *t)
{
    int64_t width = p->window.out[2], vectors = (width + 15) / 16, most = vectors_most[p->outputs], tiles = (vectors + most - 1) / most;
    float *y = t->y;

    for (int64_t i = 0, at = 0; i < tiles; i++) {
        int64_t n = vectors / tiles + (i < vectors % tiles);

        t->pixels = width - at < n * 16 ? width - at : n * 16;
        tile_call(n, p->outputs, t);
        t->x += n * 16;
        t->y += n * 16;
        at += n * 16;
    }
    for (int64_t j = 0; j < p->outputs; j++, y += t->y_output)
        rlx_epilogue_apply(&p->epilogue, args, y, width, y - (const float *)args->out[0].base);
}

RLX_KERNEL_ENTRY(conv_few)
{
    const rlx_conv_few_params_t *p = (const rlx_conv_few_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t row_blocks = (win->out[1] + p->rows - 1) / p->rows, plane = win->out[1] * win->out[2], *step = args->scratch;
    int64_t cells = win->kernel[1] * win->kernel[2], steps = cells * p->channels;
    float *planes = (float *)(step + (steps + 7) / 8 * 8);

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t row = tile % row_blocks * p->rows, n = tile / row_blocks, rows = conv_gather_least(p->rows, win->out[1] - row);
        conv_gather_shape_t shape = conv_gather_shape_rows(win, rows);
        few_tile_t t = {.step = step, .steps = steps, .segment = rlx_segment_blocks_conv(win) * 16 * cells, .w = args->in[1].base,
                        .bias = args->in[2].base, .y_output = plane};

        conv_planar_gather(win, p->channels, (const float *)args->in[0].base + n * p->channels * win->in[1] * win->in[2], row, &shape, step,
                           planes);
        for (int64_t r = 0; r < rows; r++) {
            t.x = planes + r * shape.columns;
            t.y = (float *)args->out[0].base + n * p->outputs * plane + (row + r) * win->out[2];
            row_run(p, args, &t);
        }
    }
}
