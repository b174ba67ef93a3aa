/* Blocking of conv_width. See ir/cost/conv_blocking.h. A tile's gathered planes should stay in the second-level cache, its weight block in the first;
 * there should be enough pieces for a few threads. */
#include "ir/cost/conv_blocking.h"

#define PLANE_BYTES (480 << 10)
#define PIECES 8
#define PIECE_PRODUCTS (1 << 19) /* fewer are not worth a piece */
#define BLOCK 16 /* outputs of a weight block: a cache line for each k */

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t reach(const rlx_conv_geometry_t *g, int i) { return (g->kernel[i] - 1) * g->dilation[i]; }

/* Rows of a gathered tile: what the cache holds, and few enough for the pieces; even tiles. */
static rlx_expr_t rows_choose(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t group, int64_t per_pixel, rlx_expr_t row_bytes, int64_t halo)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t bytes = g->cut.cache_kib > 0 ? g->cut.cache_kib << 10 : PLANE_BYTES, pieces = g->cut.pieces > 0 ? g->cut.pieces : PIECES, pixels;
    rlx_expr_t one = num(graph, 1), rows = rlx_expr_floordiv(e, num(graph, bytes), rlx_expr_max(e, one, row_bytes)), blocks;

    if (g->cut.pieces == 0 && rlx_expr_is_const(e, rlx_expr_mul(e, g->out[0], g->out[1]), &pixels) && pixels < PIECES * PIECE_PRODUCTS &&
        pixels * per_pixel * group < PIECES * PIECE_PRODUCTS)
        pieces = pixels * per_pixel * group / PIECE_PRODUCTS + 1;
    rows = rlx_expr_min(e, rlx_expr_sub(e, rows, num(graph, halo)), rlx_expr_ceildiv(e, g->out[0], num(graph, (pieces + group - 1) / group)));
    rows = rlx_expr_max(e, one, rlx_expr_min(e, rows, g->out[0]));
    blocks = rlx_expr_max(e, one, rlx_expr_ceildiv(e, g->out[0], rows));
    return rlx_expr_max(e, one, rlx_expr_ceildiv(e, g->out[0], blocks));
}

/* Floats for the results of pixels that run on across rows: none where every row is whole vectors of what the pitch covers. */
static rlx_expr_t across_floats(rlx_graph_t *graph, const rlx_width_blocking_t *b, rlx_expr_t width, int64_t over)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t vectors = rlx_expr_ceildiv(e, b->columns, num(graph, 16)), pitch = rlx_expr_add(e, b->columns, num(graph, over)), flat, floats;

    floats = rlx_expr_ceildiv(e, rlx_expr_mul(e, b->rows, pitch), num(graph, 16));
    floats = rlx_expr_mul(e, floats, num(graph, 64));
    flat = rlx_expr_lt(e, pitch, rlx_expr_mul(e, vectors, num(graph, 16)));
    flat = rlx_expr_select(e, rlx_expr_lt(e, b->columns, width), num(graph, 1), flat);
    return rlx_expr_select(e, flat, floats, num(graph, 0));
}

rlx_width_blocking_t rlx_conv_blocking_width(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t group, int64_t channels, int64_t outputs,
                                             const rlx_demand_t *demand)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t phases = least(g->stride[0], reach(g, 0) + 1), variants = least(g->stride[1], reach(g, 1) + 1), halo = reach(g, 0) / g->stride[0],
        over = reach(g, 1) / g->stride[1], steps = g->kernel[0] * g->kernel[1] * channels;
    rlx_width_blocking_t b = {.columns = g->out[1], .block = outputs <= BLOCK ? outputs : BLOCK, .range = outputs};
    rlx_expr_t row_bytes, planes;

    if (demand->columns > 0)
        b.columns = rlx_expr_min(e, rlx_expr_max(e, num(graph, 1), g->out[1]), num(graph, demand->columns));
    if (demand->block > 0)
        b.block = demand->block;
    if (demand->outputs > 0)
        b.range = demand->outputs;
    if (b.range < outputs && b.range % b.block != 0)
        b.block = b.range;
    row_bytes = rlx_expr_mul(e, num(graph, channels * phases * variants * 4), rlx_expr_add(e, b.columns, num(graph, over)));
    b.rows = demand->rows > 0 ? num(graph, demand->rows) : rows_choose(graph, g, group, outputs * steps, row_bytes, halo);
    b.piece = demand->rows_together ? rlx_expr_max(e, num(graph, 1), g->out[0]) : b.rows;
    b.pieces = rlx_expr_ceildiv(e, g->out[0], b.piece);
    b.ranges = (outputs + b.range - 1) / b.range;
    b.across = across_floats(graph, &b, g->out[1], over);
    planes = rlx_expr_mul(e, row_bytes, rlx_expr_add(e, b.rows, num(graph, halo)));
    b.scratch = rlx_expr_add(e, planes, rlx_expr_mul(e, b.across, num(graph, 4)));
    b.scratch = rlx_expr_add(e, b.scratch, num(graph, (steps + 7) / 8 * 64 + 64));
    return b;
}
