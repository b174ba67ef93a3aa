/* One request and its answer: the body comes in, the handler runs, the answer leaves.
 *
 * libmicrohttpd calls the access handler when the headers are there, for each piece of the body, once when all is there, and again when a
 * suspended connection was resumed. A body that may not come in is thrown away and answered at its end, since an answer before it would be
 * lost with the reset that closing an unread socket causes; only what is far too long, or still waits for "100 Continue", is answered at
 * once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/clock.h"
#include "rpc/http/inside.h"

static rlx_http_exchange_t *connection_exchange(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info->socket_context;
}

static void phase_set(rlx_http_exchange_t *exchange, rlx_http_phase_t phase)
{
    exchange->phase = phase;
    exchange->since_ms = rlx_http_now_ms();
    exchange->moved = 0;
}

void *rlx_http_on_line(void *context, const char *uri, struct MHD_Connection *connection)
{
    rlx_http_exchange_t *exchange = connection_exchange(connection);

    (void)context;
    (void)uri;
    phase_set(exchange, HTTP_HEADERS);
    exchange->heard = false;
    exchange->begin_ns = rlx_clock_ns();
    return NULL; /* the access handler's first call is known by it */
}

/* The body's memory. */

void rlx_http_body_drop(rlx_http_exchange_t *exchange)
{
    rlx_http_t *http = exchange->http;

    if (exchange->body == NULL)
        return;
    http->bodies_bytes -= exchange->body_capacity;
    if (exchange->body_capacity == HTTP_BLOCK && http->n_spare < (int)(sizeof http->spare / sizeof *http->spare))
        http->spare[http->n_spare++] = exchange->body;
    else
        munmap(exchange->body, exchange->body_capacity);
    exchange->body = NULL;
    exchange->body_bytes = exchange->body_capacity = 0;
}

/* Memory for at least `bytes`, in all. Grows with what came, not with what was announced. */
static bool body_grow(rlx_http_exchange_t *exchange, size_t bytes)
{
    rlx_http_t *http = exchange->http;
    size_t capacity = exchange->body_capacity > 0 ? exchange->body_capacity : HTTP_BLOCK;
    void *body;

    while (capacity < bytes)
        capacity *= 2;
    if (http->bodies_bytes - exchange->body_capacity + capacity > http->options.bodies_bytes_max + HTTP_BLOCK)
        return false;
    if (exchange->body == NULL && capacity == HTTP_BLOCK && http->n_spare > 0)
        body = http->spare[--http->n_spare];
    else if (exchange->body == NULL)
        body = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        body = mremap(exchange->body, exchange->body_capacity, capacity, MREMAP_MAYMOVE);
    if (body == MAP_FAILED)
        return false;
    http->bodies_bytes += capacity - exchange->body_capacity;
    exchange->body = body;
    exchange->body_capacity = capacity;
    return true;
}

static void body_refuse(rlx_http_exchange_t *exchange, int code)
{
    rlx_http_body_drop(exchange);
    exchange->refusal = code;
    if (code == 413)
        exchange->http->counters.bodies_oversize++;
    else
        exchange->http->counters.bodies_refused++;
}

/* A piece of the body. False: too much even to throw away. */
static bool body_add(rlx_http_exchange_t *exchange, const char *data, size_t bytes)
{
    uint64_t limit = exchange->http->options.body_bytes_max;

    exchange->moved += bytes;
    if (exchange->refusal == 0 && exchange->moved > limit)
        body_refuse(exchange, 413);
    if (exchange->refusal == 0 && exchange->moved > exchange->body_capacity && !body_grow(exchange, exchange->moved))
        body_refuse(exchange, 503);
    if (exchange->refusal != 0)
        return exchange->moved <= 3 * limit + HTTP_BLOCK;
    memcpy(exchange->body + exchange->body_bytes, data, bytes);
    exchange->body_bytes += bytes;
    return true;
}

/* Answers. */

static enum MHD_Result answer_queue(rlx_http_exchange_t *exchange)
{
    struct MHD_Response *response = exchange->response;
    rlx_http_counters_t *counters = &exchange->http->counters;
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO; /* no memory for it: closed */
    counters->answers_2xx += exchange->code < 300;
    counters->answers_4xx += exchange->code >= 400 && exchange->code < 500;
    counters->answers_5xx += exchange->code >= 500;
    exchange->response = NULL;
    result = MHD_queue_response(exchange->connection, (unsigned int)exchange->code, response);
    MHD_destroy_response(response); /* the connection has its own reference */
    return result;
}

static void refusal_reply(rlx_http_exchange_t *exchange, uint64_t announced)
{
    static const rlx_http_field_t json = {"Content-Type", "application/json"};
    uint64_t limit = exchange->http->options.body_bytes_max;
    char *text = malloc(256);
    rlx_rpc_slice_t slice = {.data = text};

    if (text != NULL && exchange->refusal == 413)
        snprintf(text, 256,
                 "{\"error\":\"RLX-%d: the body has %" PRIu64 " bytes, the limit is %" PRIu64 "; send less, or raise the limit\"}",
                 RLX_E_REQUEST_LARGE, announced, limit);
    else if (text != NULL)
        snprintf(text, 256,
                 "{\"error\":\"RLX-%d: the bodies of the requests that are here take all of their %" PRIu64 " bytes; try again\"}",
                 RLX_E_SERVER_MEMORY, exchange->http->options.bodies_bytes_max);
    slice.bytes = text != NULL ? strlen(text) : 0;
    rlx_http_reply(exchange, exchange->refusal, &json, 1, &slice, 1, free, text);
}

void rlx_http_reply(rlx_http_exchange_t *exchange, int code, const rlx_http_field_t *fields, int n_fields, const rlx_rpc_slice_t *slices,
                    int n_slices, rlx_rpc_release_fn_t *release, void *context)
{
    rlx_http_t *http = exchange->http;
    struct MHD_IoVec vector[RLX_RPC_SLICES_MAX];

    RLX_ASSERT(!exchange->answered);
    RLX_ASSERT(n_slices <= RLX_RPC_SLICES_MAX);
    exchange->answered = true;
    exchange->code = code;
    phase_set(exchange, HTTP_REPLYING);
    for (int i = 0; i < n_slices; i++) {
        vector[i] = (struct MHD_IoVec){.iov_base = slices[i].data, .iov_len = slices[i].bytes};
        exchange->moved += slices[i].bytes;
    }
    exchange->response = MHD_create_response_from_iovec(vector, (unsigned int)n_slices, release, context);
    if (exchange->response == NULL && release != NULL)
        release(context);
    for (int i = 0; exchange->response != NULL && i < n_fields; i++)
        MHD_add_response_header(exchange->response, fields[i].name, fields[i].value);
    if (exchange->response != NULL && http->draining)
        MHD_add_response_header(exchange->response, "Connection", "close");
    if (!exchange->suspended)
        return; /* inside the access handler, which queues it */
    if (exchange->watched)
        epoll_ctl(http->watch_fd, EPOLL_CTL_DEL, exchange->fd, NULL);
    exchange->suspended = exchange->watched = false;
    http->n_processing--;
    MHD_resume_connection(exchange->connection);
    rlx_http_run(http);
}

void rlx_http_exchange_gone(rlx_http_exchange_t *exchange)
{
    rlx_http_t *http = exchange->http;

    if (exchange->gone)
        return;
    exchange->gone = true;
    http->counters.gone++;
    if (exchange->watched)
        epoll_ctl(http->watch_fd, EPOLL_CTL_DEL, exchange->fd, NULL);
    exchange->watched = false;
    if (http->options.gone != NULL)
        http->options.gone(http->options.service, exchange);
}

/* All is there. The handler may answer at once. */
static enum MHD_Result exchange_handle(rlx_http_exchange_t *exchange, uint64_t announced)
{
    rlx_http_t *http = exchange->http;
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = exchange};

    http->counters.requests++;
    phase_set(exchange, HTTP_PROCESSING);
    if (exchange->refusal != 0)
        refusal_reply(exchange, announced);
    else
        http->options.handler(http->options.service, exchange);
    if (exchange->answered)
        return answer_queue(exchange);
    MHD_suspend_connection(exchange->connection);
    exchange->suspended = true;
    exchange->watched = epoll_ctl(http->watch_fd, EPOLL_CTL_ADD, exchange->fd, &event) == 0;
    http->n_processing++;
    return MHD_YES;
}

static uint64_t length_announced(const rlx_http_exchange_t *exchange)
{
    const char *text = rlx_http_header(exchange, "Content-Length");

    return text != NULL ? strtoull(text, NULL, 10) : 0; /* libmicrohttpd refused what is no number */
}

/* The headers are there. */
static enum MHD_Result exchange_begin(rlx_http_exchange_t *exchange, const char *method, const char *path)
{
    uint64_t announced, limit = exchange->http->options.body_bytes_max;
    const char *expect = MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Expect");

    phase_set(exchange, HTTP_BODY);
    exchange->heard = true;
    exchange->method = method;
    exchange->path = path;
    announced = length_announced(exchange);
    if (announced <= limit)
        return MHD_YES;
    body_refuse(exchange, 413);
    if (announced <= 3 * limit && (expect == NULL || strcasecmp(expect, "100-continue") != 0))
        return MHD_YES;
    exchange->http->counters.requests++;
    refusal_reply(exchange, announced);
    return answer_queue(exchange);
}

enum MHD_Result rlx_http_on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                   const char *version, const char *data, size_t *data_bytes, void **request)
{
    rlx_http_exchange_t *exchange = *request;
    uint64_t announced;

    (void)context;
    (void)version;
    if (exchange == NULL) {
        exchange = *request = connection_exchange(connection);
        return exchange_begin(exchange, method, url);
    }
    if (*data_bytes > 0) {
        size_t bytes = *data_bytes;

        *data_bytes = 0;
        return body_add(exchange, data, bytes) ? MHD_YES : MHD_NO;
    }
    if (exchange->answered)
        return answer_queue(exchange); /* resumed */
    announced = length_announced(exchange);
    return exchange_handle(exchange, announced > 0 ? announced : exchange->moved);
}

void rlx_http_on_completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code)
{
    rlx_http_exchange_t *exchange = connection_exchange(connection);

    (void)context;
    (void)code;
    *request = NULL;
    exchange->http->counters.broken += exchange->phase == HTTP_BODY;
    if (exchange->response != NULL)
        MHD_destroy_response(exchange->response); /* made, and never queued */
    rlx_http_body_drop(exchange);
    exchange->response = NULL;
    exchange->context = NULL;
    exchange->refusal = 0;
    exchange->answered = exchange->gone = false;
    exchange->method = exchange->path = NULL;
    phase_set(exchange, HTTP_IDLE);
}

const char *rlx_http_method(const rlx_http_exchange_t *exchange) { return exchange->method; }

const char *rlx_http_path(const rlx_http_exchange_t *exchange) { return exchange->path; }

const char *rlx_http_query(const rlx_http_exchange_t *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *rlx_http_header(const rlx_http_exchange_t *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const void *rlx_http_body(const rlx_http_exchange_t *exchange, size_t *out_bytes)
{
    *out_bytes = exchange->body_bytes;
    return exchange->body != NULL ? exchange->body : "";
}

uint64_t rlx_http_begin_ns(const rlx_http_exchange_t *exchange) { return exchange->begin_ns; }

bool rlx_http_is_local(const rlx_http_exchange_t *exchange) { return exchange->local; }

void rlx_http_set_context(rlx_http_exchange_t *exchange, void *context) { exchange->context = context; }

void *rlx_http_context(const rlx_http_exchange_t *exchange) { return exchange->context; }
