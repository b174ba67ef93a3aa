#include "tests/oip/double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/oip/inside.h"
#include "rpc/message/datatype.h"

rlx_double_t rlx_double;
static rlx_node_copies_t copies;
static rlx_oip_t oip;

void rlx_double_reset(void)
{
    if (rlx_double_open() != 0)
        abort();
    rlx_double = (rlx_double_t){0};
}

int rlx_double_open(void) { return rlx_double.begun - rlx_double.abandoned - rlx_double.cancelled - rlx_double.released; }

rlx_node_copies_t *rlx_node_copies(rlx_node_t *node)
{
    (void)node;
    return &copies;
}

void rlx_infer_count_malformed(rlx_node_t *node)
{
    (void)node;
    rlx_double.malformed++;
}

void rlx_double_free(rlx_infer_t *infer)
{
    for (int i = 0; i < infer->head.n_inputs; i++)
        free(infer->memory[i]);
    free(infer);
}

static void texts_keep(rlx_infer_t *infer, const rlx_infer_head_t *head)
{
    snprintf(infer->model, sizeof infer->model, "%s", head->model);
    snprintf(infer->version, sizeof infer->version, "%s", head->version);
    snprintf(infer->id, sizeof infer->id, "%s", head->id);
    snprintf(infer->devices, sizeof infer->devices, "%s", head->preferred_devices != NULL ? head->preferred_devices : "");
    for (int i = 0; i < head->n_inputs && i < 4; i++) {
        snprintf(infer->names[i], sizeof infer->names[i], "%s", head->inputs[i].name);
        snprintf(infer->regions[i], sizeof infer->regions[i], "%s",
                 head->inputs[i].place.region != NULL ? head->inputs[i].place.region : "");
    }
    for (int i = 0; i < head->n_outputs && i < 4; i++)
        snprintf(infer->output_names[i], sizeof infer->output_names[i], "%s", head->outputs[i].name);
}

rlx_status_t rlx_infer_begin(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_answer_fn_t *answer, void *context,
                             rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_infer_t *infer = calloc(1, sizeof *infer);

    (void)node;
    if (infer == NULL)
        abort();
    infer->head = *head;
    infer->answer = answer;
    infer->context = context;
    if (strcmp(head->model, "missing") == 0) {
        free(infer);
        return rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "no model 'missing'");
    }
    for (int i = 0; i < head->n_inputs; i++) {
        rlx_dtype_t dtype = rlx_datatype_parse(head->inputs[i].datatype);
        int64_t count = 0, bytes = 0;

        infer->inputs[i] = head->inputs[i];
        if (dtype == RLX_DTYPE_NONE || !rlx_dims_count(head->inputs[i].dims, head->inputs[i].rank, &count) ||
            !rlx_size_mul(count, (int64_t)rlx_dtype_size(dtype), &bytes) || bytes > 1 << 24) {
            infer->head.n_inputs = i;
            rlx_double_free(infer);
            return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s' refused", head->inputs[i].name);
        }
        if (head->inputs[i].place.region != NULL)
            continue;
        infer->bytes[i] = (uint64_t)bytes;
        infer->memory[i] = malloc((size_t)bytes + (bytes == 0));
        if (head->inputs[i].bytes_given != UINT64_MAX && head->inputs[i].bytes_given != (uint64_t)bytes) {
            infer->head.n_inputs = i + 1;
            rlx_double_free(infer);
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' has other bytes", head->inputs[i].name);
        }
    }
    if (head->n_outputs > 0)
        memcpy(infer->outputs, head->outputs, (size_t)head->n_outputs * sizeof *head->outputs);
    texts_keep(infer, head);
    rlx_double.begun++;
    *out_infer = infer;
    return RLX_OK;
}

void *rlx_infer_input(rlx_infer_t *infer, int index, uint64_t *out_bytes)
{
    *out_bytes = infer->bytes[index];
    return infer->memory[index];
}

void rlx_infer_submit(rlx_infer_t *infer)
{
    infer->submitted = true;
    rlx_double.submitted++;
    if (rlx_double.answer_at_once)
        rlx_double_answer(infer, RLX_OK, NULL, 0);
    else
        rlx_double.pending[rlx_double.n_pending++] = infer;
}

static void pending_remove(const rlx_infer_t *infer)
{
    for (int i = 0; i < rlx_double.n_pending; i++)
        if (rlx_double.pending[i] == infer) {
            memmove(&rlx_double.pending[i], &rlx_double.pending[i + 1], (size_t)(--rlx_double.n_pending - i) * sizeof infer);
            return;
        }
}

void rlx_infer_abandon(rlx_infer_t *infer, rlx_abandon_t why)
{
    (void)why;
    if (infer->submitted)
        abort();
    rlx_double.abandoned++;
    rlx_double_free(infer);
}

void rlx_infer_cancel(rlx_infer_t *infer)
{
    if (!infer->submitted)
        abort();
    pending_remove(infer);
    rlx_double.cancelled++;
    rlx_double_free(infer);
}

void rlx_infer_release(rlx_infer_t *infer)
{
    rlx_double.released++;
    rlx_double_free(infer);
}

void rlx_double_answer(rlx_infer_t *infer, rlx_status_t status, float *data, int64_t n)
{
    rlx_infer_answer_output_t output = {
        .name = "y", .tensor = {.dtype = RLX_F32, .rank = 1, .dims = {n}, .data = data}, .bytes = (uint64_t)n * 4};
    rlx_diag_t diag = {0};
    rlx_infer_answer_t answer = {.status = status,
                                 .model = infer->model,
                                 .version = "1",
                                 .id = infer->id,
                                 .device = "cpu:0",
                                 .outputs = &output,
                                 .n_outputs = status == RLX_OK ? 1 : 0,
                                 .queue_ns = 7,
                                 .kernel_ns = 300,
                                 .diag = &diag};

    pending_remove(infer);
    if (status != RLX_OK)
        rlx_fail(&diag, RLX_E_QUEUE_FULL, "too much at once");
    infer->answer(infer->context, infer, &answer);
}

rlx_rpc_call_t *rlx_double_call(const rlx_rpc_method_t *method)
{
    rlx_rpc_call_t *call = calloc(1, sizeof *call);

    if (call == NULL)
        abort();
    call->method = method;
    method->open(call, &oip);
    return call;
}

void rlx_double_message(rlx_rpc_call_t *call, const void *data, size_t bytes, size_t piece)
{
    if (!call->method->message(call, bytes))
        return;
    for (size_t at = 0; at < bytes; at += piece)
        call->method->data(call, (const char *)data + at, piece < bytes - at ? piece : bytes - at);
    if (call->method->message_end != NULL)
        call->method->message_end(call);
}

void rlx_double_flush(rlx_rpc_call_t *call)
{
    int n = call->n_release;

    for (int i = 0; i < n; i++)
        call->release[i](call->release_context[i]);
    memmove(call->release, call->release + n, (size_t)(call->n_release - n) * sizeof *call->release);
    memmove(call->release_context, call->release_context + n, (size_t)(call->n_release - n) * sizeof *call->release_context);
    call->n_release -= n;
}

void rlx_double_close(rlx_rpc_call_t *call)
{
    if (!call->closed)
        call->method->closed(call);
    call->closed = true;
    rlx_double_flush(call);
    for (int i = 0; i < call->n_sent; i++)
        free(call->sent[i]);
    free(call);
}

void rlx_rpc_call_set_context(rlx_rpc_call_t *call, void *context) { call->context = context; }
void *rlx_rpc_call_context(const rlx_rpc_call_t *call) { return call->context; }
void rlx_rpc_call_hold(rlx_rpc_call_t *call, bool hold) { call->held = hold; }

uint64_t rlx_rpc_call_deadline_ns(const rlx_rpc_call_t *call)
{
    (void)call;
    return UINT64_MAX;
}

uint64_t rlx_rpc_call_read_ns(const rlx_rpc_call_t *call)
{
    (void)call;
    return 1000;
}

const char *rlx_rpc_call_header(const rlx_rpc_call_t *call, const char *name)
{
    (void)call;
    (void)name;
    return NULL;
}

void rlx_rpc_call_kernel_ns(rlx_rpc_call_t *call, uint64_t kernel_ns)
{
    (void)call;
    (void)kernel_ns;
}

void rlx_rpc_call_send(rlx_rpc_call_t *call, const rlx_rpc_slice_t *slices, int n_slices, rlx_rpc_release_fn_t *release, void *context)
{
    size_t bytes = 0;
    uint8_t *message;

    if (call->finished || call->closed)
        abort();
    for (int i = 0; i < n_slices; i++)
        bytes += slices[i].bytes;
    message = call->sent[call->n_sent] = malloc(bytes + 1);
    call->sent_bytes[call->n_sent++] = bytes;
    for (int i = 0; i < n_slices; i++) {
        if (slices[i].bytes > 0)
            memcpy(message, slices[i].data, slices[i].bytes);
        message += slices[i].bytes;
    }
    if (!call->keep) {
        release(context);
        return;
    }
    call->release[call->n_release] = release;
    call->release_context[call->n_release++] = context;
}

void rlx_rpc_call_finish(rlx_rpc_call_t *call, rlx_status_t status, const char *message)
{
    if (call->finished || call->closed)
        abort();
    call->finished = true;
    call->status = status;
    snprintf(call->message, sizeof call->message, "%s", message != NULL ? message : "");
}
