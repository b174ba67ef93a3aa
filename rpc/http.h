/* HTTP/1.1 on the loop, by libmicrohttpd (external poll: its epoll descriptor is one handle of the loop). Connections come from
 * rpc/server.h, already accepted. Requests arrive whole: the body is collected up to body_bytes_max, then the handler runs; it may answer
 * now or later (the connection is suspended meanwhile). Loop thread only.
 *
 * Bounds: body above the limit: 413 with both numbers; headers above libmicrohttpd's pool: 431; connections above the maximum: 503;
 * a request that does not arrive in time: closed, counted. */
#ifndef RLX_RPC_HTTP_H
#define RLX_RPC_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "rpc/server.h"

typedef struct rlx_http rlx_http_t;
typedef struct rlx_http_exchange rlx_http_exchange_t;

/* Runs once per request. Answers exactly once with rlx_http_reply, now or later. */
typedef void rlx_http_handler_fn_t(void *service, rlx_http_exchange_t *exchange);

typedef struct rlx_http_options {
    uv_loop_t *loop;
    rlx_http_handler_fn_t *handler;
    /* The client went away before the answer: the handler's work may stop. The exchange lives until it is answered all the same. */
    void (*gone)(void *service, rlx_http_exchange_t *exchange);
    void *service;
    uint64_t body_bytes_max;
    uint32_t connections_max, timeout_s;
} rlx_http_options_t;

rlx_status_t rlx_http_create(const rlx_http_options_t *options, rlx_http_t **out_http, rlx_diag_t *diag);
void rlx_http_adopt(rlx_http_t *http, int fd); /* moves `fd` */
void rlx_http_drain(rlx_http_t *http);         /* answers close their connections, idle ones close */
void rlx_http_close(rlx_http_t *http, void (*done)(void *context), void *context);
uint32_t rlx_http_connections(const rlx_http_t *http);

const char *rlx_http_method(const rlx_http_exchange_t *exchange); /* "GET" */
const char *rlx_http_path(const rlx_http_exchange_t *exchange);   /* decoded, without the query */
const char *rlx_http_query(const rlx_http_exchange_t *exchange, const char *name);  /* or NULL */
const char *rlx_http_header(const rlx_http_exchange_t *exchange, const char *name); /* any case; or NULL */
const void *rlx_http_body(const rlx_http_exchange_t *exchange, size_t *out_bytes);  /* contiguous, 64-byte aligned */
void rlx_http_set_context(rlx_http_exchange_t *exchange, void *context);
void *rlx_http_context(const rlx_http_exchange_t *exchange);

typedef struct rlx_http_field {
    const char *name, *value;
} rlx_http_field_t;

/* Answers. Slices as in rlx_rpc_call_send: borrowed until `release` runs, exactly once. `fields` are copied. */
void rlx_http_reply(rlx_http_exchange_t *exchange, int code, const rlx_http_field_t *fields, int n_fields, const rlx_rpc_slice_t *slices,
                    int n_slices, rlx_rpc_release_fn_t *release, void *context);

#endif
