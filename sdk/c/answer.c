/* What comes back: tensors go straight to the place that the user gave, or into a buffer of the call. On the driver only. */
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "rpc/message/datatype.h"
#include "sdk/c/client.h"

static const rlx_sdk_wanted_t *wanted_find(const rlx_client_call_t *call, const char *name)
{
    for (int i = 0; i < call->n_wanted; i++)
        if (strcmp(call->wanted[i].name, name) == 0)
            return &call->wanted[i];
    return NULL;
}

static rlx_status_t room_check(const rlx_sdk_wanted_t *wanted, uint64_t bytes, rlx_diag_t *diag)
{
    if (bytes <= wanted->bytes)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_REGION_RANGE, "output '%.200s' has %llu bytes, the place for it has %llu", wanted->name,
                    (unsigned long long)bytes, (unsigned long long)wanted->bytes);
}

static void *buffer_get(rlx_client_call_t *call, int index, uint64_t bytes, rlx_diag_t *diag)
{
    rlx_sdk_buffer_t *buffer;

    if (index >= call->n_buffers) {
        rlx_sdk_buffer_t *buffers = realloc(call->buffers, (size_t)(index + 1) * sizeof *buffers);

        if (buffers == NULL) {
            rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
            return NULL;
        }
        for (int i = call->n_buffers; i <= index; i++)
            buffers[i] = (rlx_sdk_buffer_t){0};
        call->buffers = buffers;
        call->n_buffers = index + 1;
    }
    buffer = &call->buffers[index];
    if (buffer->data == NULL || buffer->capacity < bytes) {
        uint64_t capacity = (bytes + 64) / 64 * 64;

        free(buffer->data);
        buffer->data = aligned_alloc(64, capacity);
        buffer->capacity = buffer->data != NULL ? capacity : 0;
    }
    if (buffer->data == NULL)
        rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for an output of %llu bytes", (unsigned long long)bytes);
    return buffer->data;
}

static void *output_place(void *context, int index, const char *name, uint64_t bytes, rlx_diag_t *diag)
{
    rlx_client_call_t *call = context;
    const rlx_sdk_wanted_t *wanted = name != NULL ? wanted_find(call, name) : NULL;

    if (wanted == NULL || wanted->data == NULL)
        return buffer_get(call, index, bytes, diag);
    return room_check(wanted, bytes, diag) == RLX_OK ? wanted->data : NULL;
}

static bool infer_message(void *context, uint64_t bytes)
{
    rlx_client_call_t *call = context;

    call->reading = RLX_OK;
    rlx_infer_answer_begin(&call->reader, bytes, output_place, call);
    return true;
}

static void infer_data(void *context, const void *data, size_t bytes)
{
    rlx_client_call_t *call = context;

    if (call->reading == RLX_OK)
        call->reading = rlx_infer_answer_feed(&call->reader, data, bytes, &call->diag);
}

/* Nobody may read past a tensor's memory because a server's shape says so. */
static rlx_status_t output_check(const rlx_infer_output_view_t *output, uint64_t room, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = rlx_datatype_parse(output->datatype);
    int64_t count, bytes;

    if (dtype == RLX_DTYPE_NONE)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "output '%.200s' of the answer has type '%.60s', which this client does not know",
                        output->name, output->datatype);
    if (!rlx_dims_count(output->dims, output->rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(dtype), &bytes))
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the shape of output '%.200s' of the answer overflows", output->name);
    if (output->in_region ? (uint64_t)bytes <= room : (uint64_t)bytes == output->bytes)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "output '%.200s' of the answer has the shape of %lld bytes and %llu bytes", output->name,
                    (long long)bytes, (unsigned long long)(output->in_region ? room : output->bytes));
}

/* Tensors that came before their names were known lie in a buffer; those in shared memory are where the user said. */
static rlx_status_t outputs_settle(rlx_client_call_t *call)
{
    for (int i = 0; i < call->reader.n_outputs; i++) {
        rlx_infer_output_view_t *output = &call->reader.outputs[i];
        const rlx_sdk_wanted_t *wanted = wanted_find(call, output->name);

        if (output->in_region && (wanted == NULL || wanted->data == NULL))
            return rlx_fail(&call->diag, RLX_E_ANSWER_MALFORMED, "output '%.200s' of the answer lies in a region that was not asked for",
                            output->name);
        RLX_TRY(output_check(output, wanted != NULL ? wanted->bytes : 0, &call->diag));
        if (wanted == NULL || wanted->data == NULL || output->data == wanted->data)
            continue;
        if (!output->in_region) {
            RLX_TRY(room_check(wanted, output->bytes, &call->diag));
            memcpy(wanted->data, output->data, output->bytes);
        }
        output->data = wanted->data;
    }
    return RLX_OK;
}

static void infer_message_end(void *context)
{
    rlx_client_call_t *call = context;

    if (call->reading == RLX_OK)
        call->reading = rlx_infer_answer_end(&call->reader, &call->diag);
    if (call->reading == RLX_OK)
        call->reading = outputs_settle(call);
}

static void call_done(void *context, const rlx_rpc_end_t *end) { rlx_sdk_call_ended(context, end); }

const rlx_rpc_request_ops_t rlx_sdk_infer_ops = {
    .message = infer_message, .data = infer_data, .message_end = infer_message_end, .done = call_done};

/* ---- small calls ---- */

static bool ask_message(void *context, uint64_t bytes)
{
    rlx_client_call_t *call = context;

    (void)bytes;
    call->reading = RLX_OK;
    rlx_text_clear(&call->answer);
    return true;
}

static void ask_data(void *context, const void *data, size_t bytes) { rlx_text_add(&((rlx_client_call_t *)context)->answer, data, bytes); }

static void ask_message_end(void *context)
{
    rlx_client_call_t *call = context;

    if (call->answer.full)
        call->reading = rlx_fail(&call->diag, RLX_E_NO_MEMORY, "the answer is too large");
}

const rlx_rpc_request_ops_t rlx_sdk_ask_ops = {
    .message = ask_message, .data = ask_data, .message_end = ask_message_end, .done = call_done};
