/* A syntax tree to a graph: names resolved, defaults filled in, shapes inferred. The one lowering of both text forms, driven by ir/op_list.h and
 * the words of ir/text/names.h.
 *
 * Every statement is looked at, whatever went wrong before: a value whose statement failed is known as broken, and what uses it is passed over
 * in silence. The graph that comes out is verified. One thread. */
#ifndef RLX_IR_TEXT_BUILD_H
#define RLX_IR_TEXT_BUILD_H

#include "base/diag_list.h"
#include "ir/graph.h"
#include "ir/text/syntax.h"

/* Builds the last module. Files of constants are looked for beside `syntax->path`; of tensors in the tree the bytes are borrowed, so that the
 * tree must live as long as the graph. With errors among the findings there is no graph; the status is that of the first. */
rlx_status_t rlx_syntax_build(const rlx_syntax_t *syntax, rlx_diag_list_t *findings, rlx_graph_t **out_graph);

#endif
