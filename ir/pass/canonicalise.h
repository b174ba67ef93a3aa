/* The canonicaliser's parts. Internal to ir/. Each looks at one op and rewrites the pattern that ends there, if any. */
#ifndef RLX_IR_CANONICALISE_H
#define RLX_IR_CANONICALISE_H

#include "ir/pass.h"

/* A mul or div that ends a spelled-out swish, hard_swish or gelu. */
rlx_status_t rlx_rewrite_activation(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
/* The last add (or mul) of a spelled-out layer norm over the last axis. */
rlx_status_t rlx_rewrite_layer_norm(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

#endif
