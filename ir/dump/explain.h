/* Why the compiler did what it did: one decision a line, with the rule behind it and what would change it. Filled by the passes where somebody
 * asked (graph->explain), printed by `rlx dump --explain`. Decides nothing itself.
 *
 * Owner: who asked. Strings are copied. Thread: the compilation's. */
#ifndef RLX_IR_EXPLAIN_H
#define RLX_IR_EXPLAIN_H

#include "ir/graph.h"

typedef struct rlx_decision {
    char *op, *kind;   /* name and operator of the model's op that it is about */
    char *source;      /* where that stands: "FILE:LINE:COLUMN", "node 'conv1' (Conv)" */
    const char *topic; /* algorithm, schedule, fusion, memory, sync, layout, kernel, cost */
    char *decision, *rule, *change;
    int place;         /* of the op in the model, for the order of printing */
} rlx_decision_t;

typedef struct rlx_explain {
    rlx_decision_t *decisions;
    int n, cap;
    const rlx_graph_t *graph; /* whose ops were numbered */
    struct { const char *source, *name; int place; } *places;
    int n_places;
} rlx_explain_t;

rlx_explain_t *rlx_explain_create(void);
void rlx_explain_destroy(rlx_explain_t *explain);
/* Numbers the model's ops, and makes the passes tell `explain`: before them. */
void rlx_explain_begin(rlx_explain_t *explain, rlx_graph_t *graph);
/* Tells a decision about `op`. Nothing where nobody asked. `rule` and `change` may hold no more than a sentence. */
void rlx_explain(const rlx_graph_t *graph, const rlx_op_t *op, const char *topic, const char *rule, const char *change, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* In the order of the model: after the compilation. Sorts. */
void rlx_explain_sort(rlx_explain_t *explain);

#endif
