/* Target: the SSA reader and the builder behind it. Whatever the bytes are, the answer is an error, or a graph that the verifier accepts and whose
 * text is read back as the same text. Files that the text names are looked for in a folder that does not exist. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/load.h"
#include "tests/text/text_of.h"

#define PATH "/nonexistent/fuzz.rlxir"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* NULL: refused. */
static rlx_graph_t *load(const char *text, size_t bytes)
{
    rlx_diag_list_t findings;
    rlx_graph_t *graph = NULL;
    rlx_status_t status;

    rlx_diag_list_init(&findings, 0);
    status = rlx_text_load(PATH, text, bytes, &findings, &graph, NULL);
    if ((status == RLX_OK) != (findings.n_errors == 0))
        abort();
    rlx_diag_list_fini(&findings);
    return status == RLX_OK ? graph : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), *once, *twice;
    rlx_graph_t *graph, *again;

    if (text == NULL || bytes > 65536)
        goto out;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    graph = load(text, bytes);
    if (graph == NULL)
        goto out;
    once = text_of(graph);
    again = load(once, strlen(once));
    if (again == NULL) {
        fprintf(stderr, "printed, but not read back:\n%s\n", once);
        abort();
    }
    twice = text_of(again);
    rlx_graph_destroy(again);
    again = load(twice, strlen(twice));
    if (again == NULL)
        abort();
    rlx_graph_destroy(again);
    rlx_graph_destroy(graph);
    free(once);
    free(twice);
out:
    free(text);
    return 0;
}
