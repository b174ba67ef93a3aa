/* Random valid modules (tests/text/generate.h). An operator is tried with random operands and attributes, some kinds with operands that are likely
 * to fit; what its shape rule refuses is taken away again. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/names.h"

#define OPS_MAX 14
#define TRIES 12
#define POOL_MAX 64

typedef struct generator {
    uint64_t state;
    rlx_graph_t *graph;
    rlx_value_t *pool[POOL_MAX];
    int n_pool;
} generator_t;

static uint64_t pick(generator_t *g, uint64_t n)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return g->state % n;
}

static rlx_value_t *any(generator_t *g) { return g->pool[pick(g, (uint64_t)g->n_pool)]; }

static void pool_add(generator_t *g, rlx_value_t *value)
{
    if (g->n_pool < POOL_MAX)
        g->pool[g->n_pool++] = value;
}

static void input_make(generator_t *g, int rank, rlx_dtype_t dtype)
{
    static const char *const symbols[] = {"batch", "n", "width step", "f32"};
    char name[16];
    rlx_value_t *value;

    snprintf(name, sizeof name, "x%d", g->n_pool);
    value = rlx_graph_input(g->graph, name, dtype, rank, NULL);
    value->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (pick(g, 5) > 0) {
            value->dims[i] = rlx_expr_const(g->graph->exprs, (int64_t)(1 + pick(g, 9)));
        } else {
            int symbol = rlx_graph_symbol(g->graph, symbols[pick(g, 4)], value, i, 0, 0, INT32_MAX);

            value->dims[i] = rlx_expr_symbol(g->graph->exprs, symbol, 0, INT32_MAX);
        }
    }
    pool_add(g, value);
}

static rlx_value_t *floats(generator_t *g, int rank, const int64_t *dims)
{
    int64_t count = 1;
    float *data;

    for (int i = 0; i < rank; i++)
        count *= dims[i];
    data = rlx_graph_alloc(g->graph, (size_t)(count + 1) * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)((int64_t)pick(g, 2001) - 1000) / 512;
    return rlx_graph_const(g->graph, "w", RLX_F32, rank, dims, data, true);
}

static rlx_value_t *ints(generator_t *g, int n, const int64_t *data) { return rlx_graph_const_i64(g->graph, "k", data, n); }

/* Extent `axis`, or 0 where it is open. */
static int64_t extent(const generator_t *g, const rlx_value_t *value, int axis)
{
    int64_t number = 0;

    if (axis < value->rank)
        rlx_expr_is_const(g->graph->exprs, value->dims[axis], &number);
    return number;
}

static rlx_value_t *any_of(generator_t *g, rlx_dtype_t dtype, int rank_min, int rank_max)
{
    for (int i = 0; i < 40; i++) {
        rlx_value_t *value = any(g);

        if (value->dtype == dtype && value->rank >= rank_min && value->rank <= rank_max)
            return value;
    }
    return NULL;
}

/* Operands likely to fit; the count, or 0 where the pool has none. */
static int operands_conv(generator_t *g, rlx_value_t **in)
{
    rlx_value_t *x = any_of(g, RLX_F32, 3, 5);
    int64_t dims[5] = {(int64_t)(1 + pick(g, 20)), 0, 0, 0, 0}, bias = dims[0];

    if (x == NULL || extent(g, x, 1) == 0)
        return 0;
    dims[1] = extent(g, x, 1);
    for (int i = 2; i < x->rank; i++)
        dims[i] = 1 + 2 * (int64_t)pick(g, 2);
    in[0] = x;
    in[1] = floats(g, x->rank, dims);
    in[2] = floats(g, 1, &bias);
    return 2 + (int)pick(g, 2);
}

static int operands_matmul(generator_t *g, rlx_value_t **in)
{
    rlx_value_t *x = any_of(g, RLX_F32, 2, 4);
    int64_t dims[2] = {0, (int64_t)(1 + pick(g, 20))};

    if (x == NULL || (dims[0] = extent(g, x, x->rank - 1)) == 0)
        return 0;
    in[0] = x;
    in[1] = floats(g, 2, dims);
    in[2] = floats(g, 1, &dims[1]);
    return 2 + (int)pick(g, 2);
}

static int operands_norm(generator_t *g, rlx_value_t **in, int n, int axis)
{
    rlx_value_t *x = any_of(g, RLX_F32, 2, 5);
    int64_t channels;

    if (x == NULL || (channels = extent(g, x, axis < 0 ? x->rank - 1 : axis)) == 0)
        return 0;
    in[0] = x;
    for (int i = 1; i < n; i++)
        in[i] = floats(g, 1, &channels);
    return n;
}

static int operands_shape(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = any(g);
    int64_t data[3][8];

    for (int i = 0; i < 8; i++) {
        data[0][i] = kind == RLX_OP_reshape ? (i == 0 ? -1 : 1) : (int64_t)pick(g, 2);
        data[1][i] = 2 + (int64_t)pick(g, 4);
        data[2][i] = i;
    }
    if (x->rank < 1)
        return 0;
    in[0] = x;
    if (kind == RLX_OP_slice) {
        in[1] = ints(g, 1, data[0]);
        in[2] = ints(g, 1, data[1]);
        in[3] = ints(g, 1, data[2]);
        return 4;
    }
    if (kind == RLX_OP_reshape)
        in[1] = ints(g, 1 + (int)pick(g, 3), data[0]);
    else if (kind == RLX_OP_tile)
        in[1] = ints(g, x->rank, data[1]);
    else if (kind == RLX_OP_pad)
        in[1] = ints(g, x->rank * 2, data[0]);
    else
        in[1] = ints(g, 1, data[2]);
    return 2;
}

static int operands_random(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    const rlx_op_info_t *info = rlx_op_info(kind);
    int span = info->max_in - info->min_in, n = info->min_in + (int)pick(g, (uint64_t)(span > 3 ? 4 : span + 1));

    for (int i = 0; i < n && i < 10; i++)
        in[i] = i >= info->min_in && pick(g, 4) == 0 ? NULL : any(g);
    return n > 10 ? 10 : n;
}

static int operands_make(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    switch (kind) {
    case RLX_OP_conv: return operands_conv(g, in);
    case RLX_OP_matmul: return operands_matmul(g, in);
    case RLX_OP_batch_norm: return operands_norm(g, in, 5, 1);
    case RLX_OP_instance_norm: return operands_norm(g, in, 3, 1);
    case RLX_OP_layer_norm: return operands_norm(g, in, 2 + (int)pick(g, 2), -1);
    case RLX_OP_rms_norm: return operands_norm(g, in, 2, -1);
    case RLX_OP_reshape:
    case RLX_OP_slice:
    case RLX_OP_tile:
    case RLX_OP_pad:
    case RLX_OP_top_k:
    case RLX_OP_gather:
    case RLX_OP_reduce_sum:
    case RLX_OP_reduce_mean:
    case RLX_OP_reduce_max: return operands_shape(g, kind, in);
    default: return operands_random(g, kind, in);
    }
}

/* By its declaration, "name:type". */
static void attr_set(generator_t *g, rlx_op_t *op, const char *name, const char *type)
{
    static const char *const words[] = {"none", "constant", "edge", "reflect", "add", "linear", "CRD", "hann", "forward", "nearest"};
    int64_t numbers[4];
    float reals[2] = {0.5f, (float)pick(g, 100) / 7};
    int64_t datum = (int64_t)pick(g, 9);
    rlx_tensor_t tensor = {.dtype = RLX_I64, .rank = 1, .dims = {1}, .data = &datum};

    for (int i = 0; i < 4; i++)
        numbers[i] = 1 + (int64_t)pick(g, 2);
    if (strncmp(type, "is", 2) == 0 && strcmp(name, "perm") == 0 && op->in[0]->rank <= 4) {
        for (int i = 0; i < 4; i++)
            numbers[i] = op->in[0]->rank - 1 - i;
        rlx_op_set_ints(g->graph, op, name, numbers, op->in[0]->rank);
    } else if (strncmp(type, "is", 2) == 0) {
        rlx_op_set_ints(g->graph, op, name, numbers, op->in[0] != NULL && op->in[0]->rank > 2 && op->in[0]->rank < 6 ? op->in[0]->rank - 2 : 2);
    } else if (strncmp(type, "fs", 2) == 0) {
        rlx_op_set_floats(g->graph, op, name, reals, (int)pick(g, 3));
    } else if (strncmp(type, "tensor", 6) == 0) {
        rlx_op_set_tensor(g->graph, op, name, &tensor);
    } else if (type[0] == 'i') {
        rlx_op_set_int(g->graph, op, name, (int64_t)pick(g, 3) - (int64_t)pick(g, 2));
    } else if (type[0] == 't') {
        rlx_op_set_int(g->graph, op, name, (int64_t)(1 + pick(g, 13)));
    } else if (type[0] == 'f') {
        rlx_op_set_float(g->graph, op, name, reals[pick(g, 2)]);
    } else {
        rlx_op_set_string(g->graph, op, name, words[pick(g, sizeof words / sizeof *words)]);
    }
}

static void attrs_set(generator_t *g, rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;
    char name[64];

    while (*at) {
        size_t length = strcspn(at, ":"), whole = strcspn(at, " ");
        bool required = memchr(at, '=', whole) == NULL && at[length + 1] != 'f' && strncmp(at + length + 1, "is", 2) != 0;
        bool passes = strncmp(at, "algorithm", 9) == 0 || strncmp(at, "channels", 8) == 0 || strncmp(at, "perm_", 5) == 0;

        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!passes && (required || pick(g, 4) == 0))
            attr_set(g, op, name, at + length + 1);
        at += whole;
        at += strspn(at, " ");
    }
    if (rlx_op_has_padding(op->kind) && rlx_op_spatial(op) > 0 && rlx_op_spatial(op) <= RLX_RANK_MAX) {
        int spatial = rlx_op_spatial(op);

        op->pads = rlx_graph_alloc(g->graph, (size_t)spatial * 2 * sizeof *op->pads);
        for (int i = 0; i < 2 * spatial; i++)
            op->pads[i] = rlx_expr_const(g->graph->exprs, (int64_t)pick(g, 2));
    }
}

static bool kind_is_ours(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_fused: /* made by passes */
    case RLX_OP_attention:
    case RLX_OP_reorder:
    case RLX_OP_if: /* bodies: text_test.py */
    case RLX_OP_loop:
    case RLX_OP_custom_op:
    case RLX_OP_remote_call:
    case RLX_OP_store_elements: return false;
    default: return strcmp(rlx_op_info(kind)->family, "quant") != 0;
    }
}

/* Half of the ops are those that models are made of. */
static rlx_op_kind_t kind_pick(generator_t *g)
{
    static const rlx_op_kind_t usual[] = {RLX_OP_conv,   RLX_OP_matmul,  RLX_OP_relu,      RLX_OP_add,        RLX_OP_mul,       RLX_OP_sigmoid,
                                          RLX_OP_reshape, RLX_OP_transpose, RLX_OP_concat, RLX_OP_softmax,    RLX_OP_layer_norm, RLX_OP_batch_norm,
                                          RLX_OP_slice,  RLX_OP_pad,     RLX_OP_max_pool,  RLX_OP_avg_pool,   RLX_OP_reduce_mean, RLX_OP_gather,
                                          RLX_OP_cast,   RLX_OP_where,   RLX_OP_clip,      RLX_OP_top_k,      RLX_OP_tile,      RLX_OP_sub};
    rlx_op_kind_t kind;

    if (pick(g, 2))
        return usual[pick(g, sizeof usual / sizeof *usual)];
    do
        kind = (rlx_op_kind_t)(1 + pick(g, RLX_OP_COUNT - 1));
    while (!kind_is_ours(kind));
    return kind;
}

/* An op that its rule takes, or none. */
static bool op_try(generator_t *g)
{
    rlx_op_kind_t kind = kind_pick(g);
    int max_out = rlx_op_info(kind)->max_out, n_out = max_out > 1 && pick(g, 2) ? (max_out > 2 ? 2 : max_out) : 1, n_checks = g->graph->n_checks;
    rlx_value_t *in[10] = {0}, *out[2];
    int n_in = operands_make(g, kind, in);
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    if (n_in < rlx_op_info(kind)->min_in)
        return false;
    while (n_in > rlx_op_info(kind)->min_in && in[n_in - 1] == NULL)
        n_in--;
    for (int i = 0; i < n_out; i++)
        out[i] = rlx_graph_value(g->graph, pick(g, 8) ? rlx_op_info(kind)->name : "a name: \"quoted\"", RLX_DTYPE_NONE);
    op = rlx_graph_op(g->graph, NULL, kind, pick(g, 2) ? "node" : NULL, n_in, in, n_out, out);
    attrs_set(g, op);
    if (rlx_op_infer(g->graph, op, &diag) != RLX_OK) {
        g->graph->n_checks = n_checks;
        for (int i = 0; i < n_out; i++)
            if (out[i]->n_uses > 0) /* a symbol holds it */
                return false;
        rlx_graph_remove(g->graph, op);
        return false;
    }
    for (int i = 0; i < n_out; i++)
        pool_add(g, out[i]);
    return true;
}

static rlx_graph_t *attempt(uint64_t seed)
{
    static const rlx_dtype_t dtypes[] = {RLX_F32, RLX_F32, RLX_F32, RLX_I64, RLX_BOOL, RLX_F64, RLX_I32, RLX_U8, RLX_F16};
    generator_t g = {.state = seed * 0x9e3779b97f4a7c15u + 0x243f6a8885a308d3u, .graph = rlx_graph_create("random")};
    int made = 0, n_inputs = 1 + (int)pick(&g, 3);
    rlx_diag_t diag = {0};

    input_make(&g, 4, RLX_F32);
    for (int i = 1; i < n_inputs; i++)
        input_make(&g, (int)pick(&g, 5), dtypes[pick(&g, sizeof dtypes / sizeof *dtypes)]);
    for (int i = 0; i < OPS_MAX * TRIES && made < OPS_MAX; i++)
        made += op_try(&g);
    for (const rlx_op_t *op = g.graph->first; op != NULL; op = op->next)
        for (int i = 0; i < op->n_out; i++)
            if (op->out[i]->n_uses == 0)
                rlx_graph_output(g.graph, op->out[i]);
    if (g.graph->n_outputs > 0 && rlx_graph_verify(g.graph, &diag) == RLX_OK)
        return g.graph;
    rlx_graph_destroy(g.graph);
    return NULL;
}

rlx_graph_t *generate(uint64_t seed)
{
    rlx_graph_t *graph = NULL;

    for (uint64_t i = 0; graph == NULL; i++)
        graph = attempt(seed + i * 0x100000001u);
    return graph;
}
