/* Small messages -> protobuf-c objects, safely: the guard walks the bytes first (proto/guard.h), then protobuf-c unpacks with an allocator
 * that has a budget. For requests of a few strings and numbers; tensors never come here. */
#ifndef RLX_PROTO_UNPACK_H
#define RLX_PROTO_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "base/diag.h"
#include "proto/guard.h"

#define RLX_UNPACK_HEAP_MAX ((size_t)8 << 20) /* of one message; above: refused with limits->above */

/* `guard` describes the same message as `descriptor`. The object is owned by the caller: rlx_unpack_free. */
rlx_status_t rlx_unpack(const ProtobufCMessageDescriptor *descriptor, const rlx_guard_message_t *guard, const rlx_guard_limits_t *limits,
                        const void *data, size_t bytes, ProtobufCMessage **out_message, rlx_diag_t *diag);
void rlx_unpack_free(ProtobufCMessage *message); /* NULL: nothing */

#endif
