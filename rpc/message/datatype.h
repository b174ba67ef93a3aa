/* Element types by their names in the Open Inference Protocol: "FP32", "INT64", "BOOL". */
#ifndef RLX_RPC_MESSAGE_DATATYPE_H
#define RLX_RPC_MESSAGE_DATATYPE_H

#include "base/tensor.h"

/* NULL for a value outside the list. */
const char *rlx_datatype_name(rlx_dtype_t dtype);
/* RLX_DTYPE_NONE when unknown; "BYTES" is. */
rlx_dtype_t rlx_datatype_parse(const char *name);

#endif
