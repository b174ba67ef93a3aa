/* What ModelInferResponse looks like to protobuf-c, whatever slices it was sent in. */
#include "tests/unit/check.h"

#include "daemon/oip/encode.h"
#include "proto/oip.pb-c.h"

static rlx_text_t head;

static uint8_t *flatten(const rlx_oip_message_t *message, size_t *out_bytes)
{
    size_t bytes = 0;
    uint8_t *data, *at;

    for (int i = 0; i < message->n_slices; i++)
        bytes += message->slices[i].bytes;
    at = data = malloc(bytes + 1);
    for (int i = 0; i < message->n_slices; i++) {
        if (message->slices[i].bytes > 0)
            memcpy(at, message->slices[i].data, message->slices[i].bytes);
        at += message->slices[i].bytes;
    }
    *out_bytes = bytes;
    return data;
}

static const Inference__InferParameter *parameter(const Inference__ModelInferResponse *response, const char *key)
{
    for (size_t i = 0; i < response->n_parameters; i++)
        if (strcmp(response->parameters[i]->key, key) == 0)
            return response->parameters[i]->value;
    fail_msg("no parameter %s", key);
    return NULL;
}

static rlx_infer_answer_t answer_make(rlx_infer_answer_output_t *outputs, int n)
{
    return (rlx_infer_answer_t){.status = RLX_OK,
                                .model = "m",
                                .version = "2",
                                .id = "id-1",
                                .device = "cpu:0",
                                .outputs = outputs,
                                .n_outputs = n,
                                .queue_ns = 0,
                                .kernel_ns = 1234567};
}

/* Sizes around the border between copied and referenced tensors, and so many that slices run out. */
static void test_tensors_of_any_size_and_number_arrive(void **state)
{
    static const int counts[] = {0, 1, 3, 130, 256};
    static float memory[4096];
    static rlx_infer_answer_output_t outputs[RLX_INFER_PORTS_MAX];
    static char names[RLX_INFER_PORTS_MAX][8];

    (void)state;
    for (size_t i = 0; i < 4096; i++)
        memory[i] = (float)i;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        rlx_infer_answer_t answer = answer_make(outputs, counts[c]);
        Inference__ModelInferResponse *response;
        rlx_oip_message_t message;
        size_t bytes;
        uint8_t *data;

        for (int i = 0; i < counts[c]; i++) {
            int64_t n = i == 0 ? 4096 : 250 + i % 13;

            snprintf(names[i], sizeof names[i], "y%d", i);
            outputs[i] = (rlx_infer_answer_output_t){
                .name = names[i], .tensor = {.dtype = RLX_F32, .rank = 2, .dims = {1, n}, .data = memory}, .bytes = (uint64_t)n * 4};
        }
        assert_true(rlx_oip_encode(&head, &answer, false, &message));
        assert_true(message.n_slices <= RLX_RPC_SLICES_MAX);
        data = flatten(&message, &bytes);
        response = inference__model_infer_response__unpack(NULL, bytes, data);
        assert_non_null(response);
        assert_int_equal(response->n_outputs, counts[c]);
        assert_int_equal(response->n_raw_output_contents, counts[c]);
        for (int i = 0; i < counts[c]; i++) {
            assert_string_equal(response->outputs[i]->name, names[i]);
            assert_string_equal(response->outputs[i]->datatype, "FP32");
            assert_int_equal(response->outputs[i]->shape[1], outputs[i].tensor.dims[1]);
            assert_int_equal(response->raw_output_contents[i].len, outputs[i].bytes);
            assert_memory_equal(response->raw_output_contents[i].data, memory, outputs[i].bytes);
        }
        assert_string_equal(response->model_name, "m");
        assert_string_equal(response->model_version, "2");
        assert_string_equal(response->id, "id-1");
        assert_string_equal(parameter(response, "rlx_device")->string_param, "cpu:0");
        assert_int_equal(parameter(response, "rlx_kernel_ns")->int64_param, 1234567);
        assert_int_equal(parameter(response, "rlx_queue_ns")->parameter_choice_case,
                         INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_INT64_PARAM);
        inference__model_infer_response__free_unpacked(response, NULL);
        free(data);
    }
}

static void test_large_tensors_are_not_copied(void **state)
{
    static float memory[4096];
    rlx_infer_answer_output_t output = {
        .name = "y", .tensor = {.dtype = RLX_F32, .rank = 1, .dims = {4096}, .data = memory}, .bytes = sizeof memory};
    rlx_infer_answer_t answer = answer_make(&output, 1);
    rlx_oip_message_t message;
    bool found = false;

    (void)state;
    assert_true(rlx_oip_encode(&head, &answer, true, &message));
    for (int i = 0; i < message.n_slices; i++)
        found |= message.slices[i].data == memory && message.slices[i].bytes == sizeof memory;
    assert_true(found);
}

/* Clients look entries up by position among the outputs. */
static void test_outputs_in_shared_memory_have_an_empty_entry(void **state)
{
    static float memory[2] = {1, 2};
    rlx_infer_answer_output_t outputs[] = {
        {.name = "s", .tensor = {.dtype = RLX_F32, .rank = 1, .dims = {2}}, .bytes = 8, .place = {"r", 64, 8}},
        {.name = "y", .tensor = {.dtype = RLX_F32, .rank = 1, .dims = {2}, .data = memory}, .bytes = 8},
    };
    rlx_infer_answer_t answer = answer_make(outputs, 2);
    Inference__ModelStreamInferResponse *stream;
    const Inference__ModelInferResponse *response;
    rlx_oip_message_t message;
    size_t bytes;
    uint8_t *data;

    (void)state;
    assert_true(rlx_oip_encode(&head, &answer, true, &message));
    data = flatten(&message, &bytes);
    stream = inference__model_stream_infer_response__unpack(NULL, bytes, data);
    assert_non_null(stream);
    response = stream->infer_response;
    assert_int_equal(response->n_raw_output_contents, 2);
    assert_int_equal(response->raw_output_contents[0].len, 0);
    assert_memory_equal(response->raw_output_contents[1].data, memory, 8);
    assert_int_equal(response->outputs[0]->n_parameters, 3);
    assert_string_equal(response->outputs[0]->parameters[0]->value->string_param, "r");
    assert_true(parameter(response, "triton_final_response")->bool_param);
    inference__model_stream_infer_response__free_unpacked(stream, NULL);
    free(data);
}

static int teardown(void **state)
{
    (void)state;
    rlx_text_fini(&head);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    rlx_text_init(&head, RLX_OIP_HEAD_MAX);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_of_any_size_and_number_arrive),
        cmocka_unit_test(test_large_tensors_are_not_copied),
        cmocka_unit_test(test_outputs_in_shared_memory_have_an_empty_entry),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
