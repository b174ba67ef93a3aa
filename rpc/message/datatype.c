/* One table, by number of the type. */
#include "rpc/message/datatype.h"

#include <string.h>

static const char *const names[RLX_DTYPE_COUNT] = {
    [RLX_F32] = "FP32",   [RLX_F64] = "FP64",   [RLX_F16] = "FP16",  [RLX_BF16] = "BF16", [RLX_I8] = "INT8",
    [RLX_I16] = "INT16",  [RLX_I32] = "INT32",  [RLX_I64] = "INT64", [RLX_U8] = "UINT8",  [RLX_U16] = "UINT16",
    [RLX_U32] = "UINT32", [RLX_U64] = "UINT64", [RLX_BOOL] = "BOOL",
};

const char *rlx_datatype_name(rlx_dtype_t dtype) { return (unsigned)dtype < RLX_DTYPE_COUNT ? names[dtype] : NULL; }

rlx_dtype_t rlx_datatype_parse(const char *name)
{
    for (int i = 1; i < RLX_DTYPE_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (rlx_dtype_t)i;
    return RLX_DTYPE_NONE;
}
