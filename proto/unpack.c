/* The allocator's context is what is left of the budget. */
#include "proto/unpack.h"

#include <stdlib.h>

static void *budget_alloc(void *context, size_t bytes)
{
    size_t *left = context;

    if (bytes > *left)
        return NULL;
    *left -= bytes;
    return malloc(bytes);
}

static void budget_free(void *context, void *data)
{
    (void)context;
    free(data);
}

rlx_status_t rlx_unpack(const ProtobufCMessageDescriptor *descriptor, const rlx_guard_message_t *guard, const rlx_guard_limits_t *limits,
                        const void *data, size_t bytes, ProtobufCMessage **out_message, rlx_diag_t *diag)
{
    size_t left = RLX_UNPACK_HEAP_MAX;
    ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free, .allocator_data = &left};
    ProtobufCMessage *message;

    RLX_TRY(rlx_guard_check(guard, limits, data, bytes, diag));
    message = protobuf_c_message_unpack(descriptor, &allocator, bytes, data);
    if (message == NULL)
        return rlx_fail(diag, limits->above,
                        "message %s of %zu bytes cannot be unpacked: it is malformed or needs more than %zu bytes of memory", guard->name,
                        bytes, RLX_UNPACK_HEAP_MAX);
    *out_message = message;
    return RLX_OK;
}

void rlx_unpack_free(ProtobufCMessage *message)
{
    ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free};

    if (message != NULL)
        protobuf_c_message_free_unpacked(message, &allocator);
}
