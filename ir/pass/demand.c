/* The pass that reads demands, and what all kinds of operators share. See ir/pass/demand.h.
 *
 * A demand is obeyed or refused; it never changes a bit. Every refusal is reported, where the text says so. */
#include "ir/pass/demand.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/pass/layout_demand.h"
#include "ir/pass.h"

bool rlx_demand_refuse(rlx_demand_read_t *read, rlx_error_code_t code, const char *expected, const char *hint, const char *format, ...)
{
    const rlx_op_annotation_t *note = read->note;
    va_list args;

    read->why = (rlx_refusal_t){.code = code};
    read->why.span = code == RLX_E_TILE_REFUSED ? note->tile_span : code == RLX_E_COALESCE_REFUSED ? note->coalesce_span : note->schedule_span;
    va_start(args, format);
    vsnprintf(read->why.message, sizeof read->why.message, format, args);
    va_end(args);
    if (expected != NULL)
        snprintf(read->why.expected, sizeof read->why.expected, "%s", expected);
    snprintf(read->why.hint, sizeof read->why.hint, "%s", hint);
    return false;
}

bool rlx_names_have(const rlx_names_t *names, const char *dim)
{
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->name[i], dim) == 0)
            return true;
    return false;
}

static void list_print(const char *const *names, const char *between, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int i = 0; names[i] != NULL; i++)
        snprintf(out + strlen(out), bytes - strlen(out), "%s%s", i > 0 ? between : "", names[i]);
}

bool rlx_demand_order(rlx_demand_read_t *read, const char *const *nest, const char *kernel)
{
    const rlx_names_t *order = &read->note->schedule.loop_order;
    int at = 0;

    for (int i = 0; i < order->n; i++) {
        char list[224];

        while (nest[at] != NULL && strcmp(nest[at], order->name[i]) != 0)
            at++;
        if (nest[at] != NULL)
            continue;
        list_print(nest, ", ", list, sizeof list);
        return rlx_demand_refuse(read, RLX_E_LOOP_ORDER_REFUSED, list,
                                 "Rule: a kernel has one nest of loops, and the order of a sum is the operator's; list loops in that order, or none.",
                                 "%s cannot run '%s' there", kernel, order->name[i]);
    }
    return true;
}

int64_t rlx_loop_extent(const rlx_graph_t *graph, const rlx_op_t *op, const char *dim)
{
    static const char *const names[] = {"batch", "output_channel", "height", "width"}, *const line[] = {"batch", "output_channel", "width"};
    const rlx_value_t *y = op->out[0];
    int64_t extent, batch = 1;

    for (int i = 0; op->kind == RLX_OP_matmul && i < y->rank; i++) {
        extent = rlx_expr_is_const(graph->exprs, y->dims[i], &extent) ? extent : -1;
        if (i < y->rank - 2)
            batch = batch < 0 || extent < 0 ? -1 : batch * extent;
        else if (strcmp(dim, i == y->rank - 1 ? "column" : "row") == 0)
            return extent;
    }
    if (op->kind == RLX_OP_matmul)
        return strcmp(dim, "batch") == 0 ? batch : -1;
    for (int i = 0; i < y->rank && y->rank >= 3 && y->rank <= 4; i++)
        if (strcmp((y->rank == 4 ? names : line)[i], dim) == 0)
            return rlx_expr_is_const(graph->exprs, y->dims[i], &extent) ? extent : -1;
    return -1;
}

bool rlx_demand_parallel(rlx_demand_read_t *read, const char *const *spread, const char *const *kept, bool *flags, const char *kernel)
{
    const rlx_names_t *wanted = &read->note->schedule.parallel_dims;
    char list[160];

    list_print(spread, ", ", list, sizeof list);
    for (int i = 0; i < wanted->n; i++) {
        int k = 0;

        while (spread[k] != NULL && strcmp(spread[k], wanted->name[i]) != 0)
            k++;
        if (spread[k] == NULL && rlx_loop_extent(read->graph, read->op, wanted->name[i]) != 1)
            return rlx_demand_refuse(read, RLX_E_PARALLEL_REFUSED, list,
                                     "Rule: threads take whole tiles, and these are the dimensions that tiles divide.",
                                     "%s does not spread '%s' over threads", kernel, wanted->name[i]);
    }
    for (int i = 0; wanted->n > 0 && spread[i] != NULL; i++) {
        int k = 0;

        if (rlx_names_have(wanted, spread[i]) || rlx_loop_extent(read->graph, read->op, spread[i]) == 1)
            continue;
        while (kept[k] != NULL && strcmp(kept[k], spread[i]) != 0)
            k++;
        if (kept[k] == NULL)
            return rlx_demand_refuse(read, RLX_E_PARALLEL_REFUSED, list,
                                     "Rule: threads take whole tiles, and these are the dimensions that tiles divide.",
                                     "%s cannot keep '%s' on one thread", kernel, spread[i]);
        flags[k] = true;
    }
    return true;
}

bool rlx_demand_no_unroll(rlx_demand_read_t *read, const char *kernel)
{
    const rlx_compute_schedule_t *schedule = &read->note->schedule;

    for (int i = 0; i < schedule->unroll_dims.n; i++)
        if (schedule->unroll[i] != 1)
            return rlx_demand_refuse(read, RLX_E_UNROLL_REFUSED, NULL,
                                     "Rule: its register tile is chosen when code is loaded, for the registers of the machine; leave unroll out, or "
                                     "for a convolution write vectorize_dim=\"width\", whose register tile can be given.",
                                     "%s cannot unroll '%s' by %lld", kernel, schedule->unroll_dims.name[i], (long long)schedule->unroll[i]);
    return true;
}

bool rlx_demand_no_tiles(rlx_demand_read_t *read, const char *kernel)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;

    if (tiles->input.n + tiles->weight.n + tiles->output.n == 0)
        return true;
    return rlx_demand_refuse(read, RLX_E_TILE_REFUSED, NULL, "Rule: tiles are obeyed by f32 convolutions with constant weights and by f32 products; leave "
                             "tile_layout out: the compiler chooses.", "%s does not cut its work into tiles of the text's size", kernel);
}

bool rlx_demand_coalesce(rlx_demand_read_t *read, const char *const *words, const char *kernel)
{
    const char *wanted = read->note->coalesce;
    char list[96];

    if (wanted == NULL || strcmp(wanted, "auto") == 0)
        return true;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], wanted) == 0)
            return true;
    list_print(words, ", ", list, sizeof list);
    return rlx_demand_refuse(read, RLX_E_COALESCE_REFUSED, list[0] != '\0' ? list : "auto",
                             "Rule: vector is 16 neighbours at once, row whole rows gathered beforehand, block 16 channels of a pixel together.",
                             "%s does not merge its accesses by '%s'", kernel, wanted);
}

bool rlx_op_has_demand(const rlx_op_t *op)
{
    const rlx_op_annotation_t *note = op->annotation;
    const rlx_compute_schedule_t *s = note != NULL ? &note->schedule : NULL;

    return note != NULL && (note->coalesce != NULL || note->tile_layout.input.n + note->tile_layout.weight.n + note->tile_layout.output.n > 0 ||
                            s->parallel_dims.n + s->loop_order.n + s->unroll_dims.n > 0 || s->vectorize_dim != NULL);
}

static bool read_by_kind(rlx_demand_read_t *read)
{
    if (read->op->kind == RLX_OP_conv)
        return rlx_demand_conv(read);
    return read->op->kind == RLX_OP_matmul ? rlx_demand_matmul(read) : rlx_demand_other(read);
}

static void refusal_report(const rlx_demand_read_t *read, rlx_diag_list_t *list, rlx_diag_t *diag)
{
    const rlx_refusal_t *why = &read->why;
    rlx_finding_t *finding;

    rlx_fail(diag, why->code, "%s", why->message);
    rlx_diag_at(diag, "%s", read->op->source);
    rlx_diag_hint(diag, "%s", why->hint);
    if (list == NULL)
        return;
    finding = rlx_report(list, why->code, why->span, "%s", why->message);
    if (why->expected[0] != '\0')
        rlx_finding_expected(finding, "%s", why->expected);
    rlx_finding_hint(finding, "%s", why->hint);
}

rlx_status_t rlx_pass_demand(rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_diag_t first = {0};

    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        rlx_demand_read_t read = {.graph = graph, .op = op};

        if (!rlx_op_has_demand(op) && !(op->kind == RLX_OP_conv && rlx_layout_is_hwio(op->in[1])))
            continue;
        read.note = rlx_op_annotate(graph, op);
        if (read_by_kind(&read))
            rlx_op_schedule(graph, op)->demand = read.demand;
        else
            refusal_report(&read, diag != NULL ? diag->list : NULL, &first);
    }
    if (first.status == RLX_OK)
        return RLX_OK;
    rlx_fail(diag, first.code, "%s", first.message);
    rlx_diag_at(diag, "%s", first.where);
    return rlx_diag_hint(diag, "%s", first.hint);
}
