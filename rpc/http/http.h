/* HTTP/1.1 on the loop, by libmicrohttpd (external poll: its epoll descriptor is one handle of the loop). Connections come from
 * rpc/server/, already accepted. Requests arrive whole: the body is collected up to body_bytes_max, then the handler runs; it may answer
 * now or later (the connection is suspended meanwhile). Loop thread only.
 *
 * Bounds: body above the limit: 413 with both numbers; all bodies together above theirs: 503; headers above libmicrohttpd's pool: 431;
 * connections above the maximum: 503; a request that does not arrive in time, or an answer that is not read: closed, counted. In time:
 * the request line within timeout_s of the connection's last answer, the headers within timeout_s of that, a body (either way) within
 * timeout_s and one second for each 16 KiB that moved.
 *
 * A client that closes its sending side before the answer counts as gone, as with other servers: nobody can tell it from one that left. */
#ifndef RLX_RPC_HTTP_HTTP_H
#define RLX_RPC_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "rpc/slice.h"

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
    uint64_t bodies_bytes_max; /* of all requests that are here; 0: four bodies */
    uint32_t connections_max, timeout_s;
} rlx_http_options_t;

/* Counters since start. RLX_HTTP_COUNTER(id, help) */
#define RLX_HTTP_COUNTERS(X) \
    X(requests, "HTTP/1.1 requests that arrived whole") X(connections, "HTTP/1.1 connections") \
    X(connections_refused, "HTTP/1.1 connections refused: too many") X(bodies_oversize, "request bodies above the limit") \
    X(bodies_refused, "requests refused for the memory of all bodies") X(timeouts, "HTTP/1.1 connections closed: too slow") \
    X(broken, "HTTP/1.1 connections that ended before their request was whole, or with what was none") \
    X(gone, "clients that left before their answer") X(answers_2xx, "answers 200 to 299") X(answers_4xx, "answers 400 to 499") \
    X(answers_5xx, "answers 500 to 599")
typedef struct rlx_http_counters {
#define RLX_HTTP_COUNTER(id, help) uint64_t id;
    RLX_HTTP_COUNTERS(RLX_HTTP_COUNTER)
#undef RLX_HTTP_COUNTER
} rlx_http_counters_t;

rlx_status_t rlx_http_create(const rlx_http_options_t *options, rlx_http_t **out_http, rlx_diag_t *diag);
/* Moves `fd`. `local`: its client is on this machine. */
void rlx_http_adopt(rlx_http_t *http, int fd, bool local);
void rlx_http_drain(rlx_http_t *http);         /* answers close their connections, idle ones close */
/* Tells `gone` for every exchange that is not answered, and waits for those answers; then `done`, and `http` is freed. */
void rlx_http_close(rlx_http_t *http, void (*done)(void *context), void *context);
uint32_t rlx_http_connections(const rlx_http_t *http);
const rlx_http_counters_t *rlx_http_counters(const rlx_http_t *http);

const char *rlx_http_method(const rlx_http_exchange_t *exchange); /* "GET" */
const char *rlx_http_path(const rlx_http_exchange_t *exchange);   /* decoded, without the query */
const char *rlx_http_query(const rlx_http_exchange_t *exchange, const char *name);  /* or NULL */
const char *rlx_http_header(const rlx_http_exchange_t *exchange, const char *name); /* any case; or NULL */
const void *rlx_http_body(const rlx_http_exchange_t *exchange, size_t *out_bytes);  /* contiguous, 64-byte aligned */
uint64_t rlx_http_begin_ns(const rlx_http_exchange_t *exchange); /* rlx_clock_ns() time when its request line had arrived */
/* The client is on this machine. */
bool rlx_http_is_local(const rlx_http_exchange_t *exchange);
void rlx_http_set_context(rlx_http_exchange_t *exchange, void *context);
void *rlx_http_context(const rlx_http_exchange_t *exchange);

typedef struct rlx_http_field {
    const char *name, *value;
} rlx_http_field_t;

/* Answers. Slices as in rlx_rpc_call_send: borrowed until `release` runs, exactly once, maybe before this returns. `fields` are copied.
 * The exchange is dead when this returns. */
void rlx_http_reply(rlx_http_exchange_t *exchange, int code, const rlx_http_field_t *fields, int n_fields, const rlx_rpc_slice_t *slices,
                    int n_slices, rlx_rpc_release_fn_t *release, void *context);

#endif
