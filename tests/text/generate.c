/* Random valid modules (tests/text/generate.h). An operator is tried with random operands and attributes, some kinds with operands that are likely
 * to fit; what its shape rule refuses is taken away again. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "ir/text/names.h"

#define OPS_MAX 14
#define TRIES 12
#define OUTPUTS_MAX 4

uint64_t pick(generator_t *g, uint64_t n)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return g->state % n;
}

void pool_add(generator_t *g, rlx_value_t *value)
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

/* What a text may say: the rest is made by passes, or is code that is not RLX's (tests/custom). */
static bool kind_is_ours(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_fused:
    case RLX_OP_attention:
    case RLX_OP_reorder:
    case RLX_OP_store_elements:
    case RLX_OP_custom_op:
    case RLX_OP_remote_call: return false;
    default: return true;
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

rlx_op_t *op_add(generator_t *g, rlx_op_kind_t kind, const char *name, int n_in, rlx_value_t *const *in, int n_out)
{
    int n_checks = g->graph->n_checks;
    rlx_value_t *out[OUTPUTS_MAX];
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    for (int i = 0; i < n_out; i++)
        out[i] = rlx_graph_value(g->graph, i == 0 ? name : rlx_op_info(kind)->name, RLX_DTYPE_NONE);
    op = rlx_graph_op(g->graph, NULL, kind, pick(g, 2) ? "node" : NULL, n_in, in, n_out, out);
    attributes_make(g, op);
    if (rlx_op_infer(g->graph, op, &diag) != RLX_OK) {
        g->graph->n_checks = n_checks;
        for (int i = 0; i < n_out; i++)
            if (out[i]->n_uses > 0) /* a symbol holds it */
                return NULL;
        rlx_graph_remove(g->graph, op);
        return NULL;
    }
    for (int i = 0; i < n_out; i++)
        pool_add(g, out[i]);
    return op;
}

static bool op_try(generator_t *g)
{
    rlx_op_kind_t kind = kind_pick(g);
    const rlx_op_info_t *info = rlx_op_info(kind);
    int most = info->max_out < OUTPUTS_MAX ? info->max_out : OUTPUTS_MAX, n_out = pick(g, 2) ? most : 1, n_in;
    rlx_value_t *in[OPERANDS_MAX] = {0};

    if (kind == RLX_OP_if || kind == RLX_OP_loop)
        return flow_add(g);
    n_in = operands_make(g, kind, in);
    if (n_in < info->min_in)
        return false;
    while (n_in > info->min_in && in[n_in - 1] == NULL)
        n_in--;
    for (int i = 0; i < info->min_in; i++)
        if (in[i] == NULL)
            return false;
    return op_add(g, kind, pick(g, 8) ? info->name : "a name: \"quoted\"", n_in, in, n_out) != NULL;
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
