/* Target: what a client reads from a server. The first byte says which reader and in which pieces the rest comes: ModelInferResponse
 * (rpc/message/infer_answer.h) and what wraps it on a stream, or a small call's answer as JSON (rpc/message/admin.h). Bytes that come in
 * pieces must read as the whole does. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/message/admin.h"
#include "rpc/message/infer_answer.h"
#include "rpc/message/stream_answer.h"

#define PLACE_MAX ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

typedef struct places {
    void *memory[RLX_INFER_OUTPUTS_MAX];
    int n;
} places_t;

static void *place(void *context, int index, const char *name, uint64_t bytes, rlx_diag_t *diag)
{
    places_t *places = context;

    RLX_ASSERT(index == places->n);
    RLX_ASSERT(name == NULL || strlen(name) <= 4096);
    if (bytes > PLACE_MAX) {
        rlx_fail(diag, RLX_E_NO_MEMORY, "no room");
        return NULL;
    }
    places->memory[places->n] = malloc(bytes + 1); /* exactly: a byte too many is found by the sanitizer */
    return places->memory[places->n++];
}

static rlx_status_t answer_read(rlx_infer_answer_reader_t *reader, places_t *places, const uint8_t *data, size_t bytes, size_t piece)
{
    rlx_diag_t diag = {0};

    rlx_infer_answer_begin(reader, bytes, place, places);
    for (size_t at = 0; at < bytes; at += piece)
        RLX_TRY(rlx_infer_answer_feed(reader, data + at, piece < bytes - at ? piece : bytes - at, &diag));
    return rlx_infer_answer_end(reader, &diag);
}

static void answers_compare(const rlx_infer_answer_reader_t *one, const rlx_infer_answer_reader_t *two)
{
    RLX_ASSERT(one->n_outputs == two->n_outputs);
    RLX_ASSERT(strcmp(one->model, two->model) == 0);
    RLX_ASSERT(strcmp(one->device, two->device) == 0);
    for (int i = 0; i < one->n_outputs; i++) {
        const rlx_infer_output_view_t *a = &one->outputs[i], *b = &two->outputs[i];

        RLX_ASSERT(strcmp(a->name, b->name) == 0);
        RLX_ASSERT(a->rank == b->rank);
        RLX_ASSERT(memcmp(a->dims, b->dims, sizeof a->dims) == 0);
        RLX_ASSERT(a->bytes == b->bytes);
        RLX_ASSERT(a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
    }
}

/* What is found lies inside of what was given. */
static void stream_try(const uint8_t *data, size_t bytes)
{
    rlx_stream_answer_t answer;

    if (!rlx_stream_answer_read(data, bytes, &answer))
        return;
    RLX_ASSERT(answer.error == NULL || ((const uint8_t *)answer.error >= data && answer.error_bytes <= bytes));
    RLX_ASSERT(answer.data == NULL || (answer.data >= data && answer.data + answer.bytes <= data + bytes));
    RLX_ASSERT(answer.data != NULL || !answer.has_number);
}

static void infer_try(const uint8_t *data, size_t bytes, size_t piece)
{
    rlx_infer_answer_reader_t whole, pieces;
    places_t first = {0}, second = {0};
    rlx_status_t one, two;

    stream_try(data, bytes);
    rlx_infer_answer_init(&whole);
    rlx_infer_answer_init(&pieces);
    one = answer_read(&whole, &first, data, bytes, bytes > 0 ? bytes : 1);
    two = answer_read(&pieces, &second, data, bytes, piece);
    RLX_ASSERT(one == two);
    if (one == RLX_OK)
        answers_compare(&whole, &pieces);
    for (int i = 0; i < first.n; i++)
        free(first.memory[i]);
    for (int i = 0; i < second.n; i++)
        free(second.memory[i]);
    rlx_infer_answer_fini(&whole);
    rlx_infer_answer_fini(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rlx_text_t json;
    rlx_diag_t diag = {0};

    if (bytes == 0)
        return 0;
    if (data[0] < 128) {
        infer_try(data + 1, bytes - 1, data[0] % 32 + 1u);
        return 0;
    }
    rlx_text_init(&json, (size_t)1 << 20);
    (void)rlx_admin_json((rlx_admin_method_t)(data[0] % RLX_ADMIN_COUNT), data + 1, bytes - 1, &json, &diag);
    rlx_text_fini(&json);
    return 0;
}
