/* Schedules against the operator that they stand on: its loops have names, each stands once, and a reduction keeps its order (ir/text/note.h). */
#include <stdio.h>
#include <string.h>

#include "base/closest.h"
#include "ir/operator/reduce_axes.h"
#include "ir/text/note.h"

#define LOOPS_MAX 24

/* The loops of an operator. */
typedef struct loops {
    int n, n_listed; /* those from n_listed on are other names of the first ones */
    const char *name[LOOPS_MAX];
    bool reduction[LOOPS_MAX];
} loops_t;

static const char *const spatial_names[] = {"depth", "height", "width"}, *const kernel_names[] = {"kernel_depth", "kernel_height", "kernel_width"};
static const char *const axis_names[RLX_RANK_MAX] = {"axis0", "axis1", "axis2", "axis3", "axis4", "axis5", "axis6", "axis7"};

static void loop_add(loops_t *loops, const char *name, bool reduction)
{
    loops->name[loops->n] = name;
    loops->reduction[loops->n++] = reduction;
}

static void spatial_add(loops_t *loops, const char *const names[3], int spatial, bool reduction)
{
    for (int i = 3 - spatial; i < 3; i++)
        loop_add(loops, names[i], reduction);
}

static bool is_conv(rlx_op_kind_t kind)
{
    return kind == RLX_OP_conv || kind == RLX_OP_conv_transpose || kind == RLX_OP_deform_conv || kind == RLX_OP_qconv;
}

static bool is_pool(rlx_op_kind_t kind)
{
    return kind == RLX_OP_max_pool || kind == RLX_OP_avg_pool || kind == RLX_OP_lp_pool || kind == RLX_OP_qavg_pool;
}

/* Of operators over the axes of one tensor: names by rank, and axisN for every axis. */
static void axes_add(loops_t *loops, rlx_graph_t *graph, const rlx_op_t *op)
{
    bool reduces = strncmp(rlx_op_info(op->kind)->name, "reduce_", 7) == 0;
    const rlx_value_t *over = reduces ? op->in[0] : op->out[0];
    rlx_reduce_axes_t axes = {0};
    int rank = over->rank;

    if (reduces && rlx_reduce_axes_get(graph, op, false, &axes, NULL) != RLX_OK)
        axes = (rlx_reduce_axes_t){0};
    if (rank >= 2 && rank <= 5) {
        loop_add(loops, "batch", axes.reduced[0]);
        loop_add(loops, "channel", axes.reduced[1]);
        for (int i = 2; i < rank; i++)
            loop_add(loops, spatial_names[3 - rank + i], axes.reduced[i]);
        loops->n_listed = loops->n;
    }
    for (int i = 0; i < rank; i++)
        loop_add(loops, axis_names[i], axes.reduced[i]);
    if (loops->n_listed == 0)
        loops->n_listed = loops->n;
}

/* None: the operator computes nothing by itself, or other code does. */
static loops_t loops_of(rlx_graph_t *graph, const rlx_op_t *op)
{
    const char *family = rlx_op_info(op->kind)->family;
    int spatial = op->out[0] != NULL ? op->out[0]->rank - 2 : 0;
    loops_t loops = {0};

    if ((rlx_op_info(op->kind)->traits & RLX_TRAIT_VIEW) != 0 || strcmp(family, "flow") == 0 || strcmp(family, "foreign") == 0 ||
        op->kind == RLX_OP_shape || op->kind == RLX_OP_store_elements || op->out[0] == NULL || op->out[0]->rank < 0)
        return loops;
    if ((is_conv(op->kind) || is_pool(op->kind)) && spatial >= 1 && spatial <= 3) {
        loop_add(&loops, "batch", false);
        loop_add(&loops, is_conv(op->kind) ? "output_channel" : "channel", false);
        spatial_add(&loops, spatial_names, spatial, false);
        if (is_conv(op->kind))
            loop_add(&loops, "input_channel", true);
        spatial_add(&loops, kernel_names, spatial, true);
    } else if (op->kind == RLX_OP_matmul) {
        loop_add(&loops, "batch", false);
        loop_add(&loops, "row", false);
        loop_add(&loops, "column", false);
        loop_add(&loops, "inner", true);
    } else {
        axes_add(&loops, graph, op);
        return loops;
    }
    loops.n_listed = loops.n;
    return loops;
}

/* One schedule while it is checked. */
typedef struct check {
    rlx_text_builder_t *builder;
    const char *callee;
    loops_t loops;
    bool done;
} check_t;

static void names_expect(const check_t *check, rlx_finding_t *finding, bool reductions)
{
    char list[256] = "";
    int last = -1;

    for (int i = 0; i < check->loops.n_listed; i++)
        if (reductions || !check->loops.reduction[i])
            last = i;
    for (int i = 0; i <= last; i++)
        if (reductions || !check->loops.reduction[i])
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] == '\0' ? "" : i == last ? " or " : ", ", check->loops.name[i]);
    if (list[0] != '\0')
        rlx_finding_expected(finding, "%s", list);
}

/* A name of a dimension. `order`: it decides which runs beside which, and a reduction must not. */
static void name_check(check_t *check, const char *name, rlx_span_t span, bool order)
{
    rlx_finding_t *finding;
    rlx_closest_t closest;

    rlx_closest_init(&closest, name, strlen(name));
    for (int i = 0; i < check->loops.n; i++) {
        if (strcmp(check->loops.name[i], name) == 0 && !(order && check->loops.reduction[i]))
            return;
        if (strcmp(check->loops.name[i], name) == 0) {
            finding = rlx_report(check->builder->findings, RLX_E_SCHEDULE_TEXT, span, "%s reduces along '%s' in a fixed order", check->callee, name);
            names_expect(check, finding, false);
            rlx_finding_hint(finding, "The order of a reduction is part of the operator's definition; take another dimension.");
            check->done = false;
            return;
        }
        rlx_closest_offer(&closest, check->loops.name[i]);
    }
    finding = rlx_report(check->builder->findings, RLX_E_SCHEDULE_TEXT, span, "%s has no dimension '%s'", check->callee, name);
    names_expect(check, finding, !order);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    check->done = false;
}

static void twice_report(check_t *check, const char *what, const char *name, rlx_span_t span, rlx_span_t first)
{
    rlx_finding_t *finding = rlx_report(check->builder->findings, RLX_E_SCHEDULE_TEXT, span, "'%s' stands twice in %s", name, what);

    rlx_finding_expected(finding, "each dimension once");
    rlx_finding_note(finding, first, "first here");
    check->done = false;
}

static void list_check(check_t *check, const rlx_syntax_field_t *field, bool order)
{
    rlx_syntax_value_t *const *items = field->value->items;

    for (int i = 0; i < field->value->n_items; i++) {
        int k = 0;

        while (k < i && strcmp(items[k]->s, items[i]->s) != 0)
            k++;
        if (k < i)
            twice_report(check, field->name, items[i]->s, items[i]->span, items[k]->span);
        else
            name_check(check, items[i]->s, items[i]->span, order);
    }
}

static void unroll_check(check_t *check, const rlx_syntax_field_t *field)
{
    const rlx_syntax_field_t *entries = field->value->fields;

    for (int i = 0; i < field->value->n_fields; i++) {
        int k = 0;

        while (k < i && strcmp(entries[k].name, entries[i].name) != 0)
            k++;
        if (k < i)
            twice_report(check, field->name, entries[i].name, entries[i].name_span, entries[k].name_span);
        else
            name_check(check, entries[i].name, entries[i].name_span, false);
    }
}

static bool loopless_report(const check_t *check, const rlx_syntax_field_t *field)
{
    rlx_finding_hint(rlx_report(check->builder->findings, RLX_E_SCHEDULE_TEXT, field->name_span, "%s has no loops, and so no %s", check->callee,
                                field->name), "Leave it out, or write it on the operator that computes the tensor.");
    return false;
}

bool rlx_text_schedule_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement)
{
    static const char *const words[] = {"tile_layout", "compute_schedule", "memory_coalesce"};
    const rlx_syntax_field_t *field = rlx_text_field(statement, "compute_schedule");
    check_t check = {.builder = builder, .callee = statement->callee, .loops = loops_of(builder->graph, op), .done = true};

    for (size_t i = 0; check.loops.n == 0 && i < sizeof words / sizeof words[0]; i++)
        if (rlx_text_field(statement, words[i]) != NULL)
            check.done = loopless_report(&check, rlx_text_field(statement, words[i]));
    if (!check.done || check.loops.n == 0)
        return check.done;
    for (int i = 0; field != NULL && i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];

        if (strcmp(entry->name, "unroll") == 0)
            unroll_check(&check, entry);
        else if (strcmp(entry->name, "vectorize_dim") == 0)
            name_check(&check, entry->value->s, entry->value->span, true);
        else
            list_check(&check, entry, strcmp(entry->name, "parallel_dims") == 0);
    }
    return rlx_text_tiles_check(builder, op, statement) && check.done;
}
