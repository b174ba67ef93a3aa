/* The inside of a channel: its life (channel.c), its requests and HTTP/2 session (request.c), its unsent frames
 * (output.c).
 *
 * Invariants: a session exists exactly while a link is ready; a request slot is open from begin until its `done`, and the stream's user
 * data points to it exactly that long, so that nghttp2 never reaches memory that the caller took back. */
#ifndef RLX_RPC_CLIENT_CHANNEL_H
#define RLX_RPC_CLIENT_CHANNEL_H

#include <nghttp2/nghttp2.h>

#include "rpc/client/client.h"
#include "rpc/client/link.h"

#define RLX_RPC_OUTPUT_PIECES 512
#define RLX_RPC_OUTPUT_BYTES_MAX ((size_t)256 << 10)
#define RLX_RPC_OUTPUT_HEADS 32768 /* frame heads and small frames between two moments of an empty queue */
#define RLX_RPC_END_TEXT 1024

/* Frames that nghttp2 gave out and the socket has not taken. Filled only when empty, so nothing wraps. */
typedef struct rlx_rpc_output {
    struct iovec pieces[RLX_RPC_OUTPUT_PIECES];
    rlx_rpc_request_t *owners[RLX_RPC_OUTPUT_PIECES]; /* whose memory a piece is; NULL: ours */
    rlx_rpc_message_t *ends[RLX_RPC_OUTPUT_PIECES];   /* the message that the piece completes */
    void *copies[RLX_RPC_OUTPUT_PIECES];              /* freed when the piece was written */
    int first, count;
    size_t bytes, heads_bytes;
    uint8_t heads[RLX_RPC_OUTPUT_HEADS];
} rlx_rpc_output_t;

typedef enum rlx_rpc_phase { RLX_RPC_SENDING, RLX_RPC_COMPUTING, RLX_RPC_RECEIVING } rlx_rpc_phase_t;

struct rlx_rpc_request {
    rlx_rpc_channel_t *channel;
    const rlx_rpc_request_ops_t *ops;
    void *context;
    rlx_rpc_request_t *next, **link; /* in the channel's list of open ones, or of free ones */
    int32_t stream;
    bool open, half_closed, deferred;
    bool left; /* its headers left: the server may know of it */
    rlx_rpc_message_t *first, *last;
    rlx_rpc_phase_t phase;
    rlx_rpc_timeouts_t timeouts;
    uint64_t deadline_ns, phase_ns; /* UINT64_MAX: none */
    /* The answer. */
    uint8_t prefix[5];
    int prefix_bytes;
    bool in_message;
    uint64_t message_left;
    int http_status, grpc_status; /* grpc_status -1: not told */
    char text[RLX_RPC_END_TEXT];
};

struct rlx_rpc_channel {
    rlx_rpc_channel_options_t options;
    rlx_rpc_channel_state_t state;
    SSL_CTX *tls;
    char server_name[256], authority[300];
    bool closing, draining, in_session; /* in_session: inside nghttp2, the session must not go */
    bool broken;                        /* found inside of nghttp2: break when it returns */
    rlx_diag_t diag;                    /* of the last failure */
    int handles;                        /* that libuv holds */
    void (*closed)(void *context);
    void *closed_context;
    /* Connecting. */
    uv_timer_t life;    /* the attempt's end, or the next attempt */
    uv_getaddrinfo_t resolve;
    bool resolving;
    struct addrinfo *addresses, *address;
    uint32_t failures; /* in a row */
    uint64_t attempt_ns;
    rlx_rpc_link_t *wire;
    /* Connected. */
    nghttp2_session *session;
    uv_prepare_t prepare;
    uv_timer_t watch; /* the earliest deadline */
    uint64_t watch_ns, heard_ns;
    bool pinged;
    rlx_rpc_output_t output;
    rlx_rpc_request_t *open, *free_slots;
    uint32_t n_open, n_slots;
    uint8_t *input; /* INPUT_BYTES */
};

/* channel.c: the connection is of no use any more. Runs `done` of its requests. */
void rlx_rpc_channel_break(rlx_rpc_channel_t *channel, rlx_error_code_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rlx_rpc_channel_ready(rlx_rpc_channel_t *channel); /* the server's SETTINGS came */
void rlx_rpc_channel_drained(rlx_rpc_channel_t *channel); /* GOAWAY and the last request ended */
void rlx_rpc_channel_refuse_new(rlx_rpc_channel_t *channel); /* GOAWAY */

void rlx_rpc_channel_schedule(rlx_rpc_channel_t *channel); /* flush before the loop sleeps */
/* True when the channel goes on: nghttp2 returned, and nothing that it called has closed or broken the connection. Does what waited. */
bool rlx_rpc_channel_settle(rlx_rpc_channel_t *channel);

/* session.c */
rlx_status_t rlx_rpc_session_start(rlx_rpc_channel_t *channel, rlx_diag_t *diag);
void rlx_rpc_session_stop(rlx_rpc_channel_t *channel, rlx_status_t status, const char *why); /* ends every request */
void rlx_rpc_session_read(rlx_rpc_channel_t *channel);

/* request.c */
uint64_t rlx_rpc_deadline_ns(uint32_t ms); /* from now; 0: never */
void rlx_rpc_request_watch(rlx_rpc_channel_t *channel, uint64_t at_ns); /* looks at the deadlines no later than then */
/* Ends it, and the other end hears that we do not want it any more. */
void rlx_rpc_request_reset(rlx_rpc_request_t *request, rlx_status_t status, const char *text);
void rlx_rpc_request_end(rlx_rpc_request_t *request, rlx_status_t status, const char *text, bool untouched);

/* output.c */
int rlx_rpc_output_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source,
                        void *user);
/* The request's memory goes back to its caller: pieces not yet written are copied. */
void rlx_rpc_output_detach(rlx_rpc_channel_t *channel, rlx_rpc_request_t *request);
ssize_t rlx_rpc_output_ask(nghttp2_session *session, int32_t stream, uint8_t *to, size_t length, uint32_t *flags,
                           nghttp2_data_source *source, void *user);
void rlx_rpc_output_clear(rlx_rpc_channel_t *channel);

#endif
