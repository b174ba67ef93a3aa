/* The server as a whole: what it is, whether it lives, whether it is ready. For probes the status code is the answer. */
#include "daemon/node/extensions.h"
#include "daemon/rest/inside.h"

void rlx_rest_server(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "name", "rlx");
    rlx_json_string(&json, "version", rest->options.version);
    rlx_json_open(&json, "extensions", '[');
#define RLX_EXTENSION(name) rlx_json_string(&json, NULL, name);
    RLX_EXTENSIONS(RLX_EXTENSION)
#undef RLX_EXTENSION
    rlx_json_close(&json, ']');
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

void rlx_rest_live(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;
    rlx_json_t json;

    (void)rest;
    (void)path;
    rlx_rest_json_begin(&json, &text);
    rlx_json_bool(&json, "live", true);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

/* The protocol's text names the field of the ready answer "live", its schema "ready": both are there, and say the same. */
void rlx_rest_ready(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    const char *reason = "";
    bool ready = rlx_node_ready(rest->node, &reason);
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    rlx_rest_json_begin(&json, &text);
    rlx_json_bool(&json, "ready", ready);
    rlx_json_bool(&json, "live", ready);
    if (!ready)
        rlx_json_string(&json, "reason", reason);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, ready ? 200 : 503, &json);
}

void rlx_rest_alive(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;

    (void)rest;
    (void)path;
    rlx_text_init(&text, RLX_REST_TEXT_MAX);
    rlx_text_puts(&text, "ok\n");
    rlx_rest_reply_text(exchange, 200, "text/plain; charset=utf-8", &text);
}

void rlx_rest_health(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    const char *reason = "";
    bool ready = rlx_node_ready(rest->node, &reason);
    rlx_text_t text;

    (void)path;
    rlx_text_init(&text, RLX_REST_TEXT_MAX);
    rlx_text_printf(&text, "%s\n", ready ? "ok" : reason);
    rlx_rest_reply_text(exchange, ready ? 200 : 503, "text/plain; charset=utf-8", &text);
}

void rlx_rest_unsupported(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_diag_t diag = {0};

    (void)rest;
    (void)path;
    rlx_fail(&diag, RLX_E_PROTOCOL_PART, "the server has no %.200s", rlx_http_path(exchange));
    rlx_diag_hint(&diag, "CUDA shared memory, tracing, logging settings and text generation are not served; see docs/REST.md for what is.");
    rlx_rest_reply_error(exchange, &diag);
}
