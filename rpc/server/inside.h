/* The inside of the server: connections, calls and what they share. For rpc/server/ only.
 *
 * A connection goes PEEK -> (TLS) -> H2 -> LINGER, or PEEK -> handed to HTTP/1.1, or TLS -> PUMP. One function moves it: conn.c.
 * Rules that hold everywhere:
 *  - nghttp2 forbids sending and deleting inside its callbacks, and a method's callback may call anything. So replies only mark their
 *    connection dirty, and a connection that must go while `busy` is doomed: whoever entered nghttp2 closes it on the way out.
 *  - Nothing per request is allocated by us: calls, messages and batches come from free lists that only grow.
 *  - Every DATA byte is given back to the connection's window in every path, at once or when output has drained (h2_window.c). */
#ifndef RLX_RPC_SERVER_INSIDE_H
#define RLX_RPC_SERVER_INSIDE_H

#include <nghttp2/nghttp2.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "rpc/server/grpc_text.h"
#include "rpc/server/server.h"

#define READ_BYTES (256 * 1024)    /* one read; shared by all connections */
#define READS_PER_TURN 4           /* then the next connection */
#define FRAME_BYTES 16384
#define WINDOW_LARGE 16            /* times window_bytes, for connections that send larger messages than window_bytes */
#define BATCH_IOVS 672
/* Bytes of one write call; the rest follows in the next. A 4 MiB tensor leaves in one: a peer woken for each of several costs more. */
#define BATCH_MARK (4160 * 1024)
#define BATCH_MARK_TLS (128 * 1024)
#define BATCH_ARENA (36 * 1024)    /* frame heads, header blocks, small slices */
#define BATCH_STAMPS 256
#define SLICE_COPIED_MAX 256       /* smaller slices are copied beside their frame head: cheaper than an iovec */
#define CIPHER_BYTES (BATCH_MARK_TLS + FRAME_BYTES * 3)
#define PEER_BYTES 64

typedef struct rlx_rpc_conn rlx_rpc_conn_t;
typedef struct rlx_rpc_tls_context rlx_rpc_tls_context_t;
typedef struct rlx_rpc_tls_conn rlx_rpc_tls_conn_t;
typedef struct rlx_rpc_pump rlx_rpc_pump_t;

/* One response message on its way: the five bytes of gRPC, then the slices. Referenced by its call's queue and by every batch that holds
 * bytes of it; the last reference runs `release`. */
typedef struct rlx_rpc_reply {
    struct rlx_rpc_reply *next; /* in the call's queue, or the free list */
    rlx_rpc_conn_t *conn;         /* whose unsent bytes it counts to */
    rlx_rpc_release_fn_t *release;
    void *context;
    uint64_t bytes;               /* with the prefix */
    uint64_t left;                /* not yet handed to a batch */
    size_t at;                    /* bytes handed over of slice `index`; index -1 is the prefix */
    int refs, index, n_slices, capacity;
    uint8_t prefix[RLX_GRPC_PREFIX];
    rlx_rpc_slice_t slices[];
} rlx_rpc_reply_t;
#define MESSAGE_SMALL 8 /* slices */

/* What one write call sends. The server has one; a connection whose socket is full takes it over and the server gets another. */
typedef struct rlx_rpc_batch {
    struct rlx_rpc_batch *next;
    int n, first; /* iov[first..n) is unsent */
    int n_stamps;
    size_t bytes, arena_used;
    struct iovec iov[BATCH_IOVS];
    rlx_rpc_reply_t *owner[BATCH_IOVS]; /* NULL: bytes of the arena */
    uint64_t stamps[BATCH_STAMPS];        /* read_ns + kernel_ns of unary calls whose response begins here */
    uint8_t arena[BATCH_ARENA];
} rlx_rpc_batch_t;

/* Request headers that are kept, rpc/server/grpc_headers.c. */
#define HEADERS_KEPT 8
#define STATUS_TEXT_MAX 1024 /* of a grpc-message; longer ones are cut */
typedef enum rlx_rpc_content {
    CONTENT_NONE,
    CONTENT_GRPC,
    CONTENT_OTHER,
} rlx_rpc_content_t;

struct rlx_rpc_call {
    rlx_rpc_call_t *next, *prev; /* the connection's open calls; `next` also the free list */
    rlx_rpc_conn_t *conn;
    const rlx_rpc_method_t *method; /* NULL before the headers end and after `closed` */
    void *context;
    uint64_t id, deadline_ns, read_ns, kernel_ns;
    uint64_t heard_ns, sent_ns; /* last byte of an unfinished message in, of a queued one out */
    int32_t stream;

    /* Request. */
    nghttp2_rcbuf *headers[HEADERS_KEPT];
    nghttp2_rcbuf *path;
    size_t header_bytes;
    rlx_rpc_content_t content;
    bool post, te, timeout_bad;
    bool headers_done, remote_closed;
    bool held;
    bool in_message;       /* between prefix and last byte */
    int prefix_got;
    uint8_t prefix[RLX_GRPC_PREFIX];
    uint64_t message_left;
    uint64_t messages_in;
    uint64_t withheld;     /* received bytes not yet given back to the stream's window */

    /* Response. */
    bool submitted;        /* headers given to nghttp2 */
    bool deferred;         /* its data callback waits for more */
    bool finished;         /* `status` is final */
    bool overdue;          /* the deadline found the whole answer on its way out */
    bool ended;            /* trailers given to nghttp2 */
    bool closed;           /* the method's `closed` has run, or there was no method */
    bool aborted;          /* ended from our side; the rest of its output is dropped */
    rlx_status_t status;
    char *status_text;     /* owned; only when trailers wait behind data */
    rlx_rpc_reply_t *queue, **queue_tail;
    uint64_t queued;       /* bytes */

    uv_timer_t deadline;
};

typedef struct rlx_rpc_call_slab {
    struct rlx_rpc_call_slab *next;
    rlx_rpc_call_t calls[32];
} rlx_rpc_call_slab_t;

/* Tokens that hostile frames spend and useful ones earn; empty: the connection is closed. */
typedef struct rlx_rpc_budget {
    int64_t control, resets;
    uint64_t filled_ns;
} rlx_rpc_budget_t;

typedef enum rlx_rpc_conn_state {
    CONN_PEEK,
    CONN_TLS,    /* handshake */
    CONN_H2,
    CONN_PUMP,   /* HTTP/1.1 over TLS */
    CONN_LINGER, /* all sent and shut down for writing: reads and drops until the peer closes */
    CONN_CLOSED,
} rlx_rpc_conn_state_t;

typedef enum rlx_rpc_drain {
    DRAIN_NO,
    DRAIN_NOTICE, /* GOAWAY (2^31-1) and PING are out */
    DRAIN_LAST,   /* GOAWAY (last stream) is out */
} rlx_rpc_drain_t;

struct rlx_rpc_conn {
    rlx_rpc_conn_t *next, *prev; /* the server's connections; `next` also the free list */
    rlx_rpc_conn_t *dirty_next;
    rlx_rpc_server_t *server;
    nghttp2_session *session;
    uv_poll_t poll;
    uv_timer_t timer;
    int fd, handles, busy, events;
    rlx_rpc_conn_state_t state;
    rlx_rpc_drain_t drain;
    bool dirty, doomed, unix_socket;
    bool local;            /* the peer is on this machine */
    bool shaken;           /* the peer's SETTINGS came */
    bool headers_open;     /* a header block has begun and not ended */
    bool ping_out;         /* a keepalive PING is unanswered */
    bool choked;           /* too much unsent: windows are withheld, new calls refused */
    bool paused;           /* reads stopped */
    uint64_t born_ns, read_ns, idle_ns, headers_ns, ping_ns, drain_ns, blocked_ns, timer_ns;
    uint64_t unsent;       /* bytes of messages that are not released yet */
    uint64_t withheld;     /* received bytes not yet given back to the connection's window */
    uint32_t window;
    rlx_rpc_budget_t budget;
    rlx_rpc_call_t *calls;
    uint32_t n_calls;
    rlx_rpc_batch_t *pending; /* what the socket did not take */
    rlx_rpc_tls_conn_t *tls;
    char peer[PEER_BYTES];
};

typedef struct rlx_rpc_listener {
    struct rlx_rpc_listener *next;
    rlx_rpc_server_t *server;
    uv_poll_t poll;
    int fd;
    char *unix_path; /* owned, or NULL */
    bool closing;
} rlx_rpc_listener_t;

struct rlx_rpc_server {
    rlx_rpc_options_t options;
    uint64_t window_large;
    rlx_rpc_counters_t counters;
    rlx_histogram_t time;
    const rlx_rpc_method_t **methods; /* by hash of the path */
    uint32_t methods_mask;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    rlx_rpc_tls_context_t *tls;

    rlx_rpc_listener_t *listeners;
    int reserve_fd;          /* given up to accept, and close, one connection when descriptors run out */
    uint64_t log_ns;         /* last line about that */
    uint64_t log_silent;     /* refusals since */
    uv_timer_t listen_again; /* after a refusal that even the reserve could not help */

    rlx_rpc_conn_t *conns, *dirty;
    uint32_t n_conns, n_calls;
    uv_prepare_t prepare;
    uv_check_t check;
    bool draining, closing, tail_closed;
    bool flushing, receiving;
    int handles;
    void (*done)(void *context);
    void *done_context;

    rlx_rpc_batch_t *batch, *free_batches;
    int n_free_batches;
    rlx_rpc_call_slab_t *slabs;
    rlx_rpc_call_t *free_calls;
    rlx_rpc_conn_t *free_conns;
    rlx_rpc_reply_t *free_small, *free_large;
    int n_free_large;
    uint8_t *buffer; /* READ_BYTES */
    uint8_t *plain;  /* decrypted, or records to encrypt; with TLS only */
    uint8_t *cipher;
    size_t cipher_used;
};

/* server.c */
const rlx_rpc_method_t *rlx_rpc_method_find(const rlx_rpc_server_t *server, const char *path);
void rlx_rpc_server_handle_closed(rlx_rpc_server_t *server); /* one of its handles is closed; frees the server after the last */
void rlx_rpc_server_tail(rlx_rpc_server_t *server);          /* closes what remains once closing and without connections */

/* listen.c */
void rlx_rpc_listeners_close(rlx_rpc_server_t *server);
void rlx_rpc_listen_again(uv_timer_t *timer);

/* conn.c: the life of a connection */
/* Moves fd. A peer that is `local` and not `unix_socket` came over loopback. */
void rlx_rpc_conn_open(rlx_rpc_server_t *server, int fd, const char peer[PEER_BYTES], bool unix_socket, bool local);
void rlx_rpc_conn_close(rlx_rpc_conn_t *conn);                /* now, or when whoever is in nghttp2 leaves */
void rlx_rpc_conn_detach(rlx_rpc_conn_t *conn);               /* gives its descriptor to options.http */
void rlx_rpc_conn_begin(rlx_rpc_conn_t *conn);                /* HTTP/2 begins */
void rlx_rpc_conn_linger(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_interest(rlx_rpc_conn_t *conn);             /* what the socket is polled for */
void rlx_rpc_conn_dirty(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes); /* plain bytes into nghttp2 */
static inline bool rlx_rpc_conn_gone(const rlx_rpc_conn_t *conn) { return conn->state == CONN_CLOSED || conn->doomed; }

/* peek.c */
void rlx_rpc_conn_peek(rlx_rpc_conn_t *conn);

/* timer.c: one lazy timer per connection */
void rlx_rpc_conn_timer_start(rlx_rpc_conn_t *conn);
uint64_t rlx_rpc_timer_ms(const rlx_rpc_server_t *server, uint64_t at_ns); /* from the loop's time until `at_ns` of the clock */
void rlx_rpc_conn_timer_touch(rlx_rpc_conn_t *conn, uint64_t now_ns); /* something began that stall, keepalive or idle time bound */
void rlx_rpc_conn_drain(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_goaway_sent(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_ping_acked(rlx_rpc_conn_t *conn, const uint8_t opaque[8]);

/* output.c */
rlx_rpc_batch_t *rlx_rpc_batch_get(rlx_rpc_server_t *server);
void rlx_rpc_conn_flush(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_writable(rlx_rpc_conn_t *conn);
void rlx_rpc_conn_output_drop(rlx_rpc_conn_t *conn);
bool rlx_rpc_conn_blocked(const rlx_rpc_conn_t *conn);
void rlx_rpc_batch_bytes(rlx_rpc_batch_t *batch, const void *data, size_t bytes); /* copies into the arena */
void rlx_rpc_batch_reply(rlx_rpc_batch_t *batch, rlx_rpc_reply_t *message, size_t bytes);
bool rlx_rpc_batch_full(const rlx_rpc_conn_t *conn, const rlx_rpc_batch_t *batch);

/* reply.c */
rlx_rpc_reply_t *rlx_rpc_reply_get(rlx_rpc_server_t *server, int n_slices);
void rlx_rpc_reply_unref(rlx_rpc_reply_t *message);

/* h2_session.c, h2_budget.c, h2_window.c */
rlx_status_t rlx_rpc_h2_create(rlx_rpc_server_t *server, rlx_diag_t *diag);
bool rlx_rpc_h2_begin(rlx_rpc_conn_t *conn);
void rlx_rpc_h2_advertise(const rlx_rpc_conn_t *conn, uint8_t *frame, size_t bytes); /* a frame about to be sent */
void rlx_rpc_h2_fail(rlx_rpc_conn_t *conn); /* GOAWAY (ENHANCE_YOUR_CALM), then close */
void rlx_rpc_budget_init(rlx_rpc_budget_t *budget, uint64_t now_ns);
void rlx_rpc_budget_frame(rlx_rpc_conn_t *conn, const nghttp2_frame_hd *head);
void rlx_rpc_budget_reset(rlx_rpc_conn_t *conn);
void rlx_rpc_budget_earn(rlx_rpc_conn_t *conn, int control, int resets);
void rlx_rpc_window_received(rlx_rpc_conn_t *conn, rlx_rpc_call_t *call, int32_t stream, size_t bytes);
void rlx_rpc_window_grow(rlx_rpc_conn_t *conn);
void rlx_rpc_window_choke(rlx_rpc_conn_t *conn); /* call when `unsent` has changed */

/* grpc_call.c */
rlx_rpc_call_t *rlx_rpc_call_get(rlx_rpc_conn_t *conn, int32_t stream);
void rlx_rpc_call_gone(rlx_rpc_call_t *call); /* its stream is closed: tells the method, drops output, gives the call back */
/* Ends it from our side and tells the method at once: with trailers where no response has begun, else by RST_STREAM. */
void rlx_rpc_call_abort(rlx_rpc_call_t *call, rlx_error_code_t code, const char *text);
/* No call of gRPC: its client is asked to come again over HTTP/1.1, as browsers and curl do by themselves. Before any response. */
void rlx_rpc_call_downgrade(rlx_rpc_call_t *call);
void rlx_rpc_call_answer(rlx_rpc_call_t *call, const char *http_status, rlx_status_t status, const char *text);
/* The same with the code and general fix of `code` around the text. */
void rlx_rpc_call_refuse(rlx_rpc_call_t *call, rlx_error_code_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rlx_rpc_call_deadline_start(rlx_rpc_call_t *call);

/* grpc_response.c: the response as nghttp2 asks for it */
ssize_t rlx_rpc_call_read(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
                          nghttp2_data_source *source, void *user);
int rlx_rpc_call_data_out(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source,
                          void *user);

/* grpc_headers.c, grpc_request.c: the request */
void rlx_rpc_call_header_in(rlx_rpc_call_t *call, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
void rlx_rpc_call_headers_drop(rlx_rpc_call_t *call);
void rlx_rpc_call_begin(rlx_rpc_call_t *call);
void rlx_rpc_call_data_in(rlx_rpc_call_t *call, const uint8_t *data, size_t bytes);
void rlx_rpc_call_half_close(rlx_rpc_call_t *call);

/* tls_context.c, tls_conn.c, tls_pump.c */
rlx_status_t rlx_rpc_tls_create(const rlx_rpc_tls_t *options, rlx_rpc_tls_context_t **out_context, rlx_diag_t *diag);
void rlx_rpc_tls_destroy(rlx_rpc_tls_context_t *context);
bool rlx_rpc_tls_begin(rlx_rpc_conn_t *conn);
void rlx_rpc_tls_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes);
bool rlx_rpc_tls_encrypt(rlx_rpc_conn_t *conn, const struct iovec *iov, int n);
bool rlx_rpc_tls_write(rlx_rpc_conn_t *conn); /* sends the server's cipher buffer, keeps the rest; false: the connection broke */
bool rlx_rpc_tls_rest(rlx_rpc_conn_t *conn);  /* the same for what was kept */
bool rlx_rpc_tls_blocked(const rlx_rpc_conn_t *conn);
const char *rlx_rpc_tls_subject(const rlx_rpc_conn_t *conn);
void rlx_rpc_tls_shutdown(rlx_rpc_conn_t *conn); /* says that nothing more comes */
void rlx_rpc_tls_end(rlx_rpc_conn_t *conn);
bool rlx_rpc_pump_begin(rlx_rpc_conn_t *conn);
void rlx_rpc_pump_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes);
void rlx_rpc_pump_writable(rlx_rpc_conn_t *conn); /* the TLS socket takes bytes again */

#endif
