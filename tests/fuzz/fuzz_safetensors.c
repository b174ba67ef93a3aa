/* Target: rlx_safetensors_parse, whole and by its header. Tensors of a file that passes lie within it. */
#include "base/assert.h"
#include "base/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rlx_safetensors_t tensors, header;
    rlx_diag_t diag = {0};
    size_t header_bytes;
    unsigned sum = 0;

    if (rlx_safetensors_parse(data, bytes, &tensors, &diag) != RLX_OK)
        return 0;
    RLX_ASSERT(rlx_safetensors_header_bytes(data, bytes, bytes, &header_bytes, NULL) == RLX_OK);
    RLX_ASSERT(rlx_safetensors_parse_header(data, header_bytes, bytes, &header, NULL) == RLX_OK);
    RLX_ASSERT(header.n_tensors == tensors.n_tensors);
    for (int i = 0; i < tensors.n_tensors; i++) {
        RLX_ASSERT(rlx_safetensors_find(&tensors, tensors.tensors[i].name) == &tensors.tensors[i]);
        for (uint64_t at = 0; at < tensors.tensors[i].bytes; at++)
            sum += ((const uint8_t *)tensors.tensors[i].tensor.data)[at];
    }
    rlx_safetensors_fini(&header);
    rlx_safetensors_fini(&tensors);
    return sum == 1; /* so that the bytes are read */
}
