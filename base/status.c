/* Names of the canonical status codes. Pure; any thread. */
#include "base/status.h"

const char *rlx_status_name(rlx_status_t status)
{
    switch (status) {
    case RLX_OK: return "OK";
    case RLX_CANCELLED: return "CANCELLED";
    case RLX_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case RLX_DEADLINE_EXCEEDED: return "DEADLINE_EXCEEDED";
    case RLX_NOT_FOUND: return "NOT_FOUND";
    case RLX_ALREADY_EXISTS: return "ALREADY_EXISTS";
    case RLX_RESOURCE_EXHAUSTED: return "RESOURCE_EXHAUSTED";
    case RLX_FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case RLX_OUT_OF_RANGE: return "OUT_OF_RANGE";
    case RLX_UNIMPLEMENTED: return "UNIMPLEMENTED";
    case RLX_INTERNAL: return "INTERNAL";
    case RLX_UNAVAILABLE: return "UNAVAILABLE";
    case RLX_DATA_LOSS: return "DATA_LOSS";
    }
    return "UNKNOWN";
}
