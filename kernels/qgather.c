/* qgather, qrows: bytes into the order that qconv reads. They move; nothing is computed. */
#include <string.h>

#include "kernels/quant_gather.h"
#include "kernels/quant_lanes.h"

typedef struct gather_row {
    const uint8_t *x;  /* the input row, or NULL: padding */
    int64_t plane;     /* bytes between channels (pixel 4) */
    int64_t channels;  /* of the pixel */
    int64_t first, step, columns, width;
    uint8_t point;
} gather_row_t;

static void row_16(const gather_row_t *r, uint8_t *to)
{
    int64_t lo, hi;

    rlx_window_range(r->first, r->step, r->x != NULL ? r->width : 0, r->columns, &lo, &hi);
    memset(to, r->point, (size_t)lo * 16);
    if (r->step == 1 && lo < hi)
        memcpy(to + lo * 16, r->x + (r->first + lo) * 16, (size_t)(hi - lo) * 16);
    else
        for (int64_t i = lo; i < hi; i++)
            memcpy(to + i * 16, r->x + (r->first + i * r->step) * 16, 16);
    memset(to + hi * 16, r->point, (size_t)(r->columns - hi) * 16);
}

static void row_4(const gather_row_t *r, uint8_t *to)
{
    int64_t lo, hi;

    rlx_window_range(r->first, r->step, r->x != NULL ? r->width : 0, r->columns, &lo, &hi);
    memset(to, r->point, (size_t)r->columns * 4);
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t i = lo; i < hi; i++)
            to[i * 4 + c] = r->x[c * r->plane + r->first + i * r->step];
}

RLX_KERNEL_ENTRY(qgather)
{
    const rlx_qgather_params_t *p = (const rlx_qgather_params_t *)args->param;
    const rlx_conv_window_t *w = &p->window;
    quant_source_t s = quant_source(w, p->pixel);
    int64_t blocks = (p->channels + p->pixel - 1) / p->pixel, plane = w->in[1] * w->in[2], lines = s.phases * s.variants * s.rows;
    uint8_t point = (uint8_t)p->point;

    if (args->in[1].base != NULL)
        point = (uint8_t)(*(const uint8_t *)args->in[1].base ^ (p->flip ? 0x80 : 0));
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t line = tile % lines, block = tile / lines; /* of all images */
        int64_t r = line % s.rows, variant = line / s.rows % s.variants, ih = r * w->stride[1] + line / s.rows / s.variants - w->pad[1];
        const uint8_t *x = args->in[0].base;
        uint8_t *to = (uint8_t *)args->out[0].base + block * s.block_step + line * s.columns * p->pixel;
        gather_row_t row = {.plane = plane, .channels = p->channels, .step = w->stride[2], .columns = s.columns, .width = w->in[2],
                            .first = variant * (s.flat ? w->dilation[2] : 1) - w->pad[2], .point = point};

        x += p->pixel == 16 ? (block * plane + ih * w->in[2]) * 16 : block / blocks * p->channels * plane + ih * w->in[2];
        row.x = rlx_window_inside(w, 1, ih) ? x : NULL;
        if (p->pixel == 16)
            row_16(&row, to);
        else
            row_4(&row, to);
    }
}

/* `n` bytes of a row into blocks of 16 that lie `step` apart; zeros past the last. */
static inline void row_spread(const uint8_t *x, int64_t n, int64_t step, uint8_t *y)
{
    for (; n >= 16; n -= 16, x += 16, y += step)
        memcpy(y, x, 16);
    if (n > 0) {
        memset(y, 0, 16);
        memcpy(y, x, (size_t)n);
    }
}

RLX_KERNEL_ENTRY(qrows)
{
    const rlx_qrows_params_t *p = (const rlx_qrows_params_t *)args->param;
    const uint8_t *x = args->in[0].base;
    uint8_t *y = args->out[0].base;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t end = quant_least((tile + 1) * 64, p->rows);

        for (int64_t c = 0; c < p->columns; c += 64) /* a cache line of each row */
            for (int64_t row = tile * 64; row < end; row++)
                row_spread(x + row * p->columns + c, quant_least(64, p->columns - c), p->rows * 16, y + (c * p->rows + row * 16));
    }
}
