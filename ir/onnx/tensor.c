/* TensorProto: header to rlx_onnx_tensor_t, and the decoding of its elements. The number of elements is the checked 64-bit product of the
 * dims; the bytes found must be exactly that many, whichever of raw_data, typed fields or external data holds them. */
#include "ir/onnx/model.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    rlx_dtype_t dtype;
    uint32_t field; /* typed field that holds it */
    int wire;       /* type of that field's elements */
} types[] = {
    [RLX_ONNX_FLOAT] = {"float", RLX_F32, 4, RLX_WIRE_I32},       [RLX_ONNX_UINT8] = {"uint8", RLX_U8, 5, RLX_WIRE_VARINT},
    [RLX_ONNX_INT8] = {"int8", RLX_I8, 5, RLX_WIRE_VARINT},       [RLX_ONNX_UINT16] = {"uint16", RLX_U16, 5, RLX_WIRE_VARINT},
    [RLX_ONNX_INT16] = {"int16", RLX_I16, 5, RLX_WIRE_VARINT},    [RLX_ONNX_INT32] = {"int32", RLX_I32, 5, RLX_WIRE_VARINT},
    [RLX_ONNX_INT64] = {"int64", RLX_I64, 7, RLX_WIRE_VARINT},    [RLX_ONNX_STRING] = {"string", RLX_DTYPE_NONE, 0, 0},
    [RLX_ONNX_BOOL] = {"bool", RLX_BOOL, 5, RLX_WIRE_VARINT},     [RLX_ONNX_FLOAT16] = {"float16", RLX_F16, 5, RLX_WIRE_VARINT},
    [RLX_ONNX_DOUBLE] = {"double", RLX_F64, 10, RLX_WIRE_I64},    [RLX_ONNX_UINT32] = {"uint32", RLX_U32, 11, RLX_WIRE_VARINT},
    [RLX_ONNX_UINT64] = {"uint64", RLX_U64, 11, RLX_WIRE_VARINT}, [14] = {"complex64", RLX_DTYPE_NONE, 0, 0},
    [15] = {"complex128", RLX_DTYPE_NONE, 0, 0},                  [RLX_ONNX_BFLOAT16] = {"bfloat16", RLX_BF16, 5, RLX_WIRE_VARINT},
    [17] = {"float8e4m3fn", RLX_DTYPE_NONE, 0, 0},                [18] = {"float8e4m3fnuz", RLX_DTYPE_NONE, 0, 0},
    [19] = {"float8e5m2", RLX_DTYPE_NONE, 0, 0},                  [20] = {"float8e5m2fnuz", RLX_DTYPE_NONE, 0, 0},
    [21] = {"uint4", RLX_DTYPE_NONE, 0, 0},                       [22] = {"int4", RLX_DTYPE_NONE, 0, 0},
    [23] = {"float4e2m1", RLX_DTYPE_NONE, 0, 0},                  [24] = {"float8e8m0", RLX_DTYPE_NONE, 0, 0},
    [25] = {"uint2", RLX_DTYPE_NONE, 0, 0},                       [26] = {"int2", RLX_DTYPE_NONE, 0, 0},
};

static bool type_known(int64_t data_type)
{
    return data_type > 0 && data_type < (int64_t)(sizeof types / sizeof *types);
}

rlx_dtype_t rlx_onnx_dtype(int64_t data_type)
{
    return type_known(data_type) ? types[data_type].dtype : RLX_DTYPE_NONE;
}

const char *rlx_onnx_dtype_name(int64_t data_type)
{
    return type_known(data_type) ? types[data_type].name : "undefined";
}

static bool decimal_parse(const char *text, uint64_t *out_value)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *out_value = value;
    return true;
}

static rlx_status_t external_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_tensor_t *tensor, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;
    const char *key = "", *value = "";
    bool good = true;

    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &key, diag));
        else if (field.number == 2)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &value, diag));
    }
    if (strcmp(key, "location") == 0)
        tensor->location = value;
    else if (strcmp(key, "offset") == 0)
        good = decimal_parse(value, &tensor->offset);
    else if (strcmp(key, "length") == 0)
        good = tensor->has_length = decimal_parse(value, &tensor->length);
    if (reader.bad || !good)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data of a tensor: '%s' is '%s', no number that fits 64 bits", key, value);
    return RLX_OK;
}

static rlx_status_t dims_take(const rlx_wire_field_t *field, rlx_onnx_tensor_t *tensor, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(field->bytes);
    uint64_t value = field->value;

    for (;;) {
        if (field->type == RLX_WIRE_LEN && (reader.at >= reader.end || !rlx_wire_varint(&reader, &value)))
            break;
        if (tensor->rank == RLX_RANK_MAX)
            return rlx_fail(diag, RLX_E_ONNX_LIMIT, "a tensor has rank above %d", RLX_RANK_MAX);
        tensor->dims[tensor->rank++] = (int64_t)value;
        if (field->type != RLX_WIRE_LEN)
            break;
    }
    return reader.bad || (field->type != RLX_WIRE_LEN && field->type != RLX_WIRE_VARINT) ? rlx_onnx_malformed(diag, "a tensor's dims")
                                                                                         : RLX_OK;
}

static rlx_status_t tensor_field_take(rlx_graph_t *memory, const rlx_wire_field_t *field, rlx_onnx_tensor_t *tensor, rlx_diag_t *diag)
{
    switch (field->number) {
    case 1:
        return dims_take(field, tensor, diag);
    case 2:
        tensor->data_type = (int64_t)field->value;
        return RLX_OK;
    case 3:
        tensor->has_segment = true;
        return RLX_OK;
    case 4: case 5: case 6: case 7: case 10: case 11:
        tensor->has_typed = tensor->has_typed || field->type != RLX_WIRE_LEN || field->bytes.size > 0;
        return RLX_OK;
    case 8:
        return rlx_onnx_name_parse(memory, field, &tensor->name, diag);
    case 9:
        if (field->type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "raw_data");
        tensor->raw = field->bytes;
        tensor->has_raw = true;
        return RLX_OK;
    case 13:
        return field->type == RLX_WIRE_LEN ? external_parse(memory, field->bytes, tensor, diag)
                                           : rlx_onnx_malformed(diag, "external_data");
    case 14:
        tensor->is_external = field->value == 1;
        return RLX_OK;
    default:
        return RLX_OK;
    }
}

rlx_status_t rlx_onnx_tensor_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_tensor_t *out_tensor, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    memset(out_tensor, 0, sizeof *out_tensor);
    out_tensor->name = "";
    out_tensor->message = bytes;
    while (rlx_wire_next(&reader, &field))
        if (tensor_field_take(memory, &field, out_tensor, diag) != RLX_OK)
            return rlx_diag_at(diag, "tensor '%s'", out_tensor->name);
    return reader.bad ? rlx_onnx_malformed(diag, "a tensor") : RLX_OK;
}

static void element_store(rlx_dtype_t dtype, void *data, int64_t index, uint64_t value)
{
    size_t size = rlx_dtype_size(dtype);

    if (dtype == RLX_BOOL)
        value = value != 0;
    memcpy((char *)data + (size_t)index * size, &value, size); /* low bytes: two's complement and little-endian */
}

static rlx_status_t typed_decode(const rlx_onnx_tensor_t *tensor, rlx_dtype_t dtype, int64_t count, void *data, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(tensor->message);
    uint32_t number = types[tensor->data_type].field;
    int wire = types[tensor->data_type].wire;
    rlx_wire_field_t field;
    int64_t n = 0;

    while (rlx_wire_next(&reader, &field)) {
        rlx_wire_reader_t packed = rlx_wire_reader_open(field.bytes);
        uint64_t value = field.value;

        if (field.number != number)
            continue;
        if (field.type != RLX_WIRE_LEN) {
            if (field.type != wire || n >= count)
                return rlx_onnx_malformed(diag, "a tensor's data");
            element_store(dtype, data, n++, value);
            continue;
        }
        while (packed.at < packed.end && n < count && rlx_wire_element(&packed, wire, &value))
            element_store(dtype, data, n++, value);
        if (packed.bad || packed.at < packed.end)
            return rlx_onnx_malformed(diag, "a tensor's data");
    }
    return RLX_OK;
}

static rlx_status_t typed_check(const rlx_onnx_tensor_t *tensor, int64_t count, rlx_diag_t *diag)
{
    int64_t found;

    RLX_TRY(rlx_onnx_count(tensor->message, types[tensor->data_type].field, types[tensor->data_type].wire, INT64_MAX, "a tensor's data",
                           &found, diag));
    if (found != count)
        return rlx_fail(diag, RLX_E_ONNX_TENSOR, "its dims say %lld elements of %s, its data has %lld", (long long)count,
                        rlx_onnx_dtype_name(tensor->data_type), (long long)found);
    return RLX_OK;
}

/* Bytes that the tensor needs, all checked before memory is taken. */
static rlx_status_t size_check(const rlx_onnx_tensor_t *tensor, rlx_dtype_t dtype, int64_t budget, int64_t *out_count, int64_t *out_bytes,
                               rlx_diag_t *diag)
{
    if (!rlx_dims_count(tensor->dims, tensor->rank, out_count) || !rlx_size_mul(*out_count, (int64_t)rlx_dtype_size(dtype), out_bytes))
        return rlx_fail(diag, RLX_E_ONNX_TENSOR, "its dims are negative or multiply to more than 2^63");
    if (*out_bytes > budget)
        return rlx_fail(diag, RLX_E_ONNX_LIMIT, "constants take more than %lld bytes together", (long long)RLX_ONNX_CONST_BYTES_MAX);
    if (tensor->has_segment)
        return rlx_fail(diag, RLX_E_ONNX_OPERATOR, "segmented tensors are not supported");
    if (tensor->is_external && tensor->has_length && tensor->length != (uint64_t)*out_bytes)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data has length %llu; dims and type need %lld bytes",
                        (unsigned long long)tensor->length, (long long)*out_bytes);
    if (tensor->is_external)
        return RLX_OK;
    if (tensor->has_raw && tensor->has_typed)
        return rlx_fail(diag, RLX_E_ONNX_TENSOR, "it has both raw_data and a typed field");
    if (tensor->has_raw && tensor->raw.size != (uint64_t)*out_bytes)
        return rlx_fail(diag, RLX_E_ONNX_TENSOR, "raw_data has %zu bytes; dims and type need %lld", tensor->raw.size,
                        (long long)*out_bytes);
    return tensor->has_raw ? RLX_OK : typed_check(tensor, *out_count, diag);
}

static rlx_status_t elements_read(const rlx_onnx_tensor_t *tensor, rlx_dtype_t dtype, int dir_fd, int64_t count, int64_t bytes, void *data,
                                  rlx_diag_t *diag)
{
    if (tensor->is_external)
        RLX_TRY(rlx_onnx_external_read(dir_fd, tensor->location, tensor->offset, data, (size_t)bytes, diag));
    else if (!tensor->has_raw)
        return typed_decode(tensor, dtype, count, data, diag);
    else if (bytes > 0)
        memcpy(data, tensor->raw.data, (size_t)bytes);
    for (int64_t i = 0; dtype == RLX_BOOL && i < count; i++)
        ((uint8_t *)data)[i] = ((uint8_t *)data)[i] != 0;
    return RLX_OK;
}

rlx_status_t rlx_onnx_tensor_decode(rlx_graph_t *memory, const rlx_onnx_tensor_t *tensor, int dir_fd, int64_t *budget,
                                    rlx_tensor_t *out_tensor, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = rlx_onnx_dtype(tensor->data_type);
    int64_t count = 0, bytes = 0;
    void *data;

    if (dtype == RLX_DTYPE_NONE)
        return rlx_fail(diag, RLX_E_ONNX_OPERATOR, "tensors of type %s (%lld) are not supported", rlx_onnx_dtype_name(tensor->data_type),
                        (long long)tensor->data_type);
    RLX_TRY(size_check(tensor, dtype, *budget, &count, &bytes, diag));
    data = rlx_graph_alloc(memory, (size_t)bytes < 64 ? 64 : (size_t)bytes);
    RLX_TRY(elements_read(tensor, dtype, dir_fd, count, bytes, data, diag));
    *budget -= bytes;
    *out_tensor = (rlx_tensor_t){.dtype = dtype, .rank = tensor->rank, .data = data};
    memcpy(out_tensor->dims, tensor->dims, sizeof out_tensor->dims);
    return RLX_OK;
}
