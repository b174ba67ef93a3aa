/* Shared by http.c (the service: connections, time, the loop) and exchange.c (one request and its answer). */
#ifndef RLX_RPC_HTTP_INSIDE_H
#define RLX_RPC_HTTP_INSIDE_H

#include <microhttpd.h>

#include "rpc/http/http.h"

/* Where a connection is; each but PROCESSING has a time limit (http_due). */
typedef enum rlx_http_phase {
    HTTP_IDLE,       /* no request line yet */
    HTTP_HEADERS,    /* request line is here */
    HTTP_BODY,       /* headers are here */
    HTTP_PROCESSING, /* with the handler */
    HTTP_REPLYING,   /* answer is leaving */
} rlx_http_phase_t;

/* A connection and its request of now: HTTP/1.1 has one at a time. Lives from adopt until libmicrohttpd closes the connection, which it
 * cannot while the request is with the handler (it is suspended). */
struct rlx_http_exchange {
    rlx_http_t *http;
    struct MHD_Connection *connection;
    int fd;
    bool local;
    struct rlx_http_exchange *next, *previous; /* open ones, or the free list (next only) */

    rlx_http_phase_t phase;
    uint64_t since_ms, begin_ns;
    uint64_t moved; /* bytes of the body that came, or of the answer (assumed to leave) */
    const char *method, *path;
    char *body;
    size_t body_bytes, body_capacity;
    int refusal; /* HTTP code for a body that is being thrown away, or 0 */
    void *context;

    struct MHD_Response *response;
    int code;
    bool answered, suspended, watched, gone;
    bool heard; /* the head of its last request was whole */
};

struct rlx_http {
    rlx_http_options_t options;
    struct MHD_Daemon *daemon;
    rlx_http_exchange_t *exchanges; /* connections_max */
    rlx_http_exchange_t *free_list, *open_list;
    uint32_t n_open, n_processing;
    uint64_t bodies_bytes; /* capacity of all bodies */
    void *spare[16];       /* blocks of HTTP_BLOCK bytes, kept for the next bodies */
    int n_spare;
    bool running, again, draining, closing, stopped;

    uv_poll_t poll;  /* libmicrohttpd's epoll descriptor */
    uv_poll_t watch; /* ours: tells when the peer of a suspended connection leaves */
    int watch_fd;
    uv_timer_t timer; /* libmicrohttpd's next deadline */
    uv_timer_t sweep; /* ours, each second while connections are open */
    int handles;      /* open ones */
    void (*done)(void *context);
    void *done_context;
    rlx_http_counters_t counters;
};

#define HTTP_BLOCK ((size_t)256 << 10)

/* Lets libmicrohttpd work and arms the timer for what it asks next. Callable from anywhere: inside its own callbacks it only asks for
 * another round. */
void rlx_http_run(rlx_http_t *http);
/* After the last answer of a service that closes: stops. */
void rlx_http_finish(rlx_http_t *http);
uint64_t rlx_http_now_ms(void);

/* libmicrohttpd's callbacks (exchange.c). */
void *rlx_http_on_line(void *context, const char *uri, struct MHD_Connection *connection);
enum MHD_Result rlx_http_on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                   const char *version, const char *data, size_t *data_bytes, void **request);
void rlx_http_on_completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code);
/* The peer of a suspended exchange left. */
void rlx_http_exchange_gone(rlx_http_exchange_t *exchange);
/* Gives the body's memory back. */
void rlx_http_body_drop(rlx_http_exchange_t *exchange);

#endif
