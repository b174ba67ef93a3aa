/* A gRPC client: a channel is one HTTP/2 connection to one endpoint, for life. It connects at once, tells its state, and comes back by
 * itself when it breaks: after backoff_min_ms, doubling to backoff_max_ms, with jitter. Requests can begin only while it is READY; who
 * wants to wait or to choose another endpoint does that above (sdk/c), by the state callback.
 *
 * A request is unary or a stream in both directions: any number of messages out, then half-close, any number in, then `done`, exactly
 * once. Bytes go out by reference (they are borrowed until `released` runs) and come in by pieces straight from the read buffer.
 *
 * Bounds: requests_max open requests (more: RESOURCE_EXHAUSTED), OUTPUT_BYTES_MAX of unsent frames per connection (then the messages wait
 * where they are, in the caller's memory), one answer message of message_bytes_max (above: the request fails with both numbers), header
 * lists and grpc-message cut to fixed sizes. A server that breaks HTTP/2 costs the connection: every request of it fails with UNAVAILABLE.
 *
 * Everything runs on the loop's thread; callbacks may call any function of this header. No allocation per request after the first use of a
 * request slot (nghttp2's own excepted). */
#ifndef RLX_RPC_CLIENT_CLIENT_H
#define RLX_RPC_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "rpc/slice.h"
#include "rpc/tls/tls.h"

typedef struct rlx_rpc_channel rlx_rpc_channel_t;
typedef struct rlx_rpc_request rlx_rpc_request_t;

/* "http://HOST:PORT" and "grpc://HOST:PORT" (plain TCP), "https://HOST:PORT" and "grpcs://HOST:PORT" (TLS), "unix:PATH". Without a port:
 * 8080. HOST may be a name, an IPv4 address or an IPv6 address in brackets. */
typedef struct rlx_rpc_endpoint {
    enum { RLX_RPC_TCP, RLX_RPC_TLS, RLX_RPC_UNIX } kind;
    char host[256]; /* or the path of the socket */
    int port;
} rlx_rpc_endpoint_t;
rlx_status_t rlx_rpc_endpoint_parse(const char *text, rlx_rpc_endpoint_t *out_endpoint, rlx_diag_t *diag);

typedef enum rlx_rpc_channel_state {
    RLX_RPC_CONNECTING = 0,
    RLX_RPC_READY = 1,
    RLX_RPC_BACKOFF = 2, /* the last attempt failed or the connection broke; the next attempt has its time */
    RLX_RPC_CLOSED = 3,
} rlx_rpc_channel_state_t;

typedef struct rlx_rpc_channel_options {
    uv_loop_t *loop; /* borrowed */
    rlx_rpc_endpoint_t endpoint;
    rlx_rpc_client_tls_t tls; /* strings are borrowed for create */
    uint32_t connect_ms;      /* one attempt, with name resolution and TLS */
    uint32_t backoff_min_ms, backoff_max_ms;
    uint32_t requests_max;
    uint64_t message_bytes_max; /* of one answer message */
    uint32_t window_bytes;      /* stream and connection */
    uint32_t keepalive_ms;      /* silence with requests open before a PING; as long again without an answer: broken. 0: never */
    /* The state changed. `diag` says why it is BACKOFF. */
    void (*changed)(void *context, rlx_rpc_channel_t *channel, rlx_rpc_channel_state_t state, const rlx_diag_t *diag);
    void *context;
} rlx_rpc_channel_options_t;
/* All but loop and endpoint. */
extern const rlx_rpc_channel_options_t rlx_rpc_channel_defaults;

/* Begins to connect. */
rlx_status_t rlx_rpc_channel_create(const rlx_rpc_channel_options_t *options, rlx_rpc_channel_t **out_channel, rlx_diag_t *diag);
rlx_rpc_channel_state_t rlx_rpc_channel_state(const rlx_rpc_channel_t *channel);
/* In BACKOFF: tries now instead of later, but not within backoff_min_ms of the last attempt. */
void rlx_rpc_channel_hurry(rlx_rpc_channel_t *channel);
uint32_t rlx_rpc_channel_requests(const rlx_rpc_channel_t *channel); /* open now */
/* Open requests are done with CANCELLED; `closed` runs on the loop when every handle is, and the channel is freed. */
void rlx_rpc_channel_close(rlx_rpc_channel_t *channel, void (*closed)(void *context), void *context);
/* Sends what requests have queued, in one write. Runs by itself once per loop turn. */
void rlx_rpc_channel_flush(rlx_rpc_channel_t *channel);

/* A message to send. The caller's memory until `released` runs, exactly once, also when the request ends early. */
typedef struct rlx_rpc_message {
    const rlx_rpc_slice_t *slices;
    int n_slices;
    void (*released)(void *context); /* may be NULL: then `done` of the request is the end */
    void *context;
    /* The client's. */
    uint8_t prefix[5];
    int slice;     /* being sent; -1: the prefix */
    size_t offset; /* sent of it */
    struct rlx_rpc_message *next;
} rlx_rpc_message_t;

/* How a request ended. */
typedef struct rlx_rpc_end {
    rlx_status_t status;
    const char *message; /* the server's, decoded, or ours; "" on success. Borrowed for the callback */
    /* The server did not begin to work on it (never sent, REFUSED_STREAM, beyond GOAWAY): sending it again elsewhere is safe. */
    bool untouched;
    bool lost; /* the connection broke while the request was open */
} rlx_rpc_end_t;

/* `message` to `message_end` may be NULL. */
typedef struct rlx_rpc_request_ops {
    bool (*message)(void *context, uint64_t bytes); /* an answer message begins. False: not wanted; the request is cancelled */
    void (*data)(void *context, const void *data, size_t bytes);
    void (*message_end)(void *context);
    void (*sent)(void *context); /* every message was handed to the connection and the request is half-closed */
    void (*done)(void *context, const rlx_rpc_end_t *end);
} rlx_rpc_request_ops_t;

/* Milliseconds; 0: no limit. `total` goes to the server as grpc-timeout. `transfer` bounds the time in which the request's bytes leave,
 * and again that from the first byte of the answer to its last; `compute` the time between the two. */
typedef struct rlx_rpc_timeouts {
    uint32_t total_ms, transfer_ms, compute_ms;
} rlx_rpc_timeouts_t;

/* The channel must be READY, else UNAVAILABLE. `path` and `ops` are borrowed for the request's life. On failure `done` never runs. */
rlx_status_t rlx_rpc_request_begin(rlx_rpc_channel_t *channel, const char *path, const rlx_rpc_timeouts_t *timeouts,
                                   const rlx_rpc_request_ops_t *ops, void *context, rlx_rpc_request_t **out_request, rlx_diag_t *diag);
/* Queues a message, of at most 2^32 - 1 bytes, behind those before it. Not after half-close. */
void rlx_rpc_request_send(rlx_rpc_request_t *request, rlx_rpc_message_t *message);
/* No more messages. */
void rlx_rpc_request_half_close(rlx_rpc_request_t *request);
/* RST_STREAM; `done` runs with CANCELLED before this returns. */
void rlx_rpc_request_cancel(rlx_rpc_request_t *request);

#endif
