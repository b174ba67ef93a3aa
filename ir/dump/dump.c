/* The graph as canonical text: docs/IR.md. Equal graphs give equal bytes; the text is part of a bundle, where large constants are named by their
 * digest only. Reads only. */
#include "ir/graph.h"

#include "ir/text/export.h"
#include "ir/text/external.h"
#include "ir/text/print.h"

void rlx_graph_dump(const rlx_graph_t *graph, FILE *out)
{
    rlx_syntax_t *syntax = rlx_syntax_export(graph);
    bool written;

    rlx_syntax_externalise(syntax, NULL, NULL, &written, NULL);
    rlx_ssa_print(syntax, out);
    rlx_syntax_destroy(syntax);
}
