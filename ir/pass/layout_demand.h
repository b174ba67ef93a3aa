/* Layouts that a text fixes (`layout` of a tensor): the buffer has them, by reorders where no operator makes them so, or the text is refused.
 * Internal to ir/.
 *
 * Three physical orders exist: row-major, channels-last (NHWC and its like), blocks of 16 channels (NCHW16c). A constant is packed for the
 * kernel that reads it; its layout is obeyed where that kernel packs it so. */
#ifndef RLX_IR_LAYOUT_DEMAND_H
#define RLX_IR_LAYOUT_DEMAND_H

#include "ir/graph.h"

/* ir/pass/layout_demand.c. The layout that the text fixes for a tensor that is no constant; false: none, or none that exists. */
bool rlx_layout_demand(const rlx_graph_t *graph, const rlx_value_t *value, rlx_layout_t *out_layout);
/* Whether a constant's layout asks for the weights of the convolution in columns: HWIO. */
bool rlx_layout_is_hwio(const rlx_value_t *value);
/* Reports every layout that cannot be obeyed. After ir/pass/demand.c: kernels of convolutions are known. */
rlx_status_t rlx_layout_check(const rlx_graph_t *graph, rlx_diag_t *diag);

/* ir/pass/layout_fix.c. The same tensor in `layout`, made by a reorder before `op`. One of both layouts is row-major. */
rlx_value_t *rlx_layout_reorder(rlx_graph_t *graph, rlx_value_t *value, rlx_layout_t layout, rlx_op_t *op, const char *source);
/* Output `index` of `op`, whose layout is set, in the layout that the text fixes. */
void rlx_layout_fix_output(rlx_graph_t *graph, rlx_op_t *op, int index);
void rlx_layout_fix_inputs(rlx_graph_t *graph);
/* Graph outputs are row-major: what a client sees never depends on a layout. */
void rlx_layout_settle_outputs(rlx_graph_t *graph);

#endif
