/* Zip members that other programs write: deflated, zip64, encrypted, bombs. */
#include "base/zip.h"

#include <zlib.h>

#include "tests/unit/check.h"

typedef struct member_form {
    unsigned flags, method, crc;
    uint64_t bytes; /* claimed */
    bool zip64;
} member_form_t;

static unsigned char archive[1 << 16];

static unsigned char *put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
    return at;
}

/* One member "a" with these packed bytes. */
static size_t archive_make(const member_form_t *form, const void *packed, size_t packed_bytes)
{
    unsigned char *at = archive, *directory;
    uint64_t shown = form->zip64 ? 0xffffffffu : form->bytes, shown_packed = form->zip64 ? 0xffffffffu : packed_bytes;

    at = put(at, 0x04034b50, 4);
    at = put(at, 0, 26 - 4);
    at = put(at, 1, 2);
    at = put(at, 0, 2);
    *at++ = 'a';
    memcpy(at, packed, packed_bytes);
    at += packed_bytes;
    directory = at;
    at = put(at, 0x02014b50, 4);
    at = put(at, 0, 4);
    at = put(at, form->flags, 2);
    at = put(at, form->method, 2);
    at = put(at, 0, 4);
    at = put(at, form->crc, 4);
    at = put(at, shown_packed, 4);
    at = put(at, shown, 4);
    at = put(at, 1, 2);
    at = put(at, form->zip64 ? 20 : 0, 2);
    at = put(at, 0, 8);
    at = put(at, 0, 2);
    at = put(at, 0, 4);
    *at++ = 'a';
    if (form->zip64) {
        at = put(at, 1, 2);
        at = put(at, 16, 2);
        at = put(at, form->bytes, 8);
        at = put(at, packed_bytes, 8);
    }
    uint64_t size = (uint64_t)(at - directory);
    at = put(at, 0x06054b50, 4);
    at = put(at, 0, 4);
    at = put(at, 1, 2);
    at = put(at, 1, 2);
    at = put(at, size, 4);
    at = put(at, (uint64_t)(directory - archive), 4);
    at = put(at, 0, 2);
    return (size_t)(at - archive);
}

static rlx_status_t unpack(size_t bytes, void *out, size_t room, rlx_diag_t *diag)
{
    rlx_zip_member_t member;
    rlx_zip_t zip;
    bool more;

    RLX_TRY(rlx_zip_open(archive, bytes, &zip, diag));
    RLX_TRY(rlx_zip_next(&zip, &member, &more, diag));
    assert_true(more);
    if (member.bytes > room)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "too large for the test");
    RLX_TRY(rlx_zip_unpack(&member, out, diag));
    RLX_TRY(rlx_zip_next(&zip, &member, &more, diag));
    assert_false(more);
    return RLX_OK;
}

static size_t deflated(const void *data, size_t bytes, unsigned char *out, size_t room)
{
    z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)bytes, .next_out = out, .avail_out = (uInt)room};

    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

static void test_deflated_and_zip64(void **state)
{
    static char text[20000];
    unsigned char packed[4096];
    char out[sizeof text];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 97);
    for (int zip64 = 0; zip64 < 2; zip64++) {
        member_form_t form = {.method = 8, .bytes = sizeof text, .zip64 = zip64};

        form.crc = (unsigned)crc32(0, (const Bytef *)text, sizeof text);
        size_t n = archive_make(&form, packed, deflated(text, sizeof text, packed, sizeof packed));
        assert_ok(unpack(n, out, sizeof out, &diag));
        assert_memory_equal(out, text, sizeof text);
    }
}

static void test_claims_that_differ_from_the_contents(void **state)
{
    unsigned char packed[256];
    char out[4096];
    size_t n = deflated("hello hello hello", 17, packed, sizeof packed);
    member_form_t form = {.method = 8, .bytes = 17, .crc = (unsigned)crc32(0, (const Bytef *)"hello hello hello", 17)};

    (void)state;
    assert_ok(unpack(archive_make(&form, packed, n), out, sizeof out, &diag));
    form.bytes = 16;
    assert_refused(unpack(archive_make(&form, packed, n), out, sizeof out, &diag), RLX_E_NPZ, "unpack");
    form.bytes = 18;
    assert_refused(unpack(archive_make(&form, packed, n), out, sizeof out, &diag), RLX_E_NPZ, "unpack");
    form.bytes = (uint64_t)1 << 40;
    form.zip64 = true;
    assert_refused(unpack(archive_make(&form, packed, n), out, sizeof out, &diag), RLX_E_NPZ, "claims");
}

static void test_refusals_say_why(void **state)
{
    char out[64];
    member_form_t encrypted = {.flags = 1, .bytes = 2}, method = {.method = 12, .bytes = 2};
    member_form_t sizes = {.bytes = 3}, crc = {.bytes = 2, .crc = 1};

    (void)state;
    assert_refused(unpack(archive_make(&encrypted, "ab", 2), out, sizeof out, &diag), RLX_E_NPZ, "encrypted");
    assert_refused(unpack(archive_make(&method, "ab", 2), out, sizeof out, &diag), RLX_E_NPZ, "method 12");
    assert_refused(unpack(archive_make(&sizes, "ab", 2), out, sizeof out, &diag), RLX_E_NPZ, "two sizes");
    assert_refused(unpack(archive_make(&crc, "ab", 2), out, sizeof out, &diag), RLX_E_NPZ, "checksum");
    memset(archive, 0, 100);
    assert_refused(unpack(100, out, sizeof out, &diag), RLX_E_NPZ, "neither");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deflated_and_zip64),
        cmocka_unit_test(test_claims_that_differ_from_the_contents),
        cmocka_unit_test(test_refusals_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
