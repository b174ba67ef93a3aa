/* Element types by their names in .safetensors files. Internal to base/safetensors*.c. */
#ifndef RLX_BASE_SAFETENSORS_TYPE_H
#define RLX_BASE_SAFETENSORS_TYPE_H

#include "base/tensor.h"

static const struct safetensors_type {
    const char *name;
    rlx_dtype_t dtype;
} safetensors_types[] = {{"F32", RLX_F32}, {"F64", RLX_F64}, {"F16", RLX_F16}, {"BF16", RLX_BF16}, {"I8", RLX_I8},   {"I16", RLX_I16}, {"I32", RLX_I32},
                         {"I64", RLX_I64}, {"U8", RLX_U8},   {"U16", RLX_U16}, {"U32", RLX_U32},   {"U64", RLX_U64}, {"BOOL", RLX_BOOL}};
#define N_SAFETENSORS_TYPES (sizeof safetensors_types / sizeof *safetensors_types)

#endif
