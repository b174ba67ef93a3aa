/* The canonical text of a graph, for tests and fuzzers of the text forms. */
#ifndef RLX_TESTS_TEXT_TEXT_OF_H
#define RLX_TESTS_TEXT_TEXT_OF_H

#include <stdio.h>

#include "ir/text/export.h"
#include "ir/text/print.h"

/* Owned by the caller: free. */
static inline char *text_of(const rlx_graph_t *graph)
{
    rlx_syntax_t *syntax = rlx_syntax_export(graph);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    rlx_ssa_print(syntax, out);
    fclose(out);
    rlx_syntax_destroy(syntax);
    return text;
}

#endif
