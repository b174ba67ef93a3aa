/* Calls, as their users see them: taken, submitted, waited for, read, freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/message/datatype.h"
#include "sdk/c/client.h"

#define NS_PER_MS 1000000ull

/* ---- the pool ---- */

static rlx_client_call_t *call_create(rlx_client_t *client)
{
    rlx_client_call_t *call = calloc(1, sizeof *call);
    pthread_condattr_t monotonic;

    if (call == NULL)
        return NULL;
    call->client = client;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&call->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rlx_infer_request_init(&call->request);
    rlx_infer_answer_init(&call->reader);
    rlx_text_init(&call->ask, 65536);
    rlx_text_init(&call->answer, RLX_ADMIN_ANSWER_MAX);
    return call;
}

rlx_client_call_t *rlx_sdk_call_take(rlx_client_t *client)
{
    rlx_client_call_t *call;

    pthread_mutex_lock(&client->mutex);
    call = client->pool;
    if (call != NULL) {
        client->pool = call->next;
        client->n_pool--;
    }
    pthread_mutex_unlock(&client->mutex);
    if (call == NULL)
        call = call_create(client);
    if (call == NULL)
        return NULL;
    atomic_fetch_add(&client->references, 1);
    call->next = call->cancel_next = NULL;
    call->arrived = call->done = call->cancel_wanted = call->second_round = false;
    call->state = RLX_SDK_IDLE;
    call->n_wanted = 0;
    call->tried = 0;
    call->round = 0;
    call->pinned = call->endpoint = -1;
    call->rpc = NULL;
    call->on_done = NULL;
    call->stream = NULL;
    call->orphaned = false;
    call->reader.n_outputs = 0;
    call->reader.device = call->reader.version = call->reader.id = "";
    call->reader.queue_ns = call->reader.kernel_ns = 0;
    call->error.status = call->error.code = 0;
    call->error.text[0] = '\0';
    return call;
}

void rlx_sdk_call_destroy(rlx_client_call_t *call)
{
    rlx_infer_request_fini(&call->request);
    rlx_infer_answer_fini(&call->reader);
    rlx_text_fini(&call->ask);
    rlx_text_fini(&call->answer);
    for (int i = 0; i < call->n_buffers; i++)
        free(call->buffers[i].data);
    free(call->buffers);
    pthread_cond_destroy(&call->changed);
    free(call);
}

static void wanted_clear(rlx_client_call_t *call)
{
    for (int i = 0; i < call->n_wanted; i++)
        free(call->wanted[i].name);
    call->n_wanted = 0;
}

void rlx_sdk_call_put(rlx_client_call_t *call)
{
    rlx_client_t *client = call->client;
    uint64_t bytes = 0;

    wanted_clear(call);
    free(call->user_id);
    call->user_id = NULL;
    for (int i = 0; i < call->n_buffers; i++) {
        bytes += call->buffers[i].capacity;
        if (bytes > RLX_SDK_BYTES_KEPT) {
            bytes -= call->buffers[i].capacity;
            free(call->buffers[i].data);
            call->buffers[i] = (rlx_sdk_buffer_t){0};
        }
    }
    pthread_mutex_lock(&client->mutex);
    if (client->n_pool < RLX_SDK_CALLS_KEPT) {
        call->next = client->pool;
        client->pool = call;
        client->n_pool++;
        call = NULL;
    }
    pthread_mutex_unlock(&client->mutex);
    if (call != NULL)
        rlx_sdk_call_destroy(call);
    rlx_sdk_client_release(client);
}

/* ---- submitting ---- */

static uint32_t limit(uint32_t asked, uint32_t usual) { return asked != 0 ? asked : usual; }

rlx_status_t rlx_sdk_call_submit(rlx_client_call_t *call, const rlx_client_timeouts_t *timeouts, rlx_diag_t *diag)
{
    rlx_client_t *client = call->client;
    uint64_t now_ns = uv_hrtime();
    bool full, closing;

    call->timeouts = (rlx_client_timeouts_t){
        .total_ms = limit(timeouts->total_ms, client->timeouts.total_ms),
        .connect_ms = limit(timeouts->connect_ms, client->timeouts.connect_ms),
        .transfer_ms = limit(timeouts->transfer_ms, client->timeouts.transfer_ms),
        .compute_ms = limit(timeouts->compute_ms, client->timeouts.compute_ms),
    };
    call->born_ns = now_ns;
    call->deadline_ns = now_ns + call->timeouts.total_ms * NS_PER_MS;
    call->connect_ns = now_ns + call->timeouts.connect_ms * NS_PER_MS;
    pthread_mutex_lock(&client->mutex);
    full = client->n_open >= client->in_flight_max;
    closing = client->closing;
    if (!full && !closing) {
        client->n_open++;
        call->arrived = true;
        *client->arrived_end = call;
        client->arrived_end = &call->next;
        rlx_sdk_nudge(client, call->on_done != NULL);
    }
    pthread_mutex_unlock(&client->mutex);
    if (closing)
        return rlx_fail(diag, RLX_E_CANCELLED, "the client is closed");
    if (full)
        return rlx_fail(diag, RLX_E_QUEUE_FULL, "%u calls are open, the client's limit (in_flight_max)", client->in_flight_max);
    return RLX_OK;
}

rlx_status_t rlx_sdk_infer_submit(rlx_client_t *client, rlx_client_stream_t *stream, const rlx_client_request_t *given,
                                  rlx_client_done_fn_t *done, void *context, rlx_client_call_t **out_call, rlx_diag_t *diag)
{
    rlx_client_request_t request = {0};
    rlx_client_call_t *call;
    rlx_status_t status;

    memcpy(&request, given, given->size < sizeof request ? given->size : sizeof request);
    call = rlx_sdk_call_take(client);
    if (call == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    call->on_done = done;
    call->context = context;
    if (stream != NULL)
        rlx_sdk_stream_join(stream, call);
    status = rlx_sdk_request_write(call, &request, diag);
    *out_call = call; /* before submit: `done` may run at once */
    if (status == RLX_OK)
        status = rlx_sdk_call_submit(call, &request.timeouts, diag);
    if (status != RLX_OK) {
        *out_call = NULL;
        rlx_sdk_stream_unjoin(call);
        rlx_sdk_call_put(call);
    }
    return status;
}

int rlx_client_submit(rlx_client_t *client, const rlx_client_request_t *request, rlx_client_done_fn_t *done, void *context,
                      rlx_client_call_t **out_call, rlx_client_error_t *error)
{
    rlx_diag_t diag = {0};

    return rlx_sdk_error(error, rlx_sdk_infer_submit(client, NULL, request, done, context, out_call, &diag), &diag);
}

int rlx_client_infer(rlx_client_t *client, const rlx_client_request_t *request, rlx_client_call_t **out_call, rlx_client_error_t *error)
{
    rlx_client_call_t *call;
    int status = rlx_client_submit(client, request, NULL, NULL, &call, error);

    if (status != 0)
        return status;
    status = rlx_client_call_wait(call, -1, error);
    if (status != 0)
        rlx_client_call_free(call);
    else
        *out_call = call;
    return status;
}

/* ---- waiting, cancelling, freeing ---- */

int rlx_client_call_wait(rlx_client_call_t *call, int ms, rlx_client_error_t *error)
{
    rlx_client_t *client = call->client;
    uint64_t until_ns = ms < 0 ? UINT64_MAX : uv_hrtime() + (uint64_t)ms * NS_PER_MS;
    rlx_diag_t diag = {0};
    bool done, own;

    pthread_mutex_lock(&client->mutex);
    own = rlx_sdk_is_driver(client);
    done = call->done || (!own && rlx_sdk_wait(call, until_ns));
    pthread_mutex_unlock(&client->mutex);
    if (!done && own && ms != 0)
        return rlx_sdk_error(
            error, rlx_fail(&diag, RLX_E_USAGE, "a callback of this client waits for a call of it, which would never end"), &diag);
    if (!done)
        return -1;
    if (error != NULL && call->error.status != 0)
        *error = call->error;
    return call->error.status;
}

/* Mutex held. */
static void cancel_ask(rlx_client_call_t *call)
{
    if (call->done || call->cancel_wanted)
        return;
    call->cancel_wanted = true;
    call->cancel_next = call->client->cancels;
    call->client->cancels = call;
    rlx_sdk_nudge(call->client, true);
}

void rlx_client_call_cancel(rlx_client_call_t *call)
{
    pthread_mutex_lock(&call->client->mutex);
    cancel_ask(call);
    pthread_mutex_unlock(&call->client->mutex);
}

/* Mutex held: out of the lists that others walk. */
static void lists_leave(rlx_client_call_t *call)
{
    rlx_client_t *client = call->client;

    for (rlx_client_call_t **at = &client->cancels; *at != NULL; at = &(*at)->cancel_next)
        if (*at == call) {
            *at = call->cancel_next;
            break;
        }
    if (!call->arrived)
        return;
    for (rlx_client_call_t **at = &client->arrived; *at != NULL; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    client->arrived_end = &client->arrived;
    while (*client->arrived_end != NULL)
        client->arrived_end = &(*client->arrived_end)->next;
    call->arrived = false;
    call->done = true;
    client->n_open--;
}

void rlx_client_call_free(rlx_client_call_t *call)
{
    rlx_client_t *client;
    bool own;

    if (call == NULL)
        return;
    client = call->client;
    pthread_mutex_lock(&client->mutex);
    own = rlx_sdk_is_driver(client);
    while (!own && client->callback == call)
        pthread_cond_wait(&client->callback_over, &client->mutex);
    if (!own && !call->done) {
        call->on_done = NULL;
        cancel_ask(call);
        (void)rlx_sdk_wait(call, UINT64_MAX);
    }
    call->on_done = NULL;
    call->cancel_wanted = true;
    lists_leave(call);
    pthread_mutex_unlock(&client->mutex);
    if (!call->done)
        rlx_sdk_call_cancel_now(call);
    RLX_ASSERT(call->done);
    rlx_sdk_stream_unjoin(call);
    rlx_sdk_call_put(call);
}

/* ---- reading the answer ---- */

int rlx_client_call_output_count(const rlx_client_call_t *call) { return call->error.status == 0 ? call->reader.n_outputs : 0; }

static void view_give(const rlx_infer_output_view_t *view, rlx_client_tensor_t *tensor)
{
    _Static_assert(RLX_CLIENT_RANK_MAX == RLX_RANK_MAX, "one limit");
    tensor->type = (int32_t)rlx_datatype_parse(view->datatype);
    tensor->rank = view->rank;
    memcpy(tensor->dims, view->dims, sizeof tensor->dims);
    tensor->data = view->data;
}

const char *rlx_client_call_output(const rlx_client_call_t *call, int index, rlx_client_tensor_t *out_tensor)
{
    if (index < 0 || index >= rlx_client_call_output_count(call))
        return NULL;
    if (out_tensor != NULL)
        view_give(&call->reader.outputs[index], out_tensor);
    return call->reader.outputs[index].name;
}

int rlx_client_call_find(const rlx_client_call_t *call, const char *name, rlx_client_tensor_t *out_tensor)
{
    for (int i = 0; i < rlx_client_call_output_count(call); i++)
        if (strcmp(call->reader.outputs[i].name, name) == 0) {
            view_give(&call->reader.outputs[i], out_tensor);
            return 0;
        }
    return RLX_NOT_FOUND;
}

const char *rlx_client_call_device(const rlx_client_call_t *call) { return call->reader.device; }
const char *rlx_client_call_model_version(const rlx_client_call_t *call) { return call->reader.version; }
const char *rlx_client_call_id(const rlx_client_call_t *call) { return call->user_id != NULL ? call->user_id : call->reader.id; }
const char *rlx_client_call_endpoint(const rlx_client_call_t *call)
{
    return call->endpoint >= 0 ? call->client->endpoints[call->endpoint].url : "";
}
uint64_t rlx_client_call_queue_ns(const rlx_client_call_t *call) { return call->reader.queue_ns; }
uint64_t rlx_client_call_kernel_ns(const rlx_client_call_t *call) { return call->reader.kernel_ns; }
