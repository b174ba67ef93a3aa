/* What `memory_affinity` decides: which buffers stay between operators, and where operators must meet. Internal to ir/. */
#ifndef RLX_IR_AFFINITY_H
#define RLX_IR_AFFINITY_H

#include <stddef.h>

#include "ir/graph.h"

#define RLX_AFFINITY_WHY 192

/* Where a value's bytes live: as the text says, else by its device: DDR for a CPU, VRAM for an accelerator. */
const char *rlx_affinity_location(const rlx_value_t *value);
/* Whether the buffer of `inner` must stay where fusion would keep it in registers, because the text says something of it that `outer`, the result
 * of the fused operator, does not share: a layout, another memory, another device. `why` says what. */
bool rlx_affinity_keeps(const rlx_value_t *inner, const rlx_value_t *outer, char why[RLX_AFFINITY_WHY]);
/* Decides for every operator that reads memory of which the text says something, or that has a sync_mode, whether a sync stands before it
 * (sched->sync), and explains it. After fusion. */
rlx_status_t rlx_pass_sync(rlx_graph_t *graph, rlx_diag_t *diag);

#endif
