/* qspan, qdynamic: dynamic quantisation in two passes, so that threads share each. */
#include <string.h>

#include "kernels/params_quant.h"
#include "kernels/quant_dynamic.h"

typedef struct dynamic_part {
    int64_t item, begin, end; /* steps, all of them */
    int64_t length;           /* steps that count */
} dynamic_part_t;

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static dynamic_part_t part_of(const rlx_qspan_params_t *p, const int32_t *lengths, int64_t tile)
{
    int64_t each = (p->steps + p->parts - 1) / p->parts, part = tile % p->parts;
    dynamic_part_t d = {.item = tile / p->parts, .begin = least_of(part * each, p->steps), .end = least_of((part + 1) * each, p->steps)};
    int64_t length = lengths != NULL ? lengths[d.item] : p->steps; /* one out of range is an error that the recurrent kernel reports */

    d.length = length < 0 ? 0 : least_of(length, p->steps);
    return d;
}

static int64_t at(const rlx_qspan_params_t *p, int64_t item, int64_t t) { return t * p->step + item * p->item_step; }

RLX_KERNEL_ENTRY(qspan)
{
    const rlx_qspan_params_t *p = (const rlx_qspan_params_t *)args->param;
    const float *x = args->in[0].base;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        dynamic_part_t d = part_of(p, args->in[1].base, tile);
        int64_t end = least_of(d.end, d.length);
        quant_span_t span = {0, 0};

        if (p->step == p->columns && d.begin < end)
            quant_span_run(&span, x + at(p, d.item, d.begin), (end - d.begin) * p->columns);
        else
            for (int64_t t = d.begin; t < end; t++)
                quant_span_run(&span, x + at(p, d.item, t), p->columns);
        ((quant_span_t *)args->out[0].base)[tile] = span;
    }
}

/* One row into blocks of 16 columns, `rows` rows apart. */
static void row_run(const quant_dynamic_t *d, const float *x, int64_t columns, int64_t rows, uint8_t *y)
{
    int64_t i = 0;

    for (; i + 16 <= columns; i += 16, y += rows * 16)
        quant_dynamic_run(d, x + i, 16, y);
    if (i < columns) {
        memset(y, 0, 16);
        quant_dynamic_run(d, x + i, columns - i, y);
    }
}

static void row_clear(int64_t columns, int64_t rows, uint8_t *y)
{
    for (int64_t i = 0; i < columns; i += 16, y += rows * 16)
        memset(y, 0, 16);
}

static void part_run(const rlx_qdynamic_params_t *p, const quant_dynamic_t *q, const dynamic_part_t *d, const float *x, uint8_t *y)
{
    int64_t end = least_of(d->end, d->length), rows = p->items * p->steps;

    if (!p->rows && p->step == p->columns && d->begin < end) {
        quant_dynamic_run(q, x + at(p, d->item, d->begin), (end - d->begin) * p->columns, y + at(p, d->item, d->begin));
    } else {
        for (int64_t t = d->begin; t < end; t++)
            if (p->rows)
                row_run(q, x + at(p, d->item, t), p->columns, rows, y + at(p, d->item, t) / p->columns * 16);
            else
                quant_dynamic_run(q, x + at(p, d->item, t), p->columns, y + at(p, d->item, t));
    }
    for (int64_t t = d->length > d->begin ? d->length : d->begin; t < d->end; t++)
        if (p->rows)
            row_clear(p->columns, rows, y + at(p, d->item, t) / p->columns * 16);
        else
            memset(y + at(p, d->item, t), 0, (size_t)p->columns);
}

RLX_KERNEL_ENTRY(qdynamic)
{
    const rlx_qdynamic_params_t *p = (const rlx_qdynamic_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        dynamic_part_t d = part_of(p, args->in[2].base, tile);
        quant_span_t span = {0, 0};
        quant_dynamic_t q;

        for (int64_t i = 0; i < p->parts; i++) {
            quant_span_t part = ((const quant_span_t *)args->in[1].base)[d.item * p->parts + i];

            quant_span_add(&span, part.least);
            quant_span_add(&span, part.greatest);
        }
        q = quant_dynamic_of(span);
        if (tile % p->parts == 0) {
            if (args->out[1].base != NULL)
                ((float *)args->out[1].base)[d.item] = q.scale;
            if (args->out[2].base != NULL)
                ((uint8_t *)args->out[2].base)[d.item] = (uint8_t)q.point;
        }
        part_run(p, &q, &d, args->in[0].base, args->out[0].base);
    }
}
