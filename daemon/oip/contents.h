/* Typed tensor contents (InferTensorContents): collected as they stand on the wire, packed or one by one, and converted when the tensor's
 * type is known. What is collected is one array of the field's own width (bool 1, int and uint 4, ..., 8 bytes).
 *
 * BYTES are walked over and never kept: no model takes them. */
#ifndef RLX_DAEMON_OIP_CONTENTS_H
#define RLX_DAEMON_OIP_CONTENTS_H

#include "base/diag.h"
#include "base/tensor.h"
#include "daemon/oip/stage.h"
#include "proto/guard.h"

/* Field numbers of InferTensorContents. */
typedef enum rlx_oip_kind {
    RLX_OIP_NOTHING = 0, RLX_OIP_BOOL = 1, RLX_OIP_INT = 2, RLX_OIP_INT64 = 3, RLX_OIP_UINT = 4, RLX_OIP_UINT64 = 5, RLX_OIP_FP32 = 6,
    RLX_OIP_FP64 = 7, RLX_OIP_BYTES = 8, RLX_OIP_KINDS = 9
} rlx_oip_kind_t;

/* A varint that pieces may cut. */
typedef struct rlx_oip_carry {
    uint8_t byte[10];
    uint8_t n;
} rlx_oip_carry_t;
/* One byte more. 1: a value is complete, 0: it goes on, -1: it is no varint of 64 bits. */
int rlx_oip_carry_push(rlx_oip_carry_t *carry, uint8_t byte, uint64_t *out_value);

/* The contents of one input. Its values lie in the stage at `at`, without a gap: one input at a time is collected. */
typedef struct rlx_oip_contents {
    rlx_oip_kind_t kind;
    size_t at;
    uint64_t count;
    rlx_oip_carry_t carry;
} rlx_oip_contents_t;

/* A value (SCALAR) or a part of a packed run or byte string (BYTES) of field `kind`. `input`: its name, for errors. */
rlx_status_t rlx_oip_contents_add(rlx_oip_contents_t *contents, rlx_oip_stage_t *stage, rlx_oip_kind_t kind, rlx_guard_event_t event,
                                  const rlx_guard_item_t *item, const char *input, rlx_diag_t *diag);
/* Writes the values as `dtype` to `to`, which has `bytes` bytes. Refuses another count, another kind, values out of the type's range. */
rlx_status_t rlx_oip_contents_convert(const rlx_oip_contents_t *contents, const rlx_oip_stage_t *stage, rlx_dtype_t dtype, void *to,
                                      uint64_t bytes, const char *input, rlx_diag_t *diag);

#endif
