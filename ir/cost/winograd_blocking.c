/* Blocking of F(2,3) and F(4,3). See ir/cost/conv_blocking.h.
 *
 * Filters pass once per block. Where they stay in the second-level cache, a block is as small as keeps its own transformed input there too;
 * larger filters come from farther away, so that blocks are large, and their input comes from the third level, at a rate that costs
 * little: 16 cache lines for every 448 multiply-adds of a register. Where a whole image's transformed input is small, a step of its own makes it, and
 * threads share the filters of a block between them; else there should be enough blocks for a few threads. */
#include "ir/cost/conv_blocking.h"
#include "kernels/winograd_shape.h"

#define FILTER_BYTES (2 << 20)  /* larger filters are passed as seldom as possible */
#define BLOCK_BYTES (448 << 10) /* of transformed input, with small filters */
#define IMAGE_BYTES (1280 << 10) /* of transformed input that is made for all threads at once */
#define IMAGE_BYTES_LARGE (4 << 20) /* with large filters */
#define IMAGE_BYTES_MOST (8 << 20) /* where tuning asks for it */
#define PATCHES_LEAST 14        /* a register tile of AVX-512, three of AVX2 */
#define PATCHES_MOST 56
#define PIECES 16
#define PIECES_LARGE 8
#define GROUP 2                  /* WINOGRAD_GROUP */

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
/* What tuning chose, else what the model says. */
static int64_t chosen(int64_t cut, int64_t model) { return cut > 0 ? cut : model; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

rlx_expr_t rlx_winograd_patches(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int m, rlx_expr_t batch)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t rows = rlx_expr_ceildiv(e, g->out[0], num(graph, m)), columns = rlx_expr_ceildiv(e, g->out[1], num(graph, m));

    return rlx_expr_mul(e, batch, rlx_expr_mul(e, rows, columns));
}

/* `total` patches in even blocks of at most `capacity`, and if that leaves more than PATCHES_LEAST in each, in `pieces` of them. */
static void blocks_choose(rlx_graph_t *graph, rlx_expr_t total, int64_t capacity, int64_t pieces, rlx_winograd_blocking_t *b)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t wanted = rlx_expr_min(e, num(graph, pieces), rlx_expr_ceildiv(e, total, num(graph, PATCHES_LEAST)));
    rlx_expr_t blocks = rlx_expr_max(e, num(graph, 1), wanted);
    blocks = rlx_expr_max(e, rlx_expr_ceildiv(e, total, num(graph, capacity)), blocks);

    b->patches = rlx_expr_max(e, num(graph, 1), rlx_expr_ceildiv(e, total, blocks));
    b->blocks = rlx_expr_ceildiv(e, total, b->patches);
}

rlx_winograd_blocking_t rlx_winograd_blocking(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int m, rlx_expr_t batch, int64_t channels,
                                              int64_t outputs)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t side = winograd_side(m, g->stride[0]), taps = side * side, sums = winograd_sums(m, g->stride[0]);
    int64_t in_blocks = (channels + 15) / 16, out_blocks = (outputs + 15) / 16, image = 0, patch_bytes = taps * in_blocks * 64;
    int64_t capacity = least(PATCHES_MOST, most(PATCHES_LEAST, chosen(g->cut.cache_kib << 10, BLOCK_BYTES) / patch_bytes));
    bool known = rlx_expr_is_const(e, rlx_winograd_patches(graph, g, m, num(graph, 1)), &image);
    bool large = taps * channels * out_blocks * 64 > FILTER_BYTES;
    int64_t image_most = g->cut.gather == 2 ? IMAGE_BYTES_MOST : large ? IMAGE_BYTES_LARGE : IMAGE_BYTES;
    rlx_winograd_blocking_t b = {.transformed = known && g->cut.gather != 1 && image * patch_bytes <= image_most};
    rlx_expr_t input_lines, tap_lines;

    b.range = b.transformed ? least(chosen(g->cut.range, GROUP), out_blocks) : out_blocks;
    b.ranges = (out_blocks + b.range - 1) / b.range;
    blocks_choose(graph, rlx_winograd_patches(graph, g, m, batch), large ? PATCHES_MOST : capacity,
                  b.transformed ? 1 : chosen(g->cut.pieces, large ? PIECES_LARGE : PIECES), &b);
    input_lines = rlx_expr_add(e, rlx_expr_mul(e, b.patches, num(graph, in_blocks)), num(graph, 1));
    b.block_floats = rlx_expr_mul(e, input_lines, num(graph, taps * 16));
    tap_lines = rlx_expr_add(e, rlx_expr_mul(e, rlx_expr_floordiv(e, b.patches, num(graph, 2)), num(graph, 2)), num(graph, 1));
    b.scratch = rlx_expr_mul(e, tap_lines, num(graph, sums * sums * GROUP * 64));
    if (!b.transformed)
        b.scratch = rlx_expr_add(e, b.scratch, rlx_expr_mul(e, b.block_floats, num(graph, 4)));
    return b;
}
