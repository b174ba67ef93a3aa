/* Small things are copied into the head, large tensors referenced. The head moves while it grows: its slices get their addresses when it
 * is done. */
#include "daemon/oip/encode.h"

#include <string.h>

#include "proto/wire.h"
#include "rpc/message/datatype.h"

#define INLINE_BYTES 1024 /* smaller tensors are copied beside their length: that is cheaper than a slice */

/* Slices are made while `head` may still move: those of the head keep an offset until the end. */
typedef struct rlx_oip_cut {
    rlx_oip_message_t *message;
    rlx_text_t *head;
    size_t from; /* the head's bytes that no slice has yet */
    uint64_t total;
} rlx_oip_cut_t;

static size_t parameter_open(rlx_text_t *out, uint32_t field, const char *key, size_t *out_entry)
{
    *out_entry = rlx_wire_open(out, field);
    rlx_wire_string(out, 1, key);
    return rlx_wire_open(out, 2);
}

static void parameter_close(rlx_text_t *out, size_t entry, size_t value)
{
    rlx_wire_close(out, value);
    rlx_wire_close(out, entry);
}

static void parameter_int64(rlx_text_t *out, uint32_t field, const char *key, uint64_t number)
{
    size_t entry, value = parameter_open(out, field, key, &entry);

    rlx_wire_int64(out, 2, (int64_t)number);
    parameter_close(out, entry, value);
}

static void parameter_string(rlx_text_t *out, uint32_t field, const char *key, const char *text)
{
    size_t entry, value = parameter_open(out, field, key, &entry);

    rlx_wire_bytes(out, 3, text, strlen(text));
    parameter_close(out, entry, value);
}

static void parameter_true(rlx_text_t *out, uint32_t field, const char *key)
{
    size_t entry, value = parameter_open(out, field, key, &entry);

    rlx_wire_bool(out, 1, true);
    parameter_close(out, entry, value);
}

static void output_encode(rlx_text_t *out, const rlx_infer_answer_output_t *output)
{
    size_t at = rlx_wire_open(out, 5);

    rlx_wire_string(out, 1, output->name);
    rlx_wire_string(out, 2, rlx_datatype_name(output->tensor.dtype));
    rlx_wire_int64s(out, 3, output->tensor.dims, output->tensor.rank);
    if (output->place.region != NULL) {
        parameter_string(out, 4, "shared_memory_region", output->place.region);
        if (output->place.offset != 0)
            parameter_int64(out, 4, "shared_memory_offset", output->place.offset);
        parameter_int64(out, 4, "shared_memory_byte_size", output->bytes);
    }
    rlx_wire_close(out, at);
}

static void fields_encode(rlx_text_t *out, const rlx_infer_answer_t *answer, bool streamed)
{
    rlx_wire_string(out, 1, answer->model);
    rlx_wire_string(out, 2, answer->version);
    rlx_wire_string(out, 3, answer->id);
    parameter_string(out, 4, "rlx_device", answer->device);
    parameter_int64(out, 4, "rlx_queue_ns", answer->queue_ns);
    parameter_int64(out, 4, "rlx_kernel_ns", answer->kernel_ns);
    if (streamed)
        parameter_true(out, 4, "triton_final_response");
    for (int i = 0; i < answer->n_outputs; i++)
        output_encode(out, &answer->outputs[i]);
}

static void slice_add(rlx_oip_cut_t *cut, const void *data, size_t bytes)
{
    cut->message->slices[cut->message->n_slices++] = (rlx_rpc_slice_t){data, bytes};
    cut->total += bytes;
}

/* The head so far, as a slice without address. */
static void head_cut(rlx_oip_cut_t *cut)
{
    slice_add(cut, NULL, cut->head->bytes - cut->from);
    cut->from = cut->head->bytes;
}

static void tensor_add(rlx_oip_cut_t *cut, const rlx_infer_answer_output_t *output)
{
    const void *data = output->tensor.data;
    uint64_t bytes = output->place.region != NULL ? 0 : output->bytes;

    rlx_wire_length(cut->head, 6, bytes);
    if (bytes <= INLINE_BYTES || cut->message->n_slices + 4 > RLX_RPC_SLICES_MAX) { /* two for this one, two to end with */
        if (bytes > 0)
            rlx_text_add(cut->head, data, bytes);
        return;
    }
    head_cut(cut);
    slice_add(cut, data, bytes);
}

/* The head does not move any more: its slices get their addresses. */
static void slices_settle(rlx_oip_cut_t *cut, int first)
{
    const char *at = cut->head->data;

    for (int i = first; i < cut->message->n_slices; i++) {
        rlx_rpc_slice_t *slice = &cut->message->slices[i];

        if (slice->data == NULL) {
            slice->data = at;
            at += slice->bytes;
        }
    }
}

/* ModelStreamInferResponse.infer_response: its length is known last, so its tag stands behind the rest and is sent first. */
static void wrap(rlx_oip_cut_t *cut)
{
    rlx_rpc_slice_t *first = &cut->message->slices[0];

    rlx_wire_length(cut->head, 2, cut->total);
    first->bytes = cut->head->bytes - cut->from;
    if (!cut->head->full)
        first->data = cut->head->data + cut->from;
}

bool rlx_oip_encode(rlx_text_t *head, const rlx_infer_answer_t *answer, bool streamed, rlx_oip_message_t *out_message)
{
    rlx_oip_cut_t cut = {out_message, head, 0, 0};

    out_message->n_slices = streamed ? 1 : 0;
    rlx_text_clear(head);
    fields_encode(head, answer, streamed);
    for (int i = 0; i < answer->n_outputs; i++)
        tensor_add(&cut, &answer->outputs[i]);
    head_cut(&cut);
    if (streamed)
        wrap(&cut);
    if (head->full)
        return false;
    slices_settle(&cut, streamed ? 1 : 0);
    return true;
}

bool rlx_oip_encode_error(rlx_text_t *head, const char *text, const char *model, const char *id, rlx_oip_message_t *out_message)
{
    size_t at;

    rlx_text_clear(head);
    rlx_wire_string(head, 1, text);
    at = rlx_wire_open(head, 2);
    rlx_wire_string(head, 1, model);
    rlx_wire_string(head, 3, id);
    rlx_wire_close(head, at);
    out_message->slices[0] = (rlx_rpc_slice_t){head->data, head->bytes};
    out_message->n_slices = 1;
    return !head->full;
}
