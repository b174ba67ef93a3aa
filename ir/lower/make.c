/* Lowers the make family. What is known from shapes alone becomes store_elements. */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

#define GRAIN 4096

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static int64_t bytes_of(const rlx_value_t *value) { return (int64_t)rlx_dtype_size(value->dtype); }

static rlx_status_t lower_store(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *out = op->out[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_store_elements, RLX_WORDS(rlx_store_elements_params_t) - RLX_STORE_WORDS + out->n_elements);

    if (out->n_elements < 0 || out->elements == NULL)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the elements are not known");
    rlx_step_out(step, out);
    rlx_step_param_const(step, RLX_WORD(rlx_store_elements_params_t, count), out->n_elements);
    rlx_step_param_const(step, RLX_WORD(rlx_store_elements_params_t, bytes), bytes_of(out));
    for (int i = 0; i < out->n_elements; ++i)
        rlx_step_param(step, RLX_WORD(rlx_store_elements_params_t, words) + i, out->elements[i]);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_fill(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_attr_t *attr = rlx_op_attr(op, "value");
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_fill, RLX_WORDS(rlx_fill_params_t));
    rlx_expr_t count = rlx_value_count(graph, op->out[0]);
    int64_t word = 0;

    if (attr != NULL && attr->tensor.data != NULL)
        memcpy(&word, attr->tensor.data, rlx_dtype_size(attr->tensor.dtype));
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_fill_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_fill_params_t, bytes), bytes_of(op->out[0]));
    rlx_step_param_const(step, RLX_WORD(rlx_fill_params_t, value), word);
    rlx_step_param_const(step, RLX_WORD(rlx_fill_params_t, grain), GRAIN);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, num(graph, GRAIN)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_range(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_range, RLX_WORDS(rlx_range_params_t));
    rlx_expr_t count = rlx_value_count(graph, op->out[0]);

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, op->in[2]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_range_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_range_params_t, dtype), op->out[0]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_range_params_t, grain), GRAIN);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, num(graph, GRAIN)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_eye(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_eye, RLX_WORDS(rlx_eye_params_t));

    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_eye_params_t, rows), op->out[0]->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_eye_params_t, columns), op->out[0]->dims[1]);
    rlx_step_param_const(step, RLX_WORD(rlx_eye_params_t, k), rlx_op_int(op, "k"));
    rlx_step_param_const(step, RLX_WORD(rlx_eye_params_t, dtype), op->out[0]->dtype);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_window(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_signal_window, RLX_WORDS(rlx_signal_window_params_t));
    const char *kind = rlx_op_string(op, "kind");
    int code = strcmp(kind, "hann") == 0 ? RLX_WINDOW_HANN : strcmp(kind, "hamming") == 0 ? RLX_WINDOW_HAMMING : RLX_WINDOW_BLACKMAN;

    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_signal_window_params_t, count), op->out[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_signal_window_params_t, kind), code);
    rlx_step_param_const(step, RLX_WORD(rlx_signal_window_params_t, periodic), rlx_op_int(op, "periodic"));
    rlx_step_param_const(step, RLX_WORD(rlx_signal_window_params_t, dtype), op->out[0]->dtype);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_mel(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_mel_weights, RLX_WORDS(rlx_mel_weights_params_t));

    for (int i = 0; i < 5; ++i)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_mel_weights_params_t, spectrogram_bins), op->out[0]->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_mel_weights_params_t, mel_bins), op->out[0]->dims[1]);
    rlx_step_param_const(step, RLX_WORD(rlx_mel_weights_params_t, dtype), op->out[0]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_mel_weights_params_t, integer_dtype), op->in[1]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_mel_weights_params_t, edge_dtype), op->in[3]->dtype);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_make(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_constant_of_shape: return lower_fill(builder, op, diag);
    case RLX_OP_range: return lower_range(builder, op, diag);
    case RLX_OP_eye_like: return lower_eye(builder, op, diag);
    case RLX_OP_window: return lower_window(builder, op, diag);
    case RLX_OP_mel_weight_matrix: return lower_mel(builder, op, diag);
    default: return lower_store(builder, op, diag);
    }
}
