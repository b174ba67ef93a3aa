/* AttributeProto to rlx_onnx_attr_t. Lists may be packed or not, in any number of pieces. An attribute without a declared type (old
 * exporters) takes the type of the field that is present. */
#include "ir/onnx/model.h"

#include <string.h>

#define RLX_ONNX_LIST_MAX (INT64_C(1) << 26)

/* A string value; NULL (not an error) when it cannot be a C string: only string operators, which are refused, need those. */
static const char *string_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes)
{
    char *text;

    if (bytes.size > RLX_ONNX_NAME_MAX || (bytes.size > 0 && memchr(bytes.data, 0, bytes.size) != NULL))
        return NULL;
    text = rlx_graph_alloc(memory, bytes.size + 1);
    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    return text;
}

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    return value;
}

static bool list_take(rlx_onnx_attr_t *attr, float *floats, int64_t *ints, rlx_wire_field_t *field)
{
    int type = field->number == 7 ? RLX_WIRE_I32 : RLX_WIRE_VARINT;
    rlx_wire_reader_t reader = rlx_wire_reader_open(field->bytes);
    uint64_t value = field->value;

    if (field->type == type) {
        if (floats != NULL)
            floats[attr->n++] = float_of(value);
        else
            ints[attr->n++] = (int64_t)value;
        return true;
    }
    while (field->type == RLX_WIRE_LEN && reader.at < reader.end && rlx_wire_element(&reader, type, &value)) {
        if (floats != NULL)
            floats[attr->n++] = float_of(value);
        else
            ints[attr->n++] = (int64_t)value;
    }
    return field->type == RLX_WIRE_LEN && !reader.bad;
}

/* floats (7), ints (8) or strings (9). */
static rlx_status_t list_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, uint32_t number, rlx_onnx_attr_t *attr, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;
    float *floats = NULL;
    int64_t *ints = NULL, count;

    RLX_TRY(rlx_onnx_count(bytes, number,
                           number == 7   ? RLX_WIRE_I32
                           : number == 8 ? RLX_WIRE_VARINT
                                         : -1,
                           RLX_ONNX_LIST_MAX, attr->name, &count, diag));
    if (number == 7)
        attr->floats = floats = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *floats);
    else if (number == 8)
        attr->ints = ints = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *ints);
    else
        attr->strings = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *attr->strings);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != number)
            continue;
        if (number == 9 && field.type == RLX_WIRE_LEN)
            attr->strings[attr->n++] = string_parse(memory, field.bytes);
        else if (number == 9 || !list_take(attr, floats, ints, &field))
            return rlx_onnx_malformed(diag, "a list attribute");
    }
    return RLX_OK;
}

static rlx_status_t field_take(rlx_graph_t *memory, const rlx_wire_field_t *field, rlx_onnx_attr_t *attr, bool *lists, rlx_diag_t *diag)
{
    /* Type of an attribute by the field that holds its value: f, i, s, t, g, floats, ints, strings, tensors, graphs. */
    static const uint8_t types[] = {
        [2] = 1, [3] = 2, [4] = 3, [5] = 4, [6] = 5, [7] = 6, [8] = 7, [9] = 8, [10] = 9, [11] = 10, [22] = 11};

    if (field->number < sizeof types && types[field->number] != 0 && attr->type == RLX_ONNX_ATTR_UNDEFINED)
        attr->type = (rlx_onnx_attr_type_t)types[field->number];
    if (field->number == 1)
        return rlx_onnx_name_parse(memory, field, &attr->name, diag);
    if (field->number == 21)
        return rlx_onnx_name_parse(memory, field, &attr->ref, diag);
    if (field->number == 2 && field->type == RLX_WIRE_I32)
        attr->f = float_of(field->value);
    else if (field->number == 3 && field->type == RLX_WIRE_VARINT)
        attr->i = (int64_t)field->value;
    else if (field->number == 4 && field->type == RLX_WIRE_LEN)
        attr->s = string_parse(memory, field->bytes);
    else if (field->number == 5 && field->type == RLX_WIRE_LEN) {
        attr->tensor = rlx_graph_alloc(memory, sizeof *attr->tensor);
        return rlx_onnx_tensor_parse(memory, field->bytes, attr->tensor, diag);
    } else if (field->number == 6 && field->type == RLX_WIRE_LEN)
        attr->graph = field->bytes;
    else if (field->number >= 7 && field->number <= 9)
        lists[field->number - 7] = true;
    return RLX_OK;
}

rlx_status_t rlx_onnx_attr_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_attr_t *out_attr, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;
    bool lists[3] = {false};
    uint64_t declared = 0;

    out_attr->name = "";
    out_attr->s = "";
    while (rlx_wire_next(&reader, &field)) {
        RLX_TRY(field_take(memory, &field, out_attr, lists, diag));
        if (field.number == 20 && field.type == RLX_WIRE_VARINT)
            declared = field.value;
    }
    if (reader.bad)
        return rlx_onnx_malformed(diag, "an attribute");
    if (declared != 0)
        out_attr->type = declared <= 14 ? (rlx_onnx_attr_type_t)declared : RLX_ONNX_ATTR_UNDEFINED;
    if (out_attr->ref != NULL && out_attr->ref[0] == '\0')
        out_attr->ref = NULL;
    for (int i = 0; i < 3; i++)
        if (lists[i] && out_attr->type == (rlx_onnx_attr_type_t)(RLX_ONNX_ATTR_FLOATS + i))
            RLX_TRY(list_parse(memory, bytes, (uint32_t)(7 + i), out_attr, diag));
    if (out_attr->type == RLX_ONNX_ATTR_TENSOR && out_attr->tensor == NULL && out_attr->ref == NULL)
        return rlx_fail(diag, RLX_E_ONNX_NODE, "attribute '%s' is a tensor without a value", out_attr->name);
    return RLX_OK;
}
