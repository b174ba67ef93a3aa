/* A replica's state on disk: all of it comes back, a changed byte is found, a newer format is refused, the newer good one is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gss/core/inside.h"
#include "gss/core/snapshot.h"
#include "tests/gss/cells.h"

static rlx_gss_replica_settings_t settings(void)
{
    return (rlx_gss_replica_settings_t){.options = rlx_gss_options_default(500, 64), .replicas = {1, 2, 3}, .n_replicas = 3, .boot = 9};
}

/* A replica with a little of everything, and its snapshot. */
static rlx_gss_replica_t *make(rlx_text_t *text)
{
    rlx_gss_replica_settings_t with = settings();
    rlx_gss_replica_t *replica = rlx_gss_replica_create(&with, 5000, NULL);
    const test_cell_t cells[] = {
        test_node(1, 3, 8, 4, RLX_GSS_NODE_SERVING), test_eviction(2, 5), test_row(1, 2, 3, 8, 6, true), test_other(9, 77, 1, "of a newer version"),
        test_intent(4, 1, false, RLX_GSS_INTENT_CORDON, 1, "why"), test_intent(4, 2, true, RLX_GSS_INTENT_DRAIN, 1, "was"),
    };

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        test_join(&replica->state, &cells[i]);
    rlx_text_init(text, (size_t)1 << 20);
    assert_true(rlx_gss_replica_snapshot(replica, text));
    return replica;
}

static void all_comes_back(void **unused)
{
    rlx_text_t text;
    rlx_gss_replica_t *first = make(&text);
    rlx_gss_replica_settings_t with = settings();

    (void)unused;
    with.boot = 10;
    with.snapshot = text.data;
    with.snapshot_bytes = text.bytes;
    rlx_gss_replica_t *second = rlx_gss_replica_create(&with, 99, NULL);
    assert_non_null(second);
    assert_true(test_same(&first->state, &second->state));
    assert_int_equal(second->generation, 1);
    rlx_gss_replica_destroy(first);
    rlx_gss_replica_destroy(second);
    rlx_text_fini(&text);
}

static void every_changed_byte_is_found(void **unused)
{
    rlx_text_t text;
    rlx_gss_replica_t *replica = make(&text);
    uint64_t generation;

    (void)unused;
    for (size_t i = 0; i < text.bytes; i++) {
        text.data[i] ^= 1;
        assert_int_not_equal(rlx_gss_snapshot_check(text.data, text.bytes, &generation, NULL), RLX_OK);
        text.data[i] ^= 1;
        assert_int_not_equal(rlx_gss_snapshot_check(text.data, i, &generation, NULL), RLX_OK);
    }
    assert_int_equal(rlx_gss_snapshot_check(text.data, text.bytes, &generation, NULL), RLX_OK);
    rlx_gss_replica_destroy(replica);
    rlx_text_fini(&text);
}

static void the_newer_good_one_is_read(void **unused)
{
    rlx_text_t first, second;
    rlx_gss_replica_t *replica = make(&first);

    (void)unused;
    rlx_text_init(&second, (size_t)1 << 20);
    rlx_gss_replica_snapshot(replica, &second);
    assert_int_equal(rlx_gss_snapshot_pick(first.data, first.bytes, second.data, second.bytes, NULL), 1);
    assert_int_equal(rlx_gss_snapshot_pick(second.data, second.bytes, first.data, first.bytes, NULL), 0);
    assert_int_equal(rlx_gss_snapshot_pick(NULL, 0, first.data, first.bytes, NULL), 1);
    assert_int_equal(rlx_gss_snapshot_pick(NULL, 0, NULL, 0, NULL), -1);
    second.data[60] ^= 4;
    assert_int_equal(rlx_gss_snapshot_pick(first.data, first.bytes, second.data, second.bytes, NULL), 0);
    first.data[60] ^= 4;
    rlx_diag_t diag = {0};
    assert_int_equal(rlx_gss_snapshot_pick(first.data, first.bytes, second.data, second.bytes, &diag), -1);
    assert_int_equal(diag.code, RLX_E_GSS_SNAPSHOT_BROKEN);
    rlx_gss_replica_destroy(replica);
    rlx_text_fini(&first);
    rlx_text_fini(&second);
}

static void a_newer_format_is_refused_with_both_versions_named(void **unused)
{
    rlx_text_t text;
    rlx_gss_replica_t *replica = make(&text);
    rlx_diag_t diag = {0};

    (void)unused;
    text.data[8] = 7;
    assert_int_equal(rlx_gss_snapshot_pick(text.data, text.bytes, NULL, 0, &diag), -1);
    assert_int_equal(diag.code, RLX_E_GSS_SNAPSHOT_NEWER);
    assert_non_null(strstr(diag.message, "format 7"));
    assert_non_null(strstr(diag.message, "up to 1"));
    rlx_gss_replica_destroy(replica);
    rlx_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_back), cmocka_unit_test(every_changed_byte_is_found), cmocka_unit_test(the_newer_good_one_is_read),
        cmocka_unit_test(a_newer_format_is_refused_with_both_versions_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
