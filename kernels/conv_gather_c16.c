/* conv_gather_c16: gathers the whole input of a convolution once, for all threads and all output channels, when it is small enough to be
 * written and read back from the caches. conv_c16 then reads it with `gathered` set. One tile is one gathered row of one input block. */
#include "kernels/conv_gather.h"

RLX_KERNEL_ENTRY(conv_gather_c16)
{
    const rlx_conv_gather_c16_params_t *p = (const rlx_conv_gather_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    conv_gather_shape_t shape = conv_gather_shape(win, win->out[1]);
    int64_t plane = win->in[1] * win->in[2] * 16, block_step = p->row_tiles * shape.columns * 16;
    int64_t blocks_in = (p->channels + 15) / 16, group_blocks = (p->channels / p->group + 15) / 16;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t line = tile % p->row_tiles, at = tile / p->row_tiles, block = at % group_blocks, g = at / group_blocks % p->group;
        int64_t n = at / group_blocks / p->group;

        conv_gather_line(win, &shape, (const float *)args->in[0].base + (n * blocks_in + g * group_blocks + block) * plane, 0, line,
                         (float *)args->out[0].base + at * block_step);
    }
}
