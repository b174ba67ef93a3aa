/* ModelInferRequest, decoded in any pieces: what arrives, in which order it may arrive, and what is refused by name. */
#include "tests/unit/check.h"

#include "base/text.h"
#include "daemon/oip/decode.h"
#include "proto/wire.h"
#include "tests/oip/double.h"
#include "tests/oip/request.h"

static rlx_oip_decoder_t decoder;
static size_t staged;

static int setup(void **state)
{
    (void)state;
    rlx_oip_decoder_init(&decoder, &staged);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rlx_oip_decoder_fini(&decoder);
    rlx_double_reset();
    return 0;
}

/* Feeds `bytes`, the first `cut` of them apart and the rest in pieces of `piece`. Each piece is a block of its own. */
static rlx_status_t decode(const uint8_t *data, size_t bytes, size_t cut, size_t piece, rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_oip_origin_t origin = {.deadline_ns = UINT64_MAX, .read_ns = 5};
    rlx_status_t status = RLX_OK;

    rlx_oip_decoder_start(&decoder, &origin, bytes);
    for (size_t at = 0; at < bytes && status == RLX_OK;) {
        size_t n = at < cut ? cut - at : piece < bytes - at ? piece : bytes - at;
        uint8_t *copy = malloc(n);

        memcpy(copy, data + at, n);
        status = rlx_oip_decoder_feed(&decoder, copy, n, diag);
        free(copy);
        at += n;
    }
    if (status == RLX_OK)
        status = rlx_oip_decoder_finish(&decoder, out_infer, diag);
    if (status != RLX_OK)
        rlx_oip_decoder_drop(&decoder);
    return status;
}

static void expect_refused(const uint8_t *data, size_t bytes, rlx_error_code_t code, const char *word)
{
    for (size_t piece = 1; piece <= bytes; piece += piece == 1 ? 6 : bytes) {
        rlx_infer_t *infer;
        rlx_diag_t diag = {0};

        assert_int_not_equal(decode(data, bytes, 0, piece, &infer, &diag), RLX_OK);
        if (diag.code != code || strstr(diag.message, word) == NULL)
            fail_msg("refused as %d '%s', expected %d and '%s'", diag.code, diag.message, code, word);
        assert_int_equal(rlx_double_open(), 0);
    }
}

static void end(rlx_infer_t *infer)
{
    rlx_infer_submit(infer);
    rlx_infer_cancel(infer);
}

static const float a_values[6] = {1, -2, 3.5f, 0, 1e-30f, 7};
static const int64_t b_values[3] = {-1, INT64_MAX, 0};

static const uint8_t *plain_request(size_t *out_bytes)
{
    static rlx_request_draft_t draft;

    rlx_draft_init(&draft, "m", "id-1");
    rlx_draft_input(&draft, "a", "FP32", 2, 3);
    rlx_draft_input(&draft, "b", "INT64", 3, 0);
    rlx_draft_raw(&draft, a_values, sizeof a_values);
    rlx_draft_raw(&draft, b_values, sizeof b_values);
    inference__model_infer_request__infer_requested_output_tensor__init(&draft.outputs[0]);
    draft.output_list[0] = &draft.outputs[0];
    draft.outputs[0].name = (char *)(uintptr_t)"y";
    draft.message.n_outputs = 1;
    draft.message.model_version = (char *)(uintptr_t)"3";
    return rlx_draft_pack(&draft, out_bytes);
}

static void expect_plain(const rlx_infer_t *infer)
{
    assert_string_equal(infer->model, "m");
    assert_string_equal(infer->version, "3");
    assert_string_equal(infer->id, "id-1");
    assert_int_equal(infer->head.n_inputs, 2);
    assert_string_equal(infer->names[0], "a");
    assert_int_equal(infer->inputs[0].rank, 2);
    assert_int_equal(infer->inputs[0].dims[0], 2);
    assert_int_equal(infer->inputs[0].dims[1], 3);
    assert_string_equal(infer->names[1], "b");
    assert_int_equal(infer->head.n_outputs, 1);
    assert_string_equal(infer->output_names[0], "y");
    assert_memory_equal(infer->memory[0], a_values, sizeof a_values);
    assert_memory_equal(infer->memory[1], b_values, sizeof b_values);
}

static void test_pieces_do_not_matter(void **state)
{
    size_t bytes;
    const uint8_t *data = plain_request(&bytes);
    rlx_infer_t *infer;

    (void)state;
    for (size_t cut = 0; cut <= bytes; cut++)
        for (size_t piece = 1; piece <= bytes; piece += piece < 3 ? 1 : bytes / 2) {
            assert_ok(decode(data, bytes, cut, piece, &infer, &diag));
            expect_plain(infer);
            end(infer);
        }
    assert_int_equal(rlx_double.abandoned, 0); /* fields in order: begun once, never taken back */
}

static void test_truncated_anywhere_is_refused(void **state)
{
    size_t bytes;
    const uint8_t *data = plain_request(&bytes);
    rlx_infer_t *infer;

    (void)state;
    for (size_t n = 0; n < bytes; n++) {
        rlx_diag_t diag = {0};
        rlx_status_t status = decode(data, n, 0, 16, &infer, &diag);

        /* Cut between fields a message is still one: then something is missing or nothing is named. */
        if (status == RLX_OK) {
            assert_int_equal(infer->head.n_inputs, 0);
            end(infer);
        } else {
            assert_int_not_equal(diag.code, RLX_E_NONE);
        }
        assert_int_equal(rlx_double_open(), 0);
    }
}

/* The plain request with its fields in another order: `order` lists field groups. */
static size_t reordered(const char *order, uint8_t *out, size_t size)
{
    rlx_text_t text;
    size_t at, bytes;

    rlx_text_init(&text, 4096);
    for (; *order != '\0'; order++)
        switch (*order) {
        case 'm': rlx_wire_string(&text, 1, "m"); break;
        case 'v': rlx_wire_string(&text, 2, "3"); break;
        case 'i': rlx_wire_string(&text, 3, "id-1"); break;
        case 'a':
            at = rlx_wire_open(&text, 5);
            rlx_wire_int64(&text, 3, 2); /* the shape one by one, and before the name */
            rlx_wire_int64(&text, 3, 3);
            rlx_wire_string(&text, 2, "FP32");
            rlx_wire_string(&text, 1, "a");
            rlx_wire_close(&text, at);
            break;
        case 'b':
            at = rlx_wire_open(&text, 5);
            rlx_wire_string(&text, 1, "b");
            rlx_wire_string(&text, 2, "INT64");
            rlx_wire_int64s(&text, 3, (const int64_t[]){3}, 1);
            rlx_wire_close(&text, at);
            break;
        case 'y':
            at = rlx_wire_open(&text, 6);
            rlx_wire_string(&text, 1, "y");
            rlx_wire_close(&text, at);
            break;
        case '1': rlx_wire_bytes(&text, 7, a_values, sizeof a_values); break;
        case '2': rlx_wire_bytes(&text, 7, b_values, sizeof b_values); break;
        default: rlx_wire_bytes(&text, 900, "unknown", 7); break;
        }
    assert_true(text.bytes <= size);
    bytes = text.bytes;
    memcpy(out, text.data, bytes);
    rlx_text_fini(&text);
    return bytes;
}

static void test_any_order_of_fields_gives_the_same(void **state)
{
    static const char *const orders[] = {"12ymviab", "mvi1ab2y",     "ma1b2viy", "maybe12vi",
                                         "1mviaby2", "?mv?iaby1?2?", "mviab12y", "mviaby12"};
    uint8_t data[512];
    rlx_infer_t *infer;

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        size_t bytes = reordered(orders[i], data, sizeof data);

        for (size_t piece = 1; piece <= 64; piece *= 8) {
            assert_ok(decode(data, bytes, 0, piece, &infer, &diag));
            expect_plain(infer);
            end(infer);
        }
    }
}

/* By hand: an input of `dtype` and [n] with packed or single values of contents field `kind`. */
static size_t typed(const char *dtype, int64_t n, uint32_t kind, bool packed, const uint64_t *values, int n_values, uint8_t *out)
{
    rlx_text_t text;
    size_t input, contents, run = 0, bytes;

    rlx_text_init(&text, 1 << 16);
    rlx_wire_string(&text, 1, "m");
    input = rlx_wire_open(&text, 5);
    rlx_wire_string(&text, 1, "x");
    rlx_wire_string(&text, 2, dtype);
    rlx_wire_int64s(&text, 3, &n, 1);
    contents = rlx_wire_open(&text, 5);
    if (packed && kind < 6) {
        int64_t all[16];

        memcpy(all, values, (size_t)n_values * sizeof *values);
        rlx_wire_int64s(&text, kind, all, n_values);
    } else if (packed) {
        run = rlx_wire_open(&text, kind);
        for (int i = 0; i < n_values; i++)
            rlx_text_add(&text, &values[i], kind == 6 ? 4 : 8);
        rlx_wire_close(&text, run);
    } else {
        for (int i = 0; i < n_values; i++) {
            char tag = (char)(kind << 3 | (kind < 6 ? 0 : kind == 6 ? 5 : 1));

            if (kind < 6) {
                rlx_wire_int64(&text, kind, (int64_t)values[i]);
                continue;
            }
            rlx_text_add(&text, &tag, 1);
            rlx_text_add(&text, &values[i], kind == 6 ? 4 : 8);
        }
    }
    rlx_wire_close(&text, contents);
    rlx_wire_close(&text, input);
    bytes = text.bytes;
    memcpy(out, text.data, bytes);
    rlx_text_fini(&text);
    return bytes;
}

static void test_typed_contents_of_every_type(void **state)
{
    static const struct {
        const char *dtype;
        uint32_t kind;
        uint64_t values[3];
        const char *expect; /* hex of the tensor, little-endian */
    } cases[] = {
        {"BOOL", 1, {1, 0, 1}, "010001"},
        {"INT8", 2, {(uint64_t)-128, 127, (uint64_t)-1}, "807fff"},
        {"INT16", 2, {(uint64_t)-32768, 32767, 1}, "0080ff7f0100"},
        {"INT32", 2, {(uint64_t)-1, 5, 0x7fffffff}, "ffffffff05000000ffffff7f"},
        {"INT64", 3, {(uint64_t)-1, 5, 1ull << 40}, "ffffffffffffffff05000000000000000000000000010000"},
        {"UINT8", 4, {255, 0, 7}, "ff0007"},
        {"UINT16", 4, {65535, 1, 2}, "ffff01000200"},
        {"UINT32", 4, {0xffffffff, 1, 2}, "ffffffff0100000002000000"},
        {"UINT64", 5, {UINT64_MAX, 1, 2}, "ffffffffffffffff01000000000000000200000000000000"},
        {"FP32", 6, {0x3f800000, 0x80000000, 0x7f800000}, "0000803f000000800000807f"},
        {"FP64", 7, {0x3ff0000000000000, 0, 1}, "000000000000f03f00000000000000000100000000000000"},
    };
    uint8_t data[512];
    rlx_infer_t *infer;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int packed = 0; packed < 2; packed++)
            for (size_t piece = 1; piece < 300; piece *= 17) {
                size_t bytes = typed(cases[c].dtype, 3, cases[c].kind, packed, cases[c].values, 3, data);
                char hex[64] = "";

                assert_ok(decode(data, bytes, 0, piece, &infer, &diag));
                for (uint64_t i = 0; i < infer->bytes[0]; i++)
                    sprintf(hex + 2 * i, "%02x", ((uint8_t *)infer->memory[0])[i]);
                assert_string_equal(hex, cases[c].expect);
                end(infer);
            }
}

static void test_typed_contents_that_do_not_fit_are_refused_by_name(void **state)
{
    static const uint64_t one[] = {1, 2, 3, 4}, large[] = {200}, negative[] = {(uint64_t)-129};
    uint8_t data[512];

    (void)state;
    expect_refused(data, typed("FP32", 3, 6, true, one, 2, data), RLX_E_INPUT_SHAPE,
                   "input 'x' has 2 values in fp32_contents, its shape needs 3");
    expect_refused(data, typed("FP32", 3, 6, false, one, 4, data), RLX_E_INPUT_SHAPE, "input 'x' has 4 values");
    expect_refused(data, typed("FP32", 1, 7, true, one, 1, data), RLX_E_INPUT_DTYPE,
                   "input 'x' is FP32 and has fp64_contents, needs fp32_contents");
    expect_refused(data, typed("FP16", 1, 6, true, one, 1, data), RLX_E_INPUT_DTYPE, "input 'x': FP16 has no typed contents");
    expect_refused(data, typed("BF16", 1, 6, true, one, 1, data), RLX_E_INPUT_DTYPE, "input 'x': BF16 has no typed contents");
    expect_refused(data, typed("INT8", 1, 2, true, large, 1, data), RLX_E_INPUT_VALUE, "input 'x': value 200 at 0 does not fit INT8");
    expect_refused(data, typed("INT8", 1, 2, true, negative, 1, data), RLX_E_INPUT_VALUE, "-129");
    expect_refused(data, typed("UINT8", 1, 4, false, negative, 1, data), RLX_E_INPUT_VALUE, "does not fit UINT8");
    expect_refused(data, typed("FP32", 1, 6, true, one, 0, data), RLX_E_INPUT_SHAPE, "input 'x' has 0 values");
    expect_refused(data, typed("FP32", 1, 6, false, one, 0, data), RLX_E_REQUEST_MALFORMED, "input 'x' has no data");
    expect_refused(data, typed("BYTES", 1, 8, false, one, 0, data), RLX_E_INPUT_DTYPE, "input 'x'");
}

static void test_zero_elements_need_no_data(void **state)
{
    uint8_t data[512];
    rlx_infer_t *infer;

    (void)state;
    assert_ok(decode(data, typed("FP32", 0, 6, true, NULL, 0, data), 0, 64, &infer, &diag));
    assert_int_equal(infer->bytes[0], 0);
    end(infer);
}

static void test_both_forms_are_refused(void **state)
{
    rlx_request_draft_t draft;
    static float values[6] = {0};
    const uint8_t *data;
    size_t bytes;

    (void)state;
    rlx_draft_init(&draft, "m", "");
    rlx_draft_input(&draft, "a", "FP32", 6, 0);
    draft.contents[0].n_fp32_contents = 6;
    draft.contents[0].fp32_contents = values;
    draft.inputs[0].contents = &draft.contents[0];
    rlx_draft_raw(&draft, values, sizeof values);
    data = rlx_draft_pack(&draft, &bytes);
    expect_refused(data, bytes, RLX_E_REQUEST_MALFORMED, "input 'a' has contents, and the request has raw_input_contents");
}

static void test_counts_of_raw_entries_must_match(void **state)
{
    rlx_request_draft_t draft;
    const uint8_t *data;
    size_t bytes;

    (void)state;
    rlx_draft_init(&draft, "m", "");
    rlx_draft_input(&draft, "a", "FP32", 2, 3);
    rlx_draft_input(&draft, "b", "INT64", 3, 0);
    rlx_draft_raw(&draft, a_values, sizeof a_values);
    data = rlx_draft_pack(&draft, &bytes);
    expect_refused(data, bytes, RLX_E_REQUEST_MALFORMED, "input 'b' has no data: raw_input_contents has 1 entries");
    rlx_draft_raw(&draft, b_values, sizeof b_values);
    rlx_draft_raw(&draft, b_values, sizeof b_values);
    data = rlx_draft_pack(&draft, &bytes);
    expect_refused(data, bytes, RLX_E_REQUEST_MALFORMED, "raw_input_contents has 3 entries or more");
    draft.message.n_raw_input_contents = 1;
    rlx_draft_raw(&draft, b_values, sizeof b_values - 1);
    data = rlx_draft_pack(&draft, &bytes);
    expect_refused(data, bytes, RLX_E_INPUT_SHAPE, "input 'b' has 23 bytes in raw_input_contents, its type and shape need 24");
}

static void parameter_string(rlx_text_t *text, uint32_t field, const char *key, const char *value)
{
    size_t entry = rlx_wire_open(text, field), inner;

    rlx_wire_string(text, 1, key);
    inner = rlx_wire_open(text, 2);
    rlx_wire_string(text, 3, value);
    rlx_wire_close(text, inner);
    rlx_wire_close(text, entry);
}

static void parameter_int(rlx_text_t *text, uint32_t field, const char *key, int64_t value)
{
    size_t entry = rlx_wire_open(text, field), inner;

    inner = rlx_wire_open(text, 2); /* the value before the key: any order */
    rlx_wire_int64(text, 2, value);
    rlx_wire_close(text, inner);
    rlx_wire_string(text, 1, key);
    rlx_wire_close(text, entry);
}

/* Input "s" in region "r" (`sized`: with its size), then input "x" with raw data. */
static size_t shared_request(bool sized, uint8_t *out)
{
    int64_t four = 4;
    rlx_text_t text;
    size_t at, bytes;

    rlx_text_init(&text, 1 << 16);
    rlx_wire_string(&text, 1, "m");
    parameter_int(&text, 4, "timeout", 5000);
    parameter_int(&text, 4, "priority", 1);
    parameter_int(&text, 4, "nobody_knows_this_one_and_it_is_longer_than_keys_are", 1);
    parameter_string(&text, 4, "rlx_preferred_devices", "cuda:0,cpu:0");
    parameter_string(&text, 4, "triton_enable_empty_final_response", "x");
    at = rlx_wire_open(&text, 5);
    rlx_wire_string(&text, 1, "s");
    rlx_wire_string(&text, 2, "FP32");
    rlx_wire_int64s(&text, 3, &four, 1);
    parameter_string(&text, 4, "shared_memory_region", "r");
    parameter_int(&text, 4, "shared_memory_offset", 8);
    if (sized)
        parameter_int(&text, 4, "shared_memory_byte_size", 16);
    rlx_wire_close(&text, at);
    at = rlx_wire_open(&text, 5);
    rlx_wire_string(&text, 1, "x");
    rlx_wire_string(&text, 2, "FP32");
    rlx_wire_int64s(&text, 3, &four, 1);
    rlx_wire_close(&text, at);
    rlx_wire_bytes(&text, 7, "0123456789abcdef", 16);
    bytes = text.bytes;
    memcpy(out, text.data, bytes);
    rlx_text_fini(&text);
    return bytes;
}

static void test_inputs_in_shared_memory_have_no_raw_entry(void **state)
{
    uint8_t data[1024];
    size_t bytes = shared_request(true, data);
    rlx_infer_t *infer;

    (void)state;
    for (size_t piece = 1; piece <= bytes; piece += 11) {
        assert_ok(decode(data, bytes, 0, piece, &infer, &diag));
        assert_string_equal(infer->regions[0], "r");
        assert_int_equal(infer->inputs[0].place.offset, 8);
        assert_int_equal(infer->inputs[0].place.bytes, 16);
        assert_null(infer->inputs[1].place.region);
        assert_memory_equal(infer->memory[1], "0123456789abcdef", 16);
        assert_int_equal(infer->head.timeout_us, 5000);
        assert_int_equal(infer->head.priority, 1);
        assert_string_equal(infer->devices, "cuda:0,cpu:0");
        end(infer);
    }
    bytes = shared_request(false, data);
    expect_refused(data, bytes, RLX_E_REQUEST_MALFORMED, "'s' names region 'r' without shared_memory_byte_size");
}

static void test_parameters_of_the_wrong_kind_are_refused(void **state)
{
    rlx_text_t text;

    (void)state;
    rlx_text_init(&text, 4096);
    rlx_wire_string(&text, 1, "m");
    parameter_string(&text, 4, "timeout", "soon");
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "parameter 'timeout'");
    rlx_text_clear(&text);
    parameter_int(&text, 4, "priority", -1);
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "parameter 'priority'");
    rlx_text_fini(&text);
}

static void test_metadata_above_its_caps_is_refused(void **state)
{
    static const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    char name[300];
    rlx_text_t text;
    size_t at;

    (void)state;
    rlx_text_init(&text, 1 << 20);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    rlx_wire_string(&text, 1, name);
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "too large");
    rlx_text_clear(&text);
    rlx_wire_bytes(&text, 1, "a\0b", 3);
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "model_name of ModelInferRequest is no UTF-8 text");
    rlx_text_clear(&text);
    rlx_wire_bytes(&text, 3, "\xed\xa0\x80", 3);
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "id of ModelInferRequest is no UTF-8 text");
    rlx_text_clear(&text);
    for (int i = 0; i < 257; i++)
        rlx_wire_close(&text, rlx_wire_open(&text, 5));
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "more than 256 inputs");
    rlx_text_clear(&text);
    at = rlx_wire_open(&text, 5);
    rlx_wire_string(&text, 1, "deep");
    rlx_wire_int64s(&text, 3, nine, 9);
    rlx_wire_close(&text, at);
    expect_refused((const uint8_t *)text.data, text.bytes, RLX_E_REQUEST_MALFORMED, "input 'deep' has more than 8 dimensions");
    rlx_text_fini(&text);
}

static void test_early_raw_contents_are_bounded(void **state)
{
    rlx_oip_origin_t origin = {.deadline_ns = UINT64_MAX};
    uint64_t total = ((uint64_t)1 << 30);
    uint8_t prefix[] = {7 << 3 | 2, 0x80, 0x80, 0x80, 0x80, 0x02}; /* raw_input_contents of 512 MiB, first of all */
    char *piece = calloc(1, 1 << 20);
    rlx_status_t status;
    rlx_diag_t diag = {0};
    int fed = 0;

    (void)state;
    rlx_oip_decoder_start(&decoder, &origin, total);
    status = rlx_oip_decoder_feed(&decoder, prefix, sizeof prefix, &diag);
    while (status == RLX_OK && ++fed < 100)
        status = rlx_oip_decoder_feed(&decoder, piece, 1 << 20, &diag);
    free(piece);
    assert_int_equal(status, RLX_RESOURCE_EXHAUSTED);
    assert_true(fed <= 17);
    assert_non_null(strstr(diag.hint, "after `inputs`"));
    rlx_oip_decoder_drop(&decoder);
}

static void test_failures_of_begin_are_not_counted_twice(void **state)
{
    rlx_request_draft_t draft;
    const uint8_t *data;
    size_t bytes;

    (void)state;
    rlx_double_reset();
    rlx_draft_init(&draft, "missing", "");
    rlx_draft_input(&draft, "a", "FP32", 1, 0);
    rlx_draft_raw(&draft, a_values, 4);
    data = rlx_draft_pack(&draft, &bytes);
    expect_refused(data, bytes, RLX_E_MODEL_UNKNOWN, "missing");
    assert_int_equal(rlx_double.malformed, 0);
    expect_refused((const uint8_t *)"\xff\xff\xff", 3, RLX_E_REQUEST_MALFORMED, "");
    assert_int_equal(rlx_double.malformed, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_pieces_do_not_matter),
        T(test_truncated_anywhere_is_refused),
        T(test_any_order_of_fields_gives_the_same),
        T(test_typed_contents_of_every_type),
        T(test_typed_contents_that_do_not_fit_are_refused_by_name),
        T(test_zero_elements_need_no_data),
        T(test_both_forms_are_refused),
        T(test_counts_of_raw_entries_must_match),
        T(test_inputs_in_shared_memory_have_no_raw_entry),
        T(test_parameters_of_the_wrong_kind_are_refused),
        T(test_metadata_above_its_caps_is_refused),
        T(test_early_raw_contents_are_bounded),
        T(test_failures_of_begin_are_not_counted_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
