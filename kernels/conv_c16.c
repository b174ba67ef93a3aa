/* conv_c16: direct convolution on blocked activations, f32, any kernel, stride, dilation and padding, groups of whole blocks.
 *
 * Same bits as conv_plain: the order per output is the register tile's (conv_tile.h); everything here only decides what is near. One
 * tile of work is a block of output rows times a range of output-channel blocks. Its input rows are first gathered into scratch
 * (conv_gather.h), so that padding, stride and dilation are gone from the inner loops and neighbouring outputs read neighbouring
 * pixels; a 1x1 convolution of stride 1 reads its input in place. Then, for each one or two output blocks, for each segment of the chain
 * (its weights fit the first cache), all pixels pass. */
#include "kernels/conv_gather.h"
#include "kernels/conv_tile.h"
#include "kernels/segment.h"

typedef struct conv_work {
    const rlx_conv_c16_params_t *p;
    const float *w, *bias;
    float *y;                  /* first output row of the row block, first block of the group */
    conv_source_t source;
    const conv_finish_t *finish;
    int64_t rows;
    int64_t channels;          /* of the group */
    int64_t w_block;           /* floats of weights per output block */
} conv_work_t;

/* All pixels of one segment, from x on. `tile` has the segment's weights; the first four tiles together prefetch the next ones. */
static void segment_run(const conv_work_t *work, const conv_tile_t *tile, int64_t nb, const float *x, const float *next, float *y, int last)
{
    int64_t runs = work->source.flat ? 1 : work->rows, width = work->p->window.out[2];
    int64_t pixels = work->source.flat ? work->rows * width : width;
    int64_t tiles = conv_tile_count(pixels, nb), least = pixels / tiles, more = pixels % tiles, lines = 4 * 16 * tile->blocks * tile->taps;

    for (int64_t run = 0, index = 0; run < runs; run++) {
        const float *q = x + run * work->source.pitch * 16;
        int64_t at = run * pixels;

        for (int64_t i = 0; i < tiles; i++, index++) {
            int64_t n = least + (i < more);

            rlx_conv_tile_run(n, nb, tile, q, y + at * 16, index < 4 ? next + index * lines : NULL);
            for (int64_t j = 0; j < conv_tile_lines(nb) && last; j++)
                conv_finish_rest(work->finish, y + at * 16 + j * tile->y_block, n * 16);
            q += n * 16;
            at += n;
        }
    }
}

/* Output blocks [block, block + nb) of the group. */
static void blocks_run(const conv_work_t *work, int64_t block, int64_t nb)
{
    const rlx_conv_window_t *win = &work->p->window;
    int64_t full = work->channels / 16, tail = work->channels % 16, taps = work->source.taps;
    int64_t step = rlx_segment_blocks_conv(win), blocks = (work->channels + 15) / 16, plane = win->out[1] * win->out[2] * 16;
    const float *w = work->w + block * work->w_block;
    conv_tile_t tile = {.tap = work->source.tap, .taps = taps, .block_step = work->source.block_step, .w_step = work->w_block,
                        .y_pixel = 16, .y_block = plane, .prefetch_lines = 1, .out = work->finish->args->out[0].base,
                        .lo = work->finish->lo, .hi = work->finish->hi, .affine = work->finish->affine};
    float start[16 * CONV_TILE_BLOCKS];

    for (int64_t i = 0; i < 16 * conv_tile_lines(nb); i++)
        start[i] = work->bias != NULL ? work->bias[block * 16 + i] : 0;
    for (int64_t c = 0; c < blocks; c += step) {
        int last = c + step >= blocks;

        tile.blocks = last ? full - c : step;
        tile.tail = last ? tail : 0;
        tile.end = last ? work->finish->end : CONV_FINISH_NONE;
        tile.residual = last ? work->finish->residual : NULL;
        tile.w = w + c * taps * 256;
        tile.start = c == 0 ? start : NULL;
        segment_run(work, &tile, nb, work->source.x + c * work->source.block_step,
                    last ? w + conv_tile_lines(nb) * work->w_block : tile.w + step * taps * 256, work->y + block * plane, last);
    }
}

/* Where the input of output rows [row, row + work->rows) of image n, group g lies: gathered by an earlier step, or by this worker. */
static void source_find(conv_work_t *work, const rlx_kernel_args_t *args, int64_t n, int64_t g, int64_t row)
{
    const rlx_conv_c16_params_t *p = work->p;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks = (work->channels + 15) / 16, blocks_in = (p->channels + 15) / 16;
    const float *x = args->in[0].base;

    if (p->gathered) {
        conv_gather_shape_t shape = conv_gather_shape(win, win->out[1]);

        work->source = conv_gather_source(win, &shape, args->scratch, NULL);
        work->source.x = x + (n * p->group + g) * blocks * work->source.block_step + row * work->source.pitch * 16;
    } else {
        x += (n * blocks_in + g * (work->channels / 16)) * win->in[1] * win->in[2] * 16;
        conv_gather(win, x, blocks, row, work->rows, args->scratch, &work->source);
    }
}

RLX_KERNEL_ENTRY(conv_c16)
{
    const rlx_conv_c16_params_t *p = (const rlx_conv_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks_out = (p->outputs + 15) / 16, out_plane = win->out[1] * win->out[2] * 16;
    int64_t group_blocks = p->group == 1 ? blocks_out : p->outputs / p->group / 16, ranges = (group_blocks + p->blocks - 1) / p->blocks;
    int64_t row_blocks = (win->out[1] + p->rows - 1) / p->rows;
    conv_finish_t finish;
    conv_work_t work = {.p = p, .channels = p->channels / p->group, .finish = &finish};
    int64_t held = -1; /* which (image, group, row block) the source is for */

    conv_finish_make(&p->epilogue, args, &finish);
    work.w_block = work.channels * win->kernel[1] * win->kernel[2] * 16;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t range = tile % ranges, place = tile / ranges, row = place % row_blocks * p->rows, image = place / row_blocks;
        int64_t n = image / p->group, g = image % p->group, end = conv_gather_least((range + 1) * p->blocks, group_blocks);

        work.rows = conv_gather_least(p->rows, win->out[1] - row);
        if (held != place)
            source_find(&work, args, n, g, row);
        held = place;
        work.w = (const float *)args->in[1].base + g * group_blocks * work.w_block;
        work.bias = args->in[2].base != NULL ? (const float *)args->in[2].base + g * group_blocks * 16 : NULL;
        work.y = (float *)args->out[0].base + (n * blocks_out + g * group_blocks) * out_plane + row * win->out[2] * 16;
        for (int64_t block = range * p->blocks, nb; block < end; block += conv_tile_lines(nb)) {
            nb = conv_tile_blocks(p->group == 1 ? p->outputs - block * 16 : 16, end - block);
            blocks_run(&work, block, nb);
        }
    }
}
