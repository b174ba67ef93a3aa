/* conv_group_c16: convolution in groups whose channels do not fill whole blocks, on blocked activations, f32, any kernel, stride,
 * dilation and padding.
 *
 * Same bits as conv_plain. A group may begin at any lane, so the factors of an output are found through a table: `step` holds, for every
 * channel of every group, in the order of the chain, where the input lies from the first pixel; the channels may come in any order
 * (`index`). Results are computed in vectors that lie like the output's blocks. A block that several groups share is computed for each of
 * them, and each leaves the lanes of the groups before it alone; those of the groups behind it are written later. So one tile of work is a
 * block of output rows of all groups. Rows are gathered as for conv_c16. */
#include "kernels/conv_finish.h"
#include "kernels/conv_gather.h"
#include "kernels/conv_tile.h"
#include "kernels/segment.h"

typedef struct group_tile {
    const float *x;
    const int64_t *step;
    int64_t steps;
    const float *w;        /* [step][16], output blocks w_step apart */
    int64_t w_step;
    const float *start;    /* as of conv_tile_t */
    const float *residual;
    float *y;
    int64_t y_block;
    int64_t keep;          /* lanes of the first block that stay as they are */
    int end; /* of kernels/conv_finish.h */
    float lo, hi;
    const float *affine;
} group_tile_t;

VEC16_INLINE void group_tile_finish(int n, int nb, const group_tile_t *t, vec16_t acc[][2])
{
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    float *y = t->y;

    if (t->start == NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = vec16_load(y + p * 16 + j * t->y_block) + acc[p][j];
    if (t->residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] += vec16_load(t->residual + p * 16 + j * t->y_block);
    if (t->end == CONV_FINISH_CLAMP)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = conv_finish_clamp(acc[p][j], t->lo, t->hi);
    else if (t->end == CONV_FINISH_HARD_SWISH)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = conv_finish_hard_swish(acc[p][j], t->affine);
    if (t->keep > 0) {
        vec16_mask_t mine = *(const vec16_mask_t *)lanes >= (int32_t)t->keep;

        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p][0] = vec16_select(mine, acc[p][0], vec16_load(y + p * 16));
    }
    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            vec16_store(y + p * 16 + j * t->y_block, acc[p][j]);
}

VEC16_INLINE void group_tile_run(int n, int nb, const group_tile_t *t)
{
    vec16_t acc[CONV_TILE_PIXELS_1][2], weight[2];
    const float *w = t->w, *x = t->x;
    int64_t w_step = t->w_step;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = t->start != NULL ? vec16_load(t->start + j * 16) : (vec16_t){0};
    VEC16_NO_UNROLL for (int64_t k = 0; k < t->steps; k++, w += 16) {
        const float *q = x + t->step[k];

        VEC16_FENCE();
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            weight[j] = vec16_load(w + j * w_step);
        VEC16_UNROLL for (int p = 0; p < n; p++) {
            vec16_t v = vec16_splat(q[p * 16]);

            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = vec16_fma(v, weight[j], acc[p][j]);
        }
        VEC16_SETTLE(acc[n - 1][nb - 1]);
    }
    group_tile_finish(n, nb, t, acc);
}

#define GROUP_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_group_##n##x##nb(const group_tile_t *t) { group_tile_run(n, nb, t); }
#define GROUP_CASE(n, nb)         \
    case n:                       \
        conv_group_##n##x##nb(t); \
        break;
CONV_TILE_SMALL(GROUP_DEFINE, 1)
#ifdef __AVX512F__
CONV_TILE_MIDDLE(GROUP_DEFINE, 1)
CONV_TILE_LARGE(GROUP_DEFINE, 1)
CONV_TILE_SMALL(GROUP_DEFINE, 2)
CONV_TILE_MIDDLE(GROUP_DEFINE, 2)
#endif

static void tile_call(int64_t n, int64_t nb, const group_tile_t *t)
{
#ifdef __AVX512F__
    if (nb == 2)
        switch (n) {
            CONV_TILE_SMALL(GROUP_CASE, 2)
            CONV_TILE_MIDDLE(GROUP_CASE, 2)
        }
    else
        switch (n) {
            CONV_TILE_SMALL(GROUP_CASE, 1)
            CONV_TILE_MIDDLE(GROUP_CASE, 1)
            CONV_TILE_LARGE(GROUP_CASE, 1)
        }
#else
    (void)nb;
    switch (n) {
        CONV_TILE_SMALL(GROUP_CASE, 1)
    }
#endif
}

typedef struct group_work {
    const rlx_conv_group_c16_params_t *p;
    const conv_finish_t *finish;
    conv_source_t source;
    int64_t rows, channels, outputs; /* rows of the block; channels and outputs of a group */
    int64_t steps;                   /* of a group */
    const int64_t *step;             /* of all groups */
    const float *bias;
    float *y;                        /* first output row of the row block, block 0 */
} group_work_t;

/* Where channel `at` (of all groups) lies, from the first pixel of kernel cell 0. */
static int64_t channel_offset(const group_work_t *work, const int64_t *index, int64_t at)
{
    int64_t channel = index != NULL ? index[at] : at;

    return channel / 16 * work->source.block_step + channel % 16;
}

static void steps_make(const group_work_t *work, const int64_t *index, int64_t *step)
{
    for (int64_t g = 0; g < work->p->group; g++)
        for (int64_t block = 0; block < work->channels; block += 16)
            for (int64_t k = 0; k < work->source.taps; k++)
                for (int64_t c = block; c < block + 16 && c < work->channels; c++)
                    *step++ = channel_offset(work, index, g * work->channels + c) + work->source.tap[k];
}

/* All pixels of one segment of `nb` blocks. */
static void segment_run(const group_work_t *work, group_tile_t *tile, int64_t nb, float *y, int last)
{
    int64_t width = work->p->window.out[2], runs = work->source.flat ? 1 : work->rows, pixels = work->source.flat ? work->rows * width : width;
    int64_t tiles = conv_tile_count(pixels, nb);

    for (int64_t run = 0; run < runs; run++) {
        tile->x = work->source.x + run * work->source.pitch * 16;
        tile->y = y + run * pixels * 16;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t n = pixels / tiles + (i < pixels % tiles);

            tile->residual = last ? conv_finish_residual(work->finish, tile->y) : NULL;
            tile_call(n, nb, tile);
            tile->x += n * 16;
            tile->y += n * 16;
        }
    }
}

/* Output blocks [block, block + nb) for group g; `w` are their weights. */
static void blocks_run(const group_work_t *work, int64_t g, int64_t block, int64_t nb, const float *w)
{
    const rlx_conv_window_t *win = &work->p->window;
    int64_t first = g * work->outputs, plane = win->out[1] * win->out[2] * 16, segment = rlx_segment_blocks_conv(win) * 16 * work->source.taps;
    group_tile_t tile = {.w_step = work->steps * 16, .y_block = plane, .keep = block * 16 < first ? first - block * 16 : 0,
                         .lo = work->finish->lo, .hi = work->finish->hi, .affine = work->finish->affine};
    float start[16 * CONV_TILE_BLOCKS];

    for (int64_t i = 0; i < 16 * nb; i++)
        start[i] = work->bias != NULL ? work->bias[block * 16 + i] : 0;
    for (int64_t k = 0; k < work->steps; k += segment) {
        int last = k + segment >= work->steps;

        tile.step = work->step + g * work->steps + k;
        tile.steps = last ? work->steps - k : segment;
        tile.w = w + k * 16;
        tile.start = k == 0 ? start : NULL;
        tile.end = last ? work->finish->end : CONV_FINISH_NONE;
        segment_run(work, &tile, nb, work->y + block * plane, last);
    }
}

/* What the epilogue has left to do, when every lane is there. */
static void rest_run(const group_work_t *work, int64_t blocks)
{
    const rlx_conv_window_t *win = &work->p->window;

    for (int64_t block = 0; block < blocks; block++)
        for (int64_t row = 0; row < work->rows; row++)
            conv_finish_rest(work->finish, work->y + (block * win->out[1] + row) * win->out[2] * 16, win->out[2] * 16);
}

RLX_KERNEL_ENTRY(conv_group_c16)
{
    const rlx_conv_group_c16_params_t *p = (const rlx_conv_group_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks_in = (p->channels + 15) / 16, blocks_out = (p->outputs + 15) / 16, row_blocks = (win->out[1] + p->rows - 1) / p->rows;
    int64_t *step = args->scratch, taps = win->kernel[1] * win->kernel[2], held = -1;
    void *gathered = step + (p->channels * taps + 7) / 8 * 8;
    conv_finish_t finish;
    group_work_t work = {.p = p, .finish = &finish, .channels = p->channels / p->group, .outputs = p->outputs / p->group, .step = step,
                         .bias = args->in[2].base};

    conv_finish_make(&p->epilogue, args, &finish);
    work.steps = work.channels * taps;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t row = tile % row_blocks * p->rows, n = tile / row_blocks;
        const float *w = args->in[1].base;

        work.rows = conv_gather_least(p->rows, win->out[1] - row);
        work.y = (float *)args->out[0].base + (n * blocks_out * win->out[1] + row) * win->out[2] * 16;
        conv_gather(win, (const float *)args->in[0].base + n * blocks_in * win->in[1] * win->in[2] * 16, blocks_in, row, work.rows, gathered,
                    &work.source);
        if (held != work.rows) /* offsets depend on the rows gathered */
            steps_make(&work, args->in[3].base, step);
        held = work.rows;
        for (int64_t g = 0; g < p->group; g++) {
            int64_t end = ((g + 1) * work.outputs + 15) / 16;

            for (int64_t block = g * work.outputs / 16, nb; block < end; block += nb, w += nb * work.steps * 16) {
                nb = block + CONV_TILE_BLOCKS <= end ? CONV_TILE_BLOCKS : 1;
                blocks_run(&work, g, block, nb, w);
            }
        }
        rest_run(&work, blocks_out);
    }
}
