/* What a model looks like to clients: metadata, configuration, readiness. */
#include "daemon/rest/inside.h"

#include <string.h>

#include "rpc/message/datatype.h"

/* The model of the path; answers and returns NULL when there is none. */
static rlx_served_t *model_find(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_served_t *served;
    rlx_diag_t diag = {0};

    if (rlx_models_find(rlx_node_models(rest->node), path->name, path->version, &served, &diag) == RLX_OK)
        return served;
    rlx_rest_reply_error(exchange, &diag);
    return NULL;
}

static void ports_write(rlx_json_t *json, const char *key, const rlx_served_port_t *ports, int n_ports)
{
    rlx_json_open(json, key, '[');
    for (int i = 0; i < n_ports; i++) {
        rlx_json_open(json, NULL, '{');
        rlx_json_string(json, "name", ports[i].name);
        rlx_json_string(json, "datatype", rlx_datatype_name(ports[i].dtype));
        rlx_json_open(json, "shape", '[');
        for (int axis = 0; axis < ports[i].rank; axis++)
            rlx_json_signed(json, NULL, ports[i].dims[axis]);
        rlx_json_close(json, ']');
        rlx_json_close(json, '}');
    }
    rlx_json_close(json, ']');
}

static void versions_write(rlx_rest_t *rest, rlx_json_t *json, const char *name)
{
    rlx_model_entry_t entry;
    int cursor = 0;

    rlx_json_open(json, "versions", '[');
    while (rlx_models_next(rlx_node_models(rest->node), &cursor, &entry))
        if (entry.state == RLX_MODEL_READY && strcmp(entry.name, name) == 0)
            rlx_json_string(json, NULL, entry.version);
    rlx_json_close(json, ']');
}

void rlx_rest_model(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_served_t *served = model_find(rest, exchange, path);
    rlx_text_t text;
    rlx_json_t json;

    if (served == NULL)
        return;
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "name", served->name);
    versions_write(rest, &json, served->name);
    rlx_json_string(&json, "platform", "rlx");
    ports_write(&json, "inputs", served->inputs, served->n_inputs);
    ports_write(&json, "outputs", served->outputs, served->n_outputs);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

/* The code is the answer: 200, 404 for an unknown one, 503 for one that is loading or failed. */
void rlx_rest_model_ready(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_served_t *served = model_find(rest, exchange, path);
    rlx_text_t text;
    rlx_json_t json;

    if (served == NULL)
        return;
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "name", served->name);
    rlx_json_bool(&json, "ready", true);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

/* Extents of a port in a configuration, which does not count the batch's axis. */
static void config_ports(rlx_json_t *json, const char *key, const rlx_served_port_t *ports, int n_ports, bool batched)
{
    rlx_json_open(json, key, '[');
    for (int i = 0; i < n_ports; i++) {
        char type[32] = "TYPE_";

        strncat(type, rlx_datatype_name(ports[i].dtype), sizeof type - 6);
        rlx_json_open(json, NULL, '{');
        rlx_json_string(json, "name", ports[i].name);
        rlx_json_string(json, "data_type", type);
        rlx_json_open(json, "dims", '[');
        for (int axis = batched && ports[i].rank > 0; axis < ports[i].rank; axis++)
            rlx_json_signed(json, NULL, ports[i].dims[axis]);
        rlx_json_close(json, ']');
        rlx_json_close(json, '}');
    }
    rlx_json_close(json, ']');
}

void rlx_rest_model_config(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_served_t *served = model_find(rest, exchange, path);
    bool batched = served != NULL && served->batch_max > 1;
    rlx_text_t text;
    rlx_json_t json;

    if (served == NULL)
        return;
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "name", served->name);
    rlx_json_string(&json, "platform", "rlx");
    rlx_json_string(&json, "backend", "rlx");
    rlx_json_open(&json, "version_policy", '{');
    rlx_json_open(&json, "all", '{');
    rlx_json_close(&json, '}');
    rlx_json_close(&json, '}');
    rlx_json_signed(&json, "max_batch_size", batched ? served->batch_max : 0);
    config_ports(&json, "input", served->inputs, served->n_inputs, batched);
    config_ports(&json, "output", served->outputs, served->n_outputs, batched);
    rlx_json_open(&json, "instance_group", '[');
    rlx_json_open(&json, NULL, '{');
    rlx_json_string(&json, "name", "cpu:0");
    rlx_json_string(&json, "kind", "KIND_CPU");
    rlx_json_signed(&json, "count", 1);
    rlx_json_close(&json, '}');
    rlx_json_close(&json, ']');
    if (batched) {
        rlx_json_open(&json, "dynamic_batching", '{');
        rlx_json_close(&json, '}');
    }
    rlx_json_open(&json, "model_transaction_policy", '{');
    rlx_json_bool(&json, "decoupled", false);
    rlx_json_close(&json, '}');
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}
