/* The guard: what it yields, that pieces do not matter, and what it refuses. */
#include "proto/guard.h"
#include "tests/unit/check.h"

static const rlx_guard_message_t node;
static const rlx_guard_field_t node_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 2, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 5},
    {.number = 3, .kind = RLX_GUARD_KIND_MESSAGE, .message = &node},
    {.number = 4, .kind = RLX_GUARD_KIND_PACKED},
};
static const rlx_guard_message_t node = {"Node", node_fields, 4};
static const rlx_guard_limits_t limits = {.depth_max = 4, .fields_max = 100, .broken = RLX_E_ONNX_MALFORMED, .above = RLX_E_ONNX_LIMIT};

/* Writes events as text: "1=300 2<abc> 3{ ... } ". */
static void walk(const uint8_t *data, size_t bytes, size_t piece, char *text)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;
    size_t at = 0;

    *text = '\0';
    rlx_guard_init(&guard, &node, &limits, bytes);
    for (;;) {
        switch (rlx_guard_next(&guard, &item, NULL)) {
        case RLX_GUARD_MORE:
            if (at == bytes) {
                strcat(text, "cut");
                return;
            }
            rlx_guard_feed(&guard, data + at, bytes - at < piece ? bytes - at : piece);
            at += bytes - at < piece ? bytes - at : piece;
            break;
        case RLX_GUARD_SCALAR: sprintf(text + strlen(text), "%u=%llu ", item.number, (unsigned long long)item.value); break;
        case RLX_GUARD_BYTES:
            if (item.done == 0)
                sprintf(text + strlen(text), "%u%s<", item.number, item.field ? "" : "?");
            strncat(text, (const char *)item.data, item.bytes);
            if (item.done + item.bytes == item.total)
                strcat(text, "> ");
            break;
        case RLX_GUARD_ENTER: sprintf(text + strlen(text), "%u{ ", item.number); break;
        case RLX_GUARD_LEAVE: strcat(text, "} "); break;
        case RLX_GUARD_END: return;
        case RLX_GUARD_BAD: strcat(text, "bad"); return;
        }
    }
}

static void events_tell_the_message(void **state)
{
    uint8_t data[] = {0x08, 0xac, 0x02, 0x12, 3,   'a',  'b', 'c', 0x1a, 6, 0x12, 0, 0x1a, 2,  0x08,
                      1,    0x3a, 2,    'u',  'v', 0x25, 1,   0,   0,    0, 0x22, 2, 'p',  'q'};
    char text[512];

    (void)state;
    walk(data, sizeof data, sizeof data, text);
    assert_string_equal(text, "1=300 2<abc> 3{ 2<> 3{ 1=1 } } 7?<uv> 4=1 4<pq> ");
}

static void pieces_do_not_matter(void **state)
{
    uint8_t data[] = {0x08, 0xac, 0x02, 0x12, 3,   'a',  'b', 'c', 0x1a, 6, 0x12, 0, 0x1a, 2,  0x08,
                      1,    0x3a, 2,    'u',  'v', 0x25, 1,   0,   0,    0, 0x22, 2, 'p',  'q'};
    char whole[512], text[512];

    (void)state;
    walk(data, sizeof data, sizeof data, whole);
    for (size_t piece = 1; piece < sizeof data; piece++) {
        walk(data, sizeof data, piece, text);
        assert_string_equal(text, whole);
    }
}

#define REFUSED(code, word, ...)                                                                                                          \
    do {                                                                                                                                  \
        const uint8_t data[] = {__VA_ARGS__};                                                                                             \
        assert_refused(rlx_guard_check(&node, &limits, data, sizeof data, &diag), code, word);                                            \
    } while (0)

static void broken_bytes_are_refused(void **state)
{
    (void)state;
    REFUSED(RLX_E_ONNX_MALFORMED, "broken field tag", 0x80);
    REFUSED(RLX_E_ONNX_MALFORMED, "field number out of range", 0x00);
    REFUSED(RLX_E_ONNX_MALFORMED, "group or unknown wire type", 0x0b);
    REFUSED(RLX_E_ONNX_MALFORMED, "group or unknown wire type", 0x3c);
    REFUSED(RLX_E_ONNX_MALFORMED, "broken number", 0x08, 0xff);
    REFUSED(RLX_E_ONNX_MALFORMED, "broken number", 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
    REFUSED(RLX_E_ONNX_MALFORMED, "runs past the end", 0x12, 4, 'a');
    REFUSED(RLX_E_ONNX_MALFORMED, "runs past the end", 0x1a, 2, 0x12, 1);
    REFUSED(RLX_E_ONNX_MALFORMED, "bytes where a number", 0x0a, 0);
    REFUSED(RLX_E_ONNX_MALFORMED, "a number where bytes", 0x10, 0);
    REFUSED(RLX_E_ONNX_LIMIT, "too large", 0x12, 6, 1, 2, 3, 4, 5, 6);
    REFUSED(RLX_E_ONNX_LIMIT, "nest too deeply", 0x1a, 6, 0x1a, 4, 0x1a, 2, 0x1a, 0);
    REFUSED(RLX_E_ONNX_MALFORMED, "broken number", 0x25, 1, 2, 3);
}

static void field_count_is_capped(void **state)
{
    uint8_t data[202];

    (void)state;
    for (size_t i = 0; i < sizeof data; i += 2) {
        data[i] = 0x08;
        data[i + 1] = 1;
    }
    assert_refused(rlx_guard_check(&node, &limits, data, sizeof data, &diag), RLX_E_ONNX_LIMIT, "too many fields");
    assert_ok(rlx_guard_check(&node, &limits, data, 200, &diag));
}

static void random_bytes_end(void **state)
{
    uint8_t data[64];
    char text[4096];
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof data; i++) {
            seed = seed * 1664525u + 1013904223u;
            data[i] = (uint8_t)(seed >> 24) & (round & 1 ? 0x1f : 0xff);
            if (data[i] == 0)
                data[i] = 1;
        }
        walk(data, sizeof data, 1 + (size_t)round % 64, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_tell_the_message), cmocka_unit_test(pieces_do_not_matter), cmocka_unit_test(broken_bytes_are_refused),
        cmocka_unit_test(field_count_is_capped),   cmocka_unit_test(random_bytes_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
