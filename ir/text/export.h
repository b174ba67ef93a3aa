/* A graph as a syntax tree: what the printer prints, and what the builder makes the same graph of again. Reads only.
 *
 * Every value keeps its name, so that a change of one operator changes its own lines. A constant stands before its first use. Extents are
 * written into the types of results for people and checked by the builder; those too long to read are left out. */
#ifndef RLX_IR_TEXT_EXPORT_H
#define RLX_IR_TEXT_EXPORT_H

#include "ir/graph.h"
#include "ir/text/syntax.h"

/* The tree borrows the bytes of constants from the graph. The caller destroys it. */
rlx_syntax_t *rlx_syntax_export(const rlx_graph_t *graph);

#endif
