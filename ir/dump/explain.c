/* Decisions and their reasons. See ir/dump/explain.h. */
#include "ir/dump/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

rlx_explain_t *rlx_explain_create(void)
{
    rlx_explain_t *explain = calloc(1, sizeof *explain);

    RLX_ASSERT(explain != NULL);
    return explain;
}

void rlx_explain_destroy(rlx_explain_t *explain)
{
    for (int i = 0; explain != NULL && i < explain->n; i++) {
        rlx_decision_t *d = &explain->decisions[i];

        free(d->op);
        free(d->kind);
        free(d->source);
        free(d->decision);
        free(d->rule);
        free(d->change);
    }
    if (explain == NULL)
        return;
    free(explain->decisions);
    free(explain->places);
    free(explain);
}

static int graph_ops(const rlx_graph_t *graph)
{
    int n = 0;

    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        n++;
        for (int i = 0; i < op->n_bodies; i++)
            n += graph_ops(op->bodies[i]);
    }
    return n;
}

static void ops_number(rlx_explain_t *explain, rlx_graph_t *graph)
{
    graph->explain = explain;
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        explain->places[explain->n_places].source = op->source;
        explain->places[explain->n_places].name = op->name;
        explain->places[explain->n_places].place = explain->n_places;
        explain->n_places++;
        for (int i = 0; i < op->n_bodies; i++)
            ops_number(explain, op->bodies[i]);
    }
}

static int place_compare(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    int order = strcmp(x[0], y[0]);

    return order != 0 ? order : strcmp(x[1], y[1]);
}

void rlx_explain_begin(rlx_explain_t *explain, rlx_graph_t *graph)
{
    explain->places = calloc((size_t)graph_ops(graph) + 1, sizeof *explain->places);
    RLX_ASSERT(explain->places != NULL);
    ops_number(explain, graph);
    qsort(explain->places, (size_t)explain->n_places, sizeof *explain->places, place_compare);
}

/* The place of the op, of another of its source, or before all: what is done to the model's inputs. */
static int place_of(const rlx_explain_t *explain, const rlx_op_t *op)
{
    int low = 0, high = explain->n_places;

    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(explain->places[middle].source, op->source);

        if (order == 0)
            order = strcmp(explain->places[middle].name, op->name);
        if (order == 0)
            return explain->places[middle].place;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    for (int i = low < explain->n_places ? low : explain->n_places - 1; i >= 0 && i >= low - 1; i--)
        if (strcmp(explain->places[i].source, op->source) == 0)
            return explain->places[i].place;
    return -1;
}

static char *copy(const char *text)
{
    char *made = strdup(text);

    RLX_ASSERT(made != NULL);
    return made;
}

void rlx_explain(const rlx_graph_t *graph, const rlx_op_t *op, const char *topic, const char *rule, const char *change, const char *format, ...)
{
    rlx_explain_t *explain = graph->explain;
    rlx_decision_t *d;
    va_list args;
    int written;

    if (explain == NULL)
        return;
    if (explain->n == explain->cap) {
        explain->cap = explain->cap > 0 ? explain->cap * 2 : 256;
        explain->decisions = realloc(explain->decisions, (size_t)explain->cap * sizeof *explain->decisions);
        RLX_ASSERT(explain->decisions != NULL);
    }
    d = &explain->decisions[explain->n++];
    *d = (rlx_decision_t){.op = copy(op->name), .kind = copy(rlx_op_info(op->kind)->name), .source = copy(op->source != NULL ? op->source : ""),
                          .topic = topic, .rule = copy(rule), .change = copy(change), .place = place_of(explain, op)};
    va_start(args, format);
    written = vasprintf(&d->decision, format, args);
    va_end(args);
    RLX_ASSERT(written >= 0);
}

/* Decisions about one op stay in the order in which they were made. */
void rlx_explain_sort(rlx_explain_t *explain)
{
    for (int width = 1; width < explain->n; width *= 2) {
        rlx_decision_t *to = malloc((size_t)explain->n * sizeof *to);

        RLX_ASSERT(to != NULL);
        for (int at = 0, out = 0; at < explain->n; at += 2 * width) {
            int a = at, b = at + width < explain->n ? at + width : explain->n, a_end = b, b_end = b + width < explain->n ? b + width : explain->n;

            while (a < a_end || b < b_end)
                to[out++] = b >= b_end || (a < a_end && explain->decisions[a].place <= explain->decisions[b].place) ? explain->decisions[a++]
                                                                                                                     : explain->decisions[b++];
        }
        free(explain->decisions);
        explain->decisions = to;
        explain->cap = explain->n;
    }
}
