/* Checks that `rlx verify --check` makes of a graph as its author wrote it: what its annotations say of memory and devices must be safe and feasible.
 * Findings stand at the line of the operator. What cannot be decided from the text alone is counted, not guessed. One thread.
 *
 * Memory coherence. A tensor whose memory has coherence "none" must not be read without a sync_mode, except by an operator on the device that
 * computed it: there the device's own order suffices. Constants are exempt: they do not change after loading. A tensor that is read on another
 * device than its own, and says no buffer_sharing_capability, is copied in silence: warned about.
 *
 * Distributed scheduling. Devices of operands and results are among target_device_set; an operator that crosses devices has a sync_mode that orders
 * them (stream_ordered orders one queue only); a sharding strategy suits its operator and has at least two devices. */
#ifndef RLX_IR_CHECK_H
#define RLX_IR_CHECK_H

#include "base/diag_list.h"
#include "ir/graph.h"

/* What was looked at, and what was not. */
typedef struct rlx_check_figures {
    int n_ops;
    int n_remote, n_pipeline; /* calls whose cluster, and stages whose credits, are not known here */
} rlx_check_figures_t;

void rlx_check_coherence(const rlx_graph_t *graph, rlx_diag_list_t *findings, rlx_check_figures_t *out_figures);
void rlx_check_distribution(const rlx_graph_t *graph, rlx_diag_list_t *findings, rlx_check_figures_t *out_figures);

/* ir/check_coherence.c: the device of a tensor, or NULL: not said. */
const char *rlx_check_device(const rlx_value_t *value);
/* Whether the op runs on several devices, or reads a tensor of another one. */
bool rlx_check_crosses(const rlx_op_t *op);

#endif
