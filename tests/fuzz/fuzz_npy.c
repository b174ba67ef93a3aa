/* Target: rlx_npz_parse, which reads .npy files and archives of them. */
#include "base/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rlx_npz_t npz;
    rlx_diag_t diag = {0};
    unsigned sum = 0;

    if (rlx_npz_parse(data, bytes, &npz, &diag) != RLX_OK)
        return 0;
    for (int i = 0; i < npz.n_arrays; i++) {
        int64_t count = 0;

        rlx_dims_count(npz.arrays[i].tensor.dims, npz.arrays[i].tensor.rank, &count);
        count *= (int64_t)rlx_dtype_size(npz.arrays[i].tensor.dtype);
        for (int64_t at = 0; at < count; at++)
            sum += ((const uint8_t *)npz.arrays[i].tensor.data)[at];
    }
    rlx_npz_fini(&npz);
    return sum == 1; /* so that the bytes are read */
}
