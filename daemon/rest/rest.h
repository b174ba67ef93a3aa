/* The HTTP/1.1 front end: Open Inference Protocol v2 REST, metrics, health, the status page, and JSON for rlxctl. docs/REST.md lists the
 * routes.
 *
 * Made before rlx_http_create, whose service, handler and `gone` it is:
 *
 *     rlx_rest_create -> rlx_http_create(handler rlx_rest_handle, gone rlx_rest_gone, service rest) -> rlx_rest_attach
 *     rlx_http_close ... done -> rlx_rest_close ... done -> rlx_node_close
 *
 * Loop thread only. Long texts (JSON tensors) are read and written in pieces between the loop's other work, so a large one never holds up
 * a health check. */
#ifndef RLX_DAEMON_REST_REST_H
#define RLX_DAEMON_REST_REST_H

#include "daemon/memory/handover.h"
#include "daemon/node/node.h"
#include "rpc/http/http.h"
#include "rpc/server/server.h"

typedef struct rlx_rest rlx_rest_t;

typedef struct rlx_rest_options {
    rlx_node_t *node;      /* borrowed, outlives it */
    const char *version, *commit; /* of this program; borrowed */
    bool admin_remote;     /* /v1/ also for clients of other machines; else 403 */
    void (*drain)(void *context); /* POST /v1/drain: begins the node's drain, once or again */
    void *drain_context;
} rlx_rest_options_t;

rlx_status_t rlx_rest_create(const rlx_rest_options_t *options, rlx_rest_t **out_rest, rlx_diag_t *diag);
/* Whose counters metrics and status show. Either may be NULL, and must be set to NULL before it is closed. */
void rlx_rest_attach(rlx_rest_t *rest, const rlx_rpc_server_t *server, const rlx_http_t *http);
/* The same for the hand-over of memory, where there is one. It is closed after the rest. */
void rlx_rest_attach_handover(rlx_rest_t *rest, const rlx_handover_t *handover);
/* No exchange is left (the HTTP service is closed). `done` runs on the loop; `rest` is freed. */
void rlx_rest_close(rlx_rest_t *rest, void (*done)(void *context), void *context);

/* rlx_http_handler_fn_t and rlx_http_options_t.gone, with the rest as service. */
void rlx_rest_handle(void *rest, rlx_http_exchange_t *exchange);
void rlx_rest_gone(void *rest, rlx_http_exchange_t *exchange);

#endif
