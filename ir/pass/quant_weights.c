/* The constants of quantised products: packed weights, starts, scales. See ir/operator/quant.h. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/lower/pack_quant.h"
#include "ir/operator/quant.h"

static int64_t padded(int64_t outputs) { return (outputs + 15) / 16 * 16; }

static rlx_value_t *vector_const(rlx_builder_t *builder, const rlx_op_t *op, rlx_dtype_t dtype, int64_t count, const void *data)
{
    return rlx_builder_const(builder, op->in[RLX_QUANT_W]->name, dtype, 1, &count, RLX_LAYOUT_ROW_MAJOR, data,
                             count * (int64_t)rlx_dtype_size(dtype));
}

/* f32 per output, padded with zeros. NULL for an absent operand. */
static rlx_value_t *floats_pad(rlx_builder_t *builder, const rlx_op_t *op, int index, int64_t outputs)
{
    const rlx_value_t *from = rlx_op_in(op, index);
    rlx_value_t *made;
    float *data;

    if (from == NULL)
        return NULL;
    data = calloc((size_t)padded(outputs), sizeof *data);
    RLX_ASSERT(data != NULL);
    for (int64_t i = 0; i < outputs; i++)
        data[i] = ((const float *)from->data)[i];
    made = vector_const(builder, op, RLX_F32, padded(outputs), data);
    free(data);
    return made;
}

/* What sums start from, less x_point's share unless the point is an operand; and every output's sum of weights. Modulo 2^32. */
static void starts_make(const rlx_op_t *op, const rlx_quant_shape_t *s, bool with_point, uint32_t *start, uint32_t *sum)
{
    int64_t per_output = s->channels / s->group * s->cells;
    uint32_t point = with_point ? (uint32_t)rlx_op_int(op, "x_point") : 0;
    const rlx_value_t *from = rlx_op_in(op, RLX_QUANT_START);
    const int16_t *w = op->in[RLX_QUANT_W]->data;

    for (int64_t o = 0; o < s->outputs; o++) {
        for (int64_t i = 0; i < per_output; i++)
            sum[o] += (uint32_t)w[o * per_output + i];
        start[o] = (from != NULL ? ((const uint32_t *)from->data)[o] : 0) - point * sum[o];
    }
}

/* Starts, scales, [sums,] point, factor, bias. */
static void numbers_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_quant_shape_t *s, bool sums)
{
    const rlx_value_t *point = rlx_op_in(op, RLX_QUANT_POINT);
    uint32_t *start = calloc((size_t)padded(s->outputs) * 2, sizeof *start), *sum = start + padded(s->outputs);

    RLX_ASSERT(start != NULL);
    starts_make(op, s, sums && point == NULL, start, sum);
    rlx_step_in(step, vector_const(builder, op, RLX_I32, padded(s->outputs), start));
    rlx_step_in(step, floats_pad(builder, op, RLX_QUANT_SCALE, s->outputs));
    if (sums)
        rlx_step_in(step, point != NULL ? vector_const(builder, op, RLX_I32, padded(s->outputs), sum) : NULL);
    rlx_step_in(step, point);
    rlx_step_in(step, rlx_op_in(op, RLX_QUANT_FACTOR));
    rlx_step_in(step, floats_pad(builder, op, RLX_QUANT_BIAS, s->outputs));
    free(start);
}

static void packed_free(rlx_packed_quant_t *packed)
{
    free(packed->w);
    free(packed->more);
}

static void packed_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_packed_quant_t *packed, int64_t blocks)
{
    rlx_step_in(step, vector_const(builder, op, RLX_I8, packed->bytes, packed->w));
    rlx_step_in(step, packed->more != NULL ? vector_const(builder, op, RLX_I32, 2 * blocks + 1 + 3 * packed->n_more, packed->more) : NULL);
}

/* Sixteenths of the time of a chunk: one that is widened by itself takes 16, one of a pair 14, a further half 10. */
static int64_t cost_of(const rlx_packed_quant_t *packed, bool pairs)
{
    return (packed->bytes / 32 - packed->n_more) / 2 * (pairs ? 14 : 16) + packed->n_more * 10;
}

static int64_t further_most(const rlx_packed_quant_t *packed, int64_t blocks)
{
    int64_t most = 0;

    for (int64_t b = 0; packed->more != NULL && b < blocks; b++) {
        int64_t end = b + 2 < blocks ? b + 2 : blocks, count = packed->more[2 * end] - packed->more[2 * b];

        most = count > most ? count : most;
    }
    return most;
}

bool rlx_quant_weights_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_quant_shape_t *s,
                           int64_t *out_further)
{
    rlx_pack_quant_t pack = {.group = s->group, .channels = s->channels / s->group, .outputs = s->outputs / s->group, .cells = s->cells,
                             .pixel = s->pixel, .x_max = rlx_op_int(op, "x_max")};
    const int16_t *w = op->in[RLX_QUANT_W]->data;
    int64_t blocks = s->group * ((pack.outputs + 15) / 16);
    rlx_packed_quant_t exact, single, pairs;

    rlx_pack_quant(&pack, RLX_PACK_QUANT_SINGLE, w, &single);
    if (s->pixel == 16) {
        pack.pairs = true;
        rlx_pack_quant(&pack, RLX_PACK_QUANT_PAIRS, w, &pairs);
        pack.pairs = cost_of(&pairs, true) < cost_of(&single, false);
        packed_free(pack.pairs ? &single : &pairs);
        if (pack.pairs)
            single = pairs;
    }
    rlx_pack_quant(&pack, RLX_PACK_QUANT_EXACT, w, &exact);
    packed_add(builder, step, op, &exact, blocks);
    packed_add(builder, step, op, &single, blocks);
    *out_further = further_most(&exact, blocks);
    if (further_most(&single, blocks) > *out_further)
        *out_further = further_most(&single, blocks);
    packed_free(&exact);
    packed_free(&single);
    numbers_add(builder, step, op, s, true);
    return pack.pairs;
}

void rlx_quant_depthwise_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_quant_shape_t *s)
{
    const int16_t *w = op->in[RLX_QUANT_W]->data;
    float *data = calloc((size_t)(padded(s->outputs) * s->cells), sizeof *data);

    RLX_ASSERT(data != NULL);
    for (int64_t o = 0; o < s->outputs; o++)
        for (int64_t k = 0; k < s->cells; k++)
            data[(o / 16 * s->cells + k) * 16 + o % 16] = w[o * s->cells + k];
    rlx_step_in(step, vector_const(builder, op, RLX_F32, padded(s->outputs) * s->cells, data));
    free(data);
    numbers_add(builder, step, op, s, false);
}
