/* The digest that a signature of a source is over (docs/SIGNING.md). */
#ifndef RLX_IR_SOURCE_DIGEST_H
#define RLX_IR_SOURCE_DIGEST_H

#include "base/digest.h"
#include "ir/graph.h"

/* Of the canonical form of an imported graph, before any option or pass changed it: its text without the places that ops come from, and the
 * BLAKE2b digest tree of every constant, since the text itself names contents by a digest that does not withstand an adversary. However the
 * model was written down, equal graphs have equal digests. The graph is the same afterwards. One thread. */
rlx_status_t rlx_graph_source_digest(rlx_graph_t *graph, uint8_t out_digest[RLX_BLAKE2B_BYTES], rlx_diag_t *diag);

#endif
