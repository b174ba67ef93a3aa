/* conv_width: direct convolution with output columns in the lanes, row-major (or channels-last) to row-major, f32, any group, kernel, stride,
 * dilation and padding.
 *
 * Same bits as conv_plain: the order per output does not depend on the lanes. It pays where blocks of 16 channels would be almost empty: few
 * outputs, or groups of few. Work is cut into tiles of output rows and columns, whose input is gathered into planes first (conv_planar.h);
 * `step[k]` is the offset of the k-th factor. A register tile is several vectors of neighbouring pixels times a few outputs. Where rows are
 * short, pixels run on across rows (those between two rows are computed, too, and dropped); else the last vector of a row runs past its
 * end. Weights: [group][block of outputs][k][output of the block]. */
#include "kernels/conv_planar.h"
#include "kernels/conv_width.h"
#include "kernels/epilogue.h"
#include "kernels/segment.h"

typedef struct width_tile {
    const float *x;
    const int64_t *step;
    int64_t steps, segment;
    const float *w, *bias; /* of the first output; bias NULL: none */
    int64_t w_step;
    float *y;
    int64_t y_output, pixels; /* floats between outputs; pixels to store */
} width_tile_t;

/* The outputs of one segment, [begin, end) of the steps. */
VEC16_INLINE void width_segment(int n, int outputs, const width_tile_t *t, int64_t begin, int64_t end, vec16_t acc[][4])
{
    const float *w = t->w + begin * t->w_step;

    VEC16_NO_UNROLL for (int64_t k = begin; k < end; k++, w += t->w_step) {
        const float *q = t->x + t->step[k];

        VEC16_UNROLL for (int p = 0; p < n; p++) {
            vec16_t v = vec16_load(q + p * 16);

            VEC16_UNROLL for (int j = 0; j < outputs; j++)
                acc[p][j] = vec16_fma(v, vec16_splat(w[j]), acc[p][j]);
        }
    }
}

VEC16_INLINE void width_run(int n, int outputs, const width_tile_t *t)
{
    vec16_t acc[8][4], total[8][4];

    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < outputs; j++)
            total[p][j] = vec16_splat(t->bias != NULL ? t->bias[j] : 0);
    width_segment(n, outputs, t, 0, t->segment < t->steps ? t->segment : t->steps, total);
    VEC16_NO_UNROLL for (int64_t k = t->segment; k < t->steps; k += t->segment) {
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < outputs; j++)
                acc[p][j] = (vec16_t){0};
        width_segment(n, outputs, t, k, k + t->segment < t->steps ? k + t->segment : t->steps, acc);
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
static int64_t outputs_of_tile(int64_t left) { return left <= 4 ? left : left == 5 ? 3 : 4; }
static const int vectors_most[5] = {0, 8, 8, 6, 6};
#define WIDTH_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1)
#define WIDTH_2(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2)
#define WIDTH_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3)
#define WIDTH_4(X) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#else
static int64_t outputs_of_tile(int64_t left) { return left <= 3 ? left : 2; }
static const int vectors_most[5] = {0, RLX_WIDTH_VECTORS_1, RLX_WIDTH_VECTORS_2, RLX_WIDTH_VECTORS_3, RLX_WIDTH_VECTORS_4};
#define WIDTH_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#define WIDTH_2(X) X(1, 2) X(2, 2) X(3, 2)
#define WIDTH_3(X) X(1, 3) X(2, 3)
#define WIDTH_4(X) X(1, 4)
#endif
#define WIDTH_DEFINE(n, outputs) \
    static __attribute__((noinline)) void conv_width_##n##x##outputs(const width_tile_t *t) { width_run(n, outputs, t); }
#define WIDTH_CASE(n, outputs)         \
    case n:                            \
        conv_width_##n##x##outputs(t); \
        break;
WIDTH_1(WIDTH_DEFINE)
WIDTH_2(WIDTH_DEFINE)
WIDTH_3(WIDTH_DEFINE)
WIDTH_4(WIDTH_DEFINE)

static void tile_call(int64_t n, int64_t outputs, const width_tile_t *t)
{
    if (outputs == 1)
        switch (n) { WIDTH_1(WIDTH_CASE) }
    else if (outputs == 2)
        switch (n) { WIDTH_2(WIDTH_CASE) }
    else if (outputs == 3)
        switch (n) { WIDTH_3(WIDTH_CASE) }
    else
        switch (n) { WIDTH_4(WIDTH_CASE) }
}

/* A tile of output pixels and its gathered input. */
typedef struct width_place {
    const rlx_conv_width_params_t *p;
    rlx_conv_window_t window; /* of the columns of this tile */
    conv_gather_shape_t shape;
    int64_t n, group, row, rows, column, columns;
    int64_t *step;
    float *planes, *across;   /* across: results of pixels that run on across rows */
} width_place_t;

/* `count` neighbouring pixels of `outputs` outputs, from t->x to t->y. */
static void run_compute(const rlx_conv_width_params_t *p, int64_t outputs, int64_t count, width_tile_t *t)
{
    int64_t vectors = (count + 15) / 16, most = p->unroll_width > 0 ? p->unroll_width : vectors_most[outputs], tiles = (vectors + most - 1) / most;

    for (int64_t i = 0, at = 0; i < tiles; i++) {
        int64_t n = vectors / tiles + (i < vectors % tiles);

        t->pixels = count - at < n * 16 ? count - at : n * 16;
        tile_call(n, outputs, t);
        t->x += n * 16;
        t->y += n * 16;
        at += n * 16;
    }
}

/* `outputs` outputs of the tile's pixels, the first of which is output `o` of all groups. */
static void outputs_compute(const width_place_t *at, const rlx_kernel_args_t *args, width_tile_t *t, int64_t o, int64_t outputs)
{
    const rlx_conv_width_params_t *p = at->p;
    int64_t width = p->window.out[2], plane = p->window.out[1] * width, pitch = at->shape.columns;
    int64_t across = (at->rows - 1) * pitch + at->columns;
    int flat = (across + 15) / 16 < at->rows * ((at->columns + 15) / 16);
    float *y = (float *)args->out[0].base + (at->n * p->outputs + o) * plane + at->row * width + at->column;

    t->bias = args->in[2].base != NULL ? (const float *)args->in[2].base + o : NULL;
    if (flat) {
        t->x = at->planes;
        t->y = at->across;
        t->y_output = (across + 15) / 16 * 16;
        run_compute(p, outputs, t->y_output, t);
    }
    for (int64_t r = 0; r < at->rows; r++, y += width) {
        if (!flat) {
            t->x = at->planes + r * pitch;
            t->y = y;
            t->y_output = plane;
            run_compute(p, outputs, at->columns, t);
        }
        for (int64_t j = 0; j < outputs; j++) {
            float *to = y + j * plane;

            if (flat)
                __builtin_memcpy(to, at->across + j * t->y_output + r * pitch, (size_t)at->columns * sizeof *to);
            rlx_epilogue_apply(&p->epilogue, args, to, at->columns, to - (const float *)args->out[0].base);
        }
    }
}

/* Outputs [begin, end) of the group, whole blocks but for the last. */
static void tile_compute(const width_place_t *at, const rlx_kernel_args_t *args, int64_t begin, int64_t end)
{
    const rlx_conv_width_params_t *p = at->p;
    int64_t per_group = p->outputs / p->group, blocks = (per_group + p->block - 1) / p->block, cells = p->window.kernel[1] * p->window.kernel[2];
    width_tile_t t = {.step = at->step, .steps = p->channels / p->group * cells, .w_step = p->block};

    t.segment = rlx_segment_blocks_conv(&p->window) * 16 * cells;
    for (int64_t o = begin, n; o < end; o += n) {
        int64_t block = o / p->block, left = (block + 1) * p->block < end ? (block + 1) * p->block - o : end - o;

        n = p->unroll_outputs > 0 ? conv_gather_least(left, p->unroll_outputs) : outputs_of_tile(left);
        t.w = (const float *)args->in[1].base + (at->group * blocks + block) * t.steps * p->block + o % p->block;
        outputs_compute(at, args, &t, at->group * per_group + o, n);
    }
}

/* Gathers the input of the tile. Planes of a row-major input are near each other; those of a channels-last one are woven. */
static void place_gather(width_place_t *at, const rlx_kernel_args_t *args)
{
    const rlx_conv_width_params_t *p = at->p;
    int64_t per_group = p->channels / p->group, cells = p->window.in[1] * p->window.in[2];
    const float *x = (const float *)args->in[0].base + at->n * p->channels * cells;

    at->window = p->window;
    at->window.out[2] = at->columns;
    at->window.pad[2] -= at->column * p->window.stride[2];
    at->shape = conv_gather_shape_rows(&at->window, at->rows);
    if (p->channels_last)
        conv_planar_gather_last(&at->window, p->channels, per_group, x + at->group * per_group, at->row, &at->shape, at->step, at->planes);
    else
        conv_planar_gather(&at->window, per_group, x + at->group * per_group * cells, at->row, &at->shape, at->step, at->planes);
}

RLX_KERNEL_ENTRY(conv_width)
{
    const rlx_conv_width_params_t *p = (const rlx_conv_width_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t per_group = p->outputs / p->group, ranges = (per_group + p->range - 1) / p->range, pieces = (win->out[1] + p->piece - 1) / p->piece;
    int64_t steps = p->channels / p->group * win->kernel[1] * win->kernel[2];
    width_place_t at = {.p = p, .step = args->scratch};

    at.across = (float *)(at.step + (steps + 7) / 8 * 8);
    at.planes = at.across + p->across;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t inner = tile % (pieces * ranges), range = p->outputs_outside ? inner / pieces : inner % ranges;
        int64_t piece = p->outputs_outside ? inner % pieces : inner / ranges, image = tile / (pieces * ranges);
        int64_t last = conv_gather_least((piece + 1) * p->piece, win->out[1]);

        at.n = image / p->group;
        at.group = image % p->group;
        for (at.row = piece * p->piece; at.row < last; at.row += p->rows)
            for (at.column = 0; at.column < win->out[2]; at.column += p->columns) {
                at.rows = conv_gather_least(p->rows, last - at.row);
                at.columns = conv_gather_least(p->columns, win->out[2] - at.column);
                place_gather(&at, args);
                tile_compute(&at, args, range * p->range, conv_gather_least((range + 1) * p->range, per_group));
            }
    }
}
