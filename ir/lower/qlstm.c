/* Lowering of qlstm. With constant weights: x is quantised, one product of bytes for all steps and directions, then the kernel qlstm walks the
 * steps with packed recurrent weights. Everything else: qlstm_plain. Outputs are ordered [direction][ceil(hidden / 16)][gate][16]. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/lower/rnn.h"
#include "ir/lower/pack_quant.h"
#include "ir/operator/quant.h"
#include "ir/shape/common.h"

#define HIDDEN_MAX (1 << 20)
#define WEIGHT_MAX 255 /* what ir/lower/pack_quant.h takes */

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static rlx_expr_t times(const rlx_graph_t *graph, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_mul(graph->exprs, a, b); }

typedef struct qlstm_shape {
    int64_t directions, hidden, input, outputs; /* outputs: of all directions, rounded up */
} qlstm_shape_t;

/* Where output `o` comes from: its row of W, R and the numbers; -1 past hidden. */
static int64_t row_of(const qlstm_shape_t *s, int64_t o)
{
    int64_t padded = s->outputs / s->directions, direction = o / padded, unit = o % padded / 64 * 16 + o % 16, gate = o / 16 % 4;

    return unit < s->hidden ? (direction * 4 + gate) * s->hidden + unit : -1;
}

/* Weights [directions][4 * hidden][width] in the order of outputs; `to` holds zeros. */
static void reorder(const qlstm_shape_t *s, const rlx_value_t *weights, int64_t width, int16_t *to)
{
    for (int64_t o = 0; o < s->outputs; o++)
        if (row_of(s, o) >= 0)
            memcpy(to + o * width, (const int16_t *)weights->data + row_of(s, o) * width, (size_t)width * sizeof *to);
}

static rlx_value_t *bytes_const(rlx_builder_t *builder, const rlx_value_t *like, rlx_dtype_t dtype, int64_t count, const void *data)
{
    return rlx_builder_const(builder, like->name, dtype, 1, &count, RLX_LAYOUT_ROW_MAJOR, data, count * (int64_t)rlx_dtype_size(dtype));
}

/* One packing of R, the chunks of four neighbouring blocks alternating, and its further chunks. Returns how many there are. */
static int64_t packed_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_value_t *like, const rlx_pack_quant_t *pack, rlx_packed_quant_t *packed)
{
    int64_t blocks = pack->outputs / 16, chunks = rlx_pack_quant_chunks(pack), n = packed->n_more;
    int8_t *mixed = malloc((size_t)packed->bytes + 64);

    RLX_ASSERT(mixed != NULL);
    memcpy(mixed, packed->w, (size_t)packed->bytes);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t q = 0; q < chunks; q++)
            memcpy(mixed + ((b / 4 * chunks + q) * 4 + b % 4) * 64, packed->w + (b * chunks + q) * 64, 64);
    rlx_step_in(step, bytes_const(builder, like, RLX_I8, packed->bytes, mixed));
    rlx_step_in(step, n > 0 ? bytes_const(builder, like, RLX_I32, 2 * blocks + 1 + 3 * n, packed->more) : NULL);
    free(mixed);
    free(packed->w);
    free(packed->more);
    return n;
}

/* Both packings of R. Sixteenths of a chunk's time: 16 by itself, 14 as one of a pair, a further half 10 (ir/pass/quant_weights.c). */
static bool weights_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_value_t *r, const qlstm_shape_t *s, int64_t *out_further)
{
    rlx_pack_quant_t pack = {.group = 1, .channels = s->hidden, .outputs = s->outputs, .cells = 1, .pixel = 16, .x_max = 255}, even = pack;
    int16_t *w = calloc((size_t)(s->outputs * s->hidden), sizeof *w);
    rlx_packed_quant_t exact, single, pairs;
    int64_t further[2], blocks = s->outputs / 16;
    bool two;

    RLX_ASSERT(w != NULL);
    reorder(s, r, s->hidden, w);
    even.pairs = true;
    rlx_pack_quant(&pack, RLX_PACK_QUANT_SINGLE, w, &single);
    rlx_pack_quant(&even, RLX_PACK_QUANT_PAIRS, w, &pairs);
    two = rlx_pack_quant_chunks(&even) * blocks * 14 + pairs.n_more * 10 < rlx_pack_quant_chunks(&pack) * blocks * 16 + single.n_more * 10;
    rlx_pack_quant(two ? &even : &pack, RLX_PACK_QUANT_EXACT, w, &exact);
    free(w);
    further[0] = packed_add(builder, step, r, two ? &even : &pack, &exact);
    further[1] = packed_add(builder, step, r, two ? &even : &pack, two ? &pairs : &single);
    *out_further = further[0] > further[1] ? further[0] : further[1];
    free(two ? single.w : pairs.w);
    free(two ? single.more : pairs.more);
    return two;
}

static void sums_of(const int16_t *weights, int64_t row, int64_t width, int32_t *out)
{
    uint32_t sum = 0;

    for (int64_t k = 0; row >= 0 && k < width; k++)
        sum += (uint32_t)weights[row * width + k];
    *out = (int32_t)sum;
}

static rlx_value_t *numbers_make(rlx_builder_t *builder, const rlx_op_t *op, const qlstm_shape_t *s)
{
    const rlx_value_t *b = rlx_op_in(op, RLX_RNN_IN_B);
    const float *scale[2] = {op->in[RLX_RNN_IN_W_SCALE]->data, op->in[RLX_RNN_IN_R_SCALE]->data};
    int64_t bytes = s->outputs / 16 * (int64_t)sizeof(rlx_qlstm_numbers_t), rows = 4 * s->hidden;
    rlx_qlstm_numbers_t *numbers = calloc(1, (size_t)bytes);
    rlx_value_t *made;

    RLX_ASSERT(numbers != NULL);
    for (int64_t o = 0; o < s->outputs; o++) {
        rlx_qlstm_numbers_t *to = &numbers[o / 16];
        int64_t row = row_of(s, o), i = o % 16;

        if (row < 0)
            continue;
        sums_of(op->in[RLX_RNN_IN_W]->data, row, s->input, &to->w_sum[i]);
        sums_of(op->in[RLX_RNN_IN_R]->data, row, s->hidden, &to->r_sum[i]);
        to->w_scale[i] = scale[0][row];
        to->r_scale[i] = scale[1][row];
        if (b != NULL)
            to->bias[i] = ((const float *)b->data)[row + row / rows * rows] + ((const float *)b->data)[row + (row / rows + 1) * rows];
    }
    made = bytes_const(builder, op->in[RLX_RNN_IN_R], RLX_I32, bytes / 4, numbers);
    free(numbers);
    return made;
}

/* x as bytes in the order of the product, with scales and zero points: the kernel's operands. */
static rlx_status_t lower_input(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, const rlx_value_t *out[3], rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_expr_t columns = times(graph, rlx_expr_ceildiv(graph->exprs, r->input, num(graph, 16)), num(graph, 16));
    rlx_expr_t bytes = times(graph, times(graph, r->steps, r->batch), columns);
    rlx_quant_items_t items = {.count = r->batch, .steps = r->steps, .columns = r->input, .rows = true, .lengths = rlx_op_in(op, RLX_RNN_IN_LENGTHS)};

    items.step = r->layout ? r->input : times(graph, r->batch, r->input);
    items.item_step = r->layout ? times(graph, r->steps, r->input) : r->input;
    out[0] = rlx_builder_temp(builder, RLX_U8, 1, &bytes, RLX_LAYOUT_ROW_MAJOR);
    out[1] = rlx_builder_temp(builder, RLX_F32, 1, &r->batch, RLX_LAYOUT_ROW_MAJOR);
    out[2] = rlx_builder_temp(builder, RLX_U8, 1, &r->batch, RLX_LAYOUT_ROW_MAJOR);
    return rlx_quant_lower_items(builder, op, &items, out, diag);
}

/* The products of all steps with W. */
static rlx_status_t lower_projection(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, const qlstm_shape_t *s,
                                     const rlx_value_t *bytes, rlx_value_t **out_sums, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int64_t dims[2] = {s->outputs, s->input};
    const rlx_value_t *weights = op->in[RLX_RNN_IN_W];
    int16_t *data = rlx_graph_alloc(graph, (size_t)(s->outputs * s->input) * sizeof *data);
    rlx_value_t *w;

    memset(data, 0, (size_t)(s->outputs * s->input) * sizeof *data);
    reorder(s, weights, s->input, data);
    w = rlx_graph_const(graph, weights->name, RLX_I16, 2, dims, data, true);
    *out_sums = rlx_builder_temp(builder, RLX_I32, 2, (rlx_expr_t[]){times(graph, r->steps, r->batch), num(graph, s->outputs)}, RLX_LAYOUT_ROW_MAJOR);
    return rlx_quant_lower_sums(builder, op, bytes, w, *out_sums, diag);
}

static rlx_status_t lower_fast(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, const qlstm_shape_t *s, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int64_t padded = s->outputs / s->directions / 4, further;
    rlx_expr_t width = num(graph, s->outputs), blocks = rlx_expr_ceildiv(graph->exprs, r->batch, num(graph, RLX_QLSTM_ROWS));
    const rlx_value_t *input[3];
    rlx_value_t *sums;
    rlx_step_t *step;

    RLX_TRY(lower_input(builder, op, r, input, diag));
    RLX_TRY(lower_projection(builder, op, r, s, input[0], &sums, diag));
    step = rlx_step_begin(builder, op, RLX_K_qlstm, RLX_WORDS(rlx_qlstm_params_t));
    rlx_step_in(step, sums);
    rlx_step_in(step, input[1]);
    rlx_step_in(step, input[2]);
    rlx_step_param_const(step, RLX_WORD(rlx_qlstm_params_t, pairs), weights_add(builder, step, op->in[RLX_RNN_IN_R], s, &further));
    rlx_step_in(step, numbers_make(builder, op, s));
    for (int role = RLX_RNN_IN_LENGTHS; role <= RLX_RNN_IN_P; role++)
        rlx_step_in(step, rlx_op_in(op, role));
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, i < op->n_out ? op->out[i] : NULL);
    rlx_rnn_cell_params(graph, step, op, r);
    rlx_step_param(step, RLX_WORD(rlx_qlstm_params_t, sums_step), r->layout ? width : times(graph, r->batch, width));
    rlx_step_param(step, RLX_WORD(rlx_qlstm_params_t, sums_batch), r->layout ? times(graph, r->steps, width) : width);
    return rlx_step_end(step, times(graph, num(graph, s->directions), blocks),
                        num(graph, RLX_QLSTM_ROWS * RLX_QLSTM_SCRATCH * padded + 8 * further + 64), rlx_rnn_flops(graph, r, r->hidden), diag);
}

static rlx_status_t lower_plain(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qlstm_plain, RLX_WORDS(rlx_qlstm_plain_params_t));
    rlx_expr_t scratch = rlx_expr_add(graph->exprs, times(graph, r->hidden, num(graph, RLX_QLSTM_PLAIN_SCRATCH)), r->input);

    for (int role = RLX_RNN_IN_X; role <= RLX_RNN_IN_R; role++)
        rlx_step_in(step, op->in[role]);
    rlx_rnn_rest_operands(step, op, r);
    rlx_step_in(step, op->in[RLX_RNN_IN_W_SCALE]);
    rlx_step_in(step, op->in[RLX_RNN_IN_R_SCALE]);
    rlx_rnn_cell_params(graph, step, op, r);
    return rlx_step_end(step, times(graph, num(graph, r->directions), r->batch), scratch,
                        rlx_rnn_flops(graph, r, rlx_expr_add(graph->exprs, r->input, r->hidden)), diag);
}

static bool is_known(const rlx_op_t *op, int role)
{
    const rlx_value_t *value = rlx_op_in(op, role);

    return value == NULL || rlx_value_is_const(value);
}

static bool weights_fit(const rlx_value_t *value, int64_t count)
{
    const int16_t *w = value->data;

    for (int64_t i = 0; i < count; i++)
        if (w[i] < -WEIGHT_MAX || w[i] > WEIGHT_MAX)
            return false;
    return true;
}

static bool shape_read(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, qlstm_shape_t *out)
{
    static const int known[] = {RLX_RNN_IN_W, RLX_RNN_IN_R, RLX_RNN_IN_B, RLX_RNN_IN_W_SCALE, RLX_RNN_IN_R_SCALE};
    const rlx_exprs_t *e = rlx_builder_graph(builder)->exprs;
    qlstm_shape_t s = {.directions = r->directions};

    for (int i = 0; i < 5; i++)
        if (!is_known(op, known[i]))
            return false;
    if (rlx_builder_level(builder) < 3 || !rlx_expr_is_const(e, r->input, &s.input) || !rlx_expr_is_const(e, r->hidden, &s.hidden) || s.input < 1 ||
        s.hidden < 1 || s.hidden > HIDDEN_MAX)
        return false;
    s.outputs = s.directions * 4 * ((s.hidden + 15) / 16 * 16);
    *out = s;
    return weights_fit(op->in[RLX_RNN_IN_W], s.directions * 4 * s.hidden * s.input) &&
        weights_fit(op->in[RLX_RNN_IN_R], s.directions * 4 * s.hidden * s.hidden);
}

rlx_status_t rlx_lower_qlstm(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, rlx_diag_t *diag)
{
    qlstm_shape_t s;

    return shape_read(builder, op, r, &s) ? lower_fast(builder, op, r, &s, diag) : lower_plain(builder, op, r, diag);
}
