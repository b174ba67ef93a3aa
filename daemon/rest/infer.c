/* The life of an inference over HTTP (request.h has its stages). Whatever happens, the exchange is answered once and the
 * object goes back to the free list once: in request_put. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/rest/request.h"
#include "rpc/message/datatype.h"

#define KEPT_MAX 32
#define TEXT_KEPT_MAX ((size_t)64 << 10)
/* Sizes of pieces: each well under a millisecond. */
#define SCAN_PIECE ((size_t)512 << 10)
#define READ_PIECE ((size_t)64 << 10)
#define COPY_PIECE ((uint64_t)2 << 20)

static rlx_rest_infer_t *request_get(rlx_rest_t *rest)
{
    rlx_rest_infer_t *request = rest->kept;

    if (request != NULL) {
        rest->kept = request->next;
        rest->n_kept--;
        return request;
    }
    request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->rest = rest;
    rlx_json_scan_init(&request->scan);
    rlx_text_init(&request->text, (size_t)256 << 20);
    return request;
}

void rlx_rest_infer_destroy(rlx_rest_infer_t *request)
{
    rlx_json_scan_fini(&request->scan);
    rlx_text_fini(&request->text);
    free(request);
}

static void request_put(rlx_rest_infer_t *request)
{
    rlx_rest_t *rest = request->rest;

    RLX_ASSERT(!request->waiting);
    json_decref(request->root);
    request->root = NULL;
    request->exchange = NULL;
    request->infer = NULL;
    if (rest->n_kept == KEPT_MAX) {
        rlx_rest_infer_destroy(request);
        return;
    }
    if (request->text.capacity > TEXT_KEPT_MAX)
        rlx_text_fini(&request->text);
    request->next = rest->kept;
    rest->kept = request;
    rest->n_kept++;
}

/* Before submit: the request ends with an error. */
static void request_refuse(rlx_rest_infer_t *request, const rlx_diag_t *diag)
{
    rlx_http_exchange_t *exchange = request->exchange;

    rlx_http_set_context(exchange, NULL);
    if (request->infer != NULL)
        rlx_infer_abandon(request->infer, RLX_ABANDON_MALFORMED);
    request_put(request);
    rlx_rest_reply_error(exchange, diag);
}

/* The answer's bytes have left. */
static void on_sent(void *context)
{
    rlx_rest_infer_t *request = context;

    rlx_infer_release(request->infer);
    request_put(request);
}

/* After submit: the answer is an error. It is copied before what holds it is given back. */
static void request_fail(rlx_rest_infer_t *request, const rlx_diag_t *diag)
{
    rlx_http_exchange_t *exchange = request->exchange;
    rlx_diag_t copy = *diag;

    rlx_http_set_context(exchange, NULL);
    rlx_infer_release(request->infer);
    request_put(request);
    rlx_rest_reply_error(exchange, &copy);
}

static void request_run(rlx_rest_infer_t *request)
{
    if (rlx_rest_infer_step(request))
        rlx_rest_job_add(request->rest, request);
}

static void on_answer(void *context, rlx_infer_t *infer, const rlx_infer_answer_t *answer)
{
    rlx_rest_infer_t *request = context;

    request->infer = infer;
    request->answer = answer;
    request->stage = RLX_REST_WRITE;
    if (answer->status == RLX_OK)
        rlx_rest_answer_begin(request);
    if (!request->stepping)
        request_run(request);
}

static rlx_status_t scan_step(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    RLX_TRY(rlx_json_scan_step(&request->scan, SCAN_PIECE, diag));
    if (!rlx_json_scan_ended(&request->scan))
        return RLX_OK;
    RLX_TRY(rlx_rest_head_parse(request, diag));
    request->stage = RLX_REST_FILL;
    return RLX_OK;
}

/* A piece of one input in JSON. */
static rlx_status_t data_step(rlx_rest_infer_t *request, void *to, bool *out_ended, rlx_diag_t *diag)
{
    const rlx_infer_input_t *input = &request->inputs[request->filling];
    const rlx_json_cut_t *cut = &request->scan.cuts[request->sources[request->filling].cut];

    if (!request->reading) {
        rlx_tensor_t tensor = {.dtype = rlx_datatype_parse(input->datatype), .rank = input->rank, .data = to};

        memcpy(tensor.dims, input->dims, sizeof tensor.dims);
        rlx_json_data_init(&request->data, cut->begin, cut->end, &tensor);
        request->reading = true;
    }
    if (rlx_json_data_step(&request->data, READ_PIECE, diag) != RLX_OK)
        return rlx_diag_at(diag, "data of input '%.64s'", input->name);
    *out_ended = rlx_json_data_ended(&request->data);
    return RLX_OK;
}

static rlx_status_t fill_step(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    rlx_node_copies_t *copies = rlx_node_copies(request->rest->node);
    const rlx_rest_source_t *source = &request->sources[request->filling];
    uint64_t bytes, piece;
    void *to = rlx_infer_input(request->infer, request->filling, &bytes);
    bool ended = to == NULL;

    if (source->cut >= 0) {
        RLX_TRY(data_step(request, to, &ended, diag));
        copies->typed += ended ? bytes : 0;
        request->rest->json_read += ended ? (uint64_t)(request->data.end - request->scan.cuts[source->cut].begin) : 0;
    } else if (source->bytes != NULL) {
        if (bytes != request->inputs[request->filling].bytes_given)
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%.64s' has %llu bytes, its shape takes %llu",
                            request->inputs[request->filling].name, (unsigned long long)request->inputs[request->filling].bytes_given,
                            (unsigned long long)bytes);
        piece = bytes - request->filled < COPY_PIECE ? bytes - request->filled : COPY_PIECE;
        memcpy((char *)to + request->filled, source->bytes + request->filled, piece);
        request->filled += piece;
        copies->socket_to_slot += piece;
        ended = request->filled == bytes;
    }
    if (ended) {
        request->filling++;
        request->filled = 0;
        request->reading = false;
    }
    return RLX_OK;
}

static rlx_status_t receive_step(rlx_rest_infer_t *request, rlx_diag_t *diag)
{
    if (request->stage == RLX_REST_SCAN)
        return scan_step(request, diag);
    if (request->infer == NULL)
        return rlx_infer_begin(request->rest->node, &request->head, on_answer, request, &request->infer, diag);
    if (request->filling < request->head.n_inputs)
        return fill_step(request, diag);
    request->stage = RLX_REST_WAIT;
    rlx_infer_submit(request->infer); /* on_answer may run in it */
    return RLX_OK;
}

static bool answer_step(rlx_rest_infer_t *request)
{
    rlx_diag_t diag = {0};

    if (request->answer->status != RLX_OK) {
        request_fail(request, request->answer->diag);
        return false;
    }
    if (rlx_rest_answer_write(request))
        return true;
    request->stage = RLX_REST_SEND;
    rlx_http_set_context(request->exchange, NULL);
    request->stepping = false;
    if (!rlx_rest_answer_send(request, on_sent, &diag))
        request_fail(request, &diag);
    return false;
}

/* Small requests go all the way in one step: a step ends where a piece was long. */
bool rlx_rest_infer_step(rlx_rest_infer_t *request)
{
    rlx_node_t *node = request->rest->node;
    rlx_diag_t diag = {0};
    size_t budget = request->body_bytes <= READ_PIECE ? 4 + 2 * (size_t)RLX_INFER_PORTS_MAX : 1;

    request->stepping = true;
    while (request->stage < RLX_REST_WAIT) {
        bool counted = request->stage == RLX_REST_FILL && request->infer == NULL; /* begin counts its own failures */

        if (receive_step(request, &diag) != RLX_OK) {
            request->stepping = false;
            if (!counted && request->infer == NULL)
                rlx_infer_count_malformed(node);
            request_refuse(request, &diag);
            return false;
        }
        if (budget-- == 1 && request->stage < RLX_REST_WAIT) {
            request->stepping = false;
            return true;
        }
    }
    request->stepping = false;
    return request->stage == RLX_REST_WRITE && answer_step(request);
}

void rlx_rest_infer_gone(rlx_rest_infer_t *request)
{
    rlx_http_exchange_t *exchange = request->exchange;

    rlx_rest_job_remove(request->rest, request);
    rlx_http_set_context(exchange, NULL);
    if (request->stage == RLX_REST_WAIT)
        rlx_infer_cancel(request->infer);
    else if (request->stage == RLX_REST_WRITE)
        rlx_infer_release(request->infer);
    else if (request->infer != NULL)
        rlx_infer_abandon(request->infer, RLX_ABANDON_GONE);
    request_put(request);
    rlx_rest_reply_empty(exchange, 499);
}

void rlx_rest_infer_route(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_rest_infer_t *request = request_get(rest);
    rlx_diag_t diag = {0};
    bool raw;

    if (request == NULL) {
        rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for a request");
        rlx_rest_reply_error(exchange, &diag);
        return;
    }
    request->exchange = exchange;
    request->path = *path;
    request->body = rlx_http_body(exchange, &request->body_bytes);
    request->stage = RLX_REST_SCAN;
    request->answer = NULL;
    request->filling = 0;
    request->filled = 0;
    request->reading = request->all_binary = false;
    rlx_http_set_context(exchange, request);
    if (rlx_rest_json_bytes(request, &raw, &diag) != RLX_OK || (raw && rlx_rest_head_raw(request, &diag) != RLX_OK)) {
        rlx_infer_count_malformed(rest->node);
        request_refuse(request, &diag);
        return;
    }
    if (raw)
        request->stage = RLX_REST_FILL;
    else
        rlx_json_scan_begin(&request->scan, request->body, request->json_bytes);
    request_run(request);
}
