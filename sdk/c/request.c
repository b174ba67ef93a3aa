/* A user's request, checked and written. */
#include <string.h>

#include "base/tensor.h"
#include "rpc/message/datatype.h"
#include "sdk/c/client.h"

static rlx_status_t tensor_bytes(const char *name, const rlx_client_tensor_t *tensor, uint64_t *out_bytes, rlx_diag_t *diag)
{
    int64_t count, bytes, size = rlx_client_type_bytes(tensor->type);

    if (size == 0)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%.200s' has type %d, which is none", name, tensor->type);
    if (tensor->rank < 0 || tensor->rank > RLX_CLIENT_RANK_MAX)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%.200s' has rank %d, a tensor has 0 to %d", name, tensor->rank,
                        RLX_CLIENT_RANK_MAX);
    if (!rlx_dims_count(tensor->dims, tensor->rank, &count) || !rlx_size_mul(count, size, &bytes))
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "the shape of input '%.200s' has a negative extent or overflows", name);
    *out_bytes = (uint64_t)bytes;
    return RLX_OK;
}

static rlx_status_t memory_take(rlx_client_call_t *call, rlx_client_memory_t *memory, uint64_t offset, uint64_t bytes,
                                rlx_infer_tensor_t *tensor, rlx_diag_t *diag)
{
    tensor->bytes = bytes;
    if (memory == NULL)
        return RLX_OK;
    if (memory->client != call->client)
        return rlx_fail(diag, RLX_E_REGION_UNKNOWN, "the memory of '%.200s' belongs to another client", tensor->name);
    RLX_TRY(rlx_sdk_memory_use(memory, offset, bytes, &call->pinned, diag));
    tensor->region = memory->name;
    tensor->offset = offset;
    return RLX_OK;
}

static rlx_status_t inputs_take(rlx_client_call_t *call, const rlx_client_request_t *request, rlx_infer_tensor_t *inputs, rlx_diag_t *diag)
{
    for (int i = 0; i < request->n_inputs; i++) {
        const rlx_client_input_t *input = &request->inputs[i];
        uint64_t bytes = 0;

        if (input->name == NULL)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "input %d has no name", i);
        RLX_TRY(tensor_bytes(input->name, &input->tensor, &bytes, diag));
        inputs[i] = (rlx_infer_tensor_t){.name = input->name,
                                         .datatype = rlx_datatype_name((rlx_dtype_t)input->tensor.type),
                                         .rank = input->tensor.rank,
                                         .dims = input->tensor.dims,
                                         .data = input->tensor.data};
        RLX_TRY(memory_take(call, input->memory, input->offset, bytes, &inputs[i], diag));
        if (input->memory == NULL && bytes > 0 && input->tensor.data == NULL)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "input '%.200s' has no data", input->name);
    }
    return RLX_OK;
}

static rlx_status_t outputs_take(rlx_client_call_t *call, const rlx_client_request_t *request, rlx_infer_tensor_t *outputs,
                                 rlx_diag_t *diag)
{
    for (int i = 0; i < request->n_outputs; i++) {
        const rlx_client_output_t *output = &request->outputs[i];
        rlx_sdk_wanted_t *wanted = &call->wanted[i];

        if (output->name == NULL)
            return rlx_fail(diag, RLX_E_OUTPUT_NAME, "output %d has no name", i);
        outputs[i] = (rlx_infer_tensor_t){.name = output->name};
        RLX_TRY(memory_take(call, output->memory, output->offset, output->bytes, &outputs[i], diag));
        *wanted = (rlx_sdk_wanted_t){.name = strdup(output->name), .data = output->data, .bytes = output->bytes};
        if (output->memory != NULL)
            wanted->data = (char *)output->memory->address + output->offset;
        if (wanted->name == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        call->n_wanted++;
    }
    return RLX_OK;
}

static int parameters_take(const rlx_client_call_t *call, const rlx_client_request_t *request, rlx_infer_parameter_t *parameters)
{
    int n = 0;

    if (request->preferred_devices != NULL)
        parameters[n++] = (rlx_infer_parameter_t){.name = "rlx_preferred_devices", .string = request->preferred_devices};
    if (request->output_location != NULL)
        parameters[n++] = (rlx_infer_parameter_t){.name = "rlx_output_location", .string = request->output_location};
    if (request->priority != 0)
        parameters[n++] = (rlx_infer_parameter_t){.name = "priority", .number = request->priority};
    if (call->stream != NULL) { /* a request of its own says it by grpc-timeout */
        uint32_t total_ms = request->timeouts.total_ms != 0 ? request->timeouts.total_ms : call->client->timeouts.total_ms;

        parameters[n++] = (rlx_infer_parameter_t){.name = "timeout", .number = (int64_t)total_ms * 1000};
    }
    return n;
}

rlx_status_t rlx_sdk_request_write(rlx_client_call_t *call, const rlx_client_request_t *request, rlx_diag_t *diag)
{
    rlx_infer_tensor_t inputs[RLX_CLIENT_TENSORS_MAX], outputs[RLX_CLIENT_TENSORS_MAX];
    rlx_infer_parameter_t parameters[4];
    const rlx_infer_call_t head = {.model = request->model, .version = request->version,
                                   .id = call->stream != NULL ? call->wire_id : request->id,
                                   .inputs = inputs, .n_inputs = request->n_inputs, .outputs = outputs, .n_outputs = request->n_outputs,
                                   .parameters = parameters, .n_parameters = parameters_take(call, request, parameters)};

    if (request->model == NULL || request->model[0] == '\0')
        return rlx_fail(diag, RLX_E_MODEL_NAME, "the request names no model");
    if (call->stream != NULL && (call->user_id = strdup(request->id != NULL ? request->id : "")) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (request->n_inputs < 0 || request->n_inputs > RLX_CLIENT_TENSORS_MAX || request->n_outputs < 0 ||
        request->n_outputs > RLX_CLIENT_TENSORS_MAX)
        return rlx_fail(diag, RLX_E_INPUT_NAME, "%d inputs and %d outputs; a request has at most %d of each", request->n_inputs,
                        request->n_outputs, RLX_CLIENT_TENSORS_MAX);
    RLX_TRY(inputs_take(call, request, inputs, diag));
    RLX_TRY(outputs_take(call, request, outputs, diag));
    call->path = "/inference.GRPCInferenceService/ModelInfer";
    call->repeatable = true; /* a model is a function */
    call->is_ask = false;
    return rlx_infer_request_encode(&call->request, &head, diag);
}
