/* The server: one port for gRPC and HTTP/1.1, over plain TCP, TLS or a Unix socket.
 *
 * The first bytes of a connection decide: the HTTP/2 preface stays here (nghttp2), anything else goes to the HTTP/1.1 server (rpc/http/).
 * With TLS, ALPN decides; a client that chose h2 and then asks for anything but gRPC is told to come by HTTP/1.1 (HTTP_1_1_REQUIRED).
 * Everything runs on the loop's thread and nothing here blocks; callbacks may call any function of this header, also from inside a
 * callback. Every bound has an answer when it is reached, listed beside it.
 *
 * Ownership: the server owns calls. A method's `closed` is the last callback of a call; the pointer is dead when it returns. */
#ifndef RLX_RPC_SERVER_SERVER_H
#define RLX_RPC_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "base/histogram.h"
#include "rpc/slice.h"
#include "rpc/tls/tls.h"

typedef struct rlx_rpc_server rlx_rpc_server_t;
typedef struct rlx_rpc_call rlx_rpc_call_t;

/* What the server does with calls of one path. All functions but `open` and `closed` may be NULL. Unary and streaming methods look alike:
 * a client sends any number of messages, then half-closes. */
typedef struct rlx_rpc_method {
    const char *path; /* "/inference.GRPCInferenceService/ModelInfer" */
    void (*open)(rlx_rpc_call_t *call, void *service);
    /* A message of `bytes` begins. False: not wanted; the method has finished the call, and its bytes are dropped. */
    bool (*message)(rlx_rpc_call_t *call, uint64_t bytes);
    void (*data)(rlx_rpc_call_t *call, const void *data, size_t bytes); /* a piece of the message, in order; borrowed */
    void (*message_end)(rlx_rpc_call_t *call);
    void (*half_close)(rlx_rpc_call_t *call);
    /* The call is over: answered, cancelled by the client (RST_STREAM, connection gone), or past its deadline. Nothing may be sent. */
    void (*closed)(rlx_rpc_call_t *call);
} rlx_rpc_method_t;

typedef struct rlx_rpc_limits {
    uint32_t connections_max;      /* when full: accepted and closed at once, counted */
    uint32_t streams_max;          /* per connection; more: REFUSED_STREAM */
    uint32_t header_bytes_max;     /* per header list; above: RESOURCE_EXHAUSTED, the connection survives */
    uint64_t message_bytes_max;    /* one request message; above: RESOURCE_EXHAUSTED with both numbers, the connection survives */
    uint64_t output_bytes_max;     /* unsent bytes of one connection; above: its windows are not refilled, new calls RESOURCE_EXHAUSTED, and
                                    * while its socket is full its reads pause */
    uint32_t window_bytes;         /* stream and connection flow-control windows; 16 times that once a larger message has come */
    uint32_t handshake_ms;         /* from accept to the peer's HTTP/2 SETTINGS (TLS included); then closed. After it idle_ms bounds, and
                                    * stall_ms a header block that does not end */
    uint32_t idle_ms;              /* a connection without calls; 0: for ever */
    uint32_t stall_ms;             /* a message that makes no progress: DEADLINE_EXCEEDED, or RST_STREAM (CANCEL) where an answer is not
                                    * read; a full socket or unfinished header block that makes none: the connection closes */
    uint32_t keepalive_ms;         /* PING to silent peers with calls open; 0: never */
} rlx_rpc_limits_t;
/* The defaults, documented in docs/PROTOCOL.md. */
extern const rlx_rpc_limits_t rlx_rpc_limits_default;

/* Counters since start; every refusal has one. RLX_RPC_COUNTER(id, help) */
#define RLX_RPC_COUNTERS(X) \
    X(connections_accepted, "connections accepted") X(connections_refused, "connections closed at once: too many") \
    X(preface_bad, "connections that spoke neither HTTP/2 nor HTTP/1") X(handshake_timeouts, "connections that never sent a request") \
    X(tls_failures, "TLS handshakes that failed") X(calls, "gRPC calls begun") X(calls_unknown, "calls of unknown methods") \
    X(headers_oversize, "header lists above the limit") X(messages_oversize, "messages above the limit") \
    X(messages_malformed, "broken gRPC framing or compression flag") X(content_type_bad, "calls that are not application/grpc") \
    X(flood_resets, "connections closed for reset floods") X(flood_control, "connections closed for floods of control frames") \
    X(stalls, "messages that made no progress in time") X(cancelled, "calls cancelled by the client") \
    X(deadlines, "calls past their deadline") X(h2_errors, "connections closed for HTTP/2 errors") X(reads, "read calls") \
    X(output_full, "calls refused: the peer does not read its answers") \
    X(writes, "write calls") X(read_bytes, "bytes read") X(write_bytes, "bytes written") \
    X(http_connections, "connections handed to HTTP/1.1") X(tls_reloads, "certificates, keys and client CA read again") \
    X(tls_reload_failures, "TLS files that were refused when read again: new connections get the old ones")
typedef struct rlx_rpc_counters {
#define RLX_RPC_COUNTER(id, help) uint64_t id;
    RLX_RPC_COUNTERS(RLX_RPC_COUNTER)
#undef RLX_RPC_COUNTER
} rlx_rpc_counters_t;

typedef struct rlx_rpc_options {
    uv_loop_t *loop;                 /* borrowed; its thread calls everything */
    const rlx_rpc_method_t *methods; /* borrowed, n_methods; paths are unique */
    int n_methods;
    void *service;                   /* given to `open` */
    rlx_rpc_limits_t limits;
    const rlx_rpc_tls_t *tls;        /* NULL: plain */
    /* An HTTP/1.1 connection: `fd` is moved to the callee, nothing was read from it (peeked only). NULL: such peers are closed.
     * Under TLS `fd` is one end of a socketpair that carries the decrypted bytes. `local`: the peer is on this machine (Unix socket or a
     * loopback address). */
    void (*http)(void *http_context, int fd, bool local);
    void *http_context;
} rlx_rpc_options_t;

rlx_status_t rlx_rpc_server_create(const rlx_rpc_options_t *options, rlx_rpc_server_t **out_server, rlx_diag_t *diag);
/* Listens on host:port, TCP. Port 0 takes a free one. May be called several times (loopback v4 and v6). */
rlx_status_t rlx_rpc_server_listen(rlx_rpc_server_t *server, const char *host, int port, int *out_port, rlx_diag_t *diag);
/* Listens on a Unix socket (gRPC and HTTP/1.1, no TLS); a stale socket file is replaced. */
rlx_status_t rlx_rpc_server_listen_unix(rlx_rpc_server_t *server, const char *path, rlx_diag_t *diag);
/* Reads the files, now and blocking: new connections get them, open ones keep what they have. Refused: nothing changes. Either way counted.
 * Only for a server that was created with TLS. */
rlx_status_t rlx_rpc_server_tls_reload(rlx_rpc_server_t *server, const rlx_rpc_tls_t *tls, rlx_diag_t *diag);
/* Drain: listeners close; each connection gets GOAWAY (2^31-1), one round trip later GOAWAY (last stream), and closes after its last
 * call. New connections are refused by the closed listener. */
void rlx_rpc_server_drain(rlx_rpc_server_t *server);
/* Calls open now (for drain and status), connections open now. */
uint32_t rlx_rpc_server_calls(const rlx_rpc_server_t *server);
uint32_t rlx_rpc_server_connections(const rlx_rpc_server_t *server);
/* Closes everything at once; `done` runs on the loop when every handle is closed, and the server is freed. */
void rlx_rpc_server_close(rlx_rpc_server_t *server, void (*done)(void *context), void *context);
const rlx_rpc_counters_t *rlx_rpc_server_counters(const rlx_rpc_server_t *server);
/* Sends what replies queued since the last call, one write per connection. Runs by itself after each read, after the loop's polling and
 * before it sleeps; a caller that spins between turns calls it. Inside a callback of a method it does nothing: what the callback queued
 * leaves when the callback's read has been worked off.
 *
 * To spin without sleeping, the program's own loop calls uv_run(loop, UV_RUN_NOWAIT), which polls the sockets once, runs timers and
 * flushes; UV_RUN_ONCE sleeps instead. Between them it may look at completions and call this function. uv_run does not nest: who spins
 * inside a hook of the loop (idle, prepare) asks poll(2) for POLLIN on uv_backend_fd(loop) with a timeout of 0; when it is ready, some
 * socket is, and the hook returns to the loop. */
void rlx_rpc_server_flush(rlx_rpc_server_t *server);

/* A call. */
void rlx_rpc_call_set_context(rlx_rpc_call_t *call, void *context);
void *rlx_rpc_call_context(const rlx_rpc_call_t *call);
uint64_t rlx_rpc_call_deadline_ns(const rlx_rpc_call_t *call); /* rlx_clock_ns() time; UINT64_MAX without grpc-timeout */
uint64_t rlx_rpc_call_read_ns(const rlx_rpc_call_t *call);     /* when the read returned that brought its latest bytes */
uint64_t rlx_rpc_call_id(const rlx_rpc_call_t *call);          /* unique in this process */
/* A request header (lower case), or NULL. Borrowed until closed. Only those named in rpc/server/grpc_headers.c are kept: traceparent, tracestate,
 * baggage, user-agent, authorization, x-request-id, grpc-encoding, :authority. */
const char *rlx_rpc_call_header(const rlx_rpc_call_t *call, const char *name);
/* "10.0.0.7:4242", "unix"; and the subject of a verified client certificate or NULL. */
const char *rlx_rpc_call_peer(const rlx_rpc_call_t *call);
const char *rlx_rpc_call_subject(const rlx_rpc_call_t *call);
/* While held, the bytes that this call receives are not given back to its stream's window: its peer stops after at most one window. Other
 * calls of the connection flow on. */
void rlx_rpc_call_hold(rlx_rpc_call_t *call, bool hold);

/* Sends one message made of `slices` (the array is copied, the bytes are borrowed until `release(context)`, which runs exactly once, also
 * when the call is cancelled; on the loop, maybe before this returns, and maybe after `closed`: the bytes may still wait in the socket's
 * queue then). `release` may be NULL for bytes that outlive the call. A streaming
 * method may send many; what is unsent is bounded by output_bytes_max of its own reads. */
void rlx_rpc_call_send(rlx_rpc_call_t *call, const rlx_rpc_slice_t *slices, int n_slices, rlx_rpc_release_fn_t *release, void *context);
/* Ends the call with trailers. `message` is for people (percent-encoded on the wire), may be NULL. Once. */
void rlx_rpc_call_finish(rlx_rpc_call_t *call, rlx_status_t status, const char *message);
/* For the histogram of server time (last read returned until write call begins, minus this). */
void rlx_rpc_call_kernel_ns(rlx_rpc_call_t *call, uint64_t kernel_ns);

/* Server time of unary calls. */
const rlx_histogram_t *rlx_rpc_server_time(const rlx_rpc_server_t *server);

#endif
