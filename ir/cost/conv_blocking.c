/* Blocking of the fast convolutions. See ir/cost/conv_blocking.h.
 *
 * A block's gathered input should stay in the second-level cache beside a segment's weights; small maps stay whole, so that large
 * weights pass once; and there should be enough pieces for a few threads. */
#include "ir/cost/conv_blocking.h"

#define CACHE_BYTES (480 << 10)     /* of the second-level cache, for gathered input */
#define CACHE_BYTES_MOST (768 << 10) /* where weights are so large that a second pass over them costs more */
#define GATHER_BYTES (1 << 20)      /* larger inputs are gathered row block by row block */
#define GATHER_BYTES_MOST (4 << 20) /* where tuning asks for it */
#define FIRST_BYTES (64 << 10)
#define ROW_RANGES 2                /* of a single row */
#define DEPTHWISE_BYTES (1 << 20)
#define WEIGHT_BYTES (1 << 20)      /* larger weights are not passed again for the sake of more pieces */
#define PIECES 16
#define GROUP_PIXELS 56             /* of a piece of a 1x1 convolution in groups */
#define IN_PLACE_PIXELS 196
#define HALVES_PIXELS 196
#define FLAT_WIDTH 12               /* CONV_FLAT_WIDTH */

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
/* What tuning chose, else what the model says. */
static int64_t chosen(int64_t cut, int64_t model) { return cut > 0 ? cut : model; }
static int64_t reach(const rlx_conv_geometry_t *g, int i) { return (g->kernel[i] - 1) * g->dilation[i]; }

rlx_conv_geometry_t rlx_conv_geometry_plane(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry)
{
    rlx_conv_geometry_t g = *geometry;
    rlx_expr_t one = rlx_expr_const(graph->exprs, 1), zero = rlx_expr_const(graph->exprs, 0);

    if (g.rank != 1)
        return g;
    g.rank = 2;
    g.in[1] = g.in[0], g.out[1] = g.out[0], g.kernel[1] = g.kernel[0], g.stride[1] = g.stride[0], g.dilation[1] = g.dilation[0];
    g.pad[1] = g.pad[0], g.pad_end[1] = g.pad_end[0];
    g.in[0] = one, g.out[0] = one, g.kernel[0] = 1, g.stride[0] = 1, g.dilation[0] = 1, g.pad[0] = zero, g.pad_end[0] = zero;
    return g;
}

/* Rows of a block when there are at least `blocks`. A power of two of blocks, where the height is known: half of the tiles is then half of
 * the rows in every convolution, and who computes the upper half of a map reads the upper half of the next from its own cache. */
static rlx_expr_t rows_even(rlx_graph_t *graph, rlx_expr_t height, rlx_expr_t blocks)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t n, rows, power = 1;

    if (rlx_expr_is_const(e, blocks, &n) && rlx_expr_is_const(e, height, &rows)) {
        while (power < n)
            power *= 2;
        blocks = num(graph, power);
    }
    return rlx_expr_max(e, num(graph, 1), rlx_expr_ceildiv(e, height, blocks));
}

/* Rows of a block: as many as `bytes` hold when one gathered row takes `row_bytes` and a block needs `halo` further rows; at most
 * `most`; even blocks. */
static void rows_choose(rlx_graph_t *graph, rlx_expr_t height, rlx_expr_t row_bytes, int64_t bytes, int64_t halo, rlx_expr_t most,
                        rlx_conv_blocking_t *out)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = num(graph, 1), rows = rlx_expr_floordiv(e, num(graph, bytes), rlx_expr_max(e, one, row_bytes)), blocks;

    rows = rlx_expr_min(e, rlx_expr_sub(e, rows, num(graph, halo)), most);
    rows = rlx_expr_max(e, one, rlx_expr_min(e, rows, height));
    blocks = rlx_expr_max(e, one, rlx_expr_ceildiv(e, height, rows));
    out->rows = rows_even(graph, height, blocks);
    out->blocks = rlx_expr_ceildiv(e, height, out->rows);
}

/* Rows that a text asks for. */
static void rows_demand(rlx_graph_t *graph, const rlx_conv_geometry_t *g, rlx_conv_blocking_t *b)
{
    rlx_exprs_t *e = graph->exprs;

    if (g->demand.rows > 0)
        b->rows = num(graph, g->demand.rows);
    if (g->demand.rows_together)
        b->rows = rlx_expr_max(e, num(graph, 1), g->out[0]);
    b->blocks = rlx_expr_ceildiv(e, g->out[0], b->rows);
}

/* Pixels of one gathered row, all row phases and column variants included: conv_gather_shape(). */
static rlx_expr_t row_pixels(rlx_graph_t *graph, const rlx_conv_geometry_t *g)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t phases = least(g->stride[0], reach(g, 0) + 1), variants = least(g->stride[1], reach(g, 1) + 1);
    rlx_expr_t whole = rlx_expr_mul(e, num(graph, variants), rlx_expr_add(e, g->out[1], num(graph, reach(g, 1) / g->stride[1])));
    rlx_expr_t flat = rlx_expr_mul(e, num(graph, g->kernel[1]), g->out[1]), narrow = rlx_expr_lt(e, g->out[1], num(graph, FLAT_WIDTH));

    if (g->kernel[1] == 1)
        return rlx_expr_mul(e, num(graph, phases), flat);
    return rlx_expr_mul(e, num(graph, phases), rlx_expr_select(e, narrow, flat, whole));
}

static rlx_expr_t scratch_bytes(rlx_graph_t *graph, int64_t table, rlx_expr_t row_bytes, rlx_expr_t rows, int64_t halo)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_add(e, num(graph, (table + 7) / 8 * 64), rlx_expr_mul(e, row_bytes, rlx_expr_add(e, rows, num(graph, halo))));
}

bool rlx_conv_in_place(const rlx_graph_t *graph, const rlx_conv_geometry_t *g)
{
    bool unpadded = rlx_expr_is(graph->exprs, g->pad[0], 0) && rlx_expr_is(graph->exprs, g->pad[1], 0);

    return g->kernel[0] * g->kernel[1] == 1 && g->stride[0] * g->stride[1] == 1 && unpadded && g->in[0] == g->out[0] &&
        g->in[1] == g->out[1];
}

/* Decides whether the whole input is gathered first: for constant extents, when the gathered image stays in the caches. Otherwise each
 * piece gathers its own rows, so there should be few ranges that would gather the same again. */
static void gather_choose(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channel_blocks, int64_t halo, rlx_conv_blocking_t *b)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t phases = least(g->stride[0], reach(g, 0) + 1), bytes;
    rlx_expr_t rows = rlx_expr_add(e, g->out[0], num(graph, halo));

    b->floats = rlx_expr_mul(e, num(graph, channel_blocks * 16), rlx_expr_mul(e, row_pixels(graph, g), rows));
    b->gathered = g->cut.gather != 1 && rlx_expr_is_const(e, b->floats, &bytes) &&
                  bytes * 4 <= (g->cut.gather == 2 ? GATHER_BYTES_MOST : GATHER_BYTES);
    if (!b->gathered)
        return;
    bool flat = g->kernel[1] == 1 || rlx_expr_is(e, rlx_expr_lt(e, g->out[1], num(graph, FLAT_WIDTH)), 1);
    int64_t variants = flat ? g->kernel[1] : least(g->stride[1], reach(g, 1) + 1);

    b->lines = rlx_expr_mul(e, num(graph, phases * variants), rows);
}

/* Rows that let two workers have half of the map each, where a half is worth it. */
static rlx_expr_t rows_half(rlx_graph_t *graph, const rlx_conv_geometry_t *g)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t wide = rlx_expr_lt(e, num(graph, HALVES_PIXELS - 1), rlx_expr_mul(e, g->out[0], g->out[1]));

    return rlx_expr_select(e, wide, rlx_expr_ceildiv(e, g->out[0], num(graph, 2)), g->out[0]);
}

/* Output-channel blocks of a piece that reads its input in place. One: then AVX-512 tiles are 28 pixels of one block, whose multiply-adds
 * take the input from memory themselves, a third fewer instructions than 14 pixels of two. Maps too small for such tiles take two. */
static int64_t range_in_place(const rlx_graph_t *graph, const rlx_conv_geometry_t *g)
{
    int64_t pixels;

    return rlx_expr_is_const(graph->exprs, rlx_expr_mul(graph->exprs, g->out[0], g->out[1]), &pixels) && pixels < IN_PLACE_PIXELS ? 2 : 1;
}

rlx_conv_blocking_t rlx_conv_blocking_direct(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels, int64_t outputs)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t blocks = (channels + 15) / 16, cells = g->kernel[0] * g->kernel[1], halo = reach(g, 0) / g->stride[0],
        out_blocks = (outputs + 15) / 16, pieces = chosen(g->cut.pieces, PIECES);
    rlx_expr_t row_bytes = rlx_expr_mul(e, num(graph, blocks * 64), row_pixels(graph, g)), most = g->out[0];
    rlx_conv_blocking_t b = {.range = 2};
    bool small = channels * outputs * cells * 4 <= WEIGHT_BYTES, in_place = rlx_conv_in_place(graph, g);

    if (!in_place)
        gather_choose(graph, g, blocks, halo, &b);
    if (in_place || (b.gathered && cells == 1))
        b.range = range_in_place(graph, g);
    else if (!b.gathered)
        b.range = small ? out_blocks : least(out_blocks, 8);
    b.range = least(out_blocks, chosen(g->cut.range, b.range));
    if (g->demand.outputs_apart)
        b.range = least(b.range, 2);
    if (g->demand.outputs > 0 || g->demand.outputs_together)
        b.range = g->demand.outputs_together ? out_blocks : least(out_blocks, g->demand.outputs / 16);
    b.ranges = (out_blocks + b.range - 1) / b.range;
    if (small)
        most = rlx_expr_max(e, num(graph, 2 * halo + 2), rlx_expr_ceildiv(e, g->out[0], num(graph, (pieces + b.ranges - 1) / b.ranges)));
    if (small)
        most = rlx_expr_min(e, rows_half(graph, g), most);
    rows_choose(graph, g->out[0], row_bytes, chosen(g->cut.cache_kib << 10, small ? CACHE_BYTES : CACHE_BYTES_MOST), halo, most, &b);
    rows_demand(graph, g, &b);
    b.scratch = scratch_bytes(graph, cells, b.gathered || in_place ? num(graph, 0) : row_bytes, b.rows, halo);
    return b;
}

/* Row blocks of an image gathered into planes of `bytes`, at least `pieces` of them. */
static rlx_conv_blocking_t blocking_planar(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels, int64_t bytes, int64_t pieces)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t phases = least(g->stride[0], reach(g, 0) + 1), variants = least(g->stride[1], reach(g, 1) + 1),
        halo = reach(g, 0) / g->stride[0];
    rlx_expr_t columns = rlx_expr_add(e, g->out[1], num(graph, reach(g, 1) / g->stride[1]));
    rlx_expr_t row_bytes = rlx_expr_mul(e, num(graph, channels * phases * variants * 4), columns);
    rlx_conv_blocking_t b = {.range = 1, .ranges = 1};

    rows_choose(graph, g->out[0], row_bytes, chosen(g->cut.cache_kib << 10, bytes), halo,
                rlx_expr_ceildiv(e, g->out[0], num(graph, chosen(g->cut.pieces, pieces))), &b);
    rows_demand(graph, g, &b);
    b.scratch = scratch_bytes(graph, g->kernel[0] * g->kernel[1] * channels, row_bytes, b.rows, halo);
    return b;
}

/* All outputs of its rows are a tile's, so that it gathers once; but a single row, as of a spectrogram, is shared out by outputs. */
rlx_conv_blocking_t rlx_conv_blocking_first(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels, int64_t outputs)
{
    rlx_conv_blocking_t b = blocking_planar(graph, g, channels, FIRST_BYTES, 1);

    b.range = (outputs + 15) / 16;
    if (rlx_expr_is(graph->exprs, g->out[0], 1) && b.range >= 2 * ROW_RANGES && g->demand.rows == 0)
        b.range = (b.range + ROW_RANGES - 1) / ROW_RANGES;
    b.ranges = ((outputs + 15) / 16 + b.range - 1) / b.range;
    return b;
}

rlx_conv_geometry_t rlx_conv_geometry_column(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry)
{
    rlx_conv_geometry_t g = *geometry;

    g.in[0] = g.out[0] = rlx_expr_mul(graph->exprs, g.in[0], g.in[1]);
    g.in[1] = g.out[1] = rlx_expr_const(graph->exprs, 1);
    return g;
}

/* A tile computes all groups of its rows; their weights come from the second-level cache again for every tile. */
rlx_conv_blocking_t rlx_conv_blocking_group(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t blocks = (channels + 15) / 16, cells = g->kernel[0] * g->kernel[1], halo = reach(g, 0) / g->stride[0];
    bool in_place = rlx_conv_in_place(graph, g);
    rlx_expr_t row_bytes = rlx_expr_mul(e, num(graph, blocks * 64), row_pixels(graph, g)), most;
    rlx_conv_blocking_t b = {.range = 1, .ranges = 1};

    most = in_place ? rlx_expr_min(e, num(graph, GROUP_PIXELS), rlx_expr_ceildiv(e, g->out[0], num(graph, 2)))
                    : rlx_expr_max(e, num(graph, 2 * halo + 2), rlx_expr_ceildiv(e, g->out[0], num(graph, chosen(g->cut.pieces, PIECES))));
    rows_choose(graph, g->out[0], row_bytes, chosen(g->cut.cache_kib << 10, CACHE_BYTES), halo, most, &b);
    b.scratch = rlx_expr_add(e, num(graph, (channels * cells + 7) / 8 * 64),
                             scratch_bytes(graph, cells, in_place ? num(graph, 0) : row_bytes, b.rows, halo));
    return b;
}

/* Tall pieces: at the top of each the machine's prefetching begins anew. */
rlx_conv_blocking_t rlx_conv_blocking_depthwise(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t planes = (channels + 15) / 16, halo = reach(g, 0) / g->stride[0];
    rlx_expr_t row_bytes = rlx_expr_mul(e, num(graph, 64), row_pixels(graph, g));
    rlx_expr_t most = rlx_expr_ceildiv(e, g->out[0], num(graph, (chosen(g->cut.pieces, PIECES) + planes - 1) / planes));
    rlx_conv_blocking_t b = {.range = 1, .ranges = 1};

    rows_choose(graph, g->out[0], row_bytes, chosen(g->cut.cache_kib << 10, DEPTHWISE_BYTES), halo,
                rlx_expr_min(e, rows_half(graph, g), most), &b);
    rows_demand(graph, g, &b);
    b.scratch = num(graph, 0);
    return b;
}

/* q of conv_transpose_c16: how many quotients (o + pad) / stride take. */
static rlx_expr_t quotients(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int i)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t stride = num(graph, g->stride[i]), end = rlx_expr_ceildiv(e, rlx_expr_add(e, g->pad[i], g->out[i]), stride);
    rlx_expr_t count = rlx_expr_sub(e, end, rlx_expr_floordiv(e, g->pad[i], stride));

    return rlx_expr_select(e, rlx_expr_lt(e, num(graph, 0), g->out[i]), count, num(graph, 0));
}

rlx_conv_blocking_t rlx_conv_blocking_transpose(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int64_t channels, int64_t outputs)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t blocks = (channels + 15) / 16, halo = reach(g, 0) / g->stride[0], pieces = chosen(g->cut.pieces, PIECES);
    rlx_expr_t pitch = rlx_expr_add(e, quotients(graph, g, 1), num(graph, reach(g, 1) / g->stride[1]));
    rlx_expr_t row_bytes = rlx_expr_mul(e, num(graph, blocks * 64), pitch), height = quotients(graph, g, 0), most;
    rlx_conv_blocking_t b = {.range = 2, .ranges = ((outputs + 15) / 16 + 1) / 2};

    most = rlx_expr_max(e, num(graph, 2 * halo + 2), rlx_expr_ceildiv(e, height, num(graph, (pieces + b.ranges - 1) / b.ranges)));
    rows_choose(graph, height, row_bytes, chosen(g->cut.cache_kib << 10, CACHE_BYTES), halo, most, &b);
    b.scratch = scratch_bytes(graph, g->kernel[0] * g->kernel[1], row_bytes, b.rows, halo);
    return b;
}
