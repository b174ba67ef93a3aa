/* The guard walks the bytes; this keeps what it yields. Strings may come in parts; each ends up in the text with a NUL behind it. */
#include "rpc/message/infer_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define TEXT_BYTES_MAX ((size_t)256 << 10)
#define NAME_BYTES_MAX 4096

enum {
    T_MODEL = 1,
    T_VERSION,
    T_ID,
    T_OUTPUT,
    T_RAW,
    T_PARAMETER,
    T_NAME,
    T_DATATYPE,
    T_SHAPE,
    T_CONTENTS,
    T_KEY,
    T_VALUE,
    T_NUMBER,
    T_STRING
};

static const rlx_guard_field_t value_fields[] = {
    {1, RLX_GUARD_KIND_SCALAR, 0, NULL, "bool_param", T_NUMBER},
    {2, RLX_GUARD_KIND_SCALAR, 0, NULL, "int64_param", T_NUMBER},
    {3, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "string_param", T_STRING},
    {5, RLX_GUARD_KIND_SCALAR, 0, NULL, "uint64_param", T_NUMBER},
};
static const rlx_guard_message_t value_message = {"InferParameter", value_fields, 4};
static const rlx_guard_field_t entry_fields[] = {
    {1, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "key", T_KEY},
    {2, RLX_GUARD_KIND_MESSAGE, 0, &value_message, "value", T_VALUE},
};
static const rlx_guard_message_t entry_message = {"ParametersEntry", entry_fields, 2};
static const rlx_guard_field_t output_fields[] = {
    {1, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "name", T_NAME},
    {2, RLX_GUARD_KIND_BYTES, 64, NULL, "datatype", T_DATATYPE},
    {3, RLX_GUARD_KIND_PACKED, 256, NULL, "shape", T_SHAPE},
    {4, RLX_GUARD_KIND_MESSAGE, 0, &entry_message, "parameters", T_PARAMETER},
    {5, RLX_GUARD_KIND_BYTES, 0, NULL, "contents", T_CONTENTS},
};
static const rlx_guard_message_t output_message = {"InferOutputTensor", output_fields, 5};
static const rlx_guard_field_t answer_fields[] = {
    {1, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "model_name", T_MODEL},
    {2, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "model_version", T_VERSION},
    {3, RLX_GUARD_KIND_BYTES, NAME_BYTES_MAX, NULL, "id", T_ID},
    {4, RLX_GUARD_KIND_MESSAGE, 0, &entry_message, "parameters", T_PARAMETER},
    {5, RLX_GUARD_KIND_MESSAGE, 0, &output_message, "outputs", T_OUTPUT},
    {6, RLX_GUARD_KIND_BYTES, 0, NULL, "raw_output_contents", T_RAW},
};
static const rlx_guard_message_t answer_message = {"ModelInferResponse", answer_fields, 6};
static const rlx_guard_limits_t answer_limits = {
    .depth_max = 5, .fields_max = 65536, .broken = RLX_E_ANSWER_MALFORMED, .above = RLX_E_ANSWER_MALFORMED};

void rlx_infer_answer_init(rlx_infer_answer_reader_t *reader)
{
    *reader = (rlx_infer_answer_reader_t){0};
    rlx_text_init(&reader->text, TEXT_BYTES_MAX);
}

void rlx_infer_answer_fini(rlx_infer_answer_reader_t *reader)
{
    rlx_text_fini(&reader->text);
    free(reader->outputs);
    free(reader->raw);
}

void rlx_infer_answer_begin(rlx_infer_answer_reader_t *reader, uint64_t bytes, rlx_infer_place_fn_t *place, void *context)
{
    rlx_text_clear(&reader->text);
    rlx_text_add(&reader->text, "", 1); /* offset 0: the empty string */
    reader->place = place;
    reader->context = context;
    reader->model_at = reader->version_at = reader->id_at = reader->device_at = 0;
    reader->queue_ns = reader->kernel_ns = 0;
    reader->has_times = reader->in_output = false;
    reader->n_outputs = reader->n_raw = reader->cursor = 0;
    rlx_guard_init(&reader->guard, &answer_message, &answer_limits, bytes);
}

/* A part of a string; `*at` is set by the first. A string comes without a break, so that its parts lie together. */
static void string_part(rlx_infer_answer_reader_t *reader, const rlx_guard_item_t *item, size_t *at)
{
    if (item->done == 0)
        *at = reader->text.bytes;
    rlx_text_add(&reader->text, item->data, item->bytes);
    if (item->done + item->bytes == item->total)
        rlx_text_add(&reader->text, "", 1);
}

static rlx_status_t output_add(rlx_infer_answer_reader_t *reader, rlx_diag_t *diag)
{
    if (reader->n_outputs == RLX_INFER_OUTPUTS_MAX)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer has more than %d outputs", RLX_INFER_OUTPUTS_MAX);
    if (reader->n_outputs == reader->outputs_capacity) {
        int capacity = reader->outputs_capacity == 0 ? 4 : 2 * reader->outputs_capacity;
        rlx_infer_output_view_t *outputs = realloc(reader->outputs, (size_t)capacity * sizeof *outputs);

        if (outputs == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        reader->outputs = outputs;
        reader->outputs_capacity = capacity;
    }
    reader->outputs[reader->n_outputs++] = (rlx_infer_output_view_t){0};
    return RLX_OK;
}

static rlx_status_t extent_add(rlx_infer_output_view_t *output, uint64_t extent, rlx_diag_t *diag)
{
    if (output->rank == RLX_RANK_MAX || extent > INT64_MAX)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "an output of the answer has more than %d extents, or a negative one", RLX_RANK_MAX);
    output->dims[output->rank++] = (int64_t)extent;
    return RLX_OK;
}

/* A packed shape has at most 256 bytes, but may be cut by the end of a piece: parts are joined in the text. */
static rlx_status_t shape_part(rlx_infer_answer_reader_t *reader, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    rlx_infer_output_view_t *output = &reader->outputs[reader->n_outputs - 1];
    const uint8_t *bytes;
    size_t left = item->total, used;
    uint64_t extent;

    rlx_text_add(&reader->text, item->data, item->bytes);
    if (item->done + item->bytes < item->total || reader->text.full)
        return RLX_OK;
    reader->text.bytes -= item->total;
    bytes = (const uint8_t *)reader->text.data + reader->text.bytes;
    for (; left > 0; bytes += used, left -= used) {
        used = rlx_guard_varint(bytes, left, &extent);
        if (used == 0)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "a shape of the answer is broken");
        RLX_TRY(extent_add(output, extent, diag));
    }
    return RLX_OK;
}

/* Outputs in a region have no data, or an empty entry. */
static int raw_output(rlx_infer_answer_reader_t *reader, uint64_t bytes)
{
    while (bytes > 0 && reader->cursor < reader->n_outputs && reader->outputs[reader->cursor].in_region)
        reader->cursor++;
    return reader->cursor < reader->n_outputs ? reader->cursor++ : -1;
}

static rlx_status_t raw_add(rlx_infer_answer_reader_t *reader, uint64_t bytes, rlx_diag_t *diag)
{
    int output = raw_output(reader, bytes), n = reader->n_raw;
    void *data;

    if (n == RLX_INFER_OUTPUTS_MAX || reader->text.full)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer has more than %d tensors, or too long names", RLX_INFER_OUTPUTS_MAX);
    if (n == reader->raw_capacity) {
        int capacity = n == 0 ? 4 : 2 * n;
        void *raw = realloc(reader->raw, (size_t)capacity * sizeof *reader->raw);

        if (raw == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        reader->raw = raw;
        reader->raw_capacity = capacity;
    }
    data = reader->place(reader->context, n, output >= 0 ? reader->text.data + reader->outputs[output].name_at : NULL, bytes, diag);
    if (data == NULL)
        return diag->status;
    reader->raw[n].data = data;
    reader->raw[n].bytes = bytes;
    reader->raw[n].output = output;
    reader->n_raw++;
    return RLX_OK;
}

static rlx_status_t raw_part(rlx_infer_answer_reader_t *reader, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    if (item->done == 0 && (item->bytes > 0 || item->total == 0))
        RLX_TRY(raw_add(reader, item->total, diag));
    if (item->bytes > 0)
        memcpy((uint8_t *)reader->raw[reader->n_raw - 1].data + item->done, item->data, item->bytes);
    return RLX_OK;
}

static bool key_is(const rlx_infer_answer_reader_t *reader, const char *key)
{
    return reader->key_at != 0 && !reader->text.full && strcmp(reader->text.data + reader->key_at, key) == 0;
}

static void number_take(rlx_infer_answer_reader_t *reader, uint64_t value)
{
    if (reader->in_output || !(key_is(reader, "rlx_queue_ns") || key_is(reader, "rlx_kernel_ns")))
        return;
    if (key_is(reader, "rlx_queue_ns"))
        reader->queue_ns = value;
    else
        reader->kernel_ns = value;
    reader->has_times = true;
}

static void parameter_string_part(rlx_infer_answer_reader_t *reader, const rlx_guard_item_t *item)
{
    size_t at = 0;

    if (reader->in_output && key_is(reader, "shared_memory_region"))
        reader->outputs[reader->n_outputs - 1].in_region = true;
    string_part(reader, item, !reader->in_output && key_is(reader, "rlx_device") ? &reader->device_at : &at);
}

static rlx_status_t bytes_take(rlx_infer_answer_reader_t *reader, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    rlx_infer_output_view_t *output = reader->in_output ? &reader->outputs[reader->n_outputs - 1] : NULL;

    switch (item->field != NULL ? item->field->tag : 0) {
    case T_MODEL: string_part(reader, item, &reader->model_at); break;
    case T_VERSION: string_part(reader, item, &reader->version_at); break;
    case T_ID: string_part(reader, item, &reader->id_at); break;
    case T_NAME: string_part(reader, item, &output->name_at); break;
    case T_DATATYPE: string_part(reader, item, &output->datatype_at); break;
    case T_SHAPE: return shape_part(reader, item, diag);
    case T_KEY: string_part(reader, item, &reader->key_at); break;
    case T_STRING: parameter_string_part(reader, item); break;
    case T_RAW: return raw_part(reader, item, diag);
    case T_CONTENTS:
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the server answers with typed contents; this client reads raw contents only");
    default: break;
    }
    return RLX_OK;
}

static rlx_status_t item_take(rlx_infer_answer_reader_t *reader, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    int tag = item->field != NULL ? item->field->tag : 0;

    switch (event) {
    case RLX_GUARD_SCALAR:
        if (tag == T_SHAPE)
            return extent_add(&reader->outputs[reader->n_outputs - 1], item->value, diag);
        if (tag == T_NUMBER)
            number_take(reader, item->value);
        return RLX_OK;
    case RLX_GUARD_BYTES: return bytes_take(reader, item, diag);
    case RLX_GUARD_ENTER:
        if (tag == T_PARAMETER)
            reader->key_at = 0;
        if (tag != T_OUTPUT)
            return RLX_OK;
        reader->in_output = true;
        return output_add(reader, diag);
    case RLX_GUARD_LEAVE:
        if (tag == T_OUTPUT)
            reader->in_output = false;
        return RLX_OK;
    default: return RLX_OK;
    }
}

rlx_status_t rlx_infer_answer_feed(rlx_infer_answer_reader_t *reader, const void *data, size_t bytes, rlx_diag_t *diag)
{
    rlx_guard_item_t item;

    rlx_guard_feed(&reader->guard, data, bytes);
    for (;;) {
        rlx_guard_event_t event = rlx_guard_next(&reader->guard, &item, diag);

        if (event == RLX_GUARD_BAD)
            return diag->status;
        if (event == RLX_GUARD_MORE || event == RLX_GUARD_END)
            return RLX_OK;
        RLX_TRY(item_take(reader, event, &item, diag));
    }
}

/* Data that came before the list of outputs belong to those without a region, in order. */
static rlx_status_t raw_assign(rlx_infer_answer_reader_t *reader, rlx_diag_t *diag)
{
    for (int i = 0; i < reader->n_raw; i++) {
        int output = reader->raw[i].output >= 0 ? reader->raw[i].output : raw_output(reader, reader->raw[i].bytes);

        if (output < 0)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer has %d outputs and %d tensors", reader->n_outputs, reader->n_raw);
        reader->outputs[output].data = reader->raw[i].data;
        reader->outputs[output].bytes = reader->raw[i].bytes;
    }
    for (int i = 0; i < reader->n_outputs; i++)
        if (reader->outputs[i].data == NULL && !reader->outputs[i].in_region)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "output '%.200s' of the answer has no data", reader->outputs[i].name);
    return RLX_OK;
}

rlx_status_t rlx_infer_answer_end(rlx_infer_answer_reader_t *reader, rlx_diag_t *diag)
{
    rlx_guard_item_t item;

    if (reader->guard.piece_at == reader->guard.piece_bytes)
        rlx_guard_feed(&reader->guard, "", 0);
    if (rlx_guard_next(&reader->guard, &item, diag) != RLX_GUARD_END)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer is cut off");
    if (reader->text.full)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "names and parameters of the answer take more than %zu bytes", TEXT_BYTES_MAX);
    reader->model = reader->text.data + reader->model_at;
    reader->version = reader->text.data + reader->version_at;
    reader->id = reader->text.data + reader->id_at;
    reader->device = reader->text.data + reader->device_at;
    for (int i = 0; i < reader->n_outputs; i++) {
        reader->outputs[i].name = reader->text.data + reader->outputs[i].name_at;
        reader->outputs[i].datatype = reader->text.data + reader->outputs[i].datatype_at;
    }
    return raw_assign(reader, diag);
}
