/* Slice, split, concat, pad. The resolved forms of slice and pad serve the lowering too.
 *
 * Runtime axes: axis a of x takes entry k when axes[k] is a or a - rank, decided by a select; two entries for one axis are a check. */
#include "ir/shape/slice.h"

#include <stdio.h>
#include <string.h>

/* Entries of slice or pad along axes; one list per meaning. */
typedef struct entries {
    int count;
    rlx_expr_t axis[RLX_RANK_MAX];
} entries_t;

/* Axes operand `index`, or 0..count-1 when absent. */
static rlx_status_t entries_read(rlx_graph_t *graph, const rlx_op_t *op, int index, int count, entries_t *out, rlx_diag_t *diag)
{
    int rank = op->in[0]->rank, given, axis;
    int64_t value;
    unsigned seen = 0;

    out->count = count;
    if (count > rank)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d entries for an operand of rank %d", count, rank);
    for (int i = 0; i < count; i++)
        out->axis[i] = rlx_expr_const(graph->exprs, i);
    if (rlx_op_in(op, index) == NULL)
        return RLX_OK;
    RLX_TRY(rlx_shape_ints(graph, op, index, out->axis, RLX_RANK_MAX, &given, diag));
    if (given != count)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d axes for %d entries", given, count);
    for (int i = 0; i < count; i++) {
        if (!rlx_expr_is_const(graph->exprs, out->axis[i], &value))
            continue;
        RLX_TRY(rlx_shape_axis(op, value, rank, &axis, diag));
        if (seen & 1u << axis)
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "axis %d is named twice", axis);
        seen |= 1u << axis;
        out->axis[i] = rlx_expr_const(graph->exprs, axis);
    }
    return RLX_OK;
}

/* 1 when entry k is for axis a. */
static rlx_expr_t entry_matches(rlx_graph_t *graph, const entries_t *entries, int k, int a, int rank)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t constant;

    if (rlx_expr_is_const(e, entries->axis[k], &constant))
        return rlx_expr_const(e, constant == a);
    return rlx_expr_max(e, rlx_expr_eq(e, entries->axis[k], rlx_expr_const(e, a)),
                        rlx_expr_eq(e, entries->axis[k], rlx_expr_const(e, a - rank)));
}

/* Every runtime axis is in range and no axis is taken twice. */
static rlx_status_t entries_check(rlx_graph_t *graph, const rlx_op_t *op, const entries_t *entries, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    int rank = op->in[0]->rank;
    rlx_expr_t total = rlx_expr_const(e, 0), once = rlx_expr_const(e, 1), two = rlx_expr_const(e, 2);
    bool runtime = false;

    for (int a = 0; a < rank; a++) {
        rlx_expr_t taken = rlx_expr_const(e, 0);
        for (int k = 0; k < entries->count; k++)
            taken = rlx_expr_add(e, taken, entry_matches(graph, entries, k, a, rank));
        runtime = runtime || rlx_expr_node(e, taken)->op != RLX_EXPR_CONST;
        once = rlx_expr_min(e, once, rlx_expr_lt(e, taken, two));
        total = rlx_expr_add(e, total, taken);
    }
    if (!runtime)
        return RLX_OK;
    RLX_TRY(
        rlx_shape_require_equal(graph, op, total, rlx_expr_const(e, entries->count), "the count of valid axes and of given axes", diag));
    return rlx_shape_require(graph, op, once, "an axis is named twice", diag);
}

typedef struct slice_axis {
    rlx_expr_t start, end, step;
    bool whole; /* no entry can match */
} slice_axis_t;

/* A position that counts from the end when negative. Both arms of a select are evaluated: the sum must not overflow on INT64_MAX. */
static rlx_expr_t from_end(rlx_exprs_t *e, rlx_expr_t position, rlx_expr_t extent)
{
    rlx_expr_t negative = rlx_expr_min(e, position, rlx_expr_const(e, -1));

    return rlx_expr_select(e, rlx_expr_lt(e, position, rlx_expr_const(e, 0)), rlx_expr_add(e, negative, extent), position);
}

static rlx_expr_t clamp(rlx_exprs_t *e, rlx_expr_t x, rlx_expr_t lo, rlx_expr_t hi) { return rlx_expr_min(e, rlx_expr_max(e, x, lo), hi); }

/* First index and extent of one axis, for a known sign of the step. */
static void slice_signed(rlx_exprs_t *e, const slice_axis_t *s, rlx_expr_t extent, bool forward, rlx_expr_t *out_start,
                         rlx_expr_t *out_extent)
{
    rlx_expr_t zero = rlx_expr_const(e, 0), minus = rlx_expr_const(e, -1), last = rlx_expr_add(e, extent, minus), end, length;

    *out_start = forward ? clamp(e, from_end(e, s->start, extent), zero, extent) : clamp(e, from_end(e, s->start, extent), zero, last);
    end = forward ? clamp(e, from_end(e, s->end, extent), zero, extent) : clamp(e, from_end(e, s->end, extent), minus, last);
    length = rlx_expr_sub(e, end, *out_start);
    *out_extent = rlx_expr_max(e, zero, rlx_expr_ceildiv(e, length, s->step));
}

static rlx_status_t slice_axis_resolve(rlx_graph_t *graph, const rlx_op_t *op, const slice_axis_t *s, rlx_expr_t extent,
                                       rlx_expr_t *out_start, rlx_expr_t *out_extent, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t zero = rlx_expr_const(e, 0), positive = rlx_expr_lt(e, zero, s->step);
    rlx_expr_t forward_start, forward_extent, back_start, back_extent;
    int64_t known;

    if (rlx_expr_is_const(e, positive, &known)) {
        slice_signed(e, s, extent, known, out_start, out_extent);
        return RLX_OK;
    }
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_eq(e, rlx_expr_eq(e, s->step, zero), zero), "a step is 0", diag));
    slice_signed(e, s, extent, true, &forward_start, &forward_extent);
    slice_signed(e, s, extent, false, &back_start, &back_extent);
    *out_start = rlx_expr_select(e, positive, forward_start, back_start);
    *out_extent = rlx_expr_select(e, positive, forward_extent, back_extent);
    return RLX_OK;
}

typedef struct slice_operands {
    entries_t entries;
    rlx_expr_t start[RLX_RANK_MAX], end[RLX_RANK_MAX], step[RLX_RANK_MAX];
} slice_operands_t;

static rlx_status_t slice_read(rlx_graph_t *graph, const rlx_op_t *op, slice_operands_t *out, rlx_diag_t *diag)
{
    int count, n_ends, n_steps;

    RLX_TRY(rlx_shape_ints(graph, op, 1, out->start, RLX_RANK_MAX, &count, diag));
    RLX_TRY(rlx_shape_ints(graph, op, 2, out->end, RLX_RANK_MAX, &n_ends, diag));
    n_steps = count;
    for (int i = 0; i < count; i++)
        out->step[i] = rlx_expr_const(graph->exprs, 1);
    if (rlx_op_in(op, 4) != NULL)
        RLX_TRY(rlx_shape_ints(graph, op, 4, out->step, RLX_RANK_MAX, &n_steps, diag));
    if (n_ends != count || n_steps != count)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d starts, %d ends, %d steps", count, n_ends, n_steps);
    for (int i = 0; i < count; i++) {
        if (rlx_expr_is(graph->exprs, out->step[i], 0))
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "step %d is 0", i);
    }
    RLX_TRY(entries_read(graph, op, 3, count, &out->entries, diag));
    return entries_check(graph, op, &out->entries, diag);
}

rlx_status_t rlx_shape_slice(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out_starts, rlx_expr_t *out_steps, rlx_expr_t *out_dims,
                             rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    slice_operands_t operands;

    RLX_TRY(slice_read(graph, op, &operands, diag));
    for (int a = 0; a < x->rank; a++) {
        slice_axis_t s = {rlx_expr_const(e, 0), x->dims[a], rlx_expr_const(e, 1), true};
        for (int k = 0; k < operands.entries.count; k++) {
            rlx_expr_t matches = entry_matches(graph, &operands.entries, k, a, x->rank);
            s.start = rlx_expr_select(e, matches, operands.start[k], s.start);
            s.end = rlx_expr_select(e, matches, operands.end[k], s.end);
            s.step = rlx_expr_select(e, matches, operands.step[k], s.step);
            s.whole = s.whole && rlx_expr_is(e, matches, 0);
        }
        out_starts[a] = s.start;
        out_steps[a] = s.step;
        out_dims[a] = x->dims[a];
        if (!s.whole)
            RLX_TRY(slice_axis_resolve(graph, op, &s, x->dims[a], &out_starts[a], &out_dims[a], diag));
    }
    return RLX_OK;
}

/* Elements of a piece of x: index = start + step * i along each axis. All numbers must be constants. */
static void elements_cut(rlx_graph_t *graph, const rlx_value_t *x, const rlx_expr_t *starts, const rlx_expr_t *steps, rlx_value_t *out)
{
    rlx_expr_t *elements = out && x->elements ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], x_dims[RLX_RANK_MAX], at[RLX_RANK_MAX], start[RLX_RANK_MAX], step[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims) || !rlx_value_dims_const(graph, x, x_dims))
        return;
    for (int a = 0; a < x->rank; a++) {
        if (!rlx_expr_is_const(graph->exprs, starts[a], &start[a]) || !rlx_expr_is_const(graph->exprs, steps[a], &step[a]))
            return;
    }
    for (int i = 0; i < out->n_elements; i++) {
        rlx_shape_unravel(i, out->rank, dims, at);
        for (int a = 0; a < x->rank; a++)
            at[a] = start[a] + step[a] * at[a];
        elements[i] = rlx_shape_element(x, (int)rlx_shape_ravel(x->rank, x_dims, at));
    }
}

rlx_status_t rlx_shape_op_slice(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t starts[RLX_RANK_MAX], steps[RLX_RANK_MAX], dims[RLX_RANK_MAX];

    RLX_TRY(rlx_shape_slice(graph, op, starts, steps, dims, diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, op->in[0]->dtype, op->in[0]->rank, dims, diag));
    elements_cut(graph, op->in[0], starts, steps, op->out[0]);
    return RLX_OK;
}

/* Extents of the pieces: given, or equal with a smaller last one. */
static rlx_status_t split_sizes(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t extent, rlx_expr_t *sizes, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t sum = rlx_expr_const(e, 0), chunk;
    int64_t declared = rlx_op_int(op, "num_outputs");
    int count;

    if (rlx_op_in(op, 1) != NULL) {
        RLX_TRY(rlx_shape_ints(graph, op, 1, sizes, RLX_ELEMENTS_MAX, &count, diag));
        if (count != op->n_out)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d sizes for %d outputs", count, op->n_out);
        for (int i = 0; i < count; i++)
            sum = rlx_expr_add(e, sum, sizes[i]);
        return rlx_shape_require_equal(graph, op, sum, extent, "the sum of the sizes and the extent", diag);
    }
    if (declared != 0 && declared != op->n_out)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "num_outputs is %lld for %d outputs", (long long)declared, op->n_out);
    chunk = rlx_expr_ceildiv(e, extent, rlx_expr_const(e, op->n_out));
    for (int i = 0; i < op->n_out - 1; i++)
        sizes[i] = chunk;
    sizes[op->n_out - 1] = rlx_expr_sub(e, extent, rlx_expr_mul(e, chunk, rlx_expr_const(e, op->n_out - 1)));
    return RLX_OK;
}

rlx_status_t rlx_shape_op_split(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_expr_t *sizes, dims[RLX_RANK_MAX], starts[RLX_RANK_MAX], steps[RLX_RANK_MAX];
    int axis;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    sizes = rlx_graph_alloc(graph, (size_t)(op->n_out > RLX_ELEMENTS_MAX ? op->n_out : RLX_ELEMENTS_MAX) * sizeof(*sizes));
    RLX_TRY(split_sizes(graph, op, x->dims[axis], sizes, diag));
    for (int a = 0; a < x->rank; a++) {
        dims[a] = x->dims[a];
        starts[a] = rlx_expr_const(e, 0);
        steps[a] = rlx_expr_const(e, 1);
    }
    for (int i = 0; i < op->n_out; i++) {
        dims[axis] = sizes[i];
        RLX_TRY(rlx_shape_set(graph, op, i, x->dtype, x->rank, dims, diag));
        elements_cut(graph, x, starts, steps, op->out[i]);
        starts[axis] = rlx_expr_add(e, starts[axis], sizes[i]);
    }
    return RLX_OK;
}

static void elements_join(rlx_graph_t *graph, rlx_op_t *op, int axis)
{
    rlx_value_t *out = op->out[0];
    rlx_expr_t *elements = out ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], part[RLX_RANK_MAX], at[RLX_RANK_MAX], offset = 0;

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims))
        return;
    for (int k = 0; k < op->n_in; k++) {
        const rlx_value_t *x = op->in[k];
        if (!rlx_value_dims_const(graph, x, part))
            return;
        for (int i = 0; x->elements != NULL && i < x->n_elements; i++) {
            rlx_shape_unravel(i, x->rank, part, at);
            at[axis] += offset;
            elements[rlx_shape_ravel(out->rank, dims, at)] = x->elements[i];
        }
        offset += part[axis];
    }
}

rlx_status_t rlx_shape_op_concat(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *first = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    char what[64];
    int axis;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), first->rank, &axis, diag));
    memcpy(dims, first->dims, sizeof(dims));
    for (int k = 1; k < op->n_in; k++) {
        RLX_TRY(rlx_shape_need_rank(op, k, first->rank, first->rank, diag));
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, k, diag));
        for (int a = 0; a < first->rank; a++) {
            rlx_expr_t extent = op->in[k]->dims[a];
            if (a == axis) {
                dims[a] = rlx_expr_add(e, dims[a], extent);
                continue;
            }
            snprintf(what, sizeof(what), "extents %d of operands 0 and %d", a, k);
            RLX_TRY(rlx_shape_require_equal(graph, op, dims[a], extent, what, diag));
            dims[a] = rlx_expr_node(e, extent)->op == RLX_EXPR_CONST ? extent : dims[a];
        }
    }
    RLX_TRY(rlx_shape_set(graph, op, 0, first->dtype, first->rank, dims, diag));
    elements_join(graph, op, axis);
    return RLX_OK;
}

rlx_status_t rlx_shape_pad(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out_begins, rlx_expr_t *out_ends, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t pads[2 * RLX_RANK_MAX];
    int rank = op->in[0]->rank, count;
    entries_t entries;

    RLX_TRY(rlx_shape_ints(graph, op, 1, pads, 2 * RLX_RANK_MAX, &count, diag));
    if (count % 2 != 0 || (rlx_op_in(op, 3) == NULL && count != 2 * rank))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d pads for an operand of rank %d", count, rank);
    RLX_TRY(entries_read(graph, op, 3, count / 2, &entries, diag));
    RLX_TRY(entries_check(graph, op, &entries, diag));
    for (int a = 0; a < rank; a++) {
        out_begins[a] = out_ends[a] = rlx_expr_const(e, 0);
        for (int k = 0; k < entries.count; k++) {
            rlx_expr_t matches = entry_matches(graph, &entries, k, a, rank);
            out_begins[a] = rlx_expr_select(e, matches, pads[k], out_begins[a]);
            out_ends[a] = rlx_expr_select(e, matches, pads[entries.count + k], out_ends[a]);
        }
    }
    return RLX_OK;
}

/* reflect needs more elements than it adds on either side, edge and wrap need one. */
static rlx_status_t pad_check_mode(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t extent, rlx_expr_t begin, rlx_expr_t end,
                                   rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const char *mode = rlx_op_string(op, "mode");
    rlx_expr_t most = rlx_expr_max(e, begin, end), zero = rlx_expr_const(e, 0), none = rlx_expr_eq(e, rlx_expr_lt(e, zero, most), zero);

    if (strcmp(mode, "constant") == 0)
        return RLX_OK;
    if (strcmp(mode, "reflect") == 0)
        return rlx_shape_require(graph, op, rlx_expr_max(e, none, rlx_expr_lt(e, most, extent)), "more padding than the axis can reflect",
                                 diag);
    if (strcmp(mode, "edge") == 0 || strcmp(mode, "wrap") == 0)
        return rlx_shape_require(graph, op, rlx_expr_max(e, none, rlx_expr_lt(e, zero, extent)), "padding of an empty axis", diag);
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "mode '%.32s' is not supported", mode);
}

rlx_status_t rlx_shape_op_pad(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_expr_t begins[RLX_RANK_MAX], ends[RLX_RANK_MAX], dims[RLX_RANK_MAX];

    RLX_TRY(rlx_shape_pad(graph, op, begins, ends, diag));
    if (rlx_op_in(op, 2) != NULL) {
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, 2, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[2]), rlx_expr_const(e, 1),
                                        "the count of the fill value and 1", diag));
    }
    for (int a = 0; a < x->rank; a++) {
        RLX_TRY(pad_check_mode(graph, op, x->dims[a], begins[a], ends[a], diag));
        dims[a] = rlx_expr_add(e, rlx_expr_add(e, x->dims[a], begins[a]), ends[a]);
    }
    return rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag);
}
