/* Messages: as the schema says, and nothing else. protobuf-c reads what is written here, and what it writes is read here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gss/core/message.h"
#include "proto/gss.pb-c.h"
#include "tests/gss/cells.h"

static rlx_gss_packet_t packet;

static void write_beat(rlx_text_t *out, uint32_t n_cells)
{
    test_cell_t cell = test_node(3, 5, 77, 2, RLX_GSS_NODE_SERVING);
    rlx_gss_head_t head = rlx_gss_head(RLX_GSS_PART_BEAT);

    cell.cell.body = cell.body;
    head.f[RLX_GSS_F_SENDER] = 42;
    head.f[RLX_GSS_F_COUNTER] = UINT64_MAX;
    head.f[RLX_GSS_F_DURABLE_AGE + 7] = 9;
    head.record = cell.body;
    head.record_bytes = cell.cell.bytes;
    head.load = (const uint8_t *)"\x01\x02";
    head.load_bytes = 2;
    rlx_text_init(out, (size_t)4 << 20);
    size_t at = rlx_gss_packet_begin(out, &head);
    for (uint32_t i = 0; i < n_cells; i++)
        rlx_gss_packet_cell(out, &cell.cell);
    rlx_gss_packet_end(out, &head, at);
}

static void what_is_written_is_read(void **unused)
{
    rlx_text_t text;

    (void)unused;
    write_beat(&text, 3);
    assert_int_equal(rlx_gss_packet_decode(text.data, text.bytes, &packet, NULL), RLX_OK);
    assert_int_equal(packet.head.part, RLX_GSS_PART_BEAT);
    assert_int_equal(packet.head.protocol, RLX_GSS_PROTOCOL);
    assert_int_equal(packet.head.f[RLX_GSS_F_SENDER], 42);
    assert_true(packet.head.f[RLX_GSS_F_COUNTER] == UINT64_MAX);
    assert_int_equal(packet.head.f[RLX_GSS_F_DURABLE_AGE + 7], 9);
    assert_int_equal(packet.head.load_bytes, 2);
    assert_int_equal(packet.n_cells, 3);
    assert_int_equal(packet.cells[2].version.b, 77);
    assert_memory_equal(packet.cells[2].body, packet.head.record, packet.head.record_bytes);
    rlx_text_fini(&text);
}

static void protobuf_reads_the_same(void **unused)
{
    rlx_text_t text;

    (void)unused;
    write_beat(&text, 2);
    Rlx__Gss__V1__Packet *read = rlx__gss__v1__packet__unpack(NULL, text.bytes, (const uint8_t *)text.data);
    assert_non_null(read);
    assert_int_equal(read->beat->sender, 42);
    assert_true(read->beat->counter == UINT64_MAX);
    assert_int_equal(read->beat->durable_age_7, 9);
    assert_int_equal(read->beat->n_cells, 2);
    assert_int_equal(read->beat->cells[0]->kind, RLX_GSS_NODE);
    Rlx__Gss__V1__NodeRecord *record = rlx__gss__v1__node_record__unpack(NULL, read->beat->record.len, read->beat->record.data);
    assert_string_equal(record->name, "node-3");
    rlx__gss__v1__node_record__free_unpacked(record, NULL);

    size_t bytes = rlx__gss__v1__packet__get_packed_size(read);
    uint8_t *packed = malloc(bytes);
    rlx__gss__v1__packet__pack(read, packed);
    assert_int_equal(rlx_gss_packet_decode(packed, bytes, &packet, NULL), RLX_OK);
    assert_int_equal(packet.n_cells, 2);
    assert_int_equal(packet.head.f[RLX_GSS_F_DURABLE_AGE + 7], 9);
    free(packed);
    rlx__gss__v1__packet__free_unpacked(read, NULL);
    rlx_text_fini(&text);
}

/* Kept as it was encoded by version 1: later versions must go on reading it. */
static void an_old_message_is_read(void **unused)
{
    static const char beat[] = "\x08\x01\x10\x01\x1a\x10\x08\x2a\x10\x03\x18\x07\x20\x09\x58\x80\x02\xd2\x01\x02\x01\x02";

    (void)unused;
    assert_int_equal(rlx_gss_packet_decode(beat, sizeof beat - 1, &packet, NULL), RLX_OK);
    assert_int_equal(packet.head.f[RLX_GSS_F_SENDER], 42);
    assert_int_equal(packet.head.f[RLX_GSS_F_INCARNATION], 3);
    assert_int_equal(packet.head.f[RLX_GSS_F_BOOT], 7);
    assert_int_equal(packet.head.f[RLX_GSS_F_COUNTER], 9);
    assert_int_equal(packet.head.f[RLX_GSS_F_FLAGS], RLX_GSS_FLAG_LEAVING);
}

static void a_newer_message_is_read_as_far_as_it_is_known(void **unused)
{
    static const char newer[] = "\x08\x05\x10\x01\x1a\x0b\x08\x2a\xa0\x06\x01\xaa\x06\x03xyz\x78\x01";

    (void)unused;
    assert_int_equal(rlx_gss_packet_decode(newer, sizeof newer - 1, &packet, NULL), RLX_OK);
    assert_int_equal(packet.head.protocol, 5);
    assert_int_equal(packet.head.f[RLX_GSS_F_SENDER], 42);
}

static void every_cut_is_refused_or_shorter(void **unused)
{
    rlx_text_t text;
    rlx_diag_t diag = {0};

    (void)unused;
    write_beat(&text, 2);
    for (size_t i = 5; i < text.bytes; i++)
        assert_int_not_equal(rlx_gss_packet_decode(text.data, i, &packet, &diag), RLX_OK);
    assert_int_equal(diag.code, RLX_E_GOSSIP_BROKEN);
    rlx_text_fini(&text);
}

static void random_bytes_never_do_harm(void **unused)
{
    rlx_text_t text;
    rlx_prng_t prng;

    (void)unused;
    rlx_prng_init(&prng, 5);
    write_beat(&text, 4);
    for (int i = 0; i < 20000; i++) {
        size_t at = rlx_prng_below(&prng, text.bytes);
        char was = text.data[at];
        text.data[at] = (char)rlx_prng_next(&prng);
        rlx_gss_state_t state;
        if (rlx_gss_packet_decode(text.data, text.bytes, &packet, NULL) == RLX_OK) {
            test_state(&state);
            for (uint32_t j = 0; j < packet.n_cells; j++)
                rlx_gss_state_join(&state, &packet.cells[j], 0, 1);
            rlx_gss_state_fini(&state);
        }
        if (i % 7 == 0)
            text.data[at] = was;
    }
    rlx_text_fini(&text);
}

static void bounds_are_refused(void **unused)
{
    static const char two[] = "\x1a\x00\x22\x00", none[] = "\x08\x01";
    rlx_text_t text;

    (void)unused;
    assert_int_not_equal(rlx_gss_packet_decode(two, 4, &packet, NULL), RLX_OK);
    assert_int_not_equal(rlx_gss_packet_decode(none, 2, &packet, NULL), RLX_OK);
    write_beat(&text, RLX_GSS_CELLS_MAX + 1);
    assert_int_not_equal(rlx_gss_packet_decode(text.data, text.bytes, &packet, NULL), RLX_OK);
    rlx_text_fini(&text);
    char *large = calloc(1, RLX_GSS_MESSAGE_MAX + 1);
    assert_int_not_equal(rlx_gss_packet_decode(large, RLX_GSS_MESSAGE_MAX + 1, &packet, NULL), RLX_OK);
    free(large);
}

static void malformed_records_are_refused_and_counted(void **unused)
{
    static const char unnamed[] = "\x10\x01", zero[] = "\x0a\x03" "a\0b", wrong[] = "\x0a\x06" "node-9";
    rlx_gss_state_t state;
    rlx_gss_record_t record;

    (void)unused;
    assert_false(rlx_gss_record_decode(unnamed, 2, &record));
    assert_false(rlx_gss_record_decode(zero, 5, &record));
    assert_true(rlx_gss_record_decode(wrong, 8, &record));
    test_state(&state);
    test_cell_t cell = test_node(1, 1, 1, 1, RLX_GSS_NODE_SERVING);
    cell.cell.bytes = 8;
    memcpy(cell.body, wrong, 8); /* under the id of node-1 */
    assert_int_equal(test_join(&state, &cell), RLX_GSS_JOINED_BAD);
    cell = test_other(0, 1, 1, "");
    assert_int_equal(test_join(&state, &cell), RLX_GSS_JOINED_BAD);
    assert_int_equal(state.refused_bad, 2);
    assert_int_equal(state.store.n, 0);
    rlx_gss_state_fini(&state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(protobuf_reads_the_same), cmocka_unit_test(an_old_message_is_read),
        cmocka_unit_test(a_newer_message_is_read_as_far_as_it_is_known), cmocka_unit_test(every_cut_is_refused_or_shorter),
        cmocka_unit_test(random_bytes_never_do_harm), cmocka_unit_test(bounds_are_refused),
        cmocka_unit_test(malformed_records_are_refused_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
