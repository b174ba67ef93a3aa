/* Lowering of the rnn family. f32 with constant weights: the input projection of all steps is one product per direction, then rnn_fast
 * walks the steps with packed recurrent weights. Everything else: rnn_plain. */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/lower/rnn.h"
#include "ir/lower/product.h"
#include "ir/operator/rnn_read.h"
#include "ir/shape/common.h"

#define HIDDEN_MAX (1 << 20)

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static rlx_expr_t times(const rlx_graph_t *graph, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_mul(graph->exprs, a, b); }

static void float_param(rlx_step_t *step, int word, float value) { rlx_step_param_f32(step, word, value); }

static void strides_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_rnn_read_t *r)
{
    rlx_expr_t directions = num(graph, r->directions), row = times(graph, directions, r->hidden);
    bool batch_first = r->layout == 1;

#define SET(name, value) rlx_step_param(step, RLX_WORD(rlx_rnn_cell_t, name), value)
    SET(x_step, batch_first ? r->input : times(graph, r->batch, r->input));
    SET(x_batch, batch_first ? times(graph, r->steps, r->input) : r->input);
    SET(y_step, batch_first ? row : times(graph, row, r->batch));
    SET(y_batch, batch_first ? times(graph, row, r->steps) : r->hidden);
    SET(y_direction, batch_first ? r->hidden : times(graph, r->batch, r->hidden));
    SET(h_batch, batch_first ? row : r->hidden);
    SET(h_direction, batch_first ? r->hidden : times(graph, r->batch, r->hidden));
#undef SET
}

void rlx_rnn_cell_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_op_t *op, const rlx_rnn_read_t *r)
{
#define WORD(name) RLX_WORD(rlx_rnn_cell_t, name)
    rlx_step_param_const(step, WORD(kind), r->kind);
    rlx_step_param_const(step, WORD(dtype), op->in[0]->dtype);
    rlx_step_param(step, WORD(steps), r->steps);
    rlx_step_param(step, WORD(batch), r->batch);
    rlx_step_param(step, WORD(input), r->input);
    rlx_step_param(step, WORD(hidden), r->hidden);
    rlx_step_param_const(step, WORD(directions), r->directions);
    rlx_step_param_const(step, WORD(reverse), r->reverse);
    float_param(step, WORD(clip), rlx_op_float(op, "clip"));
    rlx_step_param_const(step, WORD(input_forget), r->kind == RLX_RNN_LSTM && rlx_op_int(op, "input_forget") != 0);
    rlx_step_param_const(step, WORD(linear_before_reset), r->kind == RLX_RNN_GRU && rlx_op_int(op, "linear_before_reset") != 0);
    for (int i = 0; i < 2 * 3; i++) {
        rlx_step_param_const(step, WORD(activation) + i, r->activation[i / 3][i % 3]);
        float_param(step, WORD(alpha) + i, r->alpha[i / 3][i % 3]);
        float_param(step, WORD(beta) + i, r->beta[i / 3][i % 3]);
    }
#undef WORD
    strides_params(graph, step, r);
}

void rlx_rnn_rest_operands(rlx_step_t *step, const rlx_op_t *op, const rlx_rnn_read_t *r)
{
    for (int role = RLX_RNN_IN_B; role < RLX_RNN_IN_COUNT; role++)
        rlx_step_in(step, role > RLX_RNN_IN_H && r->kind != RLX_RNN_LSTM ? NULL : rlx_op_in(op, role));
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, i < op->n_out ? op->out[i] : NULL);
}

rlx_expr_t rlx_rnn_flops(const rlx_graph_t *graph, const rlx_rnn_read_t *r, rlx_expr_t depth)
{
    rlx_expr_t rows = times(graph, times(graph, r->steps, r->batch), num(graph, 2 * r->gates * r->directions));

    return times(graph, times(graph, rows, r->hidden), depth);
}

static rlx_status_t lower_plain(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_rnn_plain, RLX_WORDS(rlx_rnn_plain_params_t));

    for (int role = RLX_RNN_IN_X; role <= RLX_RNN_IN_R; role++)
        rlx_step_in(step, op->in[role]);
    rlx_rnn_rest_operands(step, op, r);
    rlx_rnn_cell_params(graph, step, op, r);
    return rlx_step_end(step, times(graph, num(graph, r->directions), r->batch),
        times(graph, r->hidden, num(graph, 8 * RLX_RNN_PLAIN_SCRATCH)), rlx_rnn_flops(graph, r, rlx_expr_add(graph->exprs, r->input, r->hidden)),
        diag);
}

/* Where the x chains of direction `d` start: Wb + Rb, but Wb alone for gate h of gru when the linear map comes before the reset. */
static const rlx_value_t *projection_bias(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, int d, int64_t hidden)
{
    const rlx_value_t *b = rlx_op_in(op, RLX_RNN_IN_B);
    bool apart = r->kind == RLX_RNN_GRU && rlx_op_int(op, "linear_before_reset") != 0;
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int64_t rows = r->gates * hidden;
    const float *from;
    float *sum;

    if (b == NULL)
        return NULL;
    from = (const float *)b->data + d * 2 * rows;
    sum = rlx_graph_alloc(graph, (size_t)rows * sizeof *sum);
    for (int64_t i = 0; i < rows; i++)
        sum[i] = apart && i >= 2 * hidden ? from[i] : from[i] + from[rows + i];
    return rlx_builder_const(builder, b->name, RLX_F32, 1, &rows, RLX_LAYOUT_ROW_MAJOR, sum, rows * (int64_t)sizeof *sum);
}

/* One row per step and batch item, in the order of X: gates * hidden preactivations. */
static rlx_status_t lower_projection(
    rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, int d, int64_t hidden, const rlx_value_t **out, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *w = op->in[RLX_RNN_IN_W];
    int64_t rows = r->gates * hidden, input, dims[2];
    rlx_product_t p;

    rlx_expr_is_const(graph->exprs, r->input, &input);
    dims[0] = rows;
    dims[1] = input;
    rlx_product_init(graph, &p, op);
    p.a = op->in[RLX_RNN_IN_X];
    p.b = rlx_graph_const(graph, w->name, RLX_F32, 2, dims, (const float *)w->data + d * rows * input, false);
    p.bias = projection_bias(builder, op, r, d, hidden);
    p.m = times(graph, r->steps, r->batch);
    p.n = num(graph, rows);
    p.k = r->input;
    p.a_row = p.b_col = r->input;
    p.a_col = p.b_row = p.c_col = num(graph, 1);
    p.c_row = p.n;
    p.c = rlx_builder_temp(builder, RLX_F32, 2, (rlx_expr_t[]){p.m, p.n}, RLX_LAYOUT_ROW_MAJOR);
    *out = p.c;
    return rlx_product_lower(builder, &p, diag);
}

/* R as [directions][gates][ceil(hidden / 16)][hidden][16]. NULL when its size passes the limits. */
static const rlx_value_t *pack_recurrent(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, int64_t hidden)
{
    const rlx_value_t *weights = op->in[RLX_RNN_IN_R];
    int64_t matrices = r->directions * r->gates, padded = (hidden + 15) & ~15ll, dims[2] = {matrices * hidden, hidden}, bytes;
    const float *from = weights->data;
    float *packed, *to;

    if (!rlx_size_mul(matrices * padded, hidden, &bytes) || !rlx_size_mul(bytes, 4, &bytes))
        return NULL;
    to = packed = rlx_graph_alloc(rlx_builder_graph(builder), (size_t)bytes);
    for (int64_t i = 0; i < matrices; i++, from += hidden * hidden)
        for (int64_t block = 0; block < padded; block += 16)
            for (int64_t k = 0; k < hidden; k++, to += 16)
                for (int64_t j = 0; j < 16 && block + j < hidden; j++)
                    to[j] = from[(block + j) * hidden + k];
    return rlx_builder_const(builder, weights->name, RLX_F32, 2, dims, RLX_LAYOUT_GEMM_16N, packed, bytes);
}

static rlx_status_t lower_fast(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, int64_t hidden, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *projected[2] = {NULL, NULL}, *packed = pack_recurrent(builder, op, r, hidden);
    rlx_expr_t rows = num(graph, RLX_RNN_FAST_ROWS), width = num(graph, r->gates * hidden);
    rlx_step_t *step;

    if (packed == NULL)
        return lower_plain(builder, op, r, diag);
    for (int d = 0; d < r->directions; d++)
        RLX_TRY(lower_projection(builder, op, r, d, hidden, &projected[d], diag));
    step = rlx_step_begin(builder, op, RLX_K_rnn_fast, RLX_WORDS(rlx_rnn_fast_params_t));
    rlx_step_in(step, projected[0]);
    rlx_step_in(step, projected[1]);
    rlx_step_in(step, packed);
    rlx_rnn_rest_operands(step, op, r);
    rlx_rnn_cell_params(graph, step, op, r);
    rlx_step_param(step, RLX_WORD(rlx_rnn_fast_params_t, rows), rows);
    rlx_step_param(step, RLX_WORD(rlx_rnn_fast_params_t, xw_step), r->layout ? width : times(graph, r->batch, width));
    rlx_step_param(step, RLX_WORD(rlx_rnn_fast_params_t, xw_batch), r->layout ? times(graph, r->steps, width) : width);
    return rlx_step_end(step, times(graph, num(graph, r->directions), rlx_expr_ceildiv(graph->exprs, r->batch, rows)),
        num(graph, RLX_RNN_FAST_ROWS * RLX_RNN_FAST_SCRATCH * ((hidden + 15) & ~15ll) * 4), rlx_rnn_flops(graph, r, r->hidden), diag);
}

/* Constant W, R and B of sane size; a 0 extent goes to the plain kernel. */
static bool wants_fast(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, int64_t *out_hidden)
{
    const rlx_exprs_t *e = rlx_builder_graph(builder)->exprs;
    const rlx_value_t *b = rlx_op_in(op, RLX_RNN_IN_B);
    int64_t input;

    if (rlx_builder_level(builder) < 2 || op->in[0]->dtype != RLX_F32)
        return false;
    if (!rlx_value_is_const(op->in[RLX_RNN_IN_W]) || !rlx_value_is_const(op->in[RLX_RNN_IN_R]) || (b != NULL && !rlx_value_is_const(b)))
        return false;
    return rlx_expr_is_const(e, r->input, &input) && rlx_expr_is_const(e, r->hidden, out_hidden) && input > 0 && *out_hidden > 0 &&
           *out_hidden < HIDDEN_MAX;
}

rlx_status_t rlx_lower_rnn(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_rnn_read_t r;
    int64_t hidden;

    RLX_TRY(rlx_rnn_read(rlx_builder_graph(builder), op, &r, diag));
    if (op->kind == RLX_OP_qlstm)
        return rlx_lower_qlstm(builder, op, &r, diag);
    if (wants_fast(builder, op, &r, &hidden))
        return lower_fast(builder, op, &r, hidden, diag);
    return lower_plain(builder, op, &r, diag);
}
