/* Texts as graphs and graphs as texts: what the tools call. One thread. */
#ifndef RLX_IR_TEXT_LOAD_H
#define RLX_IR_TEXT_LOAD_H

#include <stdio.h>

#include "base/diag_list.h"
#include "ir/graph.h"
#include "ir/text/syntax.h"

/* Reads a text of either form, by its name: .rlx is the module form, anything else the SSA form. `bytes` of `text` are followed by a NUL. Returns
 * a tree for the caller to destroy; of no use where there were errors. Sets the findings' source. */
rlx_syntax_t *rlx_text_parse(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings);
/* A text to a verified graph. Findings hold what was wrong; the status is that of the first error, which is copied to `diag` as well. */
rlx_status_t rlx_text_load(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings, rlx_graph_t **out_graph, rlx_diag_t *diag);
rlx_status_t rlx_text_load_file(const char *path, rlx_diag_list_t *findings, rlx_graph_t **out_graph, rlx_diag_t *diag);

/* The same for a function that a text of `depth` calls names. */
rlx_status_t rlx_text_load_callee(const char *path, int depth, rlx_diag_list_t *findings, rlx_graph_t **out_graph);

/* The same graph made anew from its own tree, so that nothing is left of how it came about: what is compiled from a model and from the model's text
 * is the same, byte for byte. `*graph` is replaced; it must be a verified graph of the tensor level. */
rlx_status_t rlx_graph_canonicalise_text(rlx_graph_t **graph, rlx_diag_t *diag);

/* The text, written to `path`, with its large constants in a file beside it: m.rlxir and m.safetensors. */
rlx_status_t rlx_graph_text_write(const rlx_graph_t *graph, const char *path, rlx_diag_t *diag);

/* A file of a text form, by its ending: .rlx or .rlxir. */
bool rlx_path_is_text(const char *path);

#endif
