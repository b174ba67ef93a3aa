/* The one emitter: a frozen program as a C translation unit that calls kernels step by step, with its header. */
#ifndef RLX_TARGET_EMIT_C_H
#define RLX_TARGET_EMIT_C_H

#include "target/file_set.h"
#include "target/frozen.h"

typedef struct rlx_emit_c {
    const rlx_frozen_t *frozen;
    const char *name;     /* an identifier: prefix of functions */
    const char *macro;    /* the same in capitals */
    const char *model, *compiler;
    bool static_arena;    /* NAME_run has no arena argument */
} rlx_emit_c_t;

/* Letters, digits and _ of `stem`, not beginning with a digit; as it is and in capitals. */
void rlx_emit_c_name(const char *stem, size_t bytes, char *out_name, char *out_macro);
void rlx_emit_c_header(const rlx_emit_c_t *emit, rlx_text_t *out);
void rlx_emit_c_source(const rlx_emit_c_t *emit, rlx_text_t *out);
/* "input 0 `x`: f32 [1, 3]" and so on, a table for people. */
void rlx_emit_c_tensors(const rlx_emit_c_t *emit, rlx_text_t *out);

#endif
