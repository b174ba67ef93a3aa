/* ModelInferRequest for the guard: which fields matter, how deep, how long. Every field that the decoder acts on has a tag. */
#ifndef RLX_DAEMON_OIP_SCHEMA_H
#define RLX_DAEMON_OIP_SCHEMA_H

#include "proto/guard.h"

typedef enum rlx_oip_tag {
    RLX_OIP_TAG_NONE = 0,
    RLX_OIP_TAG_MODEL, RLX_OIP_TAG_VERSION, RLX_OIP_TAG_ID, RLX_OIP_TAG_INPUT, RLX_OIP_TAG_OUTPUT, RLX_OIP_TAG_RAW, /* of the request */
    RLX_OIP_TAG_PARAMETER,                                                /* of the request, an input or an output: a map entry */
    RLX_OIP_TAG_NAME, RLX_OIP_TAG_DATATYPE, RLX_OIP_TAG_SHAPE, RLX_OIP_TAG_CONTENTS, /* of inputs and outputs */
    RLX_OIP_TAG_KEY, RLX_OIP_TAG_VALUE,                                   /* of a map entry */
    RLX_OIP_TAG_BOOL, RLX_OIP_TAG_INT64, RLX_OIP_TAG_STRING, RLX_OIP_TAG_DOUBLE, RLX_OIP_TAG_UINT64, /* of a parameter's value */
    RLX_OIP_TAG_VALUES,                                                   /* of contents: any of its fields */
} rlx_oip_tag_t;

extern const rlx_guard_message_t rlx_oip_request_schema;
extern const rlx_guard_limits_t rlx_oip_request_limits;

#endif
