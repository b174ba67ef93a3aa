/* Field numbers are those of proto/oip.proto. Small tensors are copied: a slice of their own would cost more. */
#include "rpc/message/infer_request.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)
#define COPY_BYTES_MAX 512

void rlx_infer_request_init(rlx_infer_request_t *request)
{
    *request = (rlx_infer_request_t){0};
    rlx_text_init(&request->text, TEXT_BYTES_MAX);
}

void rlx_infer_request_fini(rlx_infer_request_t *request)
{
    rlx_text_fini(&request->text);
    free(request->slices);
}

static void number_add(rlx_text_t *out, uint32_t field, const char *name, int64_t value)
{
    size_t entry = rlx_wire_open(out, field), inner;

    rlx_wire_string(out, 1, name);
    inner = rlx_wire_open(out, 2);
    rlx_wire_int64(out, 2, value);
    rlx_wire_close(out, inner);
    rlx_wire_close(out, entry);
}

static void string_add(rlx_text_t *out, uint32_t field, const char *name, const char *value)
{
    size_t entry = rlx_wire_open(out, field), inner;

    rlx_wire_string(out, 1, name);
    inner = rlx_wire_open(out, 2);
    rlx_wire_bytes(out, 3, value, strlen(value));
    rlx_wire_close(out, inner);
    rlx_wire_close(out, entry);
}

static void region_add(rlx_text_t *out, uint32_t field, const rlx_infer_tensor_t *tensor)
{
    if (tensor->region == NULL)
        return;
    string_add(out, field, "shared_memory_region", tensor->region);
    if (tensor->offset != 0)
        number_add(out, field, "shared_memory_offset", (int64_t)tensor->offset);
    number_add(out, field, "shared_memory_byte_size", (int64_t)tensor->bytes);
}

static void head_add(rlx_text_t *out, const rlx_infer_call_t *call)
{
    rlx_wire_string(out, 1, call->model);
    rlx_wire_string(out, 2, call->version);
    rlx_wire_string(out, 3, call->id);
    for (int i = 0; i < call->n_parameters; i++) {
        const rlx_infer_parameter_t *parameter = &call->parameters[i];

        if (parameter->string != NULL)
            string_add(out, 4, parameter->name, parameter->string);
        else
            number_add(out, 4, parameter->name, parameter->number);
    }
    for (int i = 0; i < call->n_inputs; i++) {
        size_t at = rlx_wire_open(out, 5);

        rlx_wire_string(out, 1, call->inputs[i].name);
        rlx_wire_string(out, 2, call->inputs[i].datatype);
        rlx_wire_int64s(out, 3, call->inputs[i].dims, call->inputs[i].rank);
        region_add(out, 4, &call->inputs[i]);
        rlx_wire_close(out, at);
    }
    for (int i = 0; i < call->n_outputs; i++) {
        size_t at = rlx_wire_open(out, 6);

        rlx_wire_string(out, 1, call->outputs[i].name);
        region_add(out, 2, &call->outputs[i]);
        rlx_wire_close(out, at);
    }
}

static rlx_status_t slices_reserve(rlx_infer_request_t *request, int n, rlx_diag_t *diag)
{
    rlx_rpc_slice_t *slices;

    if (n <= request->slices_capacity)
        return RLX_OK;
    slices = realloc(request->slices, (size_t)n * sizeof *slices);
    if (slices == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    request->slices = slices;
    request->slices_capacity = n;
    return RLX_OK;
}

/* A part of the buffer since `*at`, as a slice. Its address is filled in when the buffer no longer moves: until then `data` is NULL. */
static void part_end(rlx_infer_request_t *request, size_t *at)
{
    if (request->text.bytes > *at)
        request->slices[request->n_slices++] = (rlx_rpc_slice_t){NULL, request->text.bytes - *at};
    *at = request->text.bytes;
}

rlx_status_t rlx_infer_request_encode(rlx_infer_request_t *request, const rlx_infer_call_t *call, rlx_diag_t *diag)
{
    size_t at = 0;

    RLX_TRY(slices_reserve(request, 2 * call->n_inputs + 1, diag));
    request->n_slices = 0;
    request->bytes = 0;
    rlx_text_clear(&request->text);
    head_add(&request->text, call);
    for (int i = 0; i < call->n_inputs; i++) {
        const rlx_infer_tensor_t *input = &call->inputs[i];

        if (input->region != NULL)
            continue;
        if (input->bytes <= COPY_BYTES_MAX) {
            rlx_wire_bytes(&request->text, 7, input->data, input->bytes);
            continue;
        }
        rlx_wire_length(&request->text, 7, input->bytes);
        part_end(request, &at);
        request->slices[request->n_slices++] = (rlx_rpc_slice_t){input->data, input->bytes};
    }
    part_end(request, &at);
    if (request->text.full)
        return rlx_fail(diag, RLX_E_REQUEST_LARGE, "names and parameters of the request take more than %zu bytes", TEXT_BYTES_MAX);
    at = 0;
    for (int i = 0; i < request->n_slices; i++) {
        if (request->slices[i].data == NULL) {
            request->slices[i].data = request->text.data + at;
            at += request->slices[i].bytes;
        }
        request->bytes += request->slices[i].bytes;
    }
    if (request->bytes > UINT32_MAX)
        return rlx_fail(diag, RLX_E_REQUEST_LARGE, "the request has %llu bytes, a message holds at most 4294967295",
                        (unsigned long long)request->bytes);
    return RLX_OK;
}
