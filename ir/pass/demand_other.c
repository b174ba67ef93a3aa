/* Demands on products, element-wise operators, pools and the rest. See ir/pass/demand.h. */
#include <string.h>

#include "ir/pass/demand.h"
#include "kernels/params_matmul.h"
#include "kernels/segment.h"

static int64_t extent_of(const rlx_graph_t *graph, const rlx_value_t *value, int axis)
{
    int64_t extent;

    return rlx_expr_is_const(graph->exprs, value->dims[axis], &extent) ? extent : -1;
}

/* ---- products ---- */

static bool product_lanes(rlx_demand_read_t *read)
{
    const char *dim = read->note->schedule.vectorize_dim;
    bool single = read->op->out[0]->dtype == RLX_F32 && extent_of(read->graph, read->op->out[0], read->op->out[0]->rank - 1) == 1;

    if (dim == NULL || strcmp(dim, single ? "row" : "column") == 0)
        return true;
    return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, single ? "row" : "column",
                             "Rule: the right operand lies in blocks of 16 columns, which fill the lanes; a single column is computed as a row.",
                             "a product cannot have '%s' in its lanes", dim);
}

static bool tile_refuse(rlx_demand_read_t *read, const char *expected, const char *hint, const char *what, int64_t found)
{
    return rlx_demand_refuse(read, RLX_E_TILE_REFUSED, expected, hint, "the number of %s is %lld", what, (long long)found);
}

/* `tile` of an operand whose last two axes are named by the rows and columns that they stand for; 0: not given. */
static bool product_tiles(rlx_demand_read_t *read)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;
    const rlx_value_t *a = read->op->in[0], *y = read->op->out[0];
    int64_t rows = 0, columns = 0, inner = a->rank > 0 ? extent_of(read->graph, a, a->rank - 1) : -1, found = inner, m, n;

    if (tiles->input.n + tiles->weight.n + tiles->output.n == 0)
        return true;
    if (y->dtype != RLX_F32 || y->rank < 2 || (tiles->input.n == 1 || tiles->weight.n == 1))
        return rlx_demand_no_tiles(read, "this product");
    m = extent_of(read->graph, y, y->rank - 2);
    n = extent_of(read->graph, y, y->rank - 1);
    if (tiles->weight.n > 0)
        found = tiles->weight.logical[tiles->weight.n - 2], columns = tiles->weight.logical[tiles->weight.n - 1];
    if (tiles->input.n > 0)
        found = tiles->input.logical[tiles->input.n - 1], rows = tiles->input.logical[tiles->input.n - 2];
    if (tiles->output.n > 0)
        rows = tiles->output.logical[y->rank - 2], columns = tiles->output.logical[y->rank - 1];
    if (found != inner && found % RLX_SEGMENT_K != 0)
        return tile_refuse(read, "a multiple of 128, or all", "Rule: a sum is cut into segments of 128 products, in order.", "products of a tile", found);
    if (rows > 0 && (rows > RLX_GEMM_ROWS || (m > 0 && m % rows != 0)))
        return tile_refuse(read, "at most 192, a divisor of the rows", "Rule: blocks of rows are even, and a worker has room for 192 rows.",
                           "rows of the tile", rows);
    if (columns > 0 && columns != n && columns % 16 != 0)
        return tile_refuse(read, "a multiple of 16, or all", "Rule: columns come in blocks of 16, which fill the lanes.", "columns of the tile", columns);
    read->demand.rows = rows;
    read->demand.columns = (columns + 15) / 16;
    return true;
}

static bool product_parallel(rlx_demand_read_t *read)
{
    static const char *const spread[] = {"batch", "row", "column", NULL}, *const kept[] = {"row", "column", NULL},
                             *const kept_long[] = {"column", NULL};
    const rlx_value_t *y = read->op->out[0];
    int64_t m = y->rank >= 2 ? extent_of(read->graph, y, y->rank - 2) : 1, n = y->rank > 0 ? extent_of(read->graph, y, y->rank - 1) : 1;
    bool whole = y->rank == 2 && m > 0 && m <= RLX_GEMM_ROWS && n > 0, flags[2] = {false, false};

    if (read->note->schedule.parallel_dims.n > 0 && (y->dtype != RLX_F32 || n < 0))
        return rlx_demand_refuse(read, RLX_E_PARALLEL_REFUSED, NULL, "Rule: threads of a product are chosen for f32 and columns that are known.",
                                 "this product does not let its threads be chosen");
    if (!rlx_demand_parallel(read, spread, whole ? kept : kept_long, flags, "gemm"))
        return false;
    if (whole && flags[0])
        read->demand.rows = m;
    if (flags[whole ? 1 : 0])
        read->demand.columns = (n + 15) / 16;
    return true;
}

bool rlx_demand_matmul(rlx_demand_read_t *read)
{
    static const char *const nest[] = {"batch", "row", "column", "inner", NULL}, *const coalesce[] = {"vector", "block", NULL};

    return product_lanes(read) && rlx_demand_coalesce(read, coalesce, "gemm") && rlx_demand_order(read, nest, "gemm") &&
           rlx_demand_no_unroll(read, "gemm") && product_tiles(read) && product_parallel(read);
}

/* ---- element by element ---- */

static const char *const spatial_names[] = {"depth", "height", "width"}, *const axis_names[] = {"axis0", "axis1", "axis2", "axis3", "axis4", "axis5",
                                                                                             "axis6", "axis7"};

/* The axis that a loop of an operator over one tensor's axes runs along, or -1. */
static int axis_of(const char *dim, int rank)
{
    for (int i = 0; i < rank; i++)
        if (strcmp(axis_names[i], dim) == 0 || (rank >= 2 && rank <= 5 && strcmp(i == 0 ? "batch" : i == 1 ? "channel" : spatial_names[3 - rank + i], dim) == 0))
            return i;
    return -1;
}

static bool elementwise_lanes(rlx_demand_read_t *read)
{
    const char *dim = read->note->schedule.vectorize_dim;
    const rlx_value_t *y = read->op->out[0];
    int axis = dim != NULL ? axis_of(dim, y->rank) : -1;
    bool blocks = y->dtype == RLX_F32 && y->rank >= 3 && y->rank <= 4;

    if (dim == NULL)
        return true;
    if (axis == y->rank - 1 || (axis == 1 && blocks)) {
        read->demand.lanes = axis == y->rank - 1 ? RLX_LANES_WIDTH : RLX_LANES_CHANNEL;
        return true;
    }
    return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, blocks ? "the last axis, or the channel" : "the last axis",
                             "Rule: lanes hold neighbours in memory: the last axis of a row-major tensor, or 16 channels of a blocked one.",
                             "'%s' is not innermost", dim);
}

static bool elementwise_order(rlx_demand_read_t *read)
{
    const rlx_names_t *order = &read->note->schedule.loop_order;

    for (int i = 1; i < order->n; i++)
        if (axis_of(order->name[i - 1], read->op->out[0]->rank) > axis_of(order->name[i], read->op->out[0]->rank))
            return rlx_demand_refuse(read, RLX_E_LOOP_ORDER_REFUSED, "the order of the axes in memory",
                                     "Rule: an element-wise operator runs along memory once; another order would read the same lines again.",
                                     "'%s' cannot run outside '%s'", order->name[i - 1], order->name[i]);
    return true;
}

static bool elementwise_parallel(rlx_demand_read_t *read)
{
    const rlx_names_t *wanted = &read->note->schedule.parallel_dims;
    const rlx_value_t *y = read->op->out[0];

    for (int i = 0; wanted->n > 0 && i < y->rank; i++) {
        bool named = false;

        for (int k = 0; k < wanted->n; k++)
            named |= axis_of(wanted->name[k], y->rank) == i;
        if (!named && extent_of(read->graph, y, i) != 1)
            return rlx_demand_refuse(read, RLX_E_PARALLEL_REFUSED, "every axis longer than 1",
                                     "Rule: threads take runs of elements of the whole tensor, not of an axis.",
                                     "an element-wise operator cannot keep axis %d on one thread", i);
    }
    return true;
}

static bool elementwise_read(rlx_demand_read_t *read)
{
    static const char *const coalesce[] = {"vector", "row", "block", NULL};
    const char *wanted = read->note->coalesce;

    if (!elementwise_lanes(read) || !rlx_demand_coalesce(read, coalesce, "an element-wise operator") || !elementwise_order(read) ||
        !elementwise_parallel(read) || !rlx_demand_no_unroll(read, "an element-wise operator") || !rlx_demand_no_tiles(read, "an element-wise operator"))
        return false;
    if (wanted != NULL && strcmp(wanted, "row") == 0 && read->demand.lanes == RLX_LANES_CHOSEN)
        read->demand.lanes = RLX_LANES_WIDTH;
    if (wanted != NULL && strcmp(wanted, "block") == 0 && read->demand.lanes == RLX_LANES_CHOSEN)
        read->demand.lanes = RLX_LANES_CHANNEL;
    if (wanted == NULL || strcmp(wanted, read->demand.lanes == RLX_LANES_WIDTH ? "block" : "row") != 0)
        return true;
    return rlx_demand_refuse(read, RLX_E_COALESCE_REFUSED, NULL, "Rule: rows have the last axis in the lanes, blocks 16 channels.",
                             "memory_coalesce=\"%s\" contradicts vectorize_dim", wanted);
}

/* ---- the rest ---- */

static bool rest_read(rlx_demand_read_t *read)
{
    const rlx_compute_schedule_t *schedule = &read->note->schedule;
    static const char *const coalesce[] = {"vector", NULL};
    const char *name = rlx_op_info(read->op->kind)->name;

    if (schedule->vectorize_dim != NULL)
        return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, NULL,
                                 "Rule: lanes can be chosen for convolutions, products and element-wise operators; leave vectorize_dim out.",
                                 "%s chooses its lanes itself", name);
    if (schedule->parallel_dims.n > 0)
        return rlx_demand_refuse(read, RLX_E_PARALLEL_REFUSED, NULL,
                                 "Rule: threads can be chosen for convolutions, products and element-wise operators; leave parallel_dims out.",
                                 "%s spreads its work itself", name);
    if (schedule->loop_order.n > 0)
        return rlx_demand_refuse(read, RLX_E_LOOP_ORDER_REFUSED, NULL,
                                 "Rule: loops can be ordered for convolutions, products and element-wise operators; leave loop_order out.",
                                 "%s has one order of loops", name);
    return rlx_demand_coalesce(read, coalesce, name) && rlx_demand_no_unroll(read, name) && rlx_demand_no_tiles(read, name);
}

bool rlx_demand_other(rlx_demand_read_t *read)
{
    bool elementwise = (rlx_op_info(read->op->kind)->traits & RLX_TRAIT_ELEMENTWISE) != 0 && read->op->n_out == 1;

    return elementwise ? elementwise_read(read) : rest_read(read);
}
