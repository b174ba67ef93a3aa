/* The static memory plan: a byte offset in the arena for every value that steps write.
 *
 * Each region has an arena of its own. Live ranges are static (steps run in order). Sizes may be symbolic: then values are assigned to *slots* whose size is the maximum of their
 * members', and offsets are prefix sums, so one plan holds for all shapes. Where every size is known, offsets are packed first-fit by size
 * instead, which wastes less. All offsets are multiples of 64. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/builder.h"

#define ALIGNMENT 64
#define REPRESENTATIVE_EXTENT 64 /* stands for an open extent when slots are compared by size */

typedef struct range {
    const rlx_value_t *value;
    int first, last;    /* steps, inclusive */
    rlx_expr_t bytes;   /* rounded up */
    int64_t size;       /* of bytes, or under representative extents */
    int64_t offset;     /* packed: result */
} range_t;

typedef struct slot {
    int busy_until;
    int64_t size;
    rlx_expr_t bytes;
} slot_t;

static bool in_arena(const rlx_value_t *value) { return !value->is_input && !value->is_output && value->data == NULL; }

static void touch(const rlx_builder_t *builder, range_t *ranges, int *index_of, int *count, const rlx_value_t *value, int step)
{
    if (value == NULL)
        return;
    value = rlx_builder_root(builder, value);
    if (!in_arena(value))
        return;
    if (index_of[value->id] < 0) {
        index_of[value->id] = (*count)++;
        ranges[index_of[value->id]] = (range_t){.value = value, .first = step};
    }
    ranges[index_of[value->id]].last = step;
}

static rlx_expr_t round_up(rlx_exprs_t *e, rlx_expr_t bytes)
{
    rlx_expr_t unit = rlx_expr_const(e, ALIGNMENT);

    return rlx_expr_mul(e, rlx_expr_ceildiv(e, bytes, unit), unit);
}

static int64_t representative_size(const rlx_graph_t *graph, rlx_expr_t bytes)
{
    int64_t *symbols = calloc((size_t)graph->n_symbols + 1, sizeof *symbols);
    int64_t size = 0;

    RLX_ASSERT(symbols != NULL);
    for (int i = 0; i < graph->n_symbols; ++i) {
        const rlx_symbol_t *symbol = &graph->symbols[i];
        int64_t extent = symbol->declared ? symbol->max : REPRESENTATIVE_EXTENT;

        symbols[i] = extent < symbol->min ? symbol->min : extent > symbol->max ? symbol->max : extent;
    }
    if (!rlx_expr_eval(graph->exprs, bytes, symbols, &size))
        size = INT64_MAX / 4;
    free(symbols);
    return size;
}

static int by_size(const void *a, const void *b)
{
    const range_t *x = *(const range_t *const *)a;
    const range_t *y = *(const range_t *const *)b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x->value->id < y->value->id ? -1 : 1);
}

/* First fit: largest first, at the lowest offset that collides with no placed range of overlapping life. */
static int64_t pack(range_t *ranges, int count)
{
    range_t **order = malloc((size_t)(count + 1) * sizeof *order);
    int64_t total = 0;

    RLX_ASSERT(order != NULL);
    for (int i = 0; i < count; ++i)
        order[i] = &ranges[i];
    qsort(order, (size_t)count, sizeof *order, by_size);
    for (int i = 0; i < count; ++i) {
        bool moved = true;

        order[i]->offset = 0;
        while (moved) {
            moved = false;
            for (int k = 0; k < i; ++k) {
                const range_t *placed = order[k];
                bool alive = placed->first <= order[i]->last && order[i]->first <= placed->last;

                if (alive && placed->offset < order[i]->offset + order[i]->size && order[i]->offset < placed->offset + placed->size) {
                    order[i]->offset = placed->offset + placed->size;
                    moved = true;
                }
            }
        }
        if (order[i]->offset + order[i]->size > total)
            total = order[i]->offset + order[i]->size;
    }
    free(order);
    return total;
}

/* The free slot that fits best: smallest growth, then smallest waste. */
static int choose_slot(const slot_t *slots, int n_slots, const range_t *range)
{
    int best = -1;
    int64_t best_cost = INT64_MAX;

    for (int i = 0; i < n_slots; ++i) {
        int64_t growth = range->size > slots[i].size ? range->size - slots[i].size : 0;
        int64_t waste = slots[i].size > range->size ? slots[i].size - range->size : 0;
        int64_t cost = growth * 2 + waste;

        if (slots[i].busy_until < range->first && cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best_cost <= range->size * 4 ? best : -1;
}

static rlx_expr_t assign_slots(const rlx_graph_t *graph, range_t *ranges, int count, rlx_expr_t *out_offsets)
{
    rlx_exprs_t *e = graph->exprs;
    slot_t *slots = calloc((size_t)count + 1, sizeof *slots);
    int *slot_of = calloc((size_t)count + 1, sizeof *slot_of);
    rlx_expr_t *base = calloc((size_t)count + 1, sizeof *base);
    rlx_expr_t total = rlx_expr_const(e, 0);
    int n_slots = 0;

    RLX_ASSERT(slots != NULL);
    RLX_ASSERT(slot_of != NULL);
    RLX_ASSERT(base != NULL);
    for (int i = 0; i < count; ++i) {
        int slot = choose_slot(slots, n_slots, &ranges[i]);

        if (slot < 0) {
            slot = n_slots++;
            slots[slot].bytes = ranges[i].bytes;
        }
        slots[slot].bytes = rlx_expr_max(e, slots[slot].bytes, ranges[i].bytes);
        slots[slot].size = ranges[i].size > slots[slot].size ? ranges[i].size : slots[slot].size;
        slots[slot].busy_until = ranges[i].last;
        slot_of[i] = slot;
    }
    for (int i = 0; i < n_slots; ++i) {
        base[i] = total;
        total = rlx_expr_add(e, total, slots[i].bytes);
    }
    for (int i = 0; i < count; ++i)
        out_offsets[ranges[i].value->id] = base[slot_of[i]];
    free(slots);
    free(slot_of);
    free(base);
    return total;
}

typedef struct planner {
    const rlx_builder_t *builder;
    rlx_graph_t *graph;
    range_t *ranges; /* of one region */
    int *index_of;   /* by value id; -1 */
    int count;
} planner_t;

/* Values whose data or extents a later region reads, and those that a later region uses, live to their region's end. */
static void ranges_extend(planner_t *p, int region, int last)
{
    const rlx_builder_t *builder = p->builder;

    for (int i = 0; i < p->graph->n_symbols; ++i)
        if (p->graph->symbols[i].holds) {
            int index = p->index_of[rlx_builder_root(builder, p->graph->symbols[i].value)->id];

            if (index >= 0)
                p->ranges[index].last = last;
        }
    for (int i = last + 1; i < builder->n_steps; ++i)
        for (int k = 0; k < builder->steps[i]->n_in + builder->steps[i]->n_out; ++k) {
            const rlx_step_t *step = builder->steps[i];
            const rlx_value_t *value = k < step->n_in ? step->in[k] : step->out[k - step->n_in];

            if (value == NULL || builder->regions.of_value[rlx_builder_root(builder, value)->id] != region)
                continue;
            if (p->index_of[rlx_builder_root(builder, value)->id] >= 0)
                p->ranges[p->index_of[rlx_builder_root(builder, value)->id]].last = last;
        }
}

/* The live ranges of the values that region `region` writes; [first, end) are its steps. */
static void ranges_find(planner_t *p, int region, int first, int end)
{
    const rlx_builder_t *builder = p->builder;

    p->count = 0;
    for (int i = first; i < end; ++i) {
        const rlx_step_t *step = builder->steps[i];

        for (int k = 0; k < step->n_in + step->n_out; ++k) {
            const rlx_value_t *value = k < step->n_in ? step->in[k] : step->out[k - step->n_in];

            if (value != NULL && builder->regions.of_value[rlx_builder_root(builder, value)->id] == region &&
                !rlx_value_is_dynamic(p->graph, rlx_builder_root(builder, value)))
                touch(builder, p->ranges, p->index_of, &p->count, value, i);
        }
    }
    ranges_extend(p, region, end - 1);
}

static rlx_status_t region_plan(planner_t *p, rlx_expr_t *out_offsets, rlx_expr_t *out_arena_bytes, rlx_diag_t *diag)
{
    bool all_const = true;

    for (int i = 0; i < p->count; ++i) {
        range_t *range = &p->ranges[i];
        int64_t ignored;

        range->bytes = round_up(p->graph->exprs, rlx_value_bytes(p->graph, range->value));
        if (range->bytes < 0)
            return rlx_fail(diag, RLX_E_IR_LIMIT, "tensor '%s' is too large", range->value->name);
        range->size = representative_size(p->graph, range->bytes);
        all_const &= rlx_expr_is_const(p->graph->exprs, range->bytes, &ignored);
    }
    if (all_const) {
        *out_arena_bytes = rlx_expr_const(p->graph->exprs, pack(p->ranges, p->count));
        for (int i = 0; i < p->count; ++i)
            out_offsets[p->ranges[i].value->id] = rlx_expr_const(p->graph->exprs, p->ranges[i].offset);
    } else {
        *out_arena_bytes = assign_slots(p->graph, p->ranges, p->count, out_offsets);
    }
    return *out_arena_bytes < 0 ? rlx_fail(diag, RLX_E_IR_LIMIT, "the arena's size overflows") : RLX_OK;
}

rlx_status_t rlx_memory_plan(const rlx_builder_t *builder, rlx_expr_t *out_offsets, rlx_expr_t *out_arena_bytes, rlx_diag_t *diag)
{
    planner_t p = {.builder = builder, .graph = builder->graph};
    size_t n_values = (size_t)builder->graph->n_values + 1;
    rlx_status_t status = RLX_OK;
    int first = 0;

    p.ranges = calloc(n_values, sizeof *p.ranges);
    p.index_of = malloc(n_values * sizeof *p.index_of);
    RLX_ASSERT(p.ranges != NULL);
    RLX_ASSERT(p.index_of != NULL);
    for (int i = 0; i < builder->graph->n_values; ++i) {
        p.index_of[i] = -1;
        out_offsets[i] = RLX_EXPR_NONE;
    }
    for (int r = 0; r < builder->regions.count && status == RLX_OK; ++r) {
        int end = first;

        while (end < builder->n_steps && builder->steps[end]->region == r)
            ++end;
        ranges_find(&p, r, first, end);
        status = region_plan(&p, out_offsets, &out_arena_bytes[r], diag);
        for (int i = 0; i < p.count; ++i)
            p.index_of[p.ranges[i].value->id] = -1;
        first = end;
    }
    free(p.ranges);
    free(p.index_of);
    return status;
}
