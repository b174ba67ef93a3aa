/* The repository: what there is, load, unload. Load and unload answer when they have ended. */
#include <string.h>

#include "daemon/rest/body.h"
#include "daemon/rest/inside.h"

void rlx_rest_index(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_model_entry_t entry;
    int cursor = 0;
    bool ready_only;
    json_t *root;
    rlx_diag_t diag = {0};
    rlx_text_t text;
    rlx_json_t json = {.text = &text};

    (void)path;
    if (rlx_rest_body_parse(exchange, &root, &diag) != RLX_OK) {
        rlx_rest_reply_error(exchange, &diag);
        return;
    }
    ready_only = json_is_true(json_object_get(root, "ready"));
    json_decref(root);
    rlx_text_init(&text, RLX_REST_TEXT_MAX);
    rlx_json_open(&json, NULL, '[');
    while (rlx_models_next(rlx_node_models(rest->node), &cursor, &entry)) {
        if (ready_only && entry.state != RLX_MODEL_READY)
            continue;
        rlx_json_open(&json, NULL, '{');
        rlx_json_string(&json, "name", entry.name);
        rlx_json_string(&json, "version", entry.version);
        rlx_json_string(&json, "state", rlx_model_state_name(entry.state));
        rlx_json_string(&json, "reason", entry.reason != NULL ? entry.reason : "");
        rlx_json_close(&json, '}');
    }
    rlx_json_close(&json, ']');
    rlx_rest_reply_json(exchange, 200, &json);
}

static void on_changed(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    rlx_http_exchange_t *exchange = context;

    if (status == RLX_OK)
        rlx_rest_reply_empty(exchange, 200);
    else
        rlx_rest_reply_error(exchange, diag);
}

/* A load with these parameters would serve something else than what the repository holds. Others ask for nothing here. */
static rlx_status_t parameters_check(rlx_http_exchange_t *exchange, rlx_diag_t *diag)
{
    json_t *root, *value;
    const char *key;
    rlx_status_t status = rlx_rest_body_parse(exchange, &root, diag);

    if (status != RLX_OK || root == NULL)
        return status;
    json_object_foreach(json_object_get(root, "parameters"), key, value)
    {
        if (strcmp(key, "config") != 0 && strncmp(key, "file:", 5) != 0)
            continue;
        status = rlx_fail(diag, RLX_E_PROTOCOL_PART, "the parameter '%.64s' of load is not supported", key);
        rlx_diag_hint(diag, "Put the bundle into the server's repository folder and load it by name.");
        break;
    }
    json_decref(root);
    return status;
}

void rlx_rest_load(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_diag_t diag = {0};

    if (rlx_node_draining(rest->node))
        rlx_fail(&diag, RLX_E_DRAINING, "the server is stopping and loads nothing");
    if (diag.code != RLX_E_NONE || parameters_check(exchange, &diag) != RLX_OK)
        rlx_rest_reply_error(exchange, &diag);
    else
        rlx_models_load(rlx_node_models(rest->node), path->name, NULL, on_changed, exchange);
}

void rlx_rest_unload(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_diag_t diag = {0};

    if (parameters_check(exchange, &diag) != RLX_OK ||
        rlx_models_unload(rlx_node_models(rest->node), path->name, on_changed, exchange, &diag) != RLX_OK)
        rlx_rest_reply_error(exchange, &diag);
}
