/* Target: an inference over HTTP, from its body to its answer (daemon/rest/infer.c and what it uses), with a node and an HTTP service that
 * are made here. Input: a byte that chooses what the node does, the value of Inference-Header-Content-Length up to a line feed ("-": no
 * such header), the body. Memory is exact, so a sanitizer sees every byte too many; each request is answered once and leaves nothing. */
#include <stdlib.h>
#include <string.h>

#include "daemon/rest/request.h"
#include "rpc/message/datatype.h"

#define INPUT_BYTES_MAX ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The HTTP service. */
struct rlx_http_exchange {
    const char *header;
    char *body;
    size_t body_bytes;
    void *context;
    int replies;
};

/* The node. */
struct rlx_infer {
    rlx_infer_answer_fn_t *answer;
    void *context;
    rlx_infer_answer_output_t outputs[RLX_INFER_PORTS_MAX];
    int n;
    rlx_infer_answer_t result;
    rlx_diag_t diag;
};
enum { NODE_ANSWERS, NODE_ANSWERS_LATER, NODE_FAILS, NODE_REFUSES, CLIENT_LEAVES, NODE_WAYS };
static int way, n_open;
static rlx_infer_t *later;
static rlx_rest_infer_t *job;
static rlx_node_copies_t copies;

static void expect(bool holds)
{
    if (!holds)
        abort();
}

const char *rlx_http_header(const rlx_http_exchange_t *exchange, const char *name)
{
    return strcmp(name, "Inference-Header-Content-Length") == 0 ? exchange->header : NULL;
}
const void *rlx_http_body(const rlx_http_exchange_t *exchange, size_t *out_bytes)
{
    *out_bytes = exchange->body_bytes;
    return exchange->body;
}
uint64_t rlx_http_begin_ns(const rlx_http_exchange_t *exchange) { return exchange != NULL; }
void rlx_http_set_context(rlx_http_exchange_t *exchange, void *context) { exchange->context = context; }

void rlx_http_reply(rlx_http_exchange_t *exchange, int code, const rlx_http_field_t *fields, int n_fields, const rlx_rpc_slice_t *slices,
                    int n_slices, rlx_rpc_release_fn_t *release, void *context)
{
    volatile char sum = 0;

    expect(code >= 200);
    expect(code < 600);
    exchange->replies++;
    for (int i = 0; i < n_fields; i++)
        sum += fields[i].value[strlen(fields[i].value)];
    for (int i = 0; i < n_slices; i++) /* every byte is there */
        for (size_t at = 0; at < slices[i].bytes; at++)
            sum += ((const char *)slices[i].data)[at];
    if (n_slices > 0 && code != 499) {
        json_error_t error;
        json_t *root = json_loadb(slices[0].data, slices[0].bytes, 0, &error);

        expect(json_is_object(root));
        json_decref(root);
    }
    if (release != NULL)
        release(context);
}

rlx_node_copies_t *rlx_node_copies(rlx_node_t *node)
{
    (void)node;
    return &copies;
}
rlx_models_t *rlx_node_models(rlx_node_t *node)
{
    (void)node;
    return NULL;
}
rlx_status_t rlx_models_find(rlx_models_t *models, const char *name, const char *version, rlx_served_t **out_served, rlx_diag_t *diag)
{
    static const rlx_served_port_t port = {.name = "x", .dtype = RLX_F32, .rank = 2, .dims = {-1, 2}};
    static rlx_served_t served = {.name = "m", .inputs = &port, .n_inputs = 1};

    (void)models;
    (void)name;
    (void)version;
    if (way == NODE_REFUSES)
        return rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "no model");
    *out_served = &served;
    return RLX_OK;
}
void rlx_infer_count_malformed(rlx_node_t *node) { (void)node; }

static void infer_free(rlx_infer_t *infer)
{
    for (int i = 0; i < infer->n; i++)
        free(infer->outputs[i].tensor.data);
    free(infer);
    n_open--;
}

/* Echoes inputs as outputs, as long as they are not too large. */
rlx_status_t rlx_infer_begin(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_answer_fn_t *answer, void *context,
                             rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_infer_t *infer = calloc(1, sizeof *infer);

    (void)node;
    expect(infer != NULL);
    n_open++;
    infer->answer = answer;
    infer->context = context;
    for (int i = 0; i < head->n_inputs; i++) {
        const rlx_infer_input_t *input = &head->inputs[i];
        rlx_infer_answer_output_t *output = &infer->outputs[i];
        int64_t count;

        *output = (rlx_infer_answer_output_t){.name = "y", .tensor = {.dtype = rlx_datatype_parse(input->datatype), .rank = input->rank}};
        memcpy(output->tensor.dims, input->dims, sizeof input->dims);
        if (!rlx_dims_count(input->dims, input->rank, &count) || count > (int64_t)INPUT_BYTES_MAX / 8 || input->place.region != NULL)
            goto fail;
        output->bytes = (uint64_t)count * rlx_dtype_size(output->tensor.dtype);
        if (input->bytes_given != UINT64_MAX && input->bytes_given != output->bytes)
            goto fail;
        output->tensor.data = calloc(1, output->bytes > 0 ? output->bytes : 1);
        infer->n++;
    }
    if (head->n_outputs > 0 && head->n_outputs < infer->n) {
        for (int i = head->n_outputs; i < infer->n; i++)
            free(infer->outputs[i].tensor.data);
        goto fail_cut;
    }
    if (head->n_outputs > infer->n || way == NODE_REFUSES)
        goto fail;
    *out_infer = infer;
    return RLX_OK;

fail_cut:
    infer->n = head->n_outputs;
fail:
    infer_free(infer);
    return rlx_fail(diag, RLX_E_INPUT_SHAPE, "refused");
}

void *rlx_infer_input(rlx_infer_t *infer, int index, uint64_t *out_bytes)
{
    expect(index < infer->n);
    *out_bytes = infer->outputs[index].bytes;
    return infer->outputs[index].tensor.data;
}

static void answer_now(rlx_infer_t *infer)
{
    infer->result =
        (rlx_infer_answer_t){.model = "m", .version = "1", .id = "", .device = "cpu:0", .outputs = infer->outputs, .n_outputs = infer->n};
    if (way == NODE_FAILS) {
        infer->result.status = rlx_fail(&infer->diag, RLX_E_QUEUE_FULL, "full");
        infer->result.diag = &infer->diag;
        infer->result.n_outputs = 0;
    }
    infer->answer(infer->context, infer, &infer->result);
}

void rlx_infer_submit(rlx_infer_t *infer)
{
    if (way == NODE_ANSWERS || way == NODE_FAILS)
        answer_now(infer);
    else
        later = infer;
}
void rlx_infer_abandon(rlx_infer_t *infer, rlx_abandon_t why)
{
    (void)why;
    infer_free(infer);
}
void rlx_infer_cancel(rlx_infer_t *infer)
{
    later = NULL;
    infer_free(infer);
}
void rlx_infer_release(rlx_infer_t *infer) { infer_free(infer); }

void rlx_rest_job_add(rlx_rest_t *rest, rlx_rest_infer_t *request)
{
    (void)rest;
    expect(job == NULL);
    job = request;
    request->waiting = true;
}
void rlx_rest_job_remove(rlx_rest_t *rest, rlx_rest_infer_t *request)
{
    (void)rest;
    request->waiting = false;
    job = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static rlx_rest_t rest;
    static const rlx_rest_path_t path = {.name = "m"};
    rlx_http_exchange_t exchange = {0};
    char header[64] = "";
    size_t at = 1;

    if (bytes < 2)
        return 0;
    way = data[0] % NODE_WAYS;
    while (at < bytes && data[at] != '\n' && at < sizeof header)
        at++;
    memcpy(header, data + 1, at - 1);
    exchange.header = header[0] == '-' ? NULL : header;
    at += at < bytes;
    exchange.body_bytes = bytes - at;
    exchange.body = malloc(exchange.body_bytes + 1);
    memcpy(exchange.body, data + at, exchange.body_bytes);
    exchange.body[exchange.body_bytes] = '\0'; /* libmicrohttpd's buffers go on, too */

    rlx_rest_infer_route(&rest, &exchange, &path);
    while (job != NULL) {
        rlx_rest_infer_t *request = job;

        if (way == CLIENT_LEAVES && exchange.body_bytes % 3 == 0) {
            rlx_rest_infer_gone(request);
            break;
        }
        rlx_rest_job_remove(&rest, request);
        if (rlx_rest_infer_step(request))
            rlx_rest_job_add(&rest, request);
    }
    if (later != NULL && way == CLIENT_LEAVES) {
        rlx_rest_infer_gone(exchange.context);
    } else if (later != NULL) {
        rlx_infer_t *infer = later;

        later = NULL;
        answer_now(infer);
        while (job != NULL) {
            rlx_rest_infer_t *request = job;

            rlx_rest_job_remove(&rest, request);
            if (rlx_rest_infer_step(request))
                rlx_rest_job_add(&rest, request);
        }
    }
    expect(exchange.replies == 1);
    expect(exchange.context == NULL);
    expect(n_open == 0);
    free(exchange.body);
    return 0;
}
