/* The laws of the join, over random histories: whatever the order, the grouping and the repetition of cells, the state is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/gss/cells.h"

#define HISTORIES 2000
#define CELLS 12

static void random_cells(rlx_prng_t *prng, test_cell_t cells[CELLS])
{
    for (int i = 0; i < CELLS; i++)
        cells[i] = test_random(prng);
}

static void fill(rlx_gss_state_t *state, const test_cell_t *cells, int n)
{
    test_state(state);
    for (int i = 0; i < n; i++)
        test_join(state, &cells[i]);
}

static void shuffle(rlx_prng_t *prng, test_cell_t cells[CELLS])
{
    for (uint64_t i = CELLS - 1; i > 0; i--) {
        uint64_t j = rlx_prng_below(prng, i + 1);
        test_cell_t held = cells[i];
        cells[i] = cells[j];
        cells[j] = held;
    }
}

static void the_order_of_cells_does_not_matter(void **unused)
{
    rlx_prng_t prng;
    test_cell_t cells[CELLS];
    rlx_gss_state_t first, second;

    (void)unused;
    rlx_prng_init(&prng, 1);
    for (int i = 0; i < HISTORIES; i++) {
        random_cells(&prng, cells);
        fill(&first, cells, CELLS);
        shuffle(&prng, cells);
        fill(&second, cells, CELLS);
        assert_true(test_same(&first, &second));
        rlx_gss_state_fini(&first);
        rlx_gss_state_fini(&second);
    }
}

static void joining_states_is_commutative_associative_and_idempotent(void **unused)
{
    rlx_prng_t prng;
    test_cell_t cells[CELLS];

    (void)unused;
    rlx_prng_init(&prng, 2);
    for (int i = 0; i < HISTORIES; i++) {
        rlx_gss_state_t x, y, z, left, right, turned;
        random_cells(&prng, cells);
        fill(&x, cells, 4);
        fill(&y, cells + 4, 4);
        fill(&z, cells + 8, 4);
        fill(&left, NULL, 0);
        test_merge(&left, &x);
        test_merge(&left, &y);
        test_merge(&left, &z);
        test_merge(&left, &y); /* again */
        fill(&turned, NULL, 0);
        test_merge(&turned, &z);
        test_merge(&turned, &y);
        test_merge(&turned, &x);
        fill(&right, NULL, 0);
        test_merge(&y, &z);
        test_merge(&right, &x);
        test_merge(&right, &y);
        assert_true(test_same(&left, &right));
        assert_true(test_same(&left, &turned));
        test_merge(&left, &left);
        assert_true(test_same(&left, &right));
        rlx_gss_state_t *all[] = {&x, &y, &z, &left, &right, &turned};
        for (int j = 0; j < 6; j++)
            rlx_gss_state_fini(all[j]);
    }
}

static void what_changed_after_a_serial_is_all_that_was_missed(void **unused)
{
    rlx_prng_t prng;
    test_cell_t cells[CELLS];

    (void)unused;
    rlx_prng_init(&prng, 3);
    for (int i = 0; i < HISTORIES; i++) {
        rlx_gss_state_t whole, follower;
        uint64_t serial;
        random_cells(&prng, cells);
        fill(&whole, cells, 6);
        fill(&follower, NULL, 0);
        test_merge(&follower, &whole);
        serial = whole.store.serial;
        for (int j = 6; j < CELLS; j++)
            test_join(&whole, &cells[j]);
        for (const rlx_gss_entry_t *entry = rlx_gss_store_after(&whole.store, RLX_GSS_TOPOLOGY, serial); entry != NULL;
             entry = rlx_gss_store_next(&whole.store, entry))
            rlx_gss_state_join(&follower, &entry->cell, 0, 1000);
        assert_true(test_same(&whole, &follower));
        rlx_gss_state_fini(&whole);
        rlx_gss_state_fini(&follower);
    }
}

static void a_join_that_changes_nothing_gives_no_serial(void **unused)
{
    rlx_gss_state_t state;
    test_cell_t old = test_node(1, 2, 7, 1, RLX_GSS_NODE_SERVING), new = test_node(1, 2, 7, 2, RLX_GSS_NODE_SERVING);

    (void)unused;
    test_state(&state);
    assert_int_equal(test_join(&state, &new), RLX_GSS_JOINED_CHANGED);
    uint64_t serial = state.store.serial;
    assert_int_equal(test_join(&state, &old), RLX_GSS_JOINED_SAME);
    assert_int_equal(test_join(&state, &new), RLX_GSS_JOINED_SAME);
    assert_int_equal(state.store.serial, serial);
    rlx_gss_state_fini(&state);
}

static void one_version_with_two_bodies_is_a_clash_and_both_sides_keep_the_same(void **unused)
{
    rlx_gss_state_t x, y;
    test_cell_t first = test_node(1, 2, 7, 1, RLX_GSS_NODE_SERVING), second = test_node(1, 2, 7, 1, RLX_GSS_NODE_DRAINING);

    (void)unused;
    test_state(&x);
    test_state(&y);
    test_join(&x, &first);
    test_join(&x, &second);
    test_join(&y, &second);
    test_join(&y, &first);
    assert_true(test_same(&x, &y));
    assert_int_equal(x.clashes, 1);
    assert_int_equal(y.clashes, 1);
    rlx_gss_state_fini(&x);
    rlx_gss_state_fini(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_cells_does_not_matter),
        cmocka_unit_test(joining_states_is_commutative_associative_and_idempotent),
        cmocka_unit_test(what_changed_after_a_serial_is_all_that_was_missed),
        cmocka_unit_test(a_join_that_changes_nothing_gives_no_serial),
        cmocka_unit_test(one_version_with_two_bodies_is_a_clash_and_both_sides_keep_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
