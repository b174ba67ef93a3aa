/* The protocol's small calls: the same life as an inference (endpoints, limits, retries), and JSON in the end. */
#include "sdk/c/client.h"

#include "base/assert.h"

static const rlx_admin_method_t methods[] = {
    [RLX_CLIENT_SERVER_LIVE] = RLX_ADMIN_SERVER_LIVE,       [RLX_CLIENT_SERVER_READY] = RLX_ADMIN_SERVER_READY,
    [RLX_CLIENT_MODEL_READY] = RLX_ADMIN_MODEL_READY,       [RLX_CLIENT_SERVER_METADATA] = RLX_ADMIN_SERVER_METADATA,
    [RLX_CLIENT_MODEL_METADATA] = RLX_ADMIN_MODEL_METADATA, [RLX_CLIENT_STATISTICS] = RLX_ADMIN_STATISTICS,
    [RLX_CLIENT_INDEX] = RLX_ADMIN_INDEX,                   [RLX_CLIENT_LOAD] = RLX_ADMIN_LOAD,
    [RLX_CLIENT_UNLOAD] = RLX_ADMIN_UNLOAD,
};

static rlx_status_t ask_begin(rlx_client_call_t *call, rlx_client_question_t question, const char *model, const char *version,
                              uint32_t total_ms, rlx_diag_t *diag)
{
    const rlx_client_timeouts_t timeouts = {.total_ms = total_ms};

    call->method = methods[question];
    call->path = rlx_admin_path(call->method);
    call->is_ask = true;
    call->repeatable = question != RLX_CLIENT_LOAD && question != RLX_CLIENT_UNLOAD;
    rlx_text_clear(&call->ask);
    rlx_text_clear(&call->answer);
    rlx_admin_encode(call->method, &(rlx_admin_call_t){.name = model, .version = version}, &call->ask);
    if (call->ask.full)
        return rlx_fail(diag, RLX_E_MODEL_NAME, "the name of the model is too long");
    call->ask_slice = (rlx_rpc_slice_t){call->ask.data, call->ask.bytes};
    return rlx_sdk_call_submit(call, &timeouts, diag);
}

static rlx_status_t answer_print(const rlx_client_call_t *call, char **out_json, rlx_diag_t *diag)
{
    rlx_text_t json;
    rlx_status_t status;

    rlx_text_init(&json, 4 * RLX_ADMIN_ANSWER_MAX);
    status = rlx_admin_json(call->method, call->answer.data, call->answer.bytes, &json, diag);
    rlx_text_add(&json, "", 1);
    if (status == RLX_OK && json.full)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (status != RLX_OK)
        rlx_text_fini(&json);
    else
        *out_json = json.data;
    return status;
}

int rlx_client_ask(rlx_client_t *client, int endpoint, rlx_client_question_t question, const char *model, const char *version,
                   uint32_t total_ms, char **out_json, rlx_client_error_t *error)
{
    rlx_client_call_t *call;
    rlx_diag_t diag = {0};
    int status;

    if (endpoint < -1 || endpoint >= client->n_endpoints || (unsigned)question >= sizeof methods / sizeof *methods)
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_USAGE, "endpoint %d or question %d is out of range", endpoint, (int)question),
                             &diag);
    call = rlx_sdk_call_take(client);
    if (call == NULL)
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory"), &diag);
    call->pinned = endpoint;
    status = (int)ask_begin(call, question, model, version, total_ms, &diag);
    if (status != 0) {
        rlx_sdk_call_put(call);
        return rlx_sdk_error(error, (rlx_status_t)status, &diag);
    }
    status = rlx_client_call_wait(call, -1, error);
    if (status == 0)
        status = rlx_sdk_error(error, answer_print(call, out_json, &diag), &diag);
    rlx_client_call_free(call);
    return status;
}
