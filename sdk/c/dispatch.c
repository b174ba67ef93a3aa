/* Which endpoint a call goes to, when it waits, and when it is tried again. On the driver only.
 *
 * The ready endpoint with the fewest open requests, not tried by this call; among equals in turn. None ready: the call waits while some
 * endpoint may still become ready within its connect limit; endpoints that are resting are woken once. An attempt that failed since the
 * call was born counts as tried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sdk/c/client.h"

#define NS_PER_MS 1000000ull

enum { CHOICE_WAIT = -1, CHOICE_HOPELESS = -2 };

static bool endpoint_allowed(const rlx_client_call_t *call, int index)
{
    if (call->stream != NULL && call->stream->rpc != NULL && call->stream->endpoint != index)
        return false; /* where the stream is */
    return (call->pinned < 0 || call->pinned == index) && (call->tried >> index & 1) == 0;
}

static int endpoint_choose(const rlx_client_call_t *call)
{
    rlx_client_t *client = call->client;
    int best = CHOICE_HOPELESS;

    for (int i = 0; i < client->n_endpoints; i++) {
        int index = (client->next_endpoint + i) % client->n_endpoints;
        rlx_sdk_endpoint_t *endpoint = &client->endpoints[index];

        if (!endpoint_allowed(call, index))
            continue;
        if (endpoint->state == RLX_RPC_READY) {
            if (best < 0 || endpoint->n_open < client->endpoints[best].n_open)
                best = index;
        } else if (best < 0 && (endpoint->state == RLX_RPC_CONNECTING || endpoint->failed_ns < call->born_ns)) {
            rlx_rpc_channel_hurry(endpoint->channel);
            best = CHOICE_WAIT;
        }
    }
    if (best >= 0)
        client->next_endpoint = (best + 1) % client->n_endpoints;
    return best;
}

/* ---- the end of a call ---- */

void rlx_sdk_call_finish(rlx_client_call_t *call, rlx_status_t status, const rlx_diag_t *diag)
{
    rlx_client_t *client = call->client;
    rlx_client_stream_t *stream = call->stream;
    rlx_client_done_fn_t *on_done;

    RLX_ASSERT(call->state != RLX_SDK_DONE);
    call->state = RLX_SDK_DONE;
    call->rpc = NULL;
    call->stream = NULL;
    if (status == RLX_OK)
        call->error.status = call->error.code = 0;
    else if (diag != NULL)
        rlx_sdk_error(&call->error, status, diag);
    pthread_mutex_lock(&client->mutex);
    client->n_open--;
    on_done = call->on_done;
    client->callback = on_done != NULL ? call : NULL;
    call->done = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&client->mutex);
    if (on_done != NULL) {
        on_done(call->context, call); /* may have freed the call */
        pthread_mutex_lock(&client->mutex);
        client->callback = NULL;
        pthread_cond_broadcast(&client->callback_over);
        pthread_mutex_unlock(&client->mutex);
    }
    if (stream != NULL)
        rlx_sdk_stream_left(stream);
}

static void call_fail(rlx_client_call_t *call, rlx_error_code_t code, const char *text)
{
    rlx_diag_t diag = {0};
    rlx_status_t status = rlx_fail(&diag, code, "%s", text);

    rlx_sdk_call_finish(call, status, &diag);
}

/* No endpoint will do: what is wrong with each. */
static void call_fail_unreachable(rlx_client_call_t *call, rlx_error_code_t code, const char *what)
{
    rlx_client_t *client = call->client;
    char text[768];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", what);

    for (int i = 0; i < client->n_endpoints && at < sizeof text; i++) {
        const rlx_sdk_endpoint_t *endpoint = &client->endpoints[i];

        if (call->pinned >= 0 && call->pinned != i)
            continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %s: %s", i > 0 ? ";" : ":", endpoint->url,
                               endpoint->why[0] != '\0' ? endpoint->why : "no answer yet");
    }
    call_fail(call, code, text);
}

/* ---- an attempt ---- */

static uint32_t ms_left(uint64_t until_ns, uint64_t now_ns)
{
    uint64_t ms = until_ns <= now_ns ? 1 : (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;

    return until_ns == UINT64_MAX ? 0 : ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static void patience_arm(rlx_client_t *client);

/* It could not begin there: as an attempt that ended before the server saw it. */
static void call_open_fail(rlx_client_call_t *call, const rlx_diag_t *diag)
{
    const rlx_rpc_end_t end = {.status = diag->status, .message = diag->message, .untouched = true};

    call->rpc = NULL;
    call->client->endpoints[call->endpoint].n_open++; /* as if it had begun */
    rlx_sdk_call_ended(call, &end);
}

static void call_open_on_stream(rlx_client_call_t *call, int index)
{
    rlx_diag_t diag = {0};

    call->tried |= (uint64_t)1 << index;
    call->endpoint = index;
    call->reading = RLX_CANCELLED; /* until a message came */
    call->diag = (rlx_diag_t){0};
    if (rlx_sdk_stream_send(call, index, &diag) != RLX_OK) {
        call_open_fail(call, &diag);
        return;
    }
    call->state = RLX_SDK_OPEN;
    call->client->endpoints[index].n_open++;
    if (!uv_is_active((uv_handle_t *)&call->client->patience) ||
        ms_left(call->deadline_ns, uv_hrtime()) < uv_timer_get_due_in(&call->client->patience))
        patience_arm(call->client);
}

static void call_open(rlx_client_call_t *call, int index)
{
    rlx_sdk_endpoint_t *endpoint = &call->client->endpoints[index];
    const rlx_rpc_timeouts_t timeouts = {.total_ms = ms_left(call->deadline_ns, uv_hrtime()),
                                         .transfer_ms = call->timeouts.transfer_ms,
                                         .compute_ms = call->timeouts.compute_ms};
    rlx_diag_t diag = {0};

    call->tried |= (uint64_t)1 << index;
    call->endpoint = index;
    call->reading = RLX_CANCELLED; /* until a message came */
    call->diag = (rlx_diag_t){0};
    if (rlx_rpc_request_begin(endpoint->channel, call->path, &timeouts, call->is_ask ? &rlx_sdk_ask_ops : &rlx_sdk_infer_ops, call,
                              &call->rpc, &diag) != RLX_OK) {
        call_open_fail(call, &diag);
        return;
    }
    call->state = RLX_SDK_OPEN;
    endpoint->n_open++;
    call->message = (rlx_rpc_message_t){.slices = call->is_ask ? &call->ask_slice : call->request.slices,
                                        .n_slices = call->is_ask ? 1 : call->request.n_slices};
    rlx_rpc_request_send(call->rpc, &call->message);
    rlx_rpc_request_half_close(call->rpc);
}

static void waiting_add(rlx_client_call_t *call)
{
    rlx_client_call_t **end = &call->client->waiting;

    while (*end != NULL)
        end = &(*end)->next;
    call->next = NULL;
    call->state = RLX_SDK_WAITING;
    *end = call;
}

static void waiting_remove(rlx_client_call_t *call)
{
    rlx_client_call_t **at = &call->client->waiting;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

static void patience_arm(rlx_client_t *client)
{
    uint64_t first_ns = rlx_sdk_streams_due(client), now_ns = uv_hrtime();

    for (rlx_client_call_t *call = client->waiting; call != NULL; call = call->next) {
        uint64_t at_ns = call->connect_ns < call->deadline_ns ? call->connect_ns : call->deadline_ns;

        first_ns = at_ns < first_ns ? at_ns : first_ns;
    }
    uv_update_time(&client->loop);
    if (first_ns == UINT64_MAX)
        uv_timer_stop(&client->patience);
    else
        uv_timer_start(&client->patience, rlx_sdk_patience_fired, ms_left(first_ns, now_ns), 0);
}

/* Not in any list. Opens it, lets it wait, or ends it. */
static void call_place(rlx_client_call_t *call)
{
    int index = endpoint_choose(call);

    if (index >= 0 && call->stream != NULL)
        call_open_on_stream(call, index);
    else if (index >= 0)
        call_open(call, index);
    else if (index == CHOICE_WAIT) {
        waiting_add(call);
        patience_arm(call->client);
    } else
        call_fail_unreachable(call, RLX_E_CONNECT, "no endpoint can be reached");
}

static bool may_repeat(rlx_client_call_t *call, const rlx_rpc_end_t *end)
{
    uint64_t all = call->pinned >= 0 ? (uint64_t)1 << call->pinned : UINT64_MAX >> (64 - call->client->n_endpoints);

    if (end->status == RLX_OK || uv_hrtime() >= call->deadline_ns || call->client->closing || call->cancel_wanted)
        return false;
    if (!end->untouched && !(end->status == RLX_UNAVAILABLE && call->repeatable))
        return false;
    if ((call->tried & all) != all)
        return true;
    if (!(end->untouched || end->lost) || call->second_round)
        return false;
    /* Every endpoint had it, and the last one never saw it or went away (a server that was restarted): once more, as if it were new. */
    call->second_round = true;
    call->tried = 0;
    call->born_ns = uv_hrtime();
    return true;
}

void rlx_sdk_call_ended(rlx_client_call_t *call, const rlx_rpc_end_t *end)
{
    rlx_client_t *client = call->client;
    rlx_sdk_endpoint_t *endpoint = &client->endpoints[call->endpoint];
    bool repeat;

    endpoint->n_open--;
    pthread_mutex_lock(&client->mutex);
    repeat = may_repeat(call, end);
    client->retries += repeat;
    if (end->status == RLX_OK)
        endpoint->answered++;
    else
        endpoint->failed++;
    pthread_mutex_unlock(&client->mutex);
    call->rpc = NULL;
    if (repeat)
        call_place(call);
    else if (end->status != RLX_OK) {
        rlx_sdk_error_told(end, &call->error);
        rlx_sdk_call_finish(call, end->status, NULL);
    } else if (call->reading != RLX_OK && call->diag.code == RLX_E_NONE)
        call_fail(call, RLX_E_ANSWER_MALFORMED, "the answer has no message");
    else
        rlx_sdk_call_finish(call, call->reading, &call->diag);
}

/* ---- events ---- */

void rlx_sdk_call_cancel_now(rlx_client_call_t *call)
{
    if (call->state == RLX_SDK_OPEN && call->stream != NULL)
        rlx_sdk_stream_cancel(call);
    else if (call->state == RLX_SDK_OPEN)
        rlx_rpc_request_cancel(call->rpc); /* comes back as the attempt's end */
    else if (call->state == RLX_SDK_WAITING) {
        waiting_remove(call);
        call_fail(call, RLX_E_CANCELLED, "cancelled by the caller");
    }
}

/* One at a time: a callback may free any call, also one that is next here. */
static rlx_client_call_t *arrived_take(rlx_client_t *client)
{
    rlx_client_call_t *call;

    pthread_mutex_lock(&client->mutex);
    call = client->arrived;
    if (call != NULL) {
        client->arrived = call->next;
        if (client->arrived == NULL)
            client->arrived_end = &client->arrived;
        call->arrived = false;
    }
    pthread_mutex_unlock(&client->mutex);
    return call;
}

static rlx_client_call_t *cancel_take(rlx_client_t *client)
{
    rlx_client_call_t *call;

    pthread_mutex_lock(&client->mutex);
    call = client->cancels;
    if (call != NULL)
        client->cancels = call->cancel_next;
    pthread_mutex_unlock(&client->mutex);
    return call;
}

void rlx_sdk_dispatch_arrived(rlx_client_t *client)
{
    for (rlx_client_call_t *call; (call = arrived_take(client)) != NULL;)
        call_place(call);
    for (rlx_client_call_t *call; (call = cancel_take(client)) != NULL;)
        rlx_sdk_call_cancel_now(call);
    rlx_sdk_streams_close(client);
}

static void waiting_look(rlx_client_call_t *call, uint64_t now_ns)
{
    char text[96];

    waiting_remove(call);
    if (now_ns < call->deadline_ns && now_ns < call->connect_ns) {
        call_place(call);
        return;
    }
    if (now_ns >= call->deadline_ns)
        snprintf(text, sizeof text, "the timeout of %u ms ran out while connecting", call->timeouts.total_ms);
    else
        snprintf(text, sizeof text, "no endpoint was ready within the connect limit of %u ms", call->timeouts.connect_ms);
    call_fail_unreachable(call, RLX_E_CLIENT_TIMEOUT, text);
}

void rlx_sdk_dispatch_waiting(rlx_client_t *client)
{
    uint64_t now_ns = uv_hrtime();
    uint32_t round = ++client->round;
    rlx_client_call_t *call = client->waiting;

    /* From the front after each, since the list may have become another one; those of this round are skipped. */
    while (call != NULL) {
        if (call->round == round) {
            call = call->next;
            continue;
        }
        call->round = round;
        waiting_look(call, now_ns);
        call = client->waiting;
    }
}

void rlx_sdk_dispatch_close(rlx_client_t *client)
{
    rlx_client_call_t *call;

    pthread_mutex_lock(&client->mutex);
    client->driven = true;
    client->driver = pthread_self();
    pthread_mutex_unlock(&client->mutex);
    while ((call = arrived_take(client)) != NULL)
        call_fail(call, RLX_E_CANCELLED, "the client is closed");
    while ((call = client->waiting) != NULL) {
        waiting_remove(call);
        call_fail(call, RLX_E_CANCELLED, "the client is closed");
    }
}

void rlx_sdk_patience_fired(uv_timer_t *timer)
{
    rlx_sdk_dispatch_waiting(timer->data);
    rlx_sdk_streams_expire(timer->data, uv_hrtime());
    patience_arm(timer->data);
}

void rlx_sdk_channel_changed(void *context, rlx_rpc_channel_t *channel, rlx_rpc_channel_state_t state, const rlx_diag_t *diag)
{
    rlx_sdk_endpoint_t *endpoint = context;
    bool closing;

    (void)channel;
    pthread_mutex_lock(&endpoint->client->mutex);
    endpoint->state = state;
    if (state == RLX_RPC_READY)
        endpoint->why[0] = '\0';
    if (state == RLX_RPC_BACKOFF) {
        endpoint->failed_ns = uv_hrtime();
        snprintf(endpoint->why, sizeof endpoint->why, "%.500s", diag->message);
    }
    closing = endpoint->client->closing;
    pthread_mutex_unlock(&endpoint->client->mutex);
    if (state != RLX_RPC_CONNECTING && !closing)
        rlx_sdk_dispatch_waiting(endpoint->client);
}
