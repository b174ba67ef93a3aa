/* Packing of convolution weights. See ir/lower/pack_conv.h. Loops follow the destination, which is written once in order. */
#include "ir/lower/pack_conv.h"

#include <stdbool.h>
#include <stddef.h>

static int64_t cells_of(const rlx_pack_conv_t *p) { return p->kernel[0] * p->kernel[1]; }

int64_t rlx_pack_conv_floats(const rlx_pack_conv_t *p)
{
    return p->group * ((p->outputs + 15) / 16 * 16) * p->channels * cells_of(p);
}

/* Sixteen output channels from `o` on of one (channel, kernel cell): w[o * step], zero past `outputs`. */
static float *lanes_write(float *out, const float *w, int64_t step, int64_t o, int64_t outputs)
{
    for (int64_t lane = 0; lane < 16; ++lane)
        *out++ = o + lane < outputs ? w[(o + lane) * step] : 0.0f;
    return out;
}

void rlx_pack_conv_16i16o(const rlx_pack_conv_t *p, const float *w, float *out)
{
    int64_t cells = cells_of(p), step = p->channels * cells;

    for (int64_t g = 0; g < p->group; ++g, w += p->outputs * step)
        for (int64_t o = 0; o < p->outputs; o += 16)
            for (int64_t block = 0; block < p->channels; block += 16)
                for (int64_t cell = 0; cell < cells; ++cell)
                    for (int64_t c = block; c < block + 16 && c < p->channels; ++c)
                        out = lanes_write(out, w + c * cells + cell, step, o, p->outputs);
}

int64_t rlx_pack_conv_group_floats(const rlx_pack_conv_t *p)
{
    int64_t blocks = 0;

    for (int64_t g = 0; g < p->group; ++g)
        blocks += ((g + 1) * p->outputs + 15) / 16 - g * p->outputs / 16;
    return blocks * 16 * p->channels * cells_of(p);
}

/* Output block `block`, counted over all groups, of group `g`. */
static float *group_block_write(const rlx_pack_conv_t *p, int64_t g, int64_t block, const float *w, float *out)
{
    int64_t cells = cells_of(p), step = p->channels * cells, first = g * p->outputs, end = first + p->outputs;

    for (int64_t inner = 0; inner < p->channels; inner += 16)
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int64_t c = inner; c < inner + 16 && c < p->channels; ++c)
                for (int64_t o = block * 16; o < block * 16 + 16; ++o)
                    *out++ = o >= first && o < end ? w[o * step + c * cells + cell] : 0.0f;
    return out;
}

void rlx_pack_conv_group(const rlx_pack_conv_t *p, const float *w, float *out)
{
    for (int64_t g = 0; g < p->group; ++g)
        for (int64_t block = g * p->outputs / 16; block * 16 < (g + 1) * p->outputs; ++block)
            out = group_block_write(p, g, block, w, out);
}

void rlx_pack_conv_16o(const rlx_pack_conv_t *p, const float *w, float *out)
{
    int64_t cells = cells_of(p);

    for (int64_t o = 0; o < p->outputs; o += 16)
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int64_t c = 0; c < p->channels; ++c)
                out = lanes_write(out, w + c * cells + cell, p->channels * cells, o, p->outputs);
}

void rlx_pack_conv_dw16(const rlx_pack_conv_t *p, const float *w, float *out)
{
    int64_t cells = cells_of(p);

    for (int64_t o = 0; o < p->group; o += 16)
        for (int64_t cell = 0; cell < cells; ++cell)
            out = lanes_write(out, w + cell, cells, o, p->group);
}

static bool cell_in_remainder(const rlx_pack_conv_t *p, int64_t cell, int64_t rh, int64_t rw)
{
    return cell / p->kernel[1] * p->dilation[0] % p->stride[0] == rh && cell % p->kernel[1] * p->dilation[1] % p->stride[1] == rw;
}

void rlx_pack_conv_transpose(const rlx_pack_conv_t *p, const float *w, float *out)
{
    int64_t cells = cells_of(p), pairs = p->stride[0] * p->stride[1];

    for (int64_t g = 0; g < p->group; ++g, w += p->channels * p->outputs * cells)
        for (int64_t o = 0; o < p->outputs; o += 16)
            for (int64_t pair = 0; pair < pairs; ++pair)
                for (int64_t block = 0; block < p->channels; block += 16)
                    for (int64_t cell = 0; cell < cells; ++cell) {
                        if (!cell_in_remainder(p, cell, pair / p->stride[1], pair % p->stride[1]))
                            continue;
                        for (int64_t c = block; c < block + 16 && c < p->channels; ++c)
                            out = lanes_write(out, w + c * p->outputs * cells + cell, cells, o, p->outputs);
                    }
}

void rlx_pack_conv_bias(const float *bias, int64_t count, float *out)
{
    for (int64_t i = 0; i < (count + 15) / 16 * 16; ++i)
        out[i] = i < count ? bias[i] : 0.0f;
}
