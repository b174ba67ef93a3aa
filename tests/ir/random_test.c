/* Random ops on random operands: shape rules refuse or succeed, never crash; what they accept passes the verifier and prints, and under
 * symbol values that pass all checks every extent is a number that is not negative. */
#include "builder.h"

#define GRAPHS 3000
#define OPS 24

static uint64_t random_state = 0x243f6a8885a308d3u;

static uint64_t pick(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

static int64_t odd_number(void)
{
    static const int64_t odd[] = {
        0, 1, -1, 2, 3, -2, 4, 7, -7, 8, 16, 64, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, (int64_t)1 << 40, 1000003};

    return pick(3) ? (int64_t)pick(5) : odd[pick(sizeof(odd) / sizeof(odd[0]))];
}

static rlx_value_t *random_input(rlx_graph_t *g)
{
    static const rlx_dtype_t dtypes[] = {RLX_F32, RLX_F32, RLX_F32, RLX_I64, RLX_I64, RLX_I32, RLX_BOOL, RLX_F64, RLX_U8, RLX_F16};
    static const char *const names[] = {"a", "b", "c", "d"};
    const char *chosen[RLX_RANK_MAX] = {0};
    int64_t dims[RLX_RANK_MAX];
    int rank = (int)pick(pick(4) ? 5 : RLX_RANK_MAX + 1);

    for (int i = 0; i < rank; i++) {
        dims[i] = (int64_t)pick(pick(3) ? 4 : 17);
        chosen[i] = pick(4) == 0 ? names[pick(4)] : NULL;
    }
    return input(g, "x", dtypes[pick(sizeof(dtypes) / sizeof(dtypes[0]))], rank, dims, chosen);
}

static rlx_value_t *random_const(rlx_graph_t *g)
{
    int64_t data[8], dims[1] = {(int64_t)pick(6)};
    float floats[8];

    for (int i = 0; i < 8; i++) {
        data[i] = odd_number();
        floats[i] = (float)data[i] / 2;
    }
    if (pick(4) == 0)
        return rlx_graph_const(g, "f", RLX_F32, pick(2) ? 0 : 1, dims, floats, false);
    return rlx_graph_const(g, "k", RLX_I64, pick(4) ? 1 : 0, dims, data, false);
}

/* Sets an attribute as it is declared, "name:type...", to something plausible or absurd. */
static void random_attr(rlx_graph_t *g, rlx_op_t *op, const char *name, const char *type)
{
    static const char *const words[] = {"none",   "constant", "reflect", "edge",      "add", "CRD", "hann",
                                        "linear", "cubic",    "forward", "ij,jk->ik", "ii",  ""};
    int64_t ints[4];
    float floats[2] = {0.5f, -1};
    int64_t one[1] = {1};
    int64_t datum = 3;
    rlx_tensor_t tensor = {.dtype = RLX_I64, .rank = 1, .dims = {one[0]}, .data = &datum};

    for (int i = 0; i < 4; i++)
        ints[i] = odd_number();
    if (strncmp(type, "is", 2) == 0)
        rlx_op_set_ints(g, op, name, ints, (int)pick(5));
    else if (strncmp(type, "fs", 2) == 0)
        rlx_op_set_floats(g, op, name, floats, (int)pick(3));
    else if (strncmp(type, "tensor", 6) == 0)
        rlx_op_set_tensor(g, op, name, &tensor);
    else if (type[0] == 'i')
        rlx_op_set_int(g, op, name, odd_number());
    else if (type[0] == 't')
        rlx_op_set_int(g, op, name, (int64_t)pick(16));
    else if (type[0] == 'f')
        rlx_op_set_float(g, op, name, floats[pick(2)]);
    else
        rlx_op_set_string(g, op, name, words[pick(sizeof(words) / sizeof(words[0]))]);
}

static void random_attrs(rlx_graph_t *g, rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;
    char name[64];

    while (*at) {
        size_t length = strcspn(at, ":");
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        if (pick(2))
            random_attr(g, op, name, at + length + 1);
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
}

static rlx_op_t *random_op(rlx_graph_t *g, rlx_value_t **pool, int n_pool)
{
    rlx_op_kind_t kind;
    const rlx_op_info_t *info;
    rlx_value_t *in[10], *out[4];
    int n_in, n_out;
    rlx_op_t *op;

    do
        kind = (rlx_op_kind_t)(1 + pick(RLX_OP_COUNT - 1));
    while (kind == RLX_OP_fused || kind == RLX_OP_attention || kind == RLX_OP_store_elements || kind == RLX_OP_reorder);
    info = rlx_op_info(kind);
    n_in = info->min_in + (int)pick((uint64_t)(info->max_in - info->min_in > 3 ? 4 : info->max_in - info->min_in + 1));
    n_out = info->max_out > 1 ? 1 + (int)pick(info->max_out > 4 ? 4 : (uint64_t)info->max_out) : 1;
    for (int i = 0; i < n_in && i < 10; i++)
        in[i] = i >= info->min_in && pick(4) == 0 ? NULL : pool[pick((uint64_t)n_pool)];
    for (int i = 0; i < n_out; i++)
        out[i] = rlx_graph_value(g, "y", RLX_F32);
    op = rlx_graph_op(g, NULL, kind, NULL, n_in > 10 ? 10 : n_in, in, n_out, out);
    random_attrs(g, op);
    if (pick(2) && op->in[0] && op->in[0]->rank > 2) {
        op->pads = rlx_graph_alloc(g, 2 * RLX_RANK_MAX * sizeof(rlx_expr_t));
        for (int i = 0; i < 2 * RLX_RANK_MAX; i++)
            op->pads[i] = rlx_expr_const(g->exprs, (int64_t)pick(3));
    }
    return op;
}

static void check_extents(const rlx_graph_t *g)
{
    int64_t symbols[256], value;

    if (g->n_symbols > 256)
        return;
    for (int i = 0; i < g->n_symbols; i++) {
        symbols[i] = g->symbols[i].axis >= 0 ? (int64_t)pick(9) : odd_number();
        symbols[i] = symbols[i] < g->symbols[i].min ? g->symbols[i].min : symbols[i] > g->symbols[i].max ? g->symbols[i].max : symbols[i];
    }
    for (int i = 0; i < g->n_checks; i++) {
        if (!rlx_expr_eval(g->exprs, g->checks[i].condition, symbols, &value) || value == 0)
            return;
    }
    for (const rlx_op_t *op = g->first; op != NULL; op = op->next) {
        for (int o = 0; o < op->n_out; o++) {
            for (int i = 0; i < op->out[o]->rank; i++) {
                if (rlx_expr_eval(g->exprs, op->out[o]->dims[i], symbols, &value) && value < 0)
                    fail_msg("%s: extent %d is %lld", rlx_op_info(op->kind)->name, i, (long long)value);
            }
        }
    }
}

static void random_graph(FILE *sink)
{
    rlx_graph_t *g = rlx_graph_create("random");
    rlx_value_t *pool[8 + 4 * OPS];
    int n_pool = 8;

    for (int i = 0; i < 8; i++)
        pool[i] = i < 4 ? random_input(g) : random_const(g);
    for (int i = 0; i < OPS; i++) {
        rlx_op_t *op = random_op(g, pool, n_pool);
        rlx_diag_t diag = {0};
        if (rlx_op_infer(g, op, &diag) != RLX_OK) {
            assert_int_not_equal(diag.code, RLX_E_NONE);
            assert_true(diag.message[0] != 0);
            rlx_graph_remove(g, op);
            continue;
        }
        for (int o = 0; o < op->n_out; o++) {
            if (op->out[o]->rank < 0)
                fail_msg("%s left output %d without a shape", rlx_op_info(op->kind)->name, o);
            pool[n_pool++] = op->out[o];
        }
    }
    {
        rlx_diag_t diag = {0};
        rlx_graph_output(g, pool[n_pool - 1]);
        if (rlx_graph_verify(g, &diag) != RLX_OK)
            fail_msg("%s", diag.message);
    }
    check_extents(g);
    rlx_graph_dump(g, sink);
    rlx_graph_destroy(g);
}

static void random_ops_never_crash(void **state)
{
    FILE *sink = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(sink);
    for (int i = 0; i < GRAPHS; i++)
        random_graph(sink);
    fclose(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_ops_never_crash)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
