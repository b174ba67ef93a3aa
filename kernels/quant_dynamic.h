/* Dynamic quantisation (definition: ir/op_list.h): the scale and zero point that a set of numbers gets from its least and greatest, both taken
 * with 0. A NaN among them counts for nothing. */
#ifndef RLX_KERNELS_QUANT_DYNAMIC_H
#define RLX_KERNELS_QUANT_DYNAMIC_H

#include "kernels/quant_round.h"

typedef struct quant_span {
    float least, greatest; /* least <= +0 <= greatest */
} quant_span_t;

typedef struct quant_dynamic {
    float scale, lo, hi;   /* lo and hi: as quant_bytes wants them */
    int32_t point;
} quant_dynamic_t;

static inline void quant_span_add(quant_span_t *span, float v)
{
    span->least = v < span->least ? v : span->least;
    span->greatest = v > span->greatest ? v : span->greatest;
}

/* Of n numbers and what `*span` holds already. */
static inline void quant_span_run(quant_span_t *span, const float *x, int64_t n)
{
    vec16_t least = {0}, greatest = {0};
    float lanes[2][16];
    int64_t i = 0;

    for (; i + 16 <= n; i += 16) {
        least = vec16_min(vec16_load(x + i), least);
        greatest = vec16_max(vec16_load(x + i), greatest);
    }
    vec16_store(lanes[0], least);
    vec16_store(lanes[1], greatest);
    for (int lane = 0; lane < 16; lane++) {
        quant_span_add(span, lanes[0][lane]);
        quant_span_add(span, lanes[1][lane]);
    }
    for (; i < n; i++)
        quant_span_add(span, x[i]);
}

static inline quant_dynamic_t quant_dynamic_of(quant_span_t span)
{
    float width = span.greatest - span.least;
    quant_dynamic_t d = {.scale = (width == 0 ? 1 : width) / 255};

    d.point = quant_byte(-(span.least / d.scale), 0, 255, 0);
    d.lo = (float)-d.point;
    d.hi = (float)(255 - d.point);
    return d;
}

/* Bytes of n numbers. */
static inline void quant_dynamic_run(const quant_dynamic_t *d, const float *x, int64_t n, uint8_t *y)
{
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        *(quant_u8_t *)(y + i) = quant_narrow(quant_bytes_lanes(vec16_load(x + i) / vec16_splat(d->scale), d->lo, d->hi, d->point));
    for (; i < n; i++)
        y[i] = quant_byte(x[i] / d->scale, d->lo, d->hi, d->point);
}

#endif
