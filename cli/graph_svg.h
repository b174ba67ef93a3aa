/* Draws a graph as a self-contained SVG: operators in layers from inputs to outputs, edges with their shapes as tooltips. */
#ifndef RLX_CLI_GRAPH_SVG_H
#define RLX_CLI_GRAPH_SVG_H

#include "ir/graph.h"

/* The form of rlx_compile_options_t.dump. */
void rlx_graph_svg_print(const rlx_graph_t *graph, FILE *out);

#endif
