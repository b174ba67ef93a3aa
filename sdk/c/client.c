/* Clients: made, taken down, described. */
#include "sdk/c/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "rpc/local/handover.h"

#define IN_FLIGHT_DEFAULT 1024
#define IN_FLIGHT_MAX 65536

int rlx_sdk_error(rlx_client_error_t *error, rlx_status_t status, const rlx_diag_t *diag)
{
    const rlx_error_info_t *info = rlx_error_find((int)diag->code);
    const char *hint = diag->hint[0] != '\0' || info == NULL ? diag->hint : info->fix;

    if (error == NULL || status == RLX_OK)
        return (int)status;
    error->status = (int32_t)status;
    error->code = (int32_t)diag->code;
    snprintf(error->text, sizeof error->text, "%s. %s", diag->message, hint);
    return (int)status;
}

void rlx_sdk_error_told(const rlx_rpc_end_t *end, rlx_client_error_t *error)
{
    const char *text = end->message;
    char *rest = NULL;
    long code = strncmp(text, "RLX-", 4) == 0 ? strtol(text + 4, &rest, 10) : 0;
    bool known = rlx_error_find((int)code) != NULL && strncmp(rest, ": ", 2) == 0;

    error->status = (int32_t)end->status;
    error->code = known ? (int32_t)code : 0;
    snprintf(error->text, sizeof error->text, "%s", known ? rest + 2 : text[0] != '\0' ? text : rlx_status_name(end->status));
}

/* ---- create ---- */

static bool host_is_local(const rlx_rpc_endpoint_t *endpoint)
{
    struct in_addr v4;

    if (endpoint->kind == RLX_RPC_UNIX || strcmp(endpoint->host, "localhost") == 0 || strcmp(endpoint->host, "::1") == 0)
        return true;
    return inet_pton(AF_INET, endpoint->host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

static rlx_status_t endpoint_open(rlx_client_t *client, const char *url, const rlx_client_options_t *given, rlx_diag_t *diag)
{
    rlx_sdk_endpoint_t *endpoint = &client->endpoints[client->n_endpoints];
    rlx_rpc_channel_options_t options = rlx_rpc_channel_defaults;

    RLX_TRY(rlx_rpc_endpoint_parse(url, &options.endpoint, diag));
    options.loop = &client->loop;
    options.tls = (rlx_rpc_client_tls_t){.ca = given->ca, .certificate = given->certificate, .key = given->key,
                                         .server_name = given->server_name, .insecure = given->insecure != 0};
    options.connect_ms = client->timeouts.connect_ms;
    options.requests_max = client->in_flight_max;
    if (given->answer_bytes_max > 0 && given->answer_bytes_max < UINT32_MAX)
        options.message_bytes_max = given->answer_bytes_max;
    options.changed = rlx_sdk_channel_changed;
    options.context = endpoint;
    endpoint->client = client;
    endpoint->local = host_is_local(&options.endpoint);
    endpoint->url = strdup(url);
    if (endpoint->url == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (rlx_rpc_channel_create(&options, &endpoint->channel, diag) != RLX_OK) {
        free(endpoint->url);
        return diag->status;
    }
    client->n_endpoints++;
    return RLX_OK;
}

static void options_take(rlx_client_t *client, const rlx_client_options_t *options)
{
    const char *socket = options->memory_socket != NULL ? options->memory_socket : RLX_HANDOVER_SOCKET;

    client->in_flight_max = options->in_flight_max == 0               ? IN_FLIGHT_DEFAULT
                            : options->in_flight_max > IN_FLIGHT_MAX ? IN_FLIGHT_MAX
                                                                      : options->in_flight_max;
    client->timeouts = options->timeouts;
    client->answer_bytes_max = options->answer_bytes_max > 0 && options->answer_bytes_max < UINT32_MAX ? options->answer_bytes_max : UINT32_MAX;
    if (client->timeouts.total_ms == 0)
        client->timeouts.total_ms = 30000;
    if (client->timeouts.connect_ms == 0)
        client->timeouts.connect_ms = 5000;
    snprintf(client->memory_socket, sizeof client->memory_socket, "%.107s", socket);
}

static bool client_init(rlx_client_t *client)
{
    pthread_condattr_t monotonic;

    if (uv_loop_init(&client->loop) != 0)
        return false;
    uv_async_init(&client->loop, &client->wake, NULL);
    uv_timer_init(&client->loop, &client->patience);
    uv_timer_init(&client->loop, &client->alarm);
    client->patience.data = client;
    pthread_mutex_init(&client->mutex, NULL);
    pthread_mutex_init(&client->memory_mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&client->idle, &monotonic);
    pthread_cond_init(&client->callback_over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    client->arrived_end = &client->arrived;
    client->memory_fd = client->memory_endpoint = -1;
    atomic_init(&client->references, 1);
    return true;
}

static void loop_close(rlx_client_t *client)
{
    for (int i = 0; i < client->n_endpoints; i++)
        rlx_rpc_channel_close(client->endpoints[i].channel, NULL, NULL);
    uv_close((uv_handle_t *)&client->wake, NULL);
    uv_close((uv_handle_t *)&client->patience, NULL);
    uv_close((uv_handle_t *)&client->alarm, NULL);
    uv_run(&client->loop, UV_RUN_DEFAULT);
    uv_loop_close(&client->loop);
}

int rlx_client_create(const char *const *endpoints, int n_endpoints, const rlx_client_options_t *options, rlx_client_t **out_client,
                      rlx_client_error_t *error)
{
    rlx_client_options_t given = {0};
    rlx_diag_t diag = {0};
    rlx_client_t *client;
    rlx_status_t status = RLX_OK;

    if (options != NULL)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    if (n_endpoints < 1 || n_endpoints > RLX_CLIENT_ENDPOINTS_MAX)
        return rlx_sdk_error(
            error, rlx_fail(&diag, RLX_E_ENDPOINT, "%d endpoints; a client has 1 to %d", n_endpoints, RLX_CLIENT_ENDPOINTS_MAX), &diag);
    client = calloc(1, sizeof *client);
    if (client == NULL || !client_init(client)) {
        free(client);
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory"), &diag);
    }
    options_take(client, &given);
    for (int i = 0; i < n_endpoints && status == RLX_OK; i++)
        status = endpoint_open(client, endpoints[i], &given, &diag);
    if (status == RLX_OK)
        status = rlx_sdk_thread_start(client, &diag);
    if (status != RLX_OK) {
        client->closing = true;
        loop_close(client);
        rlx_sdk_client_release(client);
        return rlx_sdk_error(error, status, &diag);
    }
    *out_client = client;
    return 0;
}

/* ---- destroy ---- */

void rlx_sdk_client_release(rlx_client_t *client)
{
    if (atomic_fetch_sub(&client->references, 1) != 1)
        return;
    while (client->pool != NULL) {
        rlx_client_call_t *call = client->pool;

        client->pool = call->next;
        rlx_sdk_call_destroy(call);
    }
    rlx_sdk_memory_fini(client);
    for (int i = 0; i < client->n_endpoints; i++)
        free(client->endpoints[i].url);
    pthread_mutex_destroy(&client->mutex);
    pthread_mutex_destroy(&client->memory_mutex);
    pthread_cond_destroy(&client->idle);
    pthread_cond_destroy(&client->callback_over);
    free(client);
}

void rlx_sdk_client_end(rlx_client_t *client)
{
    rlx_sdk_dispatch_close(client);
    loop_close(client);
    rlx_sdk_streams_close(client);
    rlx_sdk_client_release(client);
}

void rlx_client_destroy(rlx_client_t *client)
{
    if (client == NULL)
        return;
    pthread_mutex_lock(&client->mutex);
    client->closing = true;
    pthread_mutex_unlock(&client->mutex);
    if (rlx_sdk_thread_stop(client))
        rlx_sdk_client_end(client);
}

/* ---- state ---- */

static void string_json(rlx_text_t *out, const char *text)
{
    rlx_text_puts(out, "\"");
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
            rlx_text_printf(out, "\\u%04x", (unsigned char)*text);
        else
            rlx_text_add(out, text, 1);
    rlx_text_puts(out, "\"");
}

int rlx_client_state(rlx_client_t *client, char **out_json, rlx_client_error_t *error)
{
    static const char *const states[] = {"connecting", "ready", "resting", "closed"};
    rlx_diag_t diag = {0};
    rlx_text_t out;

    rlx_text_init(&out, (size_t)1 << 20);
    rlx_text_puts(&out, "{\"endpoints\":[");
    pthread_mutex_lock(&client->mutex);
    for (int i = 0; i < client->n_endpoints; i++) {
        const rlx_sdk_endpoint_t *endpoint = &client->endpoints[i];

        rlx_text_printf(&out, "%s{\"url\":", i > 0 ? "," : "");
        string_json(&out, endpoint->url);
        rlx_text_printf(&out, ",\"state\":\"%s\",\"answered\":%llu,\"failed\":%llu,\"why\":", states[endpoint->state],
                        (unsigned long long)endpoint->answered, (unsigned long long)endpoint->failed);
        string_json(&out, endpoint->why);
        rlx_text_puts(&out, "}");
    }
    rlx_text_printf(&out, "],\"open\":%u,\"retries\":%llu}", client->n_open, (unsigned long long)client->retries);
    pthread_mutex_unlock(&client->mutex);
    rlx_text_add(&out, "", 1);
    if (out.full) {
        rlx_text_fini(&out);
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory"), &diag);
    }
    *out_json = out.data;
    return 0;
}

void rlx_client_text_free(char *json) { free(json); }

int rlx_client_type_bytes(int type) { return (int)rlx_dtype_size((rlx_dtype_t)type); }
const char *rlx_client_version(void) { return RLX_VERSION; }
