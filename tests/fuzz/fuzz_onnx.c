/* Target: rlx_onnx_import, without a folder (external data is refused). Whatever the bytes are, the answer is a graph that the verifier
 * accepts, or a diagnosis. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rlx_diag_t diag = {0};
    rlx_graph_t *graph;

    if (rlx_onnx_import(data, bytes, NULL, &graph, &diag) != RLX_OK) {
        if (diag.code == RLX_E_NONE || diag.message[0] == '\0')
            abort();
        return 0;
    }
    if (rlx_graph_verify(graph, &diag) != RLX_OK) {
        rlx_diag_print(&diag, stderr);
        abort();
    }
    rlx_graph_destroy(graph);
    return 0;
}
