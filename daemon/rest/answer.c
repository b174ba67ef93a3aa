/* The answer of an inference: JSON, with the tensors in it as numbers, or behind it as bytes that are sent from where they lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/json/number.h"
#include "daemon/rest/request.h"
#include "rpc/message/datatype.h"

#define ELEMENTS_PIECE 8192

static bool output_binary(const rlx_rest_infer_t *request, int index)
{
    return request->head.n_outputs > 0 ? request->binary[index] : request->all_binary;
}

void rlx_rest_answer_begin(rlx_rest_infer_t *request)
{
    const rlx_infer_answer_t *answer = request->answer;
    rlx_json_t *json = &request->json;

    rlx_text_clear(&request->text);
    *json = (rlx_json_t){.text = &request->text};
    request->writing = 0;
    request->written = -1; /* the output's head comes first */
    rlx_json_open(json, NULL, '{');
    rlx_json_string(json, "model_name", answer->model);
    rlx_json_string(json, "model_version", answer->version);
    if (answer->id[0] != '\0')
        rlx_json_string(json, "id", answer->id);
    rlx_json_open(json, "parameters", '{');
    rlx_json_string(json, "rlx_device", answer->device);
    rlx_json_unsigned(json, "rlx_queue_ns", answer->queue_ns);
    rlx_json_unsigned(json, "rlx_kernel_ns", answer->kernel_ns);
    rlx_json_close(json, '}');
    rlx_json_open(json, "outputs", '[');
}

static void output_head(rlx_rest_infer_t *request, const rlx_infer_answer_output_t *output)
{
    rlx_json_t *json = &request->json;

    rlx_json_open(json, NULL, '{');
    rlx_json_string(json, "name", output->name);
    rlx_json_string(json, "datatype", rlx_datatype_name(output->tensor.dtype));
    rlx_json_open(json, "shape", '[');
    for (int i = 0; i < output->tensor.rank; i++)
        rlx_json_signed(json, NULL, output->tensor.dims[i]);
    rlx_json_close(json, ']');
    if (output->place.region != NULL) {
        rlx_json_open(json, "parameters", '{');
        rlx_json_string(json, "shared_memory_region", output->place.region);
        rlx_json_unsigned(json, "shared_memory_offset", output->place.offset);
        rlx_json_unsigned(json, "shared_memory_byte_size", output->bytes);
        rlx_json_close(json, '}');
    } else if (output_binary(request, request->writing)) {
        rlx_json_open(json, "parameters", '{');
        rlx_json_unsigned(json, "binary_data_size", output->bytes);
        rlx_json_close(json, '}');
    } else {
        rlx_json_open(json, "data", '[');
    }
}

/* Up to ELEMENTS_PIECE elements; false when the output is done. */
static bool elements_write(rlx_rest_infer_t *request, const rlx_infer_answer_output_t *output, int64_t count)
{
    int64_t until = count - request->written > ELEMENTS_PIECE ? request->written + ELEMENTS_PIECE : count;
    char *to = rlx_text_reserve(&request->text, ELEMENTS_PIECE * (RLX_JSON_ELEMENT_MAX + 1));
    size_t bytes = 0;

    if (to == NULL)
        return false;
    for (int64_t i = request->written; i < until; i++) {
        if (i > 0)
            to[bytes++] = ',';
        bytes += (size_t)rlx_json_element_write(output->tensor.dtype, output->tensor.data, i, to + bytes);
    }
    rlx_text_commit(&request->text, bytes);
    request->rest->json_written += bytes;
    request->written = until;
    return until < count;
}

/* A piece of one output; moves to the next. */
static void output_write(rlx_rest_infer_t *request)
{
    const rlx_infer_answer_output_t *output = &request->answer->outputs[request->writing];
    bool numbers = output->place.region == NULL && !output_binary(request, request->writing);
    int64_t count = 0;

    if (request->written < 0) {
        output_head(request, output);
        request->written = 0;
    }
    if (numbers) {
        (void)rlx_dims_count(output->tensor.dims, output->tensor.rank, &count);
        if (elements_write(request, output, count))
            return;
        rlx_json_close(&request->json, ']');
        rlx_node_copies(request->rest->node)->typed += output->bytes;
    }
    rlx_json_close(&request->json, '}');
    request->writing++;
    request->written = -1;
}

bool rlx_rest_answer_write(rlx_rest_infer_t *request)
{
    size_t before = request->text.bytes;

    while (request->writing < request->answer->n_outputs) {
        output_write(request);
        if (request->text.bytes - before > ELEMENTS_PIECE * 8 && request->writing < request->answer->n_outputs)
            return true;
    }
    rlx_json_close(&request->json, ']');
    rlx_json_close(&request->json, '}');
    return false;
}

bool rlx_rest_answer_send(rlx_rest_infer_t *request, rlx_rpc_release_fn_t *release, rlx_diag_t *diag)
{
    rlx_rpc_slice_t slices[RLX_RPC_SLICES_MAX];
    rlx_http_field_t fields[2] = {{"Content-Type", "application/json"}};
    char length[24];
    int n = 1, n_fields = 1;

    if (request->text.full) {
        rlx_fail(diag, RLX_E_ARENA_LIMIT, "the answer as JSON has more than %zu bytes", request->text.bytes_max);
        rlx_diag_hint(diag, "Ask for binary data (parameter binary_data_output), or use gRPC.");
        return false;
    }
    slices[0] = (rlx_rpc_slice_t){request->text.data, request->text.bytes};
    for (int i = 0; i < request->answer->n_outputs; i++) {
        const rlx_infer_answer_output_t *output = &request->answer->outputs[i];

        if (output->place.region != NULL || !output_binary(request, i))
            continue;
        if (n == RLX_RPC_SLICES_MAX) {
            rlx_fail(diag, RLX_E_ARENA_LIMIT, "more than %d outputs are asked for as binary data", RLX_RPC_SLICES_MAX - 1);
            return false;
        }
        slices[n++] = (rlx_rpc_slice_t){output->tensor.data, output->bytes};
    }
    if (n > 1) {
        snprintf(length, sizeof length, "%zu", request->text.bytes);
        fields[0].value = "application/octet-stream";
        fields[1] = (rlx_http_field_t){"Inference-Header-Content-Length", length};
        n_fields = 2;
    }
    rlx_http_reply(request->exchange, 200, fields, n_fields, slices, n, release, request);
    return true;
}
