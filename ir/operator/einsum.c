/* Parses einsum equations against operands: labels, extents, which labels are summed. Equations come from files: everything is checked. */
#include "ir/operator/einsum.h"

#include <ctype.h>
#include <string.h>

#include "ir/shape/common.h"

/* One term of the equation ("b...ij"): letters before the ellipsis, whether there is one, letters after. */
typedef struct term {
    char letters[RLX_RANK_MAX];
    int n, ellipsis; /* index in letters where the ellipsis stands, or -1 */
} term_t;

static rlx_status_t term_read(const rlx_op_t *op, const char **text, term_t *out_term, rlx_diag_t *diag)
{
    term_t term = {.ellipsis = -1};
    const char *at = *text;

    for (; *at != 0 && *at != ',' && *at != '-'; at++) {
        if (*at == ' ')
            continue;
        if (*at == '.') {
            if (strncmp(at, "...", 3) != 0 || term.ellipsis >= 0)
                return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: a term may hold one ellipsis \"...\"");
            term.ellipsis = term.n;
            at += 2;
            continue;
        }
        if (!isalpha((unsigned char)*at))
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: labels are letters, found byte 0x%02x", (unsigned char)*at);
        if (term.n == RLX_RANK_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "equation: a term has more than %d labels", RLX_RANK_MAX);
        term.letters[term.n++] = *at;
    }
    *text = at;
    *out_term = term;
    return RLX_OK;
}

static int label_find(const rlx_einsum_t *e, char letter)
{
    for (int i = 0; i < e->n_labels; i++)
        if (e->letter[i] == letter)
            return i;
    return -1;
}

static int label_make(rlx_graph_t *graph, rlx_einsum_t *e, char letter)
{
    int label = letter ? label_find(e, letter) : -1;

    if (label >= 0)
        return label;
    label = e->n_labels++;
    e->letter[label] = letter;
    e->count[label] = 0;
    e->extent[label] = rlx_expr_const(graph->exprs, 1);
    return label;
}

/* The ellipsis' axes of all operands, right-aligned: `axes` labels, the same for every operand. */
static void ellipsis_label(rlx_graph_t *graph, rlx_einsum_t *e, int *ellipsis, int *n_ellipsis, int needed)
{
    int added = needed - *n_ellipsis;

    if (added <= 0)
        return;
    memmove(ellipsis + added, ellipsis, (size_t)*n_ellipsis * sizeof *ellipsis);
    for (int i = 0; i < added; i++)
        ellipsis[i] = label_make(graph, e, 0);
    *n_ellipsis = needed;
}

typedef struct ellipsis {
    int label[RLX_RANK_MAX], n;
    bool used;
} ellipsis_t;

static rlx_status_t operand_read(
    rlx_graph_t *graph, const rlx_op_t *op, rlx_einsum_t *e, const term_t *term, int operand, ellipsis_t *dots, rlx_diag_t *diag)
{
    const rlx_value_t *value = op->in[operand];
    int spread = value->rank - term->n, axis = 0;

    if (spread < 0 || (spread > 0 && term->ellipsis < 0))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: term %d has %d labels but operand %d has rank %d", operand, term->n,
            operand, value->rank);
    if (term->ellipsis >= 0)
        ellipsis_label(graph, e, dots->label, &dots->n, spread);
    for (int i = 0; i <= term->n; i++) {
        if (i == term->ellipsis)
            for (int j = 0; j < spread; j++)
                e->label[operand][axis++] = dots->label[dots->n - spread + j];
        if (i < term->n)
            e->label[operand][axis++] = label_make(graph, e, term->letters[i]);
    }
    for (axis = 0; axis < value->rank; axis++) {
        int label = e->label[operand][axis];
        e->count[label]++;
        RLX_TRY(rlx_shape_broadcast_dim(graph, op, e->extent[label], value->dims[axis], &e->extent[label], diag));
    }
    return RLX_OK;
}

static rlx_status_t out_add(const rlx_op_t *op, rlx_einsum_t *e, int label, rlx_diag_t *diag)
{
    if (e->out_rank == RLX_RANK_MAX)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "equation: the output has more than %d axes", RLX_RANK_MAX);
    for (int i = 0; i < e->out_rank; i++)
        if (e->out[i] == label)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: label '%c' stands twice in the output", e->letter[label]);
    e->out[e->out_rank++] = label;
    return RLX_OK;
}

static rlx_status_t out_explicit(const rlx_op_t *op, rlx_einsum_t *e, const term_t *term, const ellipsis_t *dots, rlx_diag_t *diag)
{
    for (int i = 0; i <= term->n; i++) {
        if (i == term->ellipsis)
            for (int j = 0; j < dots->n; j++)
                RLX_TRY(out_add(op, e, dots->label[j], diag));
        if (i < term->n) {
            int label = label_find(e, term->letters[i]);
            if (label < 0)
                return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: output label '%c' is in no operand", term->letters[i]);
            RLX_TRY(out_add(op, e, label, diag));
        }
    }
    return RLX_OK;
}

/* No "->": the ellipsis, then the labels that appear once, in the order of their bytes. */
static rlx_status_t out_implicit(const rlx_op_t *op, rlx_einsum_t *e, const ellipsis_t *dots, rlx_diag_t *diag)
{
    for (int j = 0; j < dots->n; j++)
        RLX_TRY(out_add(op, e, dots->label[j], diag));
    for (int letter = 'A'; letter <= 'z'; letter++) {
        int label = label_find(e, (char)letter);
        if (label >= 0 && e->count[label] == 1)
            RLX_TRY(out_add(op, e, label, diag));
    }
    return RLX_OK;
}

static void sum_find(rlx_einsum_t *e)
{
    for (int label = 0; label < e->n_labels; label++) {
        bool in_out = false;
        for (int i = 0; i < e->out_rank; i++)
            in_out |= e->out[i] == label;
        if (!in_out)
            e->sum[e->n_sum++] = label;
    }
}

static rlx_status_t operands_check(const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->n_in > RLX_EINSUM_OPERANDS_MAX)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "%d operands; at most %d are supported", op->n_in, RLX_EINSUM_OPERANDS_MAX);
    for (int i = 0; i < op->n_in; i++) {
        RLX_TRY(rlx_shape_need_rank(op, i, 0, RLX_RANK_MAX, diag));
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, i, diag));
    }
    if (op->in[0]->dtype == RLX_BOOL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type bool is not supported; cast to an integer type first");
    return RLX_OK;
}

rlx_status_t rlx_einsum_read(rlx_graph_t *graph, const rlx_op_t *op, rlx_einsum_t *out_einsum, rlx_diag_t *diag)
{
    const char *text = rlx_op_string(op, "equation");
    rlx_einsum_t e = {.n_operands = op->n_in};
    ellipsis_t dots = {0};
    term_t term;

    RLX_TRY(operands_check(op, diag));
    if (text == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "attribute equation is missing");
    for (int i = 0; i < op->n_in; i++) {
        RLX_TRY(term_read(op, &text, &term, diag));
        RLX_TRY(operand_read(graph, op, &e, &term, i, &dots, diag));
        if (*text != (i + 1 < op->n_in ? ',' : *text == '-' ? '-' : 0))
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: it must have %d terms, one per operand", op->n_in);
        text += *text == ',';
    }
    if (*text == 0) {
        RLX_TRY(out_implicit(op, &e, &dots, diag));
    } else {
        if (text[1] != '>')
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: '-' must be followed by '>'");
        text += 2;
        RLX_TRY(term_read(op, &text, &term, diag));
        if (*text != 0)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "equation: unexpected '%c' after the output", *text);
        RLX_TRY(out_explicit(op, &e, &term, &dots, diag));
    }
    sum_find(&e);
    if (e.n_sum > RLX_EINSUM_RANK)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "equation: %d summed labels; at most %d are supported", e.n_sum, RLX_EINSUM_RANK);
    *out_einsum = e;
    return RLX_OK;
}
