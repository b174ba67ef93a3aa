/* Which symbol may be batched: requests run together along a symbol that no operator mixes rows of.
 *
 * A symbol N is independent when it is axis 0 of every graph input and output, stands nowhere else in their extents, and every value
 * between is either the same for all N or has N as exactly one of its extents, row i of it following from row i of the inputs alone.
 * Conservative: what no rule knows is mixed. Decided on the canonical form; later passes keep every bit, so they keep it true. */
#ifndef RLX_IR_BATCH_H
#define RLX_IR_BATCH_H

#include "ir/graph.h"

/* Marks the independent symbol, if there is one. */
void rlx_batch_mark(rlx_graph_t *graph);

#endif
