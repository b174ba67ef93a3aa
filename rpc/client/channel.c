/* The life of a channel: resolve, connect, shake hands, serve, break, wait, again. */
#include "rpc/client/channel.h"

#include "rpc/tls/context.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/assert.h"

const rlx_rpc_channel_options_t rlx_rpc_channel_defaults = {
    .connect_ms = 5000,
    .backoff_min_ms = 100,
    .backoff_max_ms = 10000,
    .requests_max = 1024,
    .message_bytes_max = UINT32_MAX,
    .window_bytes = 16 << 20,
    .keepalive_ms = 20000,
};

static void attempt_start(rlx_rpc_channel_t *channel);
static void address_try(rlx_rpc_channel_t *channel);

/* ---- the end ---- */

static void channel_free(rlx_rpc_channel_t *channel)
{
    void (*closed)(void *context) = channel->closed;
    void *context = channel->closed_context;

    while (channel->free_slots != NULL) {
        rlx_rpc_request_t *slot = channel->free_slots;

        channel->free_slots = slot->next;
        free(slot);
    }
    if (channel->addresses != NULL)
        uv_freeaddrinfo(channel->addresses);
    SSL_CTX_free(channel->tls);
    free(channel->input);
    free(channel);
    if (closed != NULL)
        closed(context);
}

static void handle_gone(rlx_rpc_channel_t *channel)
{
    if (--channel->handles == 0)
        channel_free(channel);
}

static void link_gone(void *context) { handle_gone(context); }
static void timer_gone(uv_handle_t *handle) { handle_gone(handle->data); }

static void wire_drop(rlx_rpc_channel_t *channel)
{
    rlx_rpc_link_t *link = channel->wire;

    channel->wire = NULL;
    if (link != NULL)
        rlx_rpc_link_close(link, link_gone, channel);
}

static void close_now(rlx_rpc_channel_t *channel)
{
    if (channel->session != NULL)
        rlx_rpc_session_stop(channel, RLX_CANCELLED, "the client is closed");
    wire_drop(channel);
    if (channel->resolving)
        uv_cancel((uv_req_t *)&channel->resolve);
    uv_close((uv_handle_t *)&channel->life, timer_gone);
    uv_close((uv_handle_t *)&channel->watch, timer_gone);
    uv_close((uv_handle_t *)&channel->prepare, timer_gone);
}

void rlx_rpc_channel_close(rlx_rpc_channel_t *channel, void (*closed)(void *context), void *context)
{
    RLX_ASSERT(!channel->closing);
    channel->closing = true;
    channel->state = RLX_RPC_CLOSED;
    channel->closed = closed;
    channel->closed_context = context;
    if (!channel->in_session)
        close_now(channel);
}

bool rlx_rpc_channel_settle(rlx_rpc_channel_t *channel)
{
    RLX_ASSERT(!channel->in_session);
    if (channel->closing) {
        close_now(channel);
        return false;
    }
    if (channel->broken) {
        rlx_rpc_channel_break(channel, RLX_E_CONNECT, "the connection is of no use any more");
        return false;
    }
    return channel->session != NULL;
}

/* ---- failing, and the next attempt ---- */

/* The one place that changes the state. */
static void state_set(rlx_rpc_channel_t *channel, rlx_rpc_channel_state_t state)
{
    if (channel->closing || channel->state == state)
        return;
    channel->state = state;
    if (channel->options.changed != NULL)
        channel->options.changed(channel->options.context, channel, state, &channel->diag);
}

static void life_fired(uv_timer_t *timer)
{
    rlx_rpc_channel_t *channel = timer->data;

    if (channel->state == RLX_RPC_CONNECTING)
        rlx_rpc_channel_break(channel, RLX_E_CONNECT, "no connection within %u ms", channel->options.connect_ms);
    else if (channel->state == RLX_RPC_BACKOFF && channel->wire == NULL && !channel->resolving)
        attempt_start(channel);
}

/* Doubled with every failure, and up to a quarter off so that clients of a server that comes back do not all come at once. */
static uint64_t backoff_ms(const rlx_rpc_channel_t *channel)
{
    uint64_t ms = channel->options.backoff_min_ms;

    for (uint32_t i = 1; i < channel->failures && ms < channel->options.backoff_max_ms; i++)
        ms *= 2;
    if (ms > channel->options.backoff_max_ms)
        ms = channel->options.backoff_max_ms;
    return ms - (uv_hrtime() / 1024) % (ms / 4 + 1);
}

void rlx_rpc_channel_break(rlx_rpc_channel_t *channel, rlx_error_code_t code, const char *format, ...)
{
    char text[800];
    va_list arguments;
    rlx_diag_t why = {0};

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (channel->in_session) {
        if (!channel->broken)
            rlx_fail(&channel->diag, code, "%s", text);
        channel->broken = true;
        return;
    }
    if (!channel->broken)
        rlx_fail(&why, code, "%s", text);
    else if (channel->diag.code != RLX_E_NONE)
        why = channel->diag; /* what broke it inside of nghttp2 */
    else
        rlx_fail(&why, code, "%s", text);
    channel->diag = why;
    channel->broken = channel->draining = false;
    channel->failures++;
    wire_drop(channel);
    uv_timer_start(&channel->life, life_fired, backoff_ms(channel), 0);
    state_set(channel, RLX_RPC_BACKOFF);
    if (channel->session != NULL) {
        snprintf(text, sizeof text, "RLX-%d: %s", channel->diag.code, channel->diag.message);
        rlx_rpc_session_stop(channel, RLX_UNAVAILABLE, text);
    }
}

void rlx_rpc_channel_refuse_new(rlx_rpc_channel_t *channel)
{
    if (channel->draining)
        return;
    channel->draining = true;
    channel->diag = (rlx_diag_t){0};
    rlx_fail(&channel->diag, RLX_E_CONNECT, "the server is stopping");
    state_set(channel, RLX_RPC_BACKOFF);
    if (channel->n_open == 0)
        rlx_rpc_channel_drained(channel);
}

void rlx_rpc_channel_drained(rlx_rpc_channel_t *channel)
{
    rlx_rpc_channel_break(channel, RLX_E_CONNECT, "the server is stopping");
}

void rlx_rpc_channel_hurry(rlx_rpc_channel_t *channel)
{
    uint64_t since_ms = (uv_hrtime() - channel->attempt_ns) / 1000000, least_ms = channel->options.backoff_min_ms;
    uint64_t wait_ms = since_ms >= least_ms ? 0 : least_ms - since_ms;

    if (channel->state != RLX_RPC_BACKOFF || channel->draining)
        return;
    uv_update_time(channel->options.loop);
    if (uv_timer_get_due_in(&channel->life) > wait_ms)
        uv_timer_start(&channel->life, life_fired, wait_ms, 0);
}

/* ---- connecting ---- */

/* The connection is made: the session begins. READY when the server's SETTINGS are there. */
static void link_done(rlx_rpc_channel_t *channel)
{
    rlx_diag_t diag = {0};

    if (rlx_rpc_session_start(channel, &diag) != RLX_OK)
        rlx_rpc_channel_break(channel, diag.code, "%s", diag.message);
    else {
        channel->wire->events = 0; /* from now on the session's own callback */
        rlx_rpc_channel_flush(channel);
    }
}

static void link_progress(uv_poll_t *poll, int status, int events)
{
    rlx_rpc_link_t *link = (rlx_rpc_link_t *)poll;
    rlx_rpc_channel_t *channel = link->owner;
    rlx_diag_t diag = {0};

    (void)status, (void)events; /* the socket itself says what is wrong */
    if (rlx_rpc_link_step(link, &diag) != RLX_OK) {
        wire_drop(channel);
        channel->diag = diag;
        if (channel->address != NULL)
            channel->address = channel->address->ai_next;
        address_try(channel);
    } else if (link->ready)
        link_done(channel);
    else
        rlx_rpc_link_wait(link, SSL_want_write(link->ssl), link_progress);
}

static rlx_status_t link_begin(rlx_rpc_channel_t *channel, const struct sockaddr *address, socklen_t bytes, rlx_diag_t *diag)
{
    RLX_TRY(rlx_rpc_link_open(channel->options.loop, address, bytes, channel->tls,
                              channel->options.tls.insecure ? NULL : channel->server_name, &channel->wire, diag));
    channel->wire->owner = channel;
    channel->handles++;
    rlx_rpc_link_wait(channel->wire, true, link_progress);
    return RLX_OK;
}

/* The next address of the list; after the last the attempt has failed. */
static void address_try(rlx_rpc_channel_t *channel)
{
    rlx_diag_t diag = channel->diag;

    for (; channel->address != NULL; channel->address = channel->address->ai_next) {
        diag = (rlx_diag_t){0};
        if (link_begin(channel, channel->address->ai_addr, channel->address->ai_addrlen, &diag) == RLX_OK)
            return;
    }
    rlx_rpc_channel_break(channel, diag.code != RLX_E_NONE ? diag.code : RLX_E_CONNECT, "%s",
                          diag.message[0] != '\0' ? diag.message : "the host has no address");
}

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    rlx_rpc_channel_t *channel = request->data;

    channel->resolving = false;
    if (channel->closing || channel->state != RLX_RPC_CONNECTING) {
        if (addresses != NULL)
            uv_freeaddrinfo(addresses);
    } else if (status != 0)
        rlx_rpc_channel_break(channel, RLX_E_CONNECT, "host '%s' is not known: %s", channel->options.endpoint.host, uv_strerror(status));
    else {
        channel->addresses = channel->address = addresses;
        address_try(channel);
    }
    handle_gone(channel);
}

static void attempt_unix(rlx_rpc_channel_t *channel)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    rlx_diag_t diag = {0};

    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", channel->options.endpoint.host);
    if (link_begin(channel, (struct sockaddr *)&address, sizeof address, &diag) != RLX_OK)
        rlx_rpc_channel_break(channel, diag.code, "%s", diag.message);
}

static void attempt_tcp(rlx_rpc_channel_t *channel)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char port[16];
    int failed;

    if (channel->addresses != NULL)
        uv_freeaddrinfo(channel->addresses);
    channel->addresses = channel->address = NULL;
    snprintf(port, sizeof port, "%d", channel->options.endpoint.port);
    channel->resolve.data = channel;
    failed = uv_getaddrinfo(channel->options.loop, &channel->resolve, resolved, channel->options.endpoint.host, port, &wanted);
    if (failed != 0) {
        rlx_rpc_channel_break(channel, RLX_E_CONNECT, "cannot look up host '%s': %s", channel->options.endpoint.host, uv_strerror(failed));
        return;
    }
    channel->resolving = true;
    channel->handles++;
}

static void attempt_start(rlx_rpc_channel_t *channel)
{
    channel->attempt_ns = uv_hrtime();
    channel->diag = (rlx_diag_t){0};
    uv_update_time(channel->options.loop);
    uv_timer_start(&channel->life, life_fired, channel->options.connect_ms, 0);
    state_set(channel, RLX_RPC_CONNECTING);
    if (channel->closing)
        return;
    if (channel->options.endpoint.kind == RLX_RPC_UNIX)
        attempt_unix(channel);
    else
        attempt_tcp(channel);
}

void rlx_rpc_channel_ready(rlx_rpc_channel_t *channel)
{
    channel->failures = 0;
    uv_timer_stop(&channel->life);
    state_set(channel, RLX_RPC_READY);
}

/* ---- create ---- */

static void prepare_fired(uv_prepare_t *prepare) { rlx_rpc_channel_flush(prepare->data); }

void rlx_rpc_channel_schedule(rlx_rpc_channel_t *channel)
{
    if (!channel->closing)
        uv_prepare_start(&channel->prepare, prepare_fired);
}

static void first_attempt(uv_timer_t *timer) { attempt_start(timer->data); }

static void authority_make(rlx_rpc_channel_t *channel)
{
    const rlx_rpc_endpoint_t *endpoint = &channel->options.endpoint;
    const char *name = channel->options.tls.server_name != NULL ? channel->options.tls.server_name : endpoint->host;

    snprintf(channel->server_name, sizeof channel->server_name, "%.255s", name);
    if (endpoint->kind == RLX_RPC_UNIX)
        snprintf(channel->authority, sizeof channel->authority, "localhost");
    else
        snprintf(channel->authority, sizeof channel->authority, strchr(endpoint->host, ':') != NULL ? "[%s]:%d" : "%s:%d", endpoint->host,
                 endpoint->port);
}

rlx_status_t rlx_rpc_channel_create(const rlx_rpc_channel_options_t *options, rlx_rpc_channel_t **out_channel, rlx_diag_t *diag)
{
    rlx_rpc_channel_t *channel = calloc(1, sizeof *channel);

    if (channel == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    channel->options = *options;
    authority_make(channel);
    if (options->endpoint.kind == RLX_RPC_TLS && rlx_rpc_tls_client_context(&options->tls, "h2", &channel->tls, diag) != RLX_OK) {
        free(channel);
        return diag != NULL ? diag->status : RLX_FAILED_PRECONDITION;
    }
    channel->options.tls.ca = channel->options.tls.certificate = channel->options.tls.key = channel->options.tls.server_name = NULL;
    channel->watch_ns = UINT64_MAX;
    channel->state = RLX_RPC_CONNECTING;
    uv_timer_init(options->loop, &channel->life);
    uv_timer_init(options->loop, &channel->watch);
    uv_prepare_init(options->loop, &channel->prepare);
    channel->life.data = channel->watch.data = channel->prepare.data = channel;
    channel->handles = 3;
    uv_timer_start(&channel->life, first_attempt, 0, 0); /* callbacks only from the loop, never before create returned */
    *out_channel = channel;
    return RLX_OK;
}

rlx_rpc_channel_state_t rlx_rpc_channel_state(const rlx_rpc_channel_t *channel) { return channel->state; }
uint32_t rlx_rpc_channel_requests(const rlx_rpc_channel_t *channel) { return channel->n_open; }
