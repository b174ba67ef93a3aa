/* What an author asked for and this version keeps without acting on it (ir/annotation.h). */
#include "ir/annotation.h"

#include <stdio.h>
#include <string.h>

#include "ir/conv_operands.h"

/* Kinds of warning. */
enum { TILE, SCHEDULE, COALESCE, LAYOUT, LOCATION, KINDS };

typedef struct unfollowed {
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

/* The fast convolutions have a block of output channels in their lanes. */
static bool vector_is_followed(const rlx_graph_t *graph, const rlx_op_t *op, int opt_level, const char *dim)
{
    rlx_conv_form_t form;

    if (op->kind != RLX_OP_conv || strcmp(dim, "output_channel") != 0 || opt_level < 3)
        return false;
    form = rlx_conv_form(graph, op);
    return form == RLX_CONV_DIRECT || form == RLX_CONV_FIRST || form == RLX_CONV_WINOGRAD || form == RLX_CONV_DEPTHWISE;
}

static void schedule_look(unfollowed_t *all, const rlx_graph_t *graph, const rlx_op_t *op, int opt_level)
{
    const rlx_compute_schedule_t *schedule = &op->annotation->schedule;
    char parts[96] = "";
    const char *names[] = {
        schedule->parallel_dims.n > 0 ? "parallel_dims" : NULL,
        schedule->vectorize_dim != NULL && !vector_is_followed(graph, op, opt_level, schedule->vectorize_dim) ? "vectorize_dim" : NULL,
        schedule->loop_order.n > 0 ? "loop_order" : NULL,
        schedule->unroll_dims.n > 0 ? "unroll" : NULL,
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i] != NULL)
            snprintf(parts + strlen(parts), sizeof parts - strlen(parts), "%s%s", parts[0] != '\0' ? ", " : " (", names[i]);
    if (parts[0] == '\0')
        return;
    strcat(parts, ")");
    note(all, SCHEDULE, op->annotation->schedule_span, "compute_schedule", parts);
}

static void op_look(unfollowed_t *all, const rlx_graph_t *graph, const rlx_op_t *op, int opt_level)
{
    const rlx_op_annotation_t *annotation = op->annotation;

    if (annotation->tile_layout.input.n + annotation->tile_layout.weight.n + annotation->tile_layout.output.n > 0)
        note(all, TILE, annotation->tile_span, "tile_layout", "");
    if (annotation->coalesce != NULL && strcmp(annotation->coalesce, "auto") != 0)
        note(all, COALESCE, annotation->coalesce_span, "memory_coalesce", "");
    schedule_look(all, graph, op, opt_level);
}

/* Axes in the order of the logical shape, unblocked: so buffers are. */
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

static void value_look(unfollowed_t *all, const rlx_value_annotation_t *annotation)
{
    if (annotation->layout != NULL && !is_logical(annotation->layout))
        note(all, LAYOUT, annotation->layout_span, "layout ", annotation->layout);
    if (annotation->affinity.location != NULL && strncmp(annotation->affinity.location, "DDR", 3) != 0)
        note(all, LOCATION, annotation->affinity_span, "location ", annotation->affinity.location);
}

static void graph_look(unfollowed_t *all, const rlx_graph_t *graph, int opt_level)
{
    for (int i = 0; i < graph->n_values; i++)
        if (graph->values[i] != NULL && graph->values[i]->annotation != NULL)
            value_look(all, graph->values[i]->annotation);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (op->annotation != NULL)
            op_look(all, graph, op, opt_level);
        for (int i = 0; i < op->n_bodies; i++)
            graph_look(all, op->bodies[i], opt_level);
    }
}

void rlx_annotations_unfollowed(const rlx_graph_t *graph, int opt_level, rlx_diag_list_t *findings)
{
    static const char *const instead[KINDS] = {
        [TILE] = "this version's kernels do not follow it", [SCHEDULE] = "this version's kernels do not follow it",
        [COALESCE] = "this version's kernels do not follow it", [LAYOUT] = "this version orders the buffer by itself",
        [LOCATION] = "this version puts every buffer into the main memory",
    };
    unfollowed_t all = {0};

    graph_look(&all, graph, opt_level);
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
