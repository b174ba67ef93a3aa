/* What an author asked for and this version keeps without acting on it (ir/annotation.h). */
#include "ir/annotation.h"

#include <stdio.h>
#include <string.h>

#include "ir/pass.h"

/* Kinds of warning. */
enum { TILE, SCHEDULE, COALESCE, LAYOUT, LOCATION, KINDS };

typedef struct unfollowed {
    bool schedules; /* the optimisation level follows them */
    int n[KINDS];
    rlx_span_t first[KINDS];
    char what[KINDS][192]; /* of the first */
} unfollowed_t;

static void note(unfollowed_t *all, int kind, rlx_span_t span, const char *what, const char *more)
{
    if (all->n[kind]++ > 0)
        return;
    all->first[kind] = span;
    snprintf(all->what[kind], sizeof all->what[kind], "%s%.150s", what, more);
}

static void op_look(unfollowed_t *all, const rlx_op_t *op)
{
    const rlx_op_annotation_t *annotation = op->annotation;
    const rlx_compute_schedule_t *schedule = &annotation->schedule;

    if (annotation->tile_layout.input.n + annotation->tile_layout.weight.n + annotation->tile_layout.output.n > 0)
        note(all, TILE, annotation->tile_span, "tile_layout", "");
    if (annotation->coalesce != NULL && strcmp(annotation->coalesce, "auto") != 0)
        note(all, COALESCE, annotation->coalesce_span, "memory_coalesce", "");
    if (schedule->parallel_dims.n + schedule->loop_order.n + schedule->unroll_dims.n > 0 || schedule->vectorize_dim != NULL)
        note(all, SCHEDULE, annotation->schedule_span, "compute_schedule", "");
}

/* Axes in the order of the logical shape, unblocked: so buffers are without the layout pass. */
static bool is_logical(const char *layout)
{
    static const char *const orders[] = {"NCDHW", "OIDHW"};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const char *at = orders[i], *letter = layout;

        for (; *letter != '\0' && (at = strchr(at, *letter)) != NULL; letter++)
            at++;
        if (*letter == '\0')
            return true;
    }
    return false;
}

/* What stands for the main memory of a machine. */
static bool is_main_memory(const char *location)
{
    return strncmp(location, "DDR", 3) == 0 || strncmp(location, "LPDDR", 5) == 0 || strcmp(location, "DRAM") == 0;
}

static void value_look(unfollowed_t *all, const rlx_value_annotation_t *annotation)
{
    if (annotation->layout != NULL && !all->schedules && !is_logical(annotation->layout))
        note(all, LAYOUT, annotation->layout_span, "layout ", annotation->layout);
    if (annotation->affinity.location != NULL && !is_main_memory(annotation->affinity.location))
        note(all, LOCATION, annotation->affinity_span, "location ", annotation->affinity.location);
}

static void graph_look(unfollowed_t *all, const rlx_graph_t *graph)
{
    for (int i = 0; i < graph->n_values; i++)
        if (graph->values[i] != NULL && graph->values[i]->annotation != NULL)
            value_look(all, graph->values[i]->annotation);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (op->annotation != NULL && !all->schedules)
            op_look(all, op);
        for (int i = 0; i < op->n_bodies; i++)
            graph_look(all, op->bodies[i]);
    }
}

void rlx_annotations_unfollowed(const rlx_graph_t *graph, int opt_level, rlx_diag_list_t *findings)
{
    static const char *const instead[KINDS] = {
        [TILE] = "it is followed at --opt-level 3", [SCHEDULE] = "it is followed at --opt-level 3", [COALESCE] = "it is followed at --opt-level 3",
        [LAYOUT] = "it is followed at --opt-level 3",
        [LOCATION] = "a CPU has main memory, where the buffer is; fusion and syncs go by what the text says",
    };
    unfollowed_t all = {.schedules = opt_level >= RLX_SCHEDULE_LEVEL};

    graph_look(&all, graph);
    for (int kind = 0; kind < KINDS; kind++) {
        rlx_finding_t *finding;

        if (all.n[kind] == 0)
            continue;
        finding = rlx_report_warning(findings, RLX_E_NOT_FOLLOWED, all.first[kind], "%s is kept in the bundle's text; %s", all.what[kind],
                                     instead[kind]);
        if (all.n[kind] > 1)
            rlx_finding_note(finding, RLX_SPAN_NONE, "and %d more like it", all.n[kind] - 1);
    }
}
