#include "tests/oip/request.h"

#include <stdlib.h>
#include <string.h>

void rlx_draft_init(rlx_request_draft_t *draft, const char *model, const char *id)
{
    memset(draft, 0, sizeof *draft);
    inference__model_infer_request__init(&draft->message);
    draft->message.model_name = (char *)(uintptr_t)model;
    draft->message.id = (char *)(uintptr_t)id;
    draft->message.inputs = draft->input_list;
    draft->message.outputs = draft->output_list;
    draft->message.raw_input_contents = draft->raw;
}

int rlx_draft_input(rlx_request_draft_t *draft, const char *name, const char *datatype, int64_t n, int64_t m)
{
    int i = (int)draft->message.n_inputs++;
    Inference__ModelInferRequest__InferInputTensor *input = &draft->inputs[i];

    inference__model_infer_request__infer_input_tensor__init(input);
    inference__infer_tensor_contents__init(&draft->contents[i]);
    draft->input_list[i] = input;
    input->name = (char *)(uintptr_t)name;
    input->datatype = (char *)(uintptr_t)datatype;
    draft->shape[i][0] = n;
    draft->shape[i][1] = m;
    input->shape = draft->shape[i];
    input->n_shape = m > 0 ? 2 : 1;
    return i;
}

void rlx_draft_raw(rlx_request_draft_t *draft, const void *data, size_t bytes)
{
    draft->raw[draft->message.n_raw_input_contents++] = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)data};
}

const uint8_t *rlx_draft_pack(const rlx_request_draft_t *draft, size_t *out_bytes)
{
    static uint8_t bytes[1 << 20];

    *out_bytes = inference__model_infer_request__get_packed_size(&draft->message);
    if (*out_bytes > sizeof bytes)
        abort();
    inference__model_infer_request__pack(&draft->message, bytes);
    return bytes;
}
