/* conv_transpose_c16: transposed convolution on blocked activations, f32, any kernel, stride, dilation and padding, groups of whole
 * blocks.
 *
 * Same bits as conv_transpose_plain. With oh + pad = q * stride + r, output rows of one remainder r form a convolution of stride 1
 * over the kernel rows kh with kh * dilation = d * stride + r, reading input row q - d; columns alike. One tile is a block of q rows
 * times a range of output-channel blocks; the input rows are gathered once with their padding, then every remainder pair runs the
 * register tile over them, segment by segment. Weights: per output block the remainder pairs in row-major order, each as RLX_LAYOUT_CONV_16I16O of its own
 * kernel cells. */
#include "kernels/conv_gather.h"
#include "kernels/conv_tile.h"
#include "kernels/segment.h"

typedef struct transpose_axis {
    int64_t first, count; /* q of the first output cell; how many q there are */
    int64_t reach;        /* largest d */
} transpose_axis_t;

typedef struct transpose_work {
    const rlx_conv_c16_params_t *p;
    transpose_axis_t h, w;
    const conv_finish_t *finish;
    const float *x;     /* gathered: [block][rows + reach][columns + reach][16] */
    int64_t *tap;       /* room for all kernel cells */
    int64_t channels, pitch, block_step;
    int64_t q, rows;    /* first q row, and how many */
} transpose_work_t;

static transpose_axis_t axis_of(const rlx_conv_window_t *w, int axis)
{
    int64_t s = w->stride[axis], first = w->pad[axis] / s;

    return (transpose_axis_t){.first = first, .count = w->out[axis] > 0 ? (w->pad[axis] + w->out[axis] - 1) / s - first + 1 : 0,
                              .reach = (w->kernel[axis] - 1) * w->dilation[axis] / s};
}

static void rows_gather(transpose_work_t *work, const float *x, float *to)
{
    const rlx_conv_window_t *w = &work->p->window;
    int64_t plane = w->in[1] * w->in[2] * 16, blocks = (work->channels + 15) / 16, rows = work->rows + work->h.reach;

    work->pitch = work->w.count + work->w.reach;
    work->block_step = rows * work->pitch * 16;
    work->x = to;
    for (int64_t b = 0; b < blocks; b++, x += plane)
        for (int64_t r = 0; r < rows; r++, to += work->pitch * 16) {
            int64_t ih = work->q - work->h.reach + r;

            conv_gather_row(to, rlx_window_inside(w, 1, ih) ? x + ih * w->in[2] * 16 : NULL, work->w.first - work->w.reach, 1,
                            work->pitch, w->in[2]);
        }
}

/* Kernel cells of remainder pair (rh, rw), in kernel order. */
static int64_t taps_of(const transpose_work_t *work, int64_t rh, int64_t rw)
{
    const rlx_conv_window_t *w = &work->p->window;
    int64_t taps = 0;

    for (int64_t kh = 0; kh < w->kernel[1]; kh++)
        for (int64_t kw = 0; kw < w->kernel[2]; kw++) {
            int64_t h = kh * w->dilation[1], v = kw * w->dilation[2];

            if (h % w->stride[1] == rh && v % w->stride[2] == rw)
                work->tap[taps++] = ((work->h.reach - h / w->stride[1]) * work->pitch + work->w.reach - v / w->stride[2]) * 16;
        }
    return taps;
}

/* One remainder pair, one segment of the chain, `nb` output blocks. */
typedef struct transpose_pass {
    const transpose_work_t *work;
    conv_tile_t tile;
    int64_t nb, rh, rw;
    const float *x; /* first input block of the segment */
    int last;       /* segment */
} transpose_pass_t;

/* One output row: columns ow = (q * stride + rw - pad) inside the output. */
static void row_run(transpose_pass_t *pass, int64_t row, float *y_row)
{
    const transpose_work_t *work = pass->work;
    const rlx_conv_window_t *w = &work->p->window;
    int64_t lo, hi, first = work->w.first * w->stride[2] + pass->rw - w->pad[2];

    rlx_window_range(first, w->stride[2], w->out[2], work->w.count, &lo, &hi);
    if (lo >= hi)
        return;
    int64_t tiles = conv_tile_count(hi - lo, pass->nb), at = lo;

    for (int64_t i = 0; i < tiles; i++) {
        int64_t n = (hi - lo) / tiles + (i < (hi - lo) % tiles);

        rlx_conv_tile_run(n, pass->nb, &pass->tile, pass->x + (row * work->pitch + at) * 16, y_row + (first + at * w->stride[2]) * 16, NULL);
        at += n;
    }
}

static void rows_run(transpose_pass_t *pass, float *y)
{
    const transpose_work_t *work = pass->work;
    const rlx_conv_window_t *win = &work->p->window;

    for (int64_t row = 0; row < work->rows; row++) {
        int64_t oh = (work->q + row) * win->stride[1] + pass->rh - win->pad[1];

        if (oh >= 0 && oh < win->out[1])
            row_run(pass, row, y + oh * win->out[2] * 16);
    }
}

/* All segments of a remainder pair, whose weights start at w. */
static void pair_run(transpose_pass_t *pass, const float *w, const float *start, float *y)
{
    const transpose_work_t *work = pass->work;
    int64_t full = work->channels / 16, tail = work->channels % 16, blocks = (work->channels + 15) / 16;
    int64_t step = rlx_segment_blocks_transpose(&work->p->window);

    for (int64_t c = 0; c < blocks; c += step) {
        pass->last = c + step >= blocks;
        pass->x = work->x + c * work->block_step;
        pass->tile.w = w + c * pass->tile.taps * 256;
        pass->tile.blocks = pass->last ? full - c : step;
        pass->tile.tail = pass->last ? tail : 0;
        pass->tile.residual = pass->last ? work->finish->residual : NULL;
        pass->tile.end = pass->last ? work->finish->end : CONV_FINISH_NONE;
        pass->tile.start = c == 0 ? start : NULL;
        rows_run(pass, y);
    }
}

/* The rest of the epilogue on the output rows of the block: they lie together. */
static void rows_finish(const transpose_work_t *work, float *y)
{
    const rlx_conv_window_t *w = &work->p->window;
    int64_t lo = rlx_window_clamp(work->q * w->stride[1] - w->pad[1], 0, w->out[1]);
    int64_t hi = rlx_window_clamp((work->q + work->rows) * w->stride[1] - w->pad[1], 0, w->out[1]);

    conv_finish_rest(work->finish, y + lo * w->out[2] * 16, (hi - lo) * w->out[2] * 16);
}

/* `nb` output blocks whose weights, bias and output planes start at w, start and y. */
static void blocks_run(const transpose_work_t *work, int64_t nb, const float *w, int64_t w_block, const float *start, float *y)
{
    const rlx_conv_window_t *win = &work->p->window;
    transpose_pass_t pass = {.work = work, .nb = nb,
                             .tile = {.tap = work->tap, .block_step = work->block_step, .w_step = w_block,
                                      .y_pixel = win->stride[2] * 16, .y_block = win->out[1] * win->out[2] * 16,
                                      .lo = work->finish->lo, .hi = work->finish->hi, .affine = work->finish->affine,
                                      .out = work->finish->args->out[0].base}};

    for (pass.rh = 0; pass.rh < win->stride[1]; pass.rh++)
        for (pass.rw = 0; pass.rw < win->stride[2]; pass.rw++) {
            pass.tile.taps = taps_of(work, pass.rh, pass.rw);
            pair_run(&pass, w, start, y);
            w += pass.tile.taps * work->channels * 16;
        }
    for (int64_t j = 0; j < conv_tile_lines(nb); j++)
        rows_finish(work, y + j * pass.tile.y_block);
}

RLX_KERNEL_ENTRY(conv_transpose_c16)
{
    const rlx_conv_c16_params_t *p = (const rlx_conv_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    conv_finish_t finish;
    transpose_work_t work = {.p = p, .finish = &finish, .h = axis_of(win, 1), .w = axis_of(win, 2), .tap = args->scratch,
                             .channels = p->channels / p->group};
    int64_t blocks_in = (p->channels + 15) / 16, blocks_out = (p->outputs + 15) / 16, cells = win->kernel[1] * win->kernel[2];
    int64_t group_blocks = p->group == 1 ? blocks_out : p->outputs / p->group / 16, ranges = (group_blocks + p->blocks - 1) / p->blocks;
    int64_t row_blocks = (work.h.count + p->rows - 1) / p->rows, w_block = work.channels * cells * 16, held = -1;
    float start[16 * CONV_TILE_BLOCKS];

    conv_finish_make(&p->epilogue, args, &finish);
    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t range = t % ranges, place = t / ranges, image = place / row_blocks, n = image / p->group, g = image % p->group;
        int64_t end = conv_gather_least((range + 1) * p->blocks, group_blocks);

        work.q = work.h.first + place % row_blocks * p->rows;
        work.rows = conv_gather_least(p->rows, work.h.first + work.h.count - work.q);
        if (held != place)
            rows_gather(&work, (const float *)args->in[0].base + (n * blocks_in + g * (work.channels / 16)) * win->in[1] * win->in[2] * 16,
                        (float *)(work.tap + (cells + 7) / 8 * 8));
        held = place;
        for (int64_t block = range * p->blocks, nb; block < end; block += conv_tile_lines(nb)) {
            int64_t at = g * group_blocks + block;

            nb = conv_tile_blocks(p->group == 1 ? p->outputs - block * 16 : 16, end - block);
            for (int64_t i = 0; i < 16 * conv_tile_lines(nb); i++)
                start[i] = args->in[2].base != NULL ? ((const float *)args->in[2].base)[at * 16 + i] : 0;
            blocks_run(&work, nb, (const float *)args->in[1].base + at * w_block, w_block, start,
                       (float *)args->out[0].base + (n * blocks_out + at) * win->out[1] * win->out[2] * 16);
        }
    }
}
