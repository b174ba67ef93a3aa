/* Regions of a lowered graph (bundle/program.h): which step, value and symbol belongs to which.
 *
 * A symbol of a graph input belongs to region 0; one of a computed value to the region behind the value's, and one of a call's result to the
 * region behind the call's. A step belongs to the first region in which its operands are there and its numbers are known. */
#ifndef RLX_IR_REGIONS_H
#define RLX_IR_REGIONS_H

#include "ir/graph.h"

#define RLX_REGIONS_MAX 256

struct rlx_builder;

typedef struct rlx_regions {
    int count;
    int *of_symbol; /* by symbol */
    int *of_value;  /* by value id, roots only; -1: not used by any step */
    int *of_expr;   /* by expression, as far as n_exprs */
    int n_exprs, n_values, n_symbols;
} rlx_regions_t;

/* Fills builder->regions and step->region, and sorts the steps by region. All steps are live. */
rlx_status_t rlx_regions_assign(struct rlx_builder *builder, rlx_diag_t *diag);
void rlx_regions_fini(rlx_regions_t *regions);
/* A value whose memory and extents a call finds. */
bool rlx_value_is_dynamic(const rlx_graph_t *graph, const rlx_value_t *value);

#endif
