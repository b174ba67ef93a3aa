/* User code of custom_op: which functions there are, and what stability_requirement asks of a graph. One thread. */
#ifndef RLX_IR_CUSTOM_H
#define RLX_IR_CUSTOM_H

#include "ir/graph.h"
#include "kernels/params_custom.h"

typedef struct rlx_custom_function {
    const char *name;
    bool split; /* rows of its first result may be computed apart */
} rlx_custom_function_t;

/* Function i is kernel RLX_CUSTOM_FIRST + i. Borrowed. */
typedef struct rlx_custom_set {
    rlx_custom_function_t functions[RLX_CUSTOM_MAX];
    int n;
} rlx_custom_set_t;

/* Gives every custom_op of the graph and its bodies its kernel, and refuses one whose function is not in `set` (which may be NULL: empty), or
 * that does not keep its stability_requirement: operands and results f64, one operand the step (f64, rank 0) where there is a largest step,
 * a tolerance that f64 can hold. A function that no op calls is refused, too. */
rlx_status_t rlx_custom_assign(rlx_graph_t *graph, const rlx_custom_set_t *set, rlx_diag_t *diag);

/* Steps from one checkpoint to the next, the least of all custom ops; 0: no op asks for any.
 *
 * min(1 / max_step_size, error_tolerance / (16 * 2^-53)), rounded down, at least 1: one unit of the model's time at the largest step, or
 * earlier where rounding could add up to the tolerance before that, if a step rounds 16 times by half a unit in the last place. */
int64_t rlx_custom_interval(const rlx_graph_t *graph);

#endif
