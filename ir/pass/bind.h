/* Binding symbols to numbers before the passes run. Internal to ir/. */
#ifndef RLX_IR_BIND_H
#define RLX_IR_BIND_H

#include "ir/graph.h"

/* Collects what `--shape name=dims` (-1: leave open) says about symbols into `values` and `bound`, one entry per symbol. */
rlx_status_t rlx_graph_bind_shape(rlx_graph_t *graph, const char *name, int rank, const int64_t *dims, int64_t *values, bool *bound, rlx_diag_t *diag);
/* Replaces every bound symbol by its value throughout the graph. Symbols stay in the list: the executor still checks the inputs. */
rlx_status_t rlx_graph_bind(rlx_graph_t *graph, const int64_t *values, const bool *bound, rlx_diag_t *diag);

/* Binds symbols of computed values that have turned out to be constants. */
rlx_status_t rlx_graph_bind_known(rlx_graph_t *graph, rlx_diag_t *diag);

#endif
