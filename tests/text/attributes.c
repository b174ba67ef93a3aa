/* Attributes of random ops (tests/text/generator.h). */
#include <stdio.h>
#include <string.h>

#include "generator.h"
#include "ir/text/names.h"

/* Words that an operator's attribute may be. */
static const struct {
    rlx_op_kind_t kind;
    const char *name, *words[5];
} choices[] = {
    {RLX_OP_pad, "mode", {"constant", "edge", "reflect", "wrap"}},
    {RLX_OP_depth_to_space, "mode", {"CRD", "DCR"}},
    {RLX_OP_bit_shift, "direction", {"LEFT", "RIGHT"}},
    {RLX_OP_gelu, "approximate", {"none", "tanh"}},
    {RLX_OP_scatter_elements, "reduction", {"none", "add", "mul", "max", "min"}},
    {RLX_OP_scatter_nd, "reduction", {"none", "add", "mul", "max", "min"}},
    {RLX_OP_tensor_scatter, "mode", {"linear", "circular"}},
    {RLX_OP_window, "kind", {"hann", "hamming", "blackman"}},
    {RLX_OP_resize, "mode", {"nearest", "linear", "cubic"}},
    {RLX_OP_resize, "coord", {"half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"}},
    {RLX_OP_resize, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
    {RLX_OP_resize, "policy", {"stretch"}},
    {RLX_OP_grid_sample, "mode", {"linear", "nearest", "cubic"}},
    {RLX_OP_grid_sample, "padding_mode", {"zeros", "border", "reflection"}},
    {RLX_OP_roi_align, "mode", {"avg", "max"}},
    {RLX_OP_roi_align, "coord", {"half_pixel", "output_half_pixel"}},
    {RLX_OP_lstm, "direction", {"forward", "reverse"}},
    {RLX_OP_qlstm, "direction", {"forward", "reverse"}},
    {RLX_OP_gru, "direction", {"forward", "reverse"}},
    {RLX_OP_rnn, "direction", {"forward", "reverse"}},
};

static const char *word(generator_t *g, const rlx_op_t *op, const char *name)
{
    static const char *const others[] = {"none", "constant", "edge", "reflect", "add", "linear", "CRD", "hann", "forward", "nearest"};

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].kind == op->kind && strcmp(choices[i].name, name) == 0)
            for (;;) {
                const char *found = choices[i].words[pick(g, 5)];

                if (found != NULL)
                    return found;
            }
    return others[pick(g, sizeof others / sizeof *others)];
}

static const rlx_value_t *first(const rlx_op_t *op) { return op->n_in > 0 ? op->in[0] : NULL; }

static void list_set(generator_t *g, rlx_op_t *op, const char *name)
{
    int rank = first(op) != NULL ? first(op)->rank : 0, n = rank > 2 && rank < 6 ? rank - 2 : 2;
    int64_t numbers[6];

    if (strcmp(name, "perm") == 0 && rank <= 4) {
        n = rank;
        for (int i = 0; i < n; i++)
            numbers[i] = n - 1 - i;
    } else {
        for (int i = 0; i < 6; i++)
            numbers[i] = 1 + (int64_t)pick(g, 2);
    }
    rlx_op_set_ints(g->graph, op, name, numbers, n);
}

/* By its declaration, "name:type". */
static void attribute_set(generator_t *g, rlx_op_t *op, const char *name, const char *type)
{
    float reals[2] = {0.5f, (float)pick(g, 100) / 7};
    int64_t datum = (int64_t)pick(g, 9);
    rlx_tensor_t tensor = {.dtype = RLX_I64, .rank = 1, .dims = {1}, .data = &datum};

    if (strncmp(type, "is", 2) == 0)
        list_set(g, op, name);
    else if (strncmp(type, "fs", 2) == 0)
        rlx_op_set_floats(g->graph, op, name, reals, (int)pick(g, 3));
    else if (strncmp(type, "tensor", 6) == 0)
        rlx_op_set_tensor(g->graph, op, name, &tensor);
    else if (type[0] == 'i')
        rlx_op_set_int(g->graph, op, name, (int64_t)pick(g, 3) - (int64_t)pick(g, 2));
    else if (type[0] == 't')
        rlx_op_set_int(g->graph, op, name, (int64_t)(1 + pick(g, 13)));
    else if (type[0] == 'f')
        rlx_op_set_float(g->graph, op, name, reals[pick(g, 2)]);
    else
        rlx_op_set_string(g->graph, op, name, word(g, op, name));
}

static void pads_set(generator_t *g, rlx_op_t *op)
{
    int spatial = rlx_op_has_padding(op->kind) ? rlx_op_spatial(op) : 0;

    if (spatial <= 0 || spatial > RLX_RANK_MAX || op->kind == RLX_OP_col2im || op->kind == RLX_OP_deform_conv || op->kind == RLX_OP_max_unpool)
        return;
    op->pads = rlx_graph_alloc(g->graph, (size_t)spatial * 2 * sizeof *op->pads);
    for (int i = 0; i < 2 * spatial; i++)
        op->pads[i] = rlx_expr_const(g->graph->exprs, (int64_t)pick(g, 2));
}

/* Equations of operands of this rank. */
static const char *equation(generator_t *g, const rlx_op_t *op)
{
    static const char *const one[] = {"i->i", "ij->ji", "ijk->ik", "ijkl->il"};
    int rank = first(op) != NULL ? first(op)->rank : 0;

    if (rank < 1 || rank > 4 || op->n_in > 2)
        return "...->...";
    if (op->n_in == 1)
        return one[rank - 1];
    return pick(g, 2) ? "...,...->..." : "ij,jk->ik";
}

/* What the operands decide. */
static void attributes_fit(generator_t *g, rlx_op_t *op)
{
    int64_t ones[3] = {1, 1, 1}, pooled[2] = {1 + (int64_t)pick(g, 3), 2}, channels = 1;
    int rank = first(op) != NULL ? first(op)->rank : 0;

    switch (op->kind) {
    case RLX_OP_lstm:
    case RLX_OP_qlstm:
    case RLX_OP_gru:
    case RLX_OP_rnn:
        rlx_expr_is_const(g->graph->exprs, op->in[2]->dims[2], &channels);
        rlx_op_set_int(g->graph, op, "hidden_size", channels);
        rlx_op_set_int(g->graph, op, "layout", 0);
        rlx_op_set_string(g->graph, op, "activations",
                          op->kind == RLX_OP_gru ? "sigmoid,tanh" : op->kind == RLX_OP_rnn ? "tanh" : "sigmoid,tanh,tanh");
        break;
    case RLX_OP_einsum: rlx_op_set_string(g->graph, op, "equation", equation(g, op)); break;
    case RLX_OP_max_roi_pool: rlx_op_set_ints(g->graph, op, "pooled_shape", pooled, 2); break;
    case RLX_OP_max_unpool:
        rlx_op_set_ints(g->graph, op, "kernel", ones, rank - 2);
        rlx_op_set_ints(g->graph, op, "strides", ones, rank - 2);
        break;
    case RLX_OP_roi_align:
        rlx_op_set_int(g->graph, op, "output_height", pooled[0]);
        rlx_op_set_int(g->graph, op, "output_width", 2);
        rlx_op_set_int(g->graph, op, "sampling_ratio", (int64_t)pick(g, 3));
        break;
    case RLX_OP_gather_elements:
    case RLX_OP_scatter_elements:
    case RLX_OP_gather_nd: rlx_op_set_int(g->graph, op, op->kind == RLX_OP_gather_nd ? "batch_dims" : "axis", 0); break;
    case RLX_OP_deform_conv:
    case RLX_OP_col2im:
        rlx_op_set_ints(g->graph, op, "strides", ones, 2);
        rlx_op_set_ints(g->graph, op, "dilations", ones, 2);
        break;
    case RLX_OP_group_norm: rlx_op_set_int(g->graph, op, "num_groups", 1); break;
    case RLX_OP_quantize: rlx_op_set_int(g->graph, op, "to", op->n_in > 2 && op->in[2] != NULL ? op->in[2]->dtype : RLX_U8); break;
    default: break;
    }
    if (op->kind == RLX_OP_qconv || op->kind == RLX_OP_qmatmul) {
        rlx_op_set_int(g->graph, op, "result", op->n_in > 3 ? (int64_t)pick(g, 2) : 2);
        rlx_op_set_int(g->graph, op, "x_max", 255);
    }
    if (strcmp(rlx_op_info(op->kind)->family, "quant") == 0 && rlx_attr_declaration(op->kind, "lo") != NULL) {
        rlx_op_set_int(g->graph, op, "lo", (int64_t)pick(g, 9));
        rlx_op_set_int(g->graph, op, "hi", 255 - (int64_t)pick(g, 9));
        rlx_op_set_int(g->graph, op, "point", (int64_t)pick(g, 256));
    }
    if (rlx_attr_declaration(op->kind, "x_point") != NULL)
        rlx_op_set_int(g->graph, op, "x_point", (int64_t)pick(g, 256));
    if (rlx_attr_declaration(op->kind, "a_point") != NULL)
        rlx_op_set_int(g->graph, op, "a_point", (int64_t)pick(g, 256));
    if (rlx_attr_declaration(op->kind, "b_point") != NULL)
        rlx_op_set_int(g->graph, op, "b_point", (int64_t)pick(g, 256));
}

void attributes_make(generator_t *g, rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;
    char name[64];

    while (*at) {
        size_t length = strcspn(at, ":"), whole = strcspn(at, " ");
        bool required = memchr(at, '=', whole) == NULL && at[length + 1] != 'f' && strncmp(at + length + 1, "is", 2) != 0;
        bool passes = strncmp(at, "algorithm", 9) == 0 || strncmp(at, "channels", 8) == 0 || strncmp(at, "perm_", 5) == 0 ||
                      strncmp(at, "activations", 11) == 0 || strncmp(at, "axes:", 5) == 0;

        required |= strncmp(at, "kernel:", 7) == 0;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!passes && (required || pick(g, 4) == 0))
            attribute_set(g, op, name, at + length + 1);
        at += whole;
        at += strspn(at, " ");
    }
    attributes_fit(g, op);
    pads_set(g, op);
}
