/* Small JSON bodies of the calls that change something: an object, or nothing. */
#ifndef RLX_DAEMON_REST_BODY_H
#define RLX_DAEMON_REST_BODY_H

#include <jansson.h>

#include "rpc/http/http.h"

#define RLX_REST_BODY_MAX ((size_t)64 << 10)

/* The body as an object, NULL for an empty one; json_decref is the caller's. Depth and size are checked before it is parsed. */
rlx_status_t rlx_rest_body_parse(const rlx_http_exchange_t *exchange, json_t **out_root, rlx_diag_t *diag);

#endif
