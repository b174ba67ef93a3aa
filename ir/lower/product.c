/* Lowers a matrix product: merges batch axes into rows, packs a constant right operand, picks gemm or matmul_plain. */
#include "ir/lower/product.h"

#include <string.h>

#include "ir/pass/epilogue.h"
#include "ir/shape/common.h"

#define SMALL_COLUMNS 512 /* up to here a block of rows is short, so that tiles are many */
#define SHORT_ROWS 64
#define N_TILE 2 /* 16-column blocks of a tile */

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static rlx_expr_t times(const rlx_graph_t *graph, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_mul(graph->exprs, a, b); }

void rlx_product_init(rlx_graph_t *graph, rlx_product_t *product, const rlx_op_t *op)
{
    rlx_expr_t one = num(graph, 1), zero = num(graph, 0);

    *product = (rlx_product_t){
        .op = op, .m = one, .n = one, .k = one, .a_row = zero, .a_col = zero, .b_row = zero, .b_col = zero, .c_row = zero, .c_col = zero};
    for (int i = 0; i < RLX_MATMUL_BATCH; i++) {
        product->batch[i] = one;
        product->a_batch[i] = product->b_batch[i] = product->c_batch[i] = zero;
    }
}

/* Removes batch axis `axis`; those before it move up by one. */
static void batch_remove(const rlx_graph_t *graph, rlx_product_t *p, int axis)
{
    for (int i = axis; i >= 0; i--) {
        p->batch[i] = i ? p->batch[i - 1] : num(graph, 1);
        p->a_batch[i] = i ? p->a_batch[i - 1] : num(graph, 0);
        p->b_batch[i] = i ? p->b_batch[i - 1] : num(graph, 0);
        p->c_batch[i] = i ? p->c_batch[i - 1] : num(graph, 0);
    }
}

/* Batch axes of extent 1 go. Then, from the innermost: an axis along which B is the same and A and C continue their rows is more rows. */
static void batch_merge(const rlx_graph_t *graph, rlx_product_t *p)
{
    const int last = RLX_MATMUL_BATCH - 1;

    for (int i = 1; i <= last; i++)
        if (rlx_expr_is(graph->exprs, p->batch[i], 1))
            batch_remove(graph, p, i);
    while (!rlx_expr_is(graph->exprs, p->batch[last], 1) && rlx_expr_is(graph->exprs, p->b_batch[last], 0)) {
        if (rlx_expr_is(graph->exprs, p->m, 1)) {
            p->a_row = p->a_batch[last];
            p->c_row = p->c_batch[last];
        } else if (p->a_batch[last] != times(graph, p->m, p->a_row) || p->c_batch[last] != times(graph, p->m, p->c_row)) {
            return;
        }
        p->m = times(graph, p->m, p->batch[last]);
        batch_remove(graph, p, last);
    }
}

/* The right operand as constants: extents and strides of what is packed. */
typedef struct packing {
    int64_t k, n, row, col, batch[RLX_MATMUL_BATCH], stride[RLX_MATMUL_BATCH];
    int64_t matrices;
} packing_t;

static bool packing_read(const rlx_graph_t *graph, const rlx_product_t *p, packing_t *out)
{
    packing_t g = {.matrices = 1};
    const rlx_exprs_t *e = graph->exprs;

    if (!rlx_value_is_const(p->b) || p->b->layout != RLX_LAYOUT_ROW_MAJOR)
        return false;
    if (!rlx_expr_is_const(e, p->k, &g.k) || !rlx_expr_is_const(e, p->n, &g.n) || !rlx_expr_is_const(e, p->b_row, &g.row) ||
        !rlx_expr_is_const(e, p->b_col, &g.col))
        return false;
    for (int i = 0; i < RLX_MATMUL_BATCH; i++) {
        g.batch[i] = 1;
        if (!rlx_expr_is_const(e, p->b_batch[i], &g.stride[i]))
            return false;
        if (g.stride[i] != 0 && !rlx_expr_is_const(e, p->batch[i], &g.batch[i]))
            return false;
        if (!rlx_size_mul(g.matrices, g.batch[i], &g.matrices))
            return false;
    }
    *out = g;
    return g.k > 0 && g.n > 0 && g.matrices > 0;
}

static void packing_fill(const packing_t *g, const float *b, float *to)
{
    for (int64_t block = 0; block * 16 < g->n; block++)
        for (int64_t k = 0; k < g->k; k++, to += 16)
            for (int64_t j = 0; j < 16 && block * 16 + j < g->n; j++)
                to[j] = b[k * g->row + (block * 16 + j) * g->col];
}

/* Replaces a constant B by its packed form, matrix by matrix. False: B stays as it is. */
static bool product_pack(rlx_builder_t *builder, rlx_product_t *p)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int64_t one, bytes, dims[2];
    packing_t g;
    float *packed;

    if (!packing_read(graph, p, &g) || !rlx_size_mul(((g.n + 15) & ~15ll) * 4, g.k, &one) || !rlx_size_mul(one, g.matrices, &bytes))
        return false;
    packed = rlx_graph_alloc(graph, (size_t)bytes);
    for (int64_t i = 0; i < g.matrices; i++) {
        int64_t rest = i, from = 0;
        for (int axis = RLX_MATMUL_BATCH - 1; axis >= 0; axis--) {
            from += rest % g.batch[axis] * g.stride[axis];
            rest /= g.batch[axis];
        }
        packing_fill(&g, (const float *)p->b->data + from, packed + i * (one / 4));
    }
    dims[0] = g.matrices * g.k;
    dims[1] = g.n;
    p->b = rlx_builder_const(builder, p->b->name, RLX_F32, 2, dims, RLX_LAYOUT_GEMM_16N, packed, bytes);
    for (int axis = RLX_MATMUL_BATCH - 1; axis >= 0; axis--) {
        if (g.stride[axis] != 0)
            p->b_batch[axis] = num(graph, one / 4);
        one *= g.batch[axis];
    }
    return true;
}

static void shape_params(rlx_step_t *step, const rlx_product_t *p)
{
#define FIELD(name) RLX_WORD(rlx_matmul_shape_t, name)
    rlx_step_param(step, FIELD(m), p->m);
    rlx_step_param(step, FIELD(n), p->n);
    rlx_step_param(step, FIELD(k), p->k);
    for (int i = 0; i < RLX_MATMUL_BATCH; i++) {
        rlx_step_param(step, FIELD(batch) + i, p->batch[i]);
        rlx_step_param(step, FIELD(a_batch) + i, p->a_batch[i]);
        rlx_step_param(step, FIELD(b_batch) + i, p->b_batch[i]);
        rlx_step_param(step, FIELD(c_batch) + i, p->c_batch[i]);
    }
    rlx_step_param(step, FIELD(a_row), p->a_row);
    rlx_step_param(step, FIELD(a_col), p->a_col);
    rlx_step_param(step, FIELD(b_row), p->b_row);
    rlx_step_param(step, FIELD(b_col), p->b_col);
    rlx_step_param(step, FIELD(c_row), p->c_row);
    rlx_step_param(step, FIELD(c_col), p->c_col);
#undef FIELD
}

static rlx_expr_t batch_count(const rlx_graph_t *graph, const rlx_product_t *p)
{
    return rlx_shape_product(graph, p->batch, 0, RLX_MATMUL_BATCH);
}

static rlx_expr_t flops(const rlx_graph_t *graph, const rlx_product_t *p)
{
    rlx_expr_t outputs = times(graph, batch_count(graph, p), times(graph, p->m, p->n));

    return times(graph, num(graph, 2), times(graph, outputs, p->k));
}

static rlx_step_t *step_begin(rlx_builder_t *builder, const rlx_product_t *p, rlx_kernel_id_t kernel, int words)
{
    rlx_step_t *step = rlx_step_begin(builder, p->op, kernel, words);

    rlx_step_in(step, p->a);
    rlx_step_in(step, p->b);
    rlx_step_in(step, p->bias);
    shape_params(step, p);
    return step;
}

static const rlx_epilogue_t *epilogue_of(const rlx_op_t *op)
{
    const rlx_schedule_t *sched = op->sched;

    return sched != NULL && sched->epilogue != NULL && sched->epilogue->n_steps > 0 ? sched->epilogue : NULL;
}

static rlx_cut_t cut_of(const rlx_op_t *op) { return op->sched != NULL ? ((const rlx_schedule_t *)op->sched)->cut : (rlx_cut_t){0}; }

static rlx_status_t lower_plain(rlx_builder_t *builder, const rlx_product_t *p, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = step_begin(builder, p, RLX_K_matmul_plain, RLX_WORDS(rlx_matmul_plain_params_t));
    rlx_expr_t parts = rlx_expr_ceildiv(graph->exprs, p->n, num(graph, RLX_MATMUL_COLUMNS));

    rlx_step_out(step, p->c);
    rlx_step_param_const(step, RLX_WORD(rlx_matmul_plain_params_t, dtype), p->c->dtype);
    return rlx_step_end(step, times(graph, batch_count(graph, p), times(graph, p->m, parts)), RLX_EXPR_NONE, flops(graph, p), diag);
}

static rlx_status_t lower_gemm(rlx_builder_t *builder, rlx_product_t *p, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    bool packed = product_pack(builder, p);
    rlx_step_t *step = step_begin(builder, p, RLX_K_gemm, RLX_WORDS(rlx_gemm_params_t));
    const rlx_demand_t *demand = rlx_op_demand(p->op);
    const rlx_cut_t cut = cut_of(p->op);
    int64_t columns, rows, n_tile = cut.columns > 0 ? cut.columns : N_TILE;
    rlx_expr_t m_blocks, n_tiles;

    rows = rlx_expr_is_const(graph->exprs, p->n, &columns) && columns <= SMALL_COLUMNS && packed ? SHORT_ROWS : RLX_GEMM_ROWS;
    if (cut.rows > 0)
        rows = cut.rows;
    if (demand->rows > 0)
        rows = demand->rows;
    if (demand->columns > 0)
        n_tile = demand->columns;
    m_blocks = rlx_expr_ceildiv(graph->exprs, p->m, num(graph, rows));
    n_tiles = rlx_expr_ceildiv(graph->exprs, p->n, num(graph, 16 * n_tile));
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_gemm_params_t, epilogue), 3, epilogue_of(p->op), diag));
    rlx_step_out(step, p->c);
    rlx_step_param_const(step, RLX_WORD(rlx_gemm_params_t, packed), packed);
    rlx_step_param(step, RLX_WORD(rlx_gemm_params_t, m_blocks), m_blocks);
    rlx_step_param_const(step, RLX_WORD(rlx_gemm_params_t, n_tile), n_tile);
    return rlx_step_end(
        step, times(graph, batch_count(graph, p), times(graph, m_blocks, n_tiles)), num(graph, RLX_GEMM_SCRATCH), flops(graph, p), diag);
}

static void swap(rlx_expr_t *a, rlx_expr_t *b)
{
    rlx_expr_t t = *a;

    *a = *b;
    *b = t;
}

/* A single column: computed as a single row of the transposed product. The factors of an fma commute, so bits stay. */
static void product_transpose(rlx_product_t *p)
{
    const rlx_value_t *a = p->a;

    p->a = p->b;
    p->b = a;
    swap(&p->m, &p->n);
    swap(&p->a_row, &p->b_col);
    swap(&p->a_col, &p->b_row);
    swap(&p->c_row, &p->c_col);
    for (int i = 0; i < RLX_MATMUL_BATCH; i++)
        swap(&p->a_batch[i], &p->b_batch[i]);
}

rlx_status_t rlx_product_lower(rlx_builder_t *builder, rlx_product_t *product, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);

    batch_merge(graph, product);
    if (product->c->dtype != RLX_F32 || (rlx_builder_level(builder) < 2 && epilogue_of(product->op) == NULL))
        return lower_plain(builder, product, diag);
    if (rlx_expr_is(graph->exprs, product->n, 1) && product->bias == NULL && epilogue_of(product->op) == NULL)
        product_transpose(product);
    return lower_gemm(builder, product, diag);
}
