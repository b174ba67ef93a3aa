/* Canonical status codes. They map one to one to gRPC's, so a status crosses the wire unchanged.
 * Functions fed by people or files also take a `rlx_diag_t *` (base/diag.h) that says where and why. */
#ifndef RLX_BASE_STATUS_H
#define RLX_BASE_STATUS_H

typedef enum rlx_status {
    RLX_OK = 0,
    RLX_CANCELLED = 1,
    RLX_INVALID_ARGUMENT = 3,
    RLX_DEADLINE_EXCEEDED = 4,
    RLX_NOT_FOUND = 5,
    RLX_ALREADY_EXISTS = 6,
    RLX_RESOURCE_EXHAUSTED = 8,
    RLX_FAILED_PRECONDITION = 9,
    RLX_OUT_OF_RANGE = 11,
    RLX_UNIMPLEMENTED = 12,
    RLX_INTERNAL = 13,
    RLX_UNAVAILABLE = 14,
    RLX_DATA_LOSS = 15,
} rlx_status_t;

/* "INVALID_ARGUMENT" and the like; "UNKNOWN" for a value outside the list. */
const char *rlx_status_name(rlx_status_t status);

/* Returns early with a failed status. Only where there is nothing to undo. */
#define RLX_TRY(expr)                          \
    do {                                       \
        rlx_status_t rlx_try_status_ = (expr); \
        if (rlx_try_status_ != RLX_OK)         \
            return rlx_try_status_;            \
    } while (0)

#endif
