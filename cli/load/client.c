/* What waits for an answer turns the loop itself, until the answer or the first broken connection. */
#include "cli/load/client.h"

#include <stdlib.h>
#include <string.h>

#define CALL_TIMEOUT_MS 60000

static void channel_changed(void *context, rlx_rpc_channel_t *channel, rlx_rpc_channel_state_t state, const rlx_diag_t *diag)
{
    rlx_load_client_t *client = context;

    (void)channel;
    if (state == RLX_RPC_READY)
        client->n_ready++;
    if (state == RLX_RPC_BACKOFF && !client->failed) {
        client->failed = true;
        client->diag = *diag;
    }
}

rlx_status_t rlx_load_client_open(rlx_load_client_t *client, const char *url, int n, uint32_t requests_max, rlx_diag_t *diag)
{
    rlx_rpc_channel_options_t options = rlx_rpc_channel_defaults;
    rlx_status_t status = RLX_OK;

    *client = (rlx_load_client_t){0};
    RLX_TRY(rlx_rpc_endpoint_parse(url, &options.endpoint, diag));
    client->channels = calloc((size_t)n, sizeof *client->channels);
    if (client->channels == NULL || uv_loop_init(&client->loop) != 0) {
        free(client->channels);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    options.loop = &client->loop;
    options.requests_max = requests_max;
    options.tls.insecure = true; /* a load measures; it does not trust */
    options.changed = channel_changed;
    options.context = client;
    for (; client->n_channels < n && status == RLX_OK; client->n_channels += status == RLX_OK)
        status = rlx_rpc_channel_create(&options, &client->channels[client->n_channels], diag);
    while (status == RLX_OK && !client->failed && client->n_ready < n)
        uv_run(&client->loop, UV_RUN_ONCE);
    if (client->failed) {
        status = rlx_fail(diag, client->diag.code, "%s: %s", url, client->diag.message);
        rlx_diag_hint(diag, "Is the server running, is this its address, and does it speak TLS there (https://) or not (http://)?");
    }
    if (status != RLX_OK)
        rlx_load_client_close(client);
    return status;
}

void rlx_load_client_close(rlx_load_client_t *client)
{
    for (int i = 0; i < client->n_channels; i++)
        rlx_rpc_channel_close(client->channels[i], NULL, NULL);
    uv_run(&client->loop, UV_RUN_DEFAULT);
    uv_loop_close(&client->loop);
    free(client->channels);
}

typedef struct single_call {
    rlx_text_t *answer;
    rlx_diag_t *diag;
    rlx_status_t status;
    bool done;
} single_call_t;

static void single_data(void *context, const void *data, size_t bytes) { rlx_text_add(((single_call_t *)context)->answer, data, bytes); }

/* "RLX-1603: what is wrong. What to do." */
rlx_status_t rlx_load_client_fail(rlx_status_t status, const char *message, rlx_diag_t *diag)
{
    char *text = (char *)message;
    long code = strncmp(message, "RLX-", 4) == 0 ? strtol(message + 4, &text, 10) : 0;
    const char *stop = strstr(text, ". ");

    if (rlx_error_find((int)code) != NULL && strncmp(text, ": ", 2) == 0) {
        status = rlx_fail(diag, (rlx_error_code_t)code, "%.*s", (int)(stop != NULL ? stop - text - 2 : (long)strlen(text) - 2), text + 2);
        return stop != NULL ? rlx_diag_hint(diag, "%s", stop + 2) : status;
    }
    return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the server answers %s: %s", rlx_status_name(status), message);
}

static void single_done(void *context, const rlx_rpc_end_t *end)
{
    single_call_t *call = context;

    call->done = true;
    call->status = end->status;
    if (end->status != RLX_OK)
        call->status = rlx_load_client_fail(end->status, end->message, call->diag);
}

rlx_status_t rlx_load_client_call(rlx_load_client_t *client, const char *path, const rlx_rpc_slice_t *slices, int n_slices,
                                  rlx_text_t *answer, rlx_diag_t *diag)
{
    static const rlx_rpc_request_ops_t ops = {.data = single_data, .done = single_done};
    const rlx_rpc_timeouts_t timeouts = {.total_ms = CALL_TIMEOUT_MS};
    rlx_rpc_message_t message = {.slices = slices, .n_slices = n_slices};
    single_call_t call = {.answer = answer, .diag = diag};
    rlx_rpc_request_t *request;

    RLX_TRY(rlx_rpc_request_begin(client->channels[0], path, &timeouts, &ops, &call, &request, diag));
    rlx_rpc_request_send(request, &message);
    rlx_rpc_request_half_close(request);
    while (!call.done)
        uv_run(&client->loop, UV_RUN_ONCE);
    if (call.status == RLX_OK && answer->full)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "the answer is too large");
    return call.status;
}
