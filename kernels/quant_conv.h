/* Body of qconv and qconv_vnni: what is near what. A tile of work is a block of output rows times a range of output blocks; for each one or
 * two output blocks all pixels pass. Included once per target. */
#ifndef RLX_KERNELS_QUANT_CONV_H
#define RLX_KERNELS_QUANT_CONV_H

#include "kernels/quant_gather.h"
#include "kernels/quant_tile.h"

/* Operands of qconv in the order of params_quant.h. */
enum { QCONV_X, QCONV_W, QCONV_MORE, QCONV_W_OTHER, QCONV_MORE_OTHER, QCONV_START, QCONV_SCALE, QCONV_SUMS, QCONV_POINT, QCONV_FACTOR, QCONV_BIAS };

typedef struct quant_work {
    const rlx_kernel_args_t *args;
    const rlx_qconv_params_t *p;
    quant_source_t source;
    const int64_t *tap;
    int64_t *offset;       /* scratch: of further halves */
    const uint8_t *x;      /* first pixel of the row block, first block of the group */
    int64_t image, group, row, rows;
    int64_t channels, group_blocks; /* of a group */
    const int8_t *w;
    const int32_t *more;   /* or NULL */
    int64_t chunks;        /* of an output block, without further ones */
    float factor;
    int32_t point;
} quant_work_t;

static inline int64_t quant_result_bytes(const rlx_quant_finish_t *f) { return f->result == RLX_QUANT_BYTES ? 1 : 4; }

/* Starts, scales and weights of `nb` output blocks from `block` (counted over all groups). */
static void quant_blocks_set(const quant_work_t *work, int64_t block, int64_t nb, quant_tile_t *t)
{
    const rlx_operand_t *in = work->args->in;
    int64_t all = work->p->group * work->group_blocks, *offset = work->offset;

    for (int64_t j = 0; j < nb; j++)
        for (int64_t i = 0, o = (block + j) * 16; i < 16; i++, o++) {
            t->start[j][i] = ((const int32_t *)in[QCONV_START].base)[o];
            if (in[QCONV_SUMS].base != NULL)
                t->start[j][i] = (int32_t)((uint32_t)t->start[j][i] -
                                           (uint32_t)work->point * (uint32_t)((const int32_t *)in[QCONV_SUMS].base)[o]);
            t->scale[j][i] = in[QCONV_SCALE].base != NULL ? ((const float *)in[QCONV_SCALE].base)[o] : 1;
            if (in[QCONV_FACTOR].base != NULL)
                t->scale[j][i] *= work->factor;
            if (t->has_bias)
                t->bias[j][i] = ((const float *)in[QCONV_BIAS].base)[o];
        }
    for (int64_t j = 0; j < nb; j++) {
        t->lanes[j] = quant_least(16, work->p->outputs - (block + j) * 16);
        for (int64_t half = 0; half < 2; half++) { /* prefix counts, then entries of three */
            int64_t at = 2 * (block + j) + half, first = work->more != NULL ? work->more[at] : 0;
            const int32_t *entry = work->more + 2 * all + 1 + first * 3;

            t->more[j][half].count = work->more != NULL ? work->more[at + 1] - first : 0;
            t->more[j][half].offset = offset;
            for (int64_t i = 0; i < t->more[j][half].count; i++, entry += 3)
                *offset++ = entry[0] * work->source.block_step + work->tap[entry[1]] + entry[2] * 4;
            t->more[j][half].w = work->w + all * work->chunks * 64 + first * 32;
        }
    }
    t->w = work->w + block * work->chunks * 64;
}

static void quant_blocks_run(const quant_work_t *work, int64_t block, int64_t nb)
{
    const rlx_qconv_params_t *p = work->p;
    int64_t width = p->window.out[2], runs = work->source.flat ? 1 : work->rows, pixels = work->source.flat ? work->rows * width : width;
    int64_t tiles = (pixels + QUANT_TILE_PIXELS - 1) / QUANT_TILE_PIXELS, least = pixels / tiles, longer = pixels % tiles;
    int64_t quads = p->pixel / 4, bytes = quant_result_bytes(&p->finish), tail = work->channels % p->pixel;
    quant_tile_t t = {.tap = work->tap, .taps = p->window.kernel[1] * p->window.kernel[2],
                      .blocks = (work->channels + p->pixel - 1) / p->pixel, .block_step = work->source.block_step, .quads = quads,
                      .quads_last = tail == 0 ? quads : p->pairs ? (tail + 7) / 8 * 2 : (tail + 3) / 4, .w_step = work->chunks * 64,
                      .place = &p->place, .finish = &p->finish, .has_bias = work->args->in[QCONV_BIAS].base != NULL};
    char *y = (char *)work->args->out[0].base +
              (work->image * p->place.image + block * p->place.block + work->row * width * p->place.pixel) * bytes;

    quant_blocks_set(work, block, nb, &t);
    for (int64_t run = 0; run < runs; run++) {
        int64_t at = 0;

        for (int64_t i = 0; i < tiles; i++) {
            int64_t n = least + (i < longer);

            t.x = work->x + (run * work->source.pitch + at) * p->pixel;
            t.y = y + (run * width + at) * p->place.pixel * bytes;
            quant_tile_call(n, nb, p->pixel, p->pairs, &t);
            at += n;
        }
    }
}

static void quant_work_init(quant_work_t *work)
{
    const rlx_qconv_params_t *p = work->p;
    const rlx_kernel_args_t *args = work->args;
    const rlx_conv_window_t *win = &p->window;
    int64_t *tap = args->scratch, tail;
    bool vnni = QUANT_TILE_BLOCKS == 2;

    work->source = p->gathered ? quant_source(win, p->pixel) : quant_source_in_place(win);
    for (int64_t kh = 0; kh < win->kernel[1]; kh++)
        for (int64_t kw = 0; kw < win->kernel[2]; kw++)
            tap[kh * win->kernel[2] + kw] = quant_source_tap(win, &work->source, kh, kw);
    work->tap = tap;
    work->offset = tap + win->kernel[1] * win->kernel[2];
    work->channels = p->channels / p->group;
    work->group_blocks = (p->outputs / p->group + 15) / 16;
    tail = work->channels % p->pixel;
    work->chunks = work->channels / p->pixel * (p->pixel / 4) + (p->pairs ? (tail + 7) / 8 * 2 : (tail + 3) / 4);
    work->chunks *= win->kernel[1] * win->kernel[2];
    work->w = args->in[vnni ? QCONV_W : QCONV_W_OTHER].base;
    work->more = args->in[vnni ? QCONV_MORE : QCONV_MORE_OTHER].base;
    work->factor = args->in[QCONV_FACTOR].base != NULL ? *(const float *)args->in[QCONV_FACTOR].base : 1;
    if (args->in[QCONV_POINT].base != NULL)
        work->point = p->flip ? *(const int8_t *)args->in[QCONV_POINT].base + 128 : *(const uint8_t *)args->in[QCONV_POINT].base;
}

static void quant_conv_run(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)
{
    const rlx_qconv_params_t *p = (const rlx_qconv_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t row_blocks = (win->out[1] + p->rows - 1) / p->rows, ranges;
    quant_work_t work = {.args = args, .p = p};

    quant_work_init(&work);
    ranges = (work.group_blocks + p->blocks - 1) / p->blocks;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t range = tile % ranges, place = tile / ranges, end = quant_least((range + 1) * p->blocks, work.group_blocks);
        int64_t in_blocks = (work.channels + p->pixel - 1) / p->pixel;

        work.row = place % row_blocks * p->rows;
        work.rows = quant_least(p->rows, win->out[1] - work.row);
        work.group = place / row_blocks % p->group;
        work.image = place / row_blocks / p->group;
        work.x = (const uint8_t *)args->in[QCONV_X].base + (work.image * p->group + work.group) * in_blocks * work.source.block_step +
                 work.row * work.source.pitch * p->pixel;
        for (int64_t b = range * p->blocks, nb; b < end; b += nb) {
            nb = quant_least(QUANT_TILE_BLOCKS, end - b);
            quant_blocks_run(&work, work.group * work.group_blocks + b, nb);
        }
    }
}

#endif
