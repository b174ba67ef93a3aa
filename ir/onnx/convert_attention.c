/* Attention and RotaryEmbedding, spelled out:
 *   scores = (Q * sqrt(scale)) (K * sqrt(scale))^T + bias;  Y = softmax(softcap(scores)) V
 * on [batch, heads, sequence, size]; operands of rank 3 hold their heads side by side in the last axis. */
#include "ir/onnx/convert.h"

#include <math.h>

typedef struct attention {
    rlx_value_t *q, *k, *v, *present_k, *present_v;
    rlx_dtype_t dtype;
    bool packed; /* operands of rank 3 */
} attention_t;

/* [B, S, H*D] to [B, H, S, D]. */
static rlx_value_t *heads_split(rlx_onnx_call_t *call, rlx_value_t *x, int64_t heads, const char *attr)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    rlx_expr_t dims[4];

    if (x == NULL || x->rank == 4)
        return x;
    if (x->rank != 3 || heads < 1)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "operands have rank 4, or rank 3 with attribute '%s'; '%s' has rank %d", attr, x->name,
                             x->rank);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    dims[2] = rlx_call_expr(call, heads);
    dims[3] = rlx_expr_floordiv(call->graph->exprs, x->dims[2], dims[2]);
    return rlx_call_transpose(call, rlx_call_reshape(call, x, dims, 4), perm, 4);
}

/* Grouped queries: every head of K and V serves `times` heads of Q in a row. */
static rlx_value_t *heads_repeat(rlx_onnx_call_t *call, rlx_value_t *x, rlx_expr_t q_heads)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t spread[5], dims[4], times;

    if (x == NULL || x->dims[1] == q_heads)
        return x;
    times = rlx_expr_floordiv(exprs, q_heads, x->dims[1]);
    rlx_call_check(call, rlx_expr_eq(exprs, rlx_expr_mul(exprs, times, x->dims[1]), q_heads),
                   "Attention: query heads are no multiple of key heads");
    for (int i = 0; i < 4; i++) {
        dims[i] = x->dims[i];
        spread[i + (i >= 2)] = x->dims[i];
    }
    spread[2] = times;
    dims[1] = q_heads;
    return rlx_call_reshape(call, rlx_call_expand(call, rlx_call_unsqueeze(call, x, 2), spread, 5), dims, 4);
}

static bool operands_read(rlx_onnx_call_t *call, attention_t *a)
{
    int64_t q_heads = rlx_call_int(call, "q_num_heads", 0), kv_heads = rlx_call_int(call, "kv_num_heads", 0);

    a->dtype = call->in[0]->dtype;
    a->packed = call->in[0]->rank == 3;
    a->q = heads_split(call, call->in[0], q_heads, "q_num_heads");
    a->k = heads_split(call, call->in[1], kv_heads, "kv_num_heads");
    a->v = heads_split(call, call->in[2], kv_heads, "kv_num_heads");
    if (rlx_call_in(call, 4) != NULL)
        a->k = rlx_call_concat(call, call->in[4], a->k, 2);
    if (rlx_call_in(call, 5) != NULL)
        a->v = rlx_call_concat(call, call->in[5], a->v, 2);
    a->present_k = a->k;
    a->present_v = a->v;
    if (!rlx_call_ok(call))
        return false;
    a->k = heads_repeat(call, a->k, a->q->dims[1]);
    a->v = heads_repeat(call, a->v, a->q->dims[1]);
    return rlx_call_ok(call);
}

/* 0 where `allowed`, else -inf. */
static rlx_value_t *bias_of(rlx_onnx_call_t *call, rlx_value_t *allowed, rlx_dtype_t dtype)
{
    return rlx_call_op3(call, RLX_OP_where, allowed, rlx_call_scalar(call, dtype, 0), rlx_call_scalar(call, dtype, -INFINITY));
}

/* The mask operand as a bias; where it is shorter than the keys, the rest is masked out. */
static rlx_value_t *mask_bias(rlx_onnx_call_t *call, const attention_t *a)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_value_t *mask = rlx_call_in(call, 3), *in[4] = {NULL};
    rlx_expr_t pads[2] = {rlx_call_expr(call, 0), RLX_EXPR_NONE};
    int64_t last;

    if (mask != NULL && mask->rank < 1)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "the mask is a scalar");
    if (mask != NULL)
        mask = mask->dtype == RLX_BOOL ? bias_of(call, mask, a->dtype) : rlx_call_cast(call, mask, a->dtype);
    if (mask == NULL || mask->dims[mask->rank - 1] == a->k->dims[2])
        return mask;
    pads[1] = rlx_expr_max(exprs, rlx_expr_sub(exprs, a->k->dims[2], mask->dims[mask->rank - 1]), pads[0]);
    last = mask->rank - 1;
    in[0] = mask;
    in[1] = rlx_call_exprs_value(call, pads, 2);
    in[2] = rlx_call_scalar(call, a->dtype, -INFINITY);
    in[3] = rlx_call_ints_value(call, &last, 1);
    return rlx_call_end(call, rlx_call_begin(call, RLX_OP_pad, 4, in, 1));
}

/* Query i sees keys up to past + i. */
static rlx_value_t *causal_bias(rlx_onnx_call_t *call, const attention_t *a)
{
    rlx_value_t *past = rlx_call_in(call, 4);
    rlx_value_t *row = rlx_call_range(call, RLX_I64, a->q->dims[2]), *column = rlx_call_range(call, RLX_I64, a->k->dims[2]);

    row = rlx_call_unsqueeze(call, row, 1);
    if (past != NULL)
        row = rlx_call_op2(call, RLX_OP_add, row, rlx_call_exprs_value(call, &past->dims[2], 1));
    return bias_of(call, rlx_call_op2(call, RLX_OP_less_equal, column, row), a->dtype);
}

/* Keys from each batch item's own length on are padding: [B] to [B, 1, 1, keys]. */
static rlx_value_t *padding_bias(rlx_onnx_call_t *call, const attention_t *a)
{
    rlx_value_t *lengths = rlx_call_cast(call, rlx_call_in(call, 6), RLX_I64);

    for (int i = 0; i < 3; i++)
        lengths = rlx_call_unsqueeze(call, lengths, 1);
    return bias_of(call, rlx_call_op2(call, RLX_OP_less, rlx_call_range(call, RLX_I64, a->k->dims[2]), lengths), a->dtype);
}

static rlx_value_t *biased(rlx_onnx_call_t *call, const attention_t *a, rlx_value_t *scores)
{
    rlx_value_t *mask = mask_bias(call, a);

    if (rlx_call_int(call, "is_causal", 0) != 0) {
        rlx_value_t *causal = causal_bias(call, a);
        mask = mask != NULL ? rlx_call_op2(call, RLX_OP_add, mask, causal) : causal;
    }
    if (rlx_call_in(call, 6) != NULL) {
        rlx_value_t *padding = padding_bias(call, a);
        mask = mask != NULL ? rlx_call_op2(call, RLX_OP_add, mask, padding) : padding;
    }
    return mask != NULL ? rlx_call_op2(call, RLX_OP_add, scores, mask) : scores;
}

static rlx_value_t *scores_make(rlx_onnx_call_t *call, const attention_t *a)
{
    rlx_value_t *factor, *in[2];
    int64_t size = 0;
    double scale;
    rlx_op_t *op;

    if (rlx_call_has(call, "scale")) {
        scale = sqrt((double)rlx_call_float(call, "scale", 1.0f));
    } else {
        if (!rlx_expr_is_const(call->graph->exprs, a->q->dims[3], &size) || size < 1)
            return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "Attention over an open or empty head size needs attribute 'scale'");
        scale = sqrt(1.0 / sqrt((double)size));
    }
    factor = rlx_call_scalar(call, a->dtype, scale);
    in[0] = rlx_call_op2(call, RLX_OP_mul, a->q, factor);
    in[1] = rlx_call_op2(call, RLX_OP_mul, a->k, factor);
    if (!rlx_call_ok(call))
        return NULL;
    op = rlx_call_begin(call, RLX_OP_matmul, 2, in, 1);
    rlx_call_set_int(call, op, "trans_b", 1);
    return rlx_call_end(call, op);
}

static rlx_value_t *softcapped(rlx_onnx_call_t *call, rlx_value_t *x, float cap)
{
    rlx_value_t *limit;

    if (cap <= 0 || x == NULL)
        return x;
    limit = rlx_call_scalar(call, x->dtype, cap);
    return rlx_call_op2(call, RLX_OP_mul, rlx_call_op1(call, RLX_OP_tanh, rlx_call_op2(call, RLX_OP_div, x, limit)), limit);
}

/* [B, H, S, D] back to [B, S, H*D]. */
static rlx_value_t *heads_join(rlx_onnx_call_t *call, rlx_value_t *x)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    rlx_expr_t dims[3];

    x = rlx_call_transpose(call, x, perm, 4);
    if (x == NULL)
        return NULL;
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    dims[2] = rlx_expr_mul(call->graph->exprs, x->dims[2], x->dims[3]);
    return rlx_call_reshape(call, x, dims, 3);
}

void rlx_convert_attention(rlx_onnx_call_t *call)
{
    int64_t mode = rlx_call_int(call, "qk_matmul_output_mode", 0);
    rlx_dtype_t precision = rlx_call_dtype(call, "softmax_precision", RLX_DTYPE_NONE);
    rlx_value_t *stages[4] = {NULL}, *y;
    attention_t a;

    if (mode < 0 || mode > 3)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "qk_matmul_output_mode is %lld; it is 0 to 3", (long long)mode);
    if (!rlx_call_ok(call) || !operands_read(call, &a))
        return;
    stages[0] = scores_make(call, &a);
    stages[1] = biased(call, &a, stages[0]);
    stages[2] = softcapped(call, stages[1], rlx_call_float(call, "softcap", 0.0f));
    if (precision == RLX_DTYPE_NONE)
        precision = a.dtype;
    stages[3] = rlx_call_softmax(call, RLX_OP_softmax, rlx_call_cast(call, stages[2], precision), -1);
    y = rlx_call_op2(call, RLX_OP_matmul, stages[3], rlx_call_cast(call, a.v, precision));
    y = rlx_call_cast(call, y, a.dtype);
    rlx_call_out(call, 0, a.packed ? heads_join(call, y) : y);
    rlx_call_out(call, 1, a.present_k);
    rlx_call_out(call, 2, a.present_v);
    if (rlx_call_wants(call, 3))
        rlx_call_out(call, 3, rlx_call_cast(call, stages[mode], a.dtype));
}

/* The two halves (or the even and odd places) of the rotated part, [B, S, H, D/2] each. */
static void rotary_parts(rlx_onnx_call_t *call, rlx_value_t *x, rlx_expr_t size, bool interleaved, rlx_value_t *out_parts[2])
{
    rlx_expr_t zero = rlx_call_expr(call, 0), one = rlx_call_expr(call, 1),
               half = rlx_expr_floordiv(call->graph->exprs, size, rlx_call_expr(call, 2));

    out_parts[0] = rlx_call_slice(call, x, 3, zero, interleaved ? size : half, interleaved ? 2 : 1);
    out_parts[1] = rlx_call_slice(call, x, 3, interleaved ? one : half, size, interleaved ? 2 : 1);
}

static rlx_value_t *rotary_join(rlx_onnx_call_t *call, rlx_value_t *real, rlx_value_t *imag, rlx_expr_t size, bool interleaved)
{
    rlx_expr_t dims[4];

    if (!interleaved || real == NULL)
        return rlx_call_concat(call, real, imag, 3);
    for (int i = 0; i < 3; i++)
        dims[i] = real->dims[i];
    dims[3] = size;
    return rlx_call_reshape(call, rlx_call_concat(call, rlx_call_unsqueeze(call, real, 4), rlx_call_unsqueeze(call, imag, 4), 4), dims, 4);
}

/* cos or sin for every batch item and position, with an axis for the heads: [B, S, 1, D/2]. */
static rlx_value_t *rotary_cache(rlx_onnx_call_t *call, int index)
{
    rlx_value_t *positions = rlx_call_in(call, 3), *cache = call->in[index];

    if (positions != NULL)
        cache = rlx_call_op2(call, RLX_OP_gather, cache, positions);
    if (cache != NULL && cache->rank != 3)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of RotaryEmbedding has rank %d", index, call->in[index]->rank);
    return rlx_call_unsqueeze(call, cache, 2);
}

static rlx_value_t *rotate(rlx_onnx_call_t *call, rlx_value_t *x, int64_t rotated, bool interleaved)
{
    rlx_expr_t size = rotated > 0 ? rlx_call_expr(call, rotated) : x->dims[3];
    rlx_value_t *cosine = rotary_cache(call, 1), *sine = rotary_cache(call, 2), *parts[2], *real, *imag, *y;

    rotary_parts(call, x, size, interleaved, parts);
    real =
        rlx_call_op2(call, RLX_OP_sub, rlx_call_op2(call, RLX_OP_mul, cosine, parts[0]), rlx_call_op2(call, RLX_OP_mul, sine, parts[1]));
    imag =
        rlx_call_op2(call, RLX_OP_add, rlx_call_op2(call, RLX_OP_mul, sine, parts[0]), rlx_call_op2(call, RLX_OP_mul, cosine, parts[1]));
    y = rotary_join(call, real, imag, size, interleaved);
    if (size != x->dims[3])
        y = rlx_call_concat(call, y, rlx_call_slice(call, x, 3, size, x->dims[3], 1), 3);
    return y;
}

void rlx_convert_rotary(rlx_onnx_call_t *call)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    bool interleaved = rlx_call_int(call, "interleaved", 0) != 0, packed = call->in[0]->rank == 3;
    int64_t rotated = rlx_call_int(call, "rotary_embedding_dim", 0), heads = rlx_call_int(call, "num_heads", 0);
    rlx_value_t *x = call->in[0], *y;
    rlx_expr_t dims[4];

    if (rlx_call_ok(call) && ((packed && heads < 1) || (!packed && x->rank != 4)))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the operand has rank 4, or rank 3 with attribute 'num_heads'; it has rank %d", x->rank);
    if (!rlx_call_ok(call))
        return;
    if (packed) {
        dims[0] = x->dims[0];
        dims[1] = x->dims[1];
        dims[2] = rlx_call_expr(call, heads);
        dims[3] = rlx_expr_floordiv(call->graph->exprs, x->dims[2], dims[2]);
        x = rlx_call_reshape(call, x, dims, 4);
    } else {
        x = rlx_call_transpose(call, x, perm, 4);
    }
    if (x == NULL)
        return;
    y = rotate(call, x, rotated, interleaved);
    if (y != NULL)
        rlx_call_out(call, 0, packed ? rlx_call_reshape(call, y, call->in[0]->dims, 3) : rlx_call_transpose(call, y, perm, 4));
}
