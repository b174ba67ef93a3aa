/* Questions about a model: ready, metadata, configuration. */
#include <string.h>

#include "daemon/oip/handlers.h"
#include "proto/oip.pb-c.h"
#include "proto/wire.h"
#include "rpc/message/datatype.h"

/* Finds the model that `name` and `version` ask for, or refuses the call. */
static rlx_served_t *model_find(rlx_oip_unary_t *unary, const char *name, const char *version)
{
    rlx_served_t *served;
    rlx_diag_t diag = {0};

    if (rlx_models_find(rlx_node_models(unary->node), name, version, &served, &diag) == RLX_OK)
        return served;
    rlx_oip_unary_fail(unary, &diag);
    return NULL;
}

/* The answer is in the field, never in the status: an unknown model is not ready either. */
void rlx_oip_model_ready(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__ModelReadyRequest *request = (const void *)message;
    rlx_served_t *served;
    rlx_diag_t diag = {0};
    bool ready = rlx_models_find(rlx_node_models(unary->node), request->name, request->version, &served, &diag) == RLX_OK;

    rlx_wire_bool(&unary->out, 1, ready);
    rlx_oip_unary_reply(unary);
}

static void versions_encode(rlx_text_t *out, const rlx_models_t *models, const char *name)
{
    rlx_model_entry_t entry;
    int cursor = 0;

    while (rlx_models_next(models, &cursor, &entry))
        if (strcmp(entry.name, name) == 0 && entry.state == RLX_MODEL_READY)
            rlx_wire_bytes(out, 2, entry.version, strlen(entry.version));
}

static void port_metadata(rlx_text_t *out, uint32_t field, const rlx_served_port_t *port)
{
    size_t at = rlx_wire_open(out, field);

    rlx_wire_string(out, 1, port->name);
    rlx_wire_string(out, 2, rlx_datatype_name(port->dtype));
    rlx_wire_int64s(out, 3, port->dims, port->rank);
    rlx_wire_close(out, at);
}

void rlx_oip_model_metadata(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__ModelMetadataRequest *request = (const void *)message;
    const rlx_served_t *served = model_find(unary, request->name, request->version);
    rlx_text_t *out = &unary->out;

    if (served == NULL)
        return;
    rlx_wire_string(out, 1, served->name);
    versions_encode(out, rlx_node_models(unary->node), served->name);
    rlx_wire_string(out, 3, "rlx");
    for (int i = 0; i < served->n_inputs; i++)
        port_metadata(out, 4, &served->inputs[i]);
    for (int i = 0; i < served->n_outputs; i++)
        port_metadata(out, 5, &served->outputs[i]);
    rlx_oip_unary_reply(unary);
}

static uint64_t config_type(rlx_dtype_t dtype)
{
    static const uint8_t types[RLX_DTYPE_COUNT] = {
        [RLX_BOOL] = INFERENCE__DATA_TYPE__TYPE_BOOL, [RLX_U8] = INFERENCE__DATA_TYPE__TYPE_UINT8,
        [RLX_U16] = INFERENCE__DATA_TYPE__TYPE_UINT16, [RLX_U32] = INFERENCE__DATA_TYPE__TYPE_UINT32,
        [RLX_U64] = INFERENCE__DATA_TYPE__TYPE_UINT64, [RLX_I8] = INFERENCE__DATA_TYPE__TYPE_INT8,
        [RLX_I16] = INFERENCE__DATA_TYPE__TYPE_INT16, [RLX_I32] = INFERENCE__DATA_TYPE__TYPE_INT32,
        [RLX_I64] = INFERENCE__DATA_TYPE__TYPE_INT64, [RLX_F16] = INFERENCE__DATA_TYPE__TYPE_FP16,
        [RLX_F32] = INFERENCE__DATA_TYPE__TYPE_FP32, [RLX_F64] = INFERENCE__DATA_TYPE__TYPE_FP64,
        [RLX_BF16] = INFERENCE__DATA_TYPE__TYPE_BF16,
    };

    return (unsigned)dtype < RLX_DTYPE_COUNT ? types[dtype] : 0;
}

/* With batching the batch axis is not among the dimensions. */
static void port_config(rlx_text_t *out, uint32_t field, uint32_t dims_field, const rlx_served_port_t *port, bool batched)
{
    int skip = batched && port->rank > 0 ? 1 : 0;
    size_t at = rlx_wire_open(out, field);

    rlx_wire_string(out, 1, port->name);
    rlx_wire_uint(out, 2, config_type(port->dtype));
    rlx_wire_int64s(out, dims_field, port->dims + skip, port->rank - skip);
    rlx_wire_close(out, at);
}

static void config_encode(rlx_text_t *out, const rlx_served_t *served)
{
    bool batched = served->batch_max > 1;
    size_t at;

    rlx_wire_string(out, 1, served->name);
    rlx_wire_string(out, 2, "rlx");
    at = rlx_wire_open(out, 3); /* version_policy: all */
    rlx_wire_close(out, rlx_wire_open(out, 2));
    rlx_wire_close(out, at);
    if (batched)
        rlx_wire_uint(out, 4, (uint64_t)(served->batch_max < INT32_MAX ? served->batch_max : INT32_MAX));
    for (int i = 0; i < served->n_inputs; i++)
        port_config(out, 5, 4, &served->inputs[i], batched);
    for (int i = 0; i < served->n_outputs; i++)
        port_config(out, 6, 3, &served->outputs[i], batched);
    at = rlx_wire_open(out, 7); /* instance_group */
    rlx_wire_string(out, 1, "cpu:0");
    rlx_wire_uint(out, 2, 1);
    rlx_wire_uint(out, 4, INFERENCE__MODEL_INSTANCE_GROUP__KIND__KIND_CPU);
    rlx_wire_close(out, at);
    if (batched)
        rlx_wire_close(out, rlx_wire_open(out, 11)); /* dynamic_batching */
    rlx_wire_string(out, 17, "rlx");
    rlx_wire_close(out, rlx_wire_open(out, 19)); /* one answer a request */
}

void rlx_oip_model_config(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__ModelConfigRequest *request = (const void *)message;
    const rlx_served_t *served = model_find(unary, request->name, request->version);
    size_t at;

    if (served == NULL)
        return;
    at = rlx_wire_open(&unary->out, 1);
    config_encode(&unary->out, served);
    rlx_wire_close(&unary->out, at);
    rlx_oip_unary_reply(unary);
}
