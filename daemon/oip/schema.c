/* Names and parameters are short; tensors are as long as the server's message limit allows. Depth 5 is what the protocol itself needs:
 * request, input, parameter entry, value. */
#include "daemon/oip/schema.h"

#include "daemon/node/infer.h"

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])
#define NAME_BYTES (RLX_INFER_NAME_MAX - 1)
#define TEXT(n, tag_, name_) {.number = n, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = NAME_BYTES, .tag = RLX_OIP_TAG_##tag_, .name = name_}
#define ANY(n, tag_, name_) {.number = n, .kind = RLX_GUARD_KIND_BYTES, .tag = RLX_OIP_TAG_##tag_, .name = name_}
#define SCALAR(n, tag_, name_) {.number = n, .kind = RLX_GUARD_KIND_SCALAR, .tag = RLX_OIP_TAG_##tag_, .name = name_}
#define PACKED(n, tag_, name_) {.number = n, .kind = RLX_GUARD_KIND_PACKED, .tag = RLX_OIP_TAG_##tag_, .name = name_}
#define MESSAGE(n, tag_, name_, of) {.number = n, .kind = RLX_GUARD_KIND_MESSAGE, .message = of, .tag = RLX_OIP_TAG_##tag_, .name = name_}

/* Keys and strings of parameters that nobody knows may be long: they are walked over. */
static const rlx_guard_field_t value_fields[] = {
    SCALAR(1, BOOL, "bool_param"),     SCALAR(2, INT64, "int64_param"),   ANY(3, STRING, "string_param"),
    SCALAR(4, DOUBLE, "double_param"), SCALAR(5, UINT64, "uint64_param"),
};
static const rlx_guard_message_t value_message = {"InferParameter", value_fields, COUNT(value_fields)};
static const rlx_guard_field_t parameter_fields[] = {ANY(1, KEY, "key"), MESSAGE(2, VALUE, "value", &value_message)};
static const rlx_guard_message_t parameter_message = {"ParametersEntry", parameter_fields, COUNT(parameter_fields)};

static const rlx_guard_field_t contents_fields[] = {
    PACKED(1, VALUES, "bool_contents"),   PACKED(2, VALUES, "int_contents"),  PACKED(3, VALUES, "int64_contents"),
    PACKED(4, VALUES, "uint_contents"),   PACKED(5, VALUES, "uint64_contents"), PACKED(6, VALUES, "fp32_contents"),
    PACKED(7, VALUES, "fp64_contents"),   ANY(8, VALUES, "bytes_contents"),
};
static const rlx_guard_message_t contents_message = {"InferTensorContents", contents_fields, COUNT(contents_fields)};

static const rlx_guard_field_t input_fields[] = {
    TEXT(1, NAME, "name"),
    TEXT(2, DATATYPE, "datatype"),
    PACKED(3, SHAPE, "shape"),
    MESSAGE(4, PARAMETER, "parameters", &parameter_message),
    MESSAGE(5, CONTENTS, "contents", &contents_message),
};
static const rlx_guard_message_t input_message = {"InferInputTensor", input_fields, COUNT(input_fields)};
static const rlx_guard_field_t output_fields[] = {
    TEXT(1, NAME, "name"),
    MESSAGE(2, PARAMETER, "parameters", &parameter_message),
};
static const rlx_guard_message_t output_message = {"InferRequestedOutputTensor", output_fields, COUNT(output_fields)};

static const rlx_guard_field_t request_fields[] = {
    TEXT(1, MODEL, "model_name"),
    TEXT(2, VERSION, "model_version"),
    TEXT(3, ID, "id"),
    MESSAGE(4, PARAMETER, "parameters", &parameter_message),
    MESSAGE(5, INPUT, "inputs", &input_message),
    MESSAGE(6, OUTPUT, "outputs", &output_message),
    ANY(7, RAW, "raw_input_contents"),
};
const rlx_guard_message_t rlx_oip_request_schema = {"ModelInferRequest", request_fields, COUNT(request_fields)};

/* Typed contents may stand one value a field: their number is bounded by the message's size. */
const rlx_guard_limits_t rlx_oip_request_limits = {
    .depth_max = 6, .fields_max = UINT64_MAX, .broken = RLX_E_REQUEST_MALFORMED, .above = RLX_E_REQUEST_MALFORMED};
