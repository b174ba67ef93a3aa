/* The small calls of the Open Inference Protocol, as a client makes them: health, metadata, statistics, repository, system shared memory.
 * A request is a few strings and numbers; an answer becomes JSON with the protocol's own names. Fields that proto3 leaves out because they
 * are zero or empty are left out here too. Maps are arrays of {"key", "value"}. */
#ifndef RLX_RPC_MESSAGE_ADMIN_H
#define RLX_RPC_MESSAGE_ADMIN_H

#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

typedef enum rlx_admin_method {
    RLX_ADMIN_SERVER_LIVE,
    RLX_ADMIN_SERVER_READY,
    RLX_ADMIN_MODEL_READY,
    RLX_ADMIN_SERVER_METADATA,
    RLX_ADMIN_MODEL_METADATA,
    RLX_ADMIN_STATISTICS,
    RLX_ADMIN_INDEX,
    RLX_ADMIN_LOAD,
    RLX_ADMIN_UNLOAD,
    RLX_ADMIN_MEMORY_STATUS,
    RLX_ADMIN_MEMORY_REGISTER,
    RLX_ADMIN_MEMORY_UNREGISTER,
    RLX_ADMIN_COUNT
} rlx_admin_method_t;

/* What a call says; what a method has no field for is ignored. NULL and 0 are left out. */
typedef struct rlx_admin_call {
    const char *name;    /* of a model, or of a region */
    const char *version; /* of a model */
    const char *key;     /* of system shared memory: "/name" */
    uint64_t offset, bytes;
} rlx_admin_call_t;

#define RLX_ADMIN_ANSWER_MAX ((size_t)16 << 20) /* bytes of an answer */

const char *rlx_admin_path(rlx_admin_method_t method);
void rlx_admin_encode(rlx_admin_method_t method, const rlx_admin_call_t *call, rlx_text_t *out);
rlx_status_t rlx_admin_json(rlx_admin_method_t method, const void *answer, size_t bytes, rlx_text_t *out, rlx_diag_t *diag);

#endif
