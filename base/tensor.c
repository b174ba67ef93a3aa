/* Tables behind base/tensor.h. Values outside the lists are answered, never asserted: they arrive from files. */
#include "base/tensor.h"

#include <string.h>

static const struct {
    size_t bytes;
    const char *text;
} dtypes[RLX_DTYPE_COUNT] = {
#define X(name, number, bytes, text, descr) [number] = {bytes, text},
    RLX_DTYPES(X)
#undef X
};

static const char *const layouts[] = {
    [RLX_LAYOUT_ROW_MAJOR] = "row-major",      [RLX_LAYOUT_C16] = "c16",   [RLX_LAYOUT_CONV_16I16O] = "conv-16i16o",
    [RLX_LAYOUT_GEMM_16N] = "gemm-16n", [RLX_LAYOUT_DW16] = "dw16", [RLX_LAYOUT_CONV_16O] = "conv-16o",
    [RLX_LAYOUT_CONV_GROUP] = "conv-group",
    [RLX_LAYOUT_WINOGRAD] = "winograd",
    [RLX_LAYOUT_CHANNELS_LAST] = "channels_last",
    [RLX_LAYOUT_ROWS_APART] = "rows-apart",
};

size_t rlx_dtype_size(rlx_dtype_t dtype)
{
    return (unsigned)dtype < RLX_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *rlx_dtype_name(rlx_dtype_t dtype)
{
    const char *text = (unsigned)dtype < RLX_DTYPE_COUNT ? dtypes[dtype].text : NULL;

    return text != NULL ? text : "none";
}

rlx_dtype_t rlx_dtype_parse(const char *text)
{
    for (int i = 1; i < RLX_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].text, text) == 0)
            return (rlx_dtype_t)i;
    return RLX_DTYPE_NONE;
}

const char *rlx_layout_name(rlx_layout_t layout)
{
    const char *text = (size_t)layout < sizeof layouts / sizeof *layouts ? layouts[layout] : NULL;

    return text != NULL ? text : "unknown";
}

bool rlx_dims_count(const int64_t *dims, int rank, int64_t *out_count)
{
    int64_t count = 1;
    bool zero = false;

    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        if (dims[i] == 0)
            zero = true;
    }
    for (int i = 0; i < rank && !zero; i++)
        if (!rlx_size_mul(count, dims[i], &count))
            return false;
    *out_count = zero ? 0 : count;
    return true;
}
