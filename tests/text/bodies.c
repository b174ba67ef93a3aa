/* Random ops that run graphs (tests/text/generator.h): their bodies are chains of element-wise ops. */
#include "generator.h"

/* A graph with an input like each of the values, and the last of them changed by a few ops; that is returned. */
static rlx_value_t *body_make(generator_t *g, rlx_graph_t *body, int n, rlx_value_t *const *like)
{
    static const rlx_op_kind_t kinds[] = {RLX_OP_relu, RLX_OP_sigmoid, RLX_OP_add, RLX_OP_mul, RLX_OP_identity, RLX_OP_max};
    rlx_value_t *last = NULL, *in[2], *out;
    rlx_diag_t diag = {0};

    for (int i = 0; i < n; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        rlx_value_t *input = rlx_graph_input(body, names[i], like[i]->dtype, like[i]->rank, NULL);

        input->rank = like[i]->rank;
        for (int k = 0; k < like[i]->rank; k++) {
            int64_t number = 0;

            if (rlx_expr_is_const(g->graph->exprs, like[i]->dims[k], &number))
                input->dims[k] = rlx_expr_const(body->exprs, number);
            else
                input->dims[k] = rlx_expr_symbol(body->exprs, rlx_graph_symbol(body, rlx_graph_printf(body, "e%d", k), input, k, 0, 0, INT32_MAX), 0,
                                                 INT32_MAX);
        }
        last = input;
    }
    for (int i = 0, count = 1 + (int)pick(g, 3); i < count; i++) {
        rlx_op_kind_t kind = kinds[pick(g, sizeof kinds / sizeof *kinds)];
        rlx_op_t *op;

        in[0] = in[1] = last;
        out = rlx_graph_value(body, "t", RLX_DTYPE_NONE);
        op = rlx_graph_op(body, NULL, kind, NULL, rlx_op_info(kind)->min_in, in, 1, &out);
        if (rlx_op_infer(body, op, &diag) != RLX_OK)
            return NULL;
        last = out;
    }
    return last;
}

static rlx_value_t *truth(generator_t *g, bool value)
{
    uint8_t *data = rlx_graph_alloc(g->graph, 8);

    *data = value;
    return rlx_graph_const(g->graph, "c", RLX_BOOL, 0, NULL, data, true);
}

bool flow_add(generator_t *g)
{
    static const char *const titles[] = {"then", "else"};
    bool loop = pick(g, 2);
    rlx_value_t *x = g->pool[pick(g, (uint64_t)g->n_pool)], *in[4], *out, *like[3] = {NULL, NULL, x}, *last;
    int64_t *trips = rlx_graph_alloc(g->graph, 8);
    rlx_graph_t **bodies = rlx_graph_alloc(g->graph, 2 * sizeof *bodies);
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    if (x->dtype != RLX_F32 || x->rank > 4)
        return false;
    *trips = (int64_t)pick(g, 4);
    in[0] = rlx_graph_const(g->graph, "trips", RLX_I64, 0, NULL, trips, true);
    in[1] = like[1] = truth(g, true);
    like[0] = in[0];
    in[2] = x;
    if (!loop) {
        in[0] = truth(g, pick(g, 2));
        in[1] = x;
    }
    for (int i = 0; i < (loop ? 1 : 2); i++) {
        bodies[i] = rlx_graph_create_child(g->graph, loop ? "body" : titles[i]);
        last = body_make(g, bodies[i], loop ? 3 : 1, loop ? like : &like[2]);
        if (last == NULL)
            return false;
        if (loop)
            rlx_graph_output(bodies[i], bodies[i]->inputs[1]);
        rlx_graph_output(bodies[i], last);
    }
    out = rlx_graph_value(g->graph, loop ? "carried" : "either", RLX_DTYPE_NONE);
    op = rlx_graph_op(g->graph, NULL, loop ? RLX_OP_loop : RLX_OP_if, NULL, 3, in, 1, &out);
    op->n_bodies = loop ? 1 : 2;
    op->bodies = bodies;
    if (loop)
        rlx_op_set_int(g->graph, op, "carried", 1);
    if (rlx_op_infer(g->graph, op, &diag) != RLX_OK) {
        rlx_graph_remove(g->graph, op);
        return false;
    }
    pool_add(g, out);
    return true;
}
