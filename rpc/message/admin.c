/* Methods and their messages as tables; field numbers are those of proto/oip.proto. */
#include "rpc/message/admin.h"

#include "proto/wire.h"
#include "rpc/message/json.h"

#define FIELD(number, kind, name, tag) {number, RLX_GUARD_KIND_##kind, 0, NULL, name, tag}
#define NESTED(number, of, name, tag) {number, RLX_GUARD_KIND_MESSAGE, 0, &of, name, tag}
#define MESSAGE(id, ...)                                              \
    static const rlx_guard_field_t id##_fields[] = {__VA_ARGS__};     \
    static const rlx_guard_message_t id = {#id, id##_fields, (int)(sizeof id##_fields / sizeof *id##_fields)}
#define LIST RLX_JSON_LIST

MESSAGE(live, FIELD(1, SCALAR, "live", RLX_JSON_BOOL));
MESSAGE(ready, FIELD(1, SCALAR, "ready", RLX_JSON_BOOL));
MESSAGE(server, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "version", RLX_JSON_STRING),
        FIELD(3, BYTES, "extensions", RLX_JSON_STRING | LIST));
MESSAGE(tensor, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "datatype", RLX_JSON_STRING),
        FIELD(3, PACKED, "shape", RLX_JSON_INT | LIST));
MESSAGE(property, FIELD(1, BYTES, "key", RLX_JSON_STRING), FIELD(2, BYTES, "value", RLX_JSON_STRING));
MESSAGE(model, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "versions", RLX_JSON_STRING | LIST),
        FIELD(3, BYTES, "platform", RLX_JSON_STRING), NESTED(4, tensor, "inputs", LIST), NESTED(5, tensor, "outputs", LIST),
        NESTED(6, property, "properties", LIST));
MESSAGE(duration, FIELD(1, SCALAR, "count", RLX_JSON_UINT), FIELD(2, SCALAR, "ns", RLX_JSON_UINT));
MESSAGE(inference, NESTED(1, duration, "success", 0), NESTED(2, duration, "fail", 0), NESTED(3, duration, "queue", 0),
        NESTED(4, duration, "compute_input", 0), NESTED(5, duration, "compute_infer", 0), NESTED(6, duration, "compute_output", 0),
        NESTED(7, duration, "cache_hit", 0), NESTED(8, duration, "cache_miss", 0));
MESSAGE(batch, FIELD(1, SCALAR, "batch_size", RLX_JSON_UINT), NESTED(2, duration, "compute_input", 0),
        NESTED(3, duration, "compute_infer", 0), NESTED(4, duration, "compute_output", 0));
MESSAGE(memory, FIELD(1, BYTES, "type", RLX_JSON_STRING), FIELD(2, SCALAR, "id", RLX_JSON_INT),
        FIELD(3, SCALAR, "byte_size", RLX_JSON_UINT));
MESSAGE(response, NESTED(1, duration, "compute_infer", 0), NESTED(2, duration, "compute_output", 0), NESTED(3, duration, "success", 0),
        NESTED(4, duration, "fail", 0), NESTED(5, duration, "empty_response", 0), NESTED(6, duration, "cancel", 0));
MESSAGE(response_entry, FIELD(1, BYTES, "key", RLX_JSON_STRING), NESTED(2, response, "value", 0));
MESSAGE(statistics_of, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "version", RLX_JSON_STRING),
        FIELD(3, SCALAR, "last_inference", RLX_JSON_UINT), FIELD(4, SCALAR, "inference_count", RLX_JSON_UINT),
        FIELD(5, SCALAR, "execution_count", RLX_JSON_UINT), NESTED(6, inference, "inference_stats", 0),
        NESTED(7, batch, "batch_stats", LIST), NESTED(8, memory, "memory_usage", LIST), NESTED(9, response_entry, "response_stats", LIST));
MESSAGE(statistics, NESTED(1, statistics_of, "model_stats", LIST));
MESSAGE(index_entry, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "version", RLX_JSON_STRING),
        FIELD(3, BYTES, "state", RLX_JSON_STRING), FIELD(4, BYTES, "reason", RLX_JSON_STRING));
MESSAGE(model_index, NESTED(1, index_entry, "models", LIST));
MESSAGE(region, FIELD(1, BYTES, "name", RLX_JSON_STRING), FIELD(2, BYTES, "key", RLX_JSON_STRING),
        FIELD(3, SCALAR, "offset", RLX_JSON_UINT), FIELD(4, SCALAR, "byte_size", RLX_JSON_UINT));
MESSAGE(region_entry, FIELD(1, BYTES, "key", RLX_JSON_STRING), NESTED(2, region, "value", 0));
MESSAGE(regions, NESTED(1, region_entry, "regions", LIST));
static const rlx_guard_message_t nothing = {"nothing", NULL, 0};

#define SERVICE "/inference.GRPCInferenceService/"

static const struct {
    const char *path;
    const rlx_guard_message_t *answer;
    uint32_t name, version; /* numbers of the request's fields; 0: it has none */
    bool memory;            /* key 2, offset 3, byte_size 4 */
} methods[RLX_ADMIN_COUNT] = {
    [RLX_ADMIN_SERVER_LIVE] = {SERVICE "ServerLive", &live, 0, 0, false},
    [RLX_ADMIN_SERVER_READY] = {SERVICE "ServerReady", &ready, 0, 0, false},
    [RLX_ADMIN_MODEL_READY] = {SERVICE "ModelReady", &ready, 1, 2, false},
    [RLX_ADMIN_SERVER_METADATA] = {SERVICE "ServerMetadata", &server, 0, 0, false},
    [RLX_ADMIN_MODEL_METADATA] = {SERVICE "ModelMetadata", &model, 1, 2, false},
    [RLX_ADMIN_STATISTICS] = {SERVICE "ModelStatistics", &statistics, 1, 2, false},
    [RLX_ADMIN_INDEX] = {SERVICE "RepositoryIndex", &model_index, 0, 0, false},
    [RLX_ADMIN_LOAD] = {SERVICE "RepositoryModelLoad", &nothing, 2, 0, false},
    [RLX_ADMIN_UNLOAD] = {SERVICE "RepositoryModelUnload", &nothing, 2, 0, false},
    [RLX_ADMIN_MEMORY_STATUS] = {SERVICE "SystemSharedMemoryStatus", &regions, 1, 0, false},
    [RLX_ADMIN_MEMORY_REGISTER] = {SERVICE "SystemSharedMemoryRegister", &nothing, 1, 0, true},
    [RLX_ADMIN_MEMORY_UNREGISTER] = {SERVICE "SystemSharedMemoryUnregister", &nothing, 1, 0, false},
};

const char *rlx_admin_path(rlx_admin_method_t method) { return methods[method].path; }

void rlx_admin_encode(rlx_admin_method_t method, const rlx_admin_call_t *call, rlx_text_t *out)
{
    if (methods[method].name != 0)
        rlx_wire_string(out, methods[method].name, call->name);
    if (methods[method].version != 0)
        rlx_wire_string(out, methods[method].version, call->version);
    if (methods[method].memory) {
        rlx_wire_string(out, 2, call->key);
        rlx_wire_uint(out, 3, call->offset);
        rlx_wire_uint(out, 4, call->bytes);
    }
}

rlx_status_t rlx_admin_json(rlx_admin_method_t method, const void *answer, size_t bytes, rlx_text_t *out, rlx_diag_t *diag)
{
    return rlx_message_json(methods[method].answer, answer, bytes, out, diag);
}
