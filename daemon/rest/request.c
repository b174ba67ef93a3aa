/* The head of an inference: jansson's tree of the skeleton becomes the plain structs of daemon/node/infer.h, whose strings stay in the
 * tree. */
#include "daemon/rest/request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/message/datatype.h"

#define HEADER "Inference-Header-Content-Length"
#define MALFORMED(diag, ...) rlx_fail(diag, RLX_E_REQUEST_MALFORMED, __VA_ARGS__)

rlx_status_t rlx_rest_json_bytes(rlx_rest_infer_t *request, bool *out_raw, rlx_diag_t *diag)
{
    const char *text = rlx_http_header(request->exchange, HEADER);
    unsigned long long bytes;
    char *end;

    *out_raw = false;
    request->json_bytes = request->body_bytes;
    if (text == NULL)
        return RLX_OK;
    errno = 0;
    bytes = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return MALFORMED(diag, "the header " HEADER " is '%.40s', no number of bytes", text);
    if (bytes > request->body_bytes)
        return MALFORMED(diag, "the header " HEADER " says %llu bytes of JSON, the body has %zu", bytes, request->body_bytes);
    *out_raw = bytes == 0;
    request->json_bytes = bytes;
    return RLX_OK;
}

/* A string of less than `size` bytes without NUL. */
static rlx_status_t string_get(json_t *object, const char *key, bool required, const char **out_value, rlx_diag_t *diag)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL && !required)
        return RLX_OK;
    if (!json_is_string(value))
        return MALFORMED(diag, "'%s' is %s, a string is expected", key, value == NULL ? "missing" : "no string");
    if (json_string_length(value) >= RLX_INFER_NAME_MAX)
        return MALFORMED(diag, "'%s' has %zu bytes, the limit is %d", key, json_string_length(value), RLX_INFER_NAME_MAX - 1);
    *out_value = json_string_value(value);
    return RLX_OK;
}

static rlx_status_t unsigned_get(json_t *object, const char *key, bool *out_given, uint64_t *out_value, rlx_diag_t *diag)
{
    json_t *value = json_object_get(object, key);

    if (out_given != NULL)
        *out_given = value != NULL;
    if (value == NULL)
        return RLX_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return MALFORMED(diag, "'%s' is no whole number of 0 or more", key);
    *out_value = (uint64_t)json_integer_value(value);
    return RLX_OK;
}

static rlx_status_t bool_get(json_t *object, const char *key, bool *out_value, rlx_diag_t *diag)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL)
        return RLX_OK;
    if (!json_is_boolean(value))
        return MALFORMED(diag, "'%s' is neither true nor false", key);
    *out_value = json_is_true(value);
    return RLX_OK;
}

/* The `parameters` of anything: an object, or NULL when there are none. */
static rlx_status_t parameters_get(json_t *object, json_t **out_parameters, rlx_diag_t *diag)
{
    *out_parameters = json_object_get(object, "parameters");
    if (*out_parameters != NULL && !json_is_object(*out_parameters))
        return MALFORMED(diag, "'parameters' is no object");
    return RLX_OK;
}

/* `shared_memory_...`: a region, or nothing. */
static rlx_status_t place_get(json_t *parameters, rlx_infer_place_t *out_place, rlx_diag_t *diag)
{
    bool sized = false;

    RLX_TRY(string_get(parameters, "shared_memory_region", false, &out_place->region, diag));
    if (out_place->region == NULL)
        return RLX_OK;
    RLX_TRY(unsigned_get(parameters, "shared_memory_offset", NULL, &out_place->offset, diag));
    RLX_TRY(unsigned_get(parameters, "shared_memory_byte_size", &sized, &out_place->bytes, diag));
    return sized ? RLX_OK : MALFORMED(diag, "'shared_memory_byte_size' is missing beside 'shared_memory_region'");
}

static rlx_status_t shape_get(json_t *object, rlx_infer_input_t *input, rlx_diag_t *diag)
{
    json_t *shape = json_object_get(object, "shape");

    if (!json_is_array(shape))
        return MALFORMED(diag, "'shape' is %s, an array is expected", shape == NULL ? "missing" : "no array");
    if (json_array_size(shape) > RLX_RANK_MAX)
        return MALFORMED(diag, "'shape' has %zu axes, the limit is %d", json_array_size(shape), RLX_RANK_MAX);
    input->rank = (int)json_array_size(shape);
    for (int i = 0; i < input->rank; i++) {
        json_t *extent = json_array_get(shape, (size_t)i);

        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return MALFORMED(diag, "'shape' has no whole number of 0 or more at axis %d", i);
        input->dims[i] = json_integer_value(extent);
    }
    return RLX_OK;
}

/* Exactly one of: data, binary_data_size, a region. `*tail` are the binary bytes that no input has taken. */
static rlx_status_t source_get(rlx_rest_infer_t *request, json_t *object, json_t *parameters, int index, const char **tail,
                               rlx_diag_t *diag)
{
    rlx_infer_input_t *input = &request->inputs[index];
    json_t *data = json_object_get(object, "data");
    bool binary = false;
    uint64_t bytes = 0, left = (uint64_t)(request->body + request->body_bytes - *tail);

    RLX_TRY(unsigned_get(parameters, "binary_data_size", &binary, &bytes, diag));
    if ((data != NULL) + binary + (input->place.region != NULL) != 1)
        return MALFORMED(diag, "there must be exactly one of 'data', 'binary_data_size' and 'shared_memory_region'");
    request->sources[index] = (rlx_rest_source_t){.cut = -1};
    if (data != NULL) {
        if (!json_is_integer(data) || json_integer_value(data) < 0 || json_integer_value(data) >= request->scan.n_cuts)
            /* The scan did not know the key. */
            return MALFORMED(diag, "the key 'data' is written with escapes");
        request->sources[index].cut = (int)json_integer_value(data);
        return RLX_OK;
    }
    if (!binary)
        return RLX_OK;
    if (bytes > left)
        return MALFORMED(diag, "'binary_data_size' is %" PRIu64 ", and %" PRIu64 " bytes of the body are left for it (the header " HEADER
                         " says where they begin)", bytes, left);
    request->sources[index].bytes = *tail;
    input->bytes_given = bytes;
    *tail += bytes;
    return RLX_OK;
}

static rlx_status_t input_get(rlx_rest_infer_t *request, json_t *object, int index, const char **tail, rlx_diag_t *diag)
{
    rlx_infer_input_t *input = &request->inputs[index];
    json_t *parameters;

    *input = (rlx_infer_input_t){.bytes_given = UINT64_MAX};
    if (!json_is_object(object))
        return MALFORMED(diag, "it is no object");
    RLX_TRY(string_get(object, "name", true, &input->name, diag));
    RLX_TRY(string_get(object, "datatype", true, &input->datatype, diag));
    if (rlx_datatype_parse(input->datatype) == RLX_DTYPE_NONE)
        return MALFORMED(diag, "the datatype '%.32s' is unknown, or no model has it", input->datatype);
    RLX_TRY(shape_get(object, input, diag));
    RLX_TRY(parameters_get(object, &parameters, diag));
    RLX_TRY(place_get(parameters, &input->place, diag));
    return source_get(request, object, parameters, index, tail, diag);
}

static rlx_status_t inputs_get(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    json_t *inputs = json_object_get(request->root, "inputs");
    const char *tail = request->body + request->json_bytes;

    if (!json_is_array(inputs))
        return MALFORMED(diag, "'inputs' is %s, an array is expected", inputs == NULL ? "missing" : "no array");
    if (json_array_size(inputs) > RLX_INFER_PORTS_MAX)
        return MALFORMED(diag, "there are %zu inputs, the limit is %d", json_array_size(inputs), RLX_INFER_PORTS_MAX);
    request->head.n_inputs = (int)json_array_size(inputs);
    for (int i = 0; i < request->head.n_inputs; i++)
        if (input_get(request, json_array_get(inputs, (size_t)i), i, &tail, diag) != RLX_OK)
            return rlx_diag_at(diag, "input %d '%.64s'", i, request->inputs[i].name != NULL ? request->inputs[i].name : "");
    if (tail != request->body + request->body_bytes)
        return MALFORMED(diag, "%zu bytes of the body after the JSON belong to no input",
                         (size_t)(request->body + request->body_bytes - tail));
    return RLX_OK;
}

static rlx_status_t output_get(rlx_rest_infer_t *request, json_t *object, int index, rlx_diag_t *diag)
{
    rlx_infer_output_t *output = &request->outputs[index];
    json_t *parameters;

    *output = (rlx_infer_output_t){0};
    request->binary[index] = request->all_binary;
    if (!json_is_object(object))
        return MALFORMED(diag, "it is no object");
    RLX_TRY(string_get(object, "name", true, &output->name, diag));
    RLX_TRY(parameters_get(object, &parameters, diag));
    RLX_TRY(bool_get(parameters, "binary_data", &request->binary[index], diag));
    if (json_object_get(parameters, "classification") != NULL) {
        rlx_fail(diag, RLX_E_PROTOCOL_PART, "'classification' is asked for");
        return rlx_diag_hint(diag, "Ask for the scores themselves and sort them.");
    }
    return place_get(parameters, &output->place, diag);
}

static rlx_status_t outputs_get(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    json_t *outputs = json_object_get(request->root, "outputs");

    if (outputs == NULL)
        return RLX_OK;
    if (!json_is_array(outputs))
        return MALFORMED(diag, "'outputs' is no array");
    if (json_array_size(outputs) > RLX_INFER_PORTS_MAX)
        return MALFORMED(diag, "there are %zu outputs, the limit is %d", json_array_size(outputs), RLX_INFER_PORTS_MAX);
    request->head.n_outputs = (int)json_array_size(outputs);
    for (int i = 0; i < request->head.n_outputs; i++)
        if (output_get(request, json_array_get(outputs, (size_t)i), i, diag) != RLX_OK)
            return rlx_diag_at(diag, "output %d '%.64s'", i, request->outputs[i].name != NULL ? request->outputs[i].name : "");
    return RLX_OK;
}

static rlx_status_t request_parameters_get(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    rlx_infer_head_t *head = &request->head;
    json_t *parameters;
    uint64_t priority = 0;

    RLX_TRY(parameters_get(request->root, &parameters, diag));
    RLX_TRY(unsigned_get(parameters, "timeout", NULL, &head->timeout_us, diag));
    RLX_TRY(unsigned_get(parameters, "priority", NULL, &priority, diag));
    head->priority = priority < UINT32_MAX ? (uint32_t)priority : UINT32_MAX;
    RLX_TRY(string_get(parameters, "rlx_preferred_devices", false, &head->preferred_devices, diag));
    RLX_TRY(string_get(parameters, "rlx_output_location", false, &head->output_location, diag));
    return bool_get(parameters, "binary_data_output", &request->all_binary, diag);
}

static void head_begin(rlx_rest_infer_t *request)
{
    request->head = (rlx_infer_head_t){
        .model = request->path.name,
        .version = request->path.version,
        .id = "",
        .inputs = request->inputs,
        .outputs = request->outputs,
        .deadline_ns = UINT64_MAX,
        .read_ns = rlx_http_begin_ns(request->exchange),
        .trace = rlx_http_header(request->exchange, "traceparent"),
    };
}

rlx_status_t rlx_rest_head_parse(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    const rlx_text_t *skeleton = &request->scan.skeleton;
    json_error_t error;

    head_begin(request);
    request->root = json_loadb(skeleton->data, skeleton->bytes, JSON_REJECT_DUPLICATES, &error);
    if (request->root == NULL)
        return MALFORMED(diag, "the body is no JSON: %s (line %d)", error.text, error.line);
    RLX_TRY(string_get(request->root, "id", false, &request->head.id, diag));
    RLX_TRY(request_parameters_get(request, diag));
    RLX_TRY(inputs_get(request, diag));
    return outputs_get(request, diag);
}

/* The one extent that is open follows from the bytes. */
static rlx_status_t raw_shape(rlx_rest_infer_t *request, const rlx_served_port_t *port, rlx_diag_t *diag)
{
    rlx_infer_input_t *input = &request->inputs[0];
    uint64_t unit = rlx_dtype_size(port->dtype);
    int open = -1;

    for (int i = 0; i < port->rank; i++) {
        input->dims[i] = port->dims[i];
        if (port->dims[i] >= 0 && __builtin_mul_overflow(unit, (uint64_t)port->dims[i], &unit))
            return MALFORMED(diag, "the sizes of input '%.64s' overflow", port->name);
        if (port->dims[i] < 0 && open >= 0) {
            MALFORMED(diag, "input '%.64s' has several open extents, and a raw body (" HEADER ": 0) names none", port->name);
            return rlx_diag_hint(diag, "Send JSON with the shape, and the tensor as binary data behind it.");
        }
        if (port->dims[i] < 0)
            open = i;
    }
    if (open >= 0 && unit > 0 && request->body_bytes % unit == 0)
        input->dims[open] = (int64_t)(request->body_bytes / unit);
    else if (open >= 0 || unit != request->body_bytes)
        return MALFORMED(diag, "the raw body has %zu bytes, input '%.64s' takes %s%" PRIu64, request->body_bytes, port->name,
                         open >= 0 ? "multiples of " : "", unit);
    return RLX_OK;
}

rlx_status_t rlx_rest_head_raw(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    rlx_served_t *served;

    head_begin(request);
    RLX_TRY(rlx_models_find(rlx_node_models(request->rest->node), request->path.name, request->path.version, &served, diag));
    if (served->n_inputs != 1)
        return MALFORMED(diag, "the body is one raw tensor (" HEADER ": 0), the model has %d inputs", served->n_inputs);
    request->inputs[0] = (rlx_infer_input_t){.name = served->inputs[0].name,
                                             .datatype = rlx_datatype_name(served->inputs[0].dtype),
                                             .rank = served->inputs[0].rank,
                                             .bytes_given = request->body_bytes};
    request->sources[0] = (rlx_rest_source_t){.cut = -1, .bytes = request->body};
    request->head.n_inputs = 1;
    request->all_binary = true;
    return raw_shape(request, &served->inputs[0], diag);
}
