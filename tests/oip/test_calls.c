/* ModelInfer and ModelStreamInfer as calls: one answer each, errors in their place, bounds, and nothing left when the client goes. */
#include "tests/unit/check.h"

#include "daemon/oip/methods.h"
#include "proto/oip.pb-c.h"
#include "tests/oip/double.h"
#include "tests/oip/request.h"

static const float values[4] = {1, 2, 3, 4};

static const uint8_t *request(const char *model, const char *id, size_t *out_bytes)
{
    static rlx_request_draft_t draft;

    rlx_draft_init(&draft, model, id);
    rlx_draft_input(&draft, "x", "FP32", 4, 0);
    rlx_draft_raw(&draft, values, sizeof values);
    return rlx_draft_pack(&draft, out_bytes);
}

static void request_send(rlx_rpc_call_t *call, const char *model, const char *id, size_t piece)
{
    size_t bytes;
    const uint8_t *data = request(model, id, &bytes);

    rlx_double_message(call, data, bytes, piece);
}

/* Message `index` of the stream: its id if it is an answer, else the error's text. */
static void expect_answer(const rlx_rpc_call_t *call, int index, const char *id, const char *error)
{
    Inference__ModelStreamInferResponse *message =
        inference__model_stream_infer_response__unpack(NULL, call->sent_bytes[index], call->sent[index]);

    assert_non_null(message);
    assert_string_equal(message->infer_response->id, id);
    if (error == NULL)
        assert_string_equal(message->error_message, "");
    else
        assert_non_null(strstr(message->error_message, error));
    inference__model_stream_infer_response__free_unpacked(message, NULL);
}

static void test_one_request_one_answer(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++)
        for (int keep = 0; keep < 2; keep++) {
            rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_infer);
            Inference__ModelInferResponse *response;

            rlx_double.answer_at_once = at_once;
            call->keep = keep;
            request_send(call, "m", "7", 5);
            call->method->half_close(call);
            if (!at_once) {
                assert_false(call->finished);
                rlx_double_answer(rlx_double.pending[0], RLX_OK, NULL, 0);
            }
            assert_true(call->finished);
            assert_int_equal(call->status, RLX_OK);
            assert_int_equal(call->n_sent, 1);
            response = inference__model_infer_response__unpack(NULL, call->sent_bytes[0], call->sent[0]);
            assert_string_equal(response->id, "7");
            inference__model_infer_response__free_unpacked(response, NULL);
            rlx_double_close(call);
            assert_int_equal(rlx_double_open(), 0);
        }
    rlx_double_reset();
}

static void test_a_failed_answer_is_the_calls_status(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_infer);

    (void)state;
    request_send(call, "m", "7", 500);
    rlx_double_answer(rlx_double.pending[0], RLX_RESOURCE_EXHAUSTED, NULL, 0);
    assert_int_equal(call->status, RLX_RESOURCE_EXHAUSTED);
    assert_string_equal(call->message, "RLX-1409: too much at once. Send them more slowly, or raise the queue's capacity.");
    assert_int_equal(call->n_sent, 0);
    rlx_double_close(call);
    rlx_double_reset();
}

static void test_refused_calls_say_why(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_infer);

    (void)state;
    request_send(call, "missing", "", 3);
    assert_int_equal(call->status, RLX_NOT_FOUND);
    assert_non_null(strstr(call->message, "RLX-1603: no model 'missing'."));
    rlx_double_close(call);

    call = rlx_double_call(&rlx_oip_model_infer);
    call->method->half_close(call);
    assert_int_equal(call->status, RLX_INVALID_ARGUMENT);
    rlx_double_close(call);

    call = rlx_double_call(&rlx_oip_model_infer); /* a second message */
    request_send(call, "m", "", 500);
    request_send(call, "m", "", 500);
    assert_int_equal(call->status, RLX_INVALID_ARGUMENT);
    assert_int_equal(rlx_double.cancelled, 1);
    rlx_double_close(call);
    rlx_double_reset();
}

static void test_a_client_that_goes_leaves_nothing(void **state)
{
    size_t bytes;
    const uint8_t *data = request("m", "1", &bytes);

    (void)state;
    for (size_t stop = 0; stop <= bytes; stop++) { /* while its bytes arrive, or while it waits */
        rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_infer);

        call->method->message(call, bytes);
        for (size_t i = 0; i < stop; i++)
            call->method->data(call, data + i, 1);
        if (stop == bytes)
            call->method->message_end(call);
        rlx_double_close(call);
        assert_int_equal(rlx_double_open(), 0);
    }
    assert_int_equal(rlx_double.cancelled, 1);
    rlx_double_reset();
}

static void test_streams_answer_in_order_of_completion(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);

    (void)state;
    request_send(call, "m", "1", 7);
    request_send(call, "m", "2", 500);
    request_send(call, "missing", "3", 1);
    request_send(call, "m", "4", 500);
    rlx_double_answer(rlx_double.pending[1], RLX_OK, NULL, 0);
    rlx_double_answer(rlx_double.pending[1], RLX_RESOURCE_EXHAUSTED, NULL, 0);
    call->method->half_close(call);
    assert_false(call->finished); /* one is still out */
    rlx_double_answer(rlx_double.pending[0], RLX_OK, NULL, 0);
    assert_true(call->finished);
    assert_int_equal(call->status, RLX_OK);
    assert_int_equal(call->n_sent, 4);
    expect_answer(call, 0, "3", "RLX-1603: no model 'missing'");
    expect_answer(call, 1, "2", NULL);
    expect_answer(call, 2, "4", "RLX-1409: too much at once");
    expect_answer(call, 3, "1", NULL);
    rlx_double_close(call);
    rlx_double_reset();
}

static void test_a_full_stream_is_held_and_loses_nothing(void **state)
{
    enum { N = 1000, AT_ONCE = 64 };
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);
    int n = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        char id[16];

        snprintf(id, sizeof id, "%d", i);
        request_send(call, "m", id, i % 2 == 0 ? 500 : 11);
        assert_int_equal(rlx_double.n_pending, i < AT_ONCE ? i + 1 : AT_ONCE);
        assert_int_equal(call->held, i + 1 >= AT_ONCE);
    }
    call->method->half_close(call);
    while (rlx_double.n_pending > 0) {
        rlx_double_answer(rlx_double.pending[0], RLX_OK, NULL, 0);
        assert_true(rlx_double.n_pending <= AT_ONCE);
        n++;
    }
    assert_int_equal(n, N);
    for (int i = 0; i < N; i++) {
        char id[16];

        snprintf(id, sizeof id, "%d", i);
        expect_answer(call, i, id, NULL);
    }
    assert_true(call->finished);
    rlx_double_close(call);
    rlx_double_reset();
}

/* Answers that come inside submit, and errors, must not nest without end. */
static void test_waiting_messages_are_taken_without_recursion(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);

    (void)state;
    for (int i = 0; i < 2000; i++)
        request_send(call, i < 64 ? "m" : i % 2 == 0 ? "missing" : "m", "", 500);
    rlx_double.answer_at_once = true;
    rlx_double_answer(rlx_double.pending[0], RLX_OK, NULL, 0);
    assert_int_equal(call->n_sent, 2000 - 63);
    assert_int_equal(rlx_double.n_pending, 63);
    assert_false(call->finished);
    rlx_double_close(call);
    assert_int_equal(rlx_double_open(), 0);
    rlx_double_reset();
}

static void test_a_stream_that_floods_while_held_ends(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);
    static uint8_t junk[1 << 20];

    (void)state;
    for (int i = 0; i < 64; i++)
        request_send(call, "m", "", 500);
    for (int i = 0; i < 32 && !call->finished; i++)
        rlx_double_message(call, junk, sizeof junk, 65536);
    assert_true(call->finished);
    assert_int_equal(call->status, RLX_RESOURCE_EXHAUSTED);
    rlx_double_close(call);
    assert_int_equal(rlx_double.cancelled, 64);
    rlx_double_reset();
}

static void test_a_stream_that_closes_leaves_nothing(void **state)
{
    size_t bytes;
    const uint8_t *data = request("m", "1", &bytes);
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);

    (void)state;
    call->keep = true;
    request_send(call, "m", "1", 500);
    request_send(call, "m", "2", 500);
    rlx_double_answer(rlx_double.pending[0], RLX_OK, NULL, 0); /* being sent */
    call->method->message(call, bytes);
    call->method->data(call, data, bytes - 1);
    rlx_double_close(call);
    assert_int_equal(rlx_double_open(), 0);
    rlx_double_reset();
}

static void test_a_stream_that_ends_within_a_message_is_malformed(void **state)
{
    rlx_rpc_call_t *call = rlx_double_call(&rlx_oip_model_stream_infer);

    (void)state;
    call->method->message(call, 10);
    call->method->half_close(call);
    assert_true(call->finished);
    assert_int_equal(call->status, RLX_INVALID_ARGUMENT);
    rlx_double_close(call);
    rlx_double_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request_one_answer),
        cmocka_unit_test(test_a_failed_answer_is_the_calls_status),
        cmocka_unit_test(test_refused_calls_say_why),
        cmocka_unit_test(test_a_client_that_goes_leaves_nothing),
        cmocka_unit_test(test_streams_answer_in_order_of_completion),
        cmocka_unit_test(test_a_full_stream_is_held_and_loses_nothing),
        cmocka_unit_test(test_waiting_messages_are_taken_without_recursion),
        cmocka_unit_test(test_a_stream_that_floods_while_held_ends),
        cmocka_unit_test(test_a_stream_that_closes_leaves_nothing),
        cmocka_unit_test(test_a_stream_that_ends_within_a_message_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
