/* A protobuf message as JSON, by a schema of the guard whose tags say what the values are. One walk, no objects in between. */
#ifndef RLX_RPC_MESSAGE_JSON_H
#define RLX_RPC_MESSAGE_JSON_H

#include "base/text.h"
#include "proto/guard.h"

/* `tag` of a field: one of these, with RLX_JSON_LIST where it is repeated. Messages need no kind. */
enum { RLX_JSON_BOOL = 1, RLX_JSON_INT = 2, RLX_JSON_UINT = 3, RLX_JSON_STRING = 4, RLX_JSON_LIST = 16 };

/* Fields that the schema does not know are skipped. Entries of a repeated field must follow one another, as every encoder writes them. */
rlx_status_t rlx_message_json(const rlx_guard_message_t *schema, const void *data, size_t bytes, rlx_text_t *out, rlx_diag_t *diag);

#endif
