/* Rules between cells, among them conditions that users of other systems reported (the numbers are of those reports). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/gss/cells.h"

static rlx_gss_state_t state;

static int setup(void **unused) { (void)unused; test_state(&state); return 0; }
static int teardown(void **unused) { (void)unused; rlx_gss_state_fini(&state); return 0; }

static rlx_gss_joined_t node(uint64_t incarnation, uint64_t boot, uint64_t sequence, uint32_t in_state)
{
    test_cell_t cell = test_node(1, incarnation, boot, sequence, in_state);

    return test_join(&state, &cell);
}

static void evict(uint64_t incarnation)
{
    test_cell_t cell = test_eviction(1, incarnation);

    test_join(&state, &cell);
}

static rlx_gss_status_t status(void) { return rlx_gss_state_status(&state, test_node_id(1)); }

/* B301, B302: what was evicted at 10 stays out at 2, and comes back at 11. */
static void an_evicted_life_does_not_come_back_and_a_higher_one_does(void **unused)
{
    (void)unused;
    node(1, 5, 1, RLX_GSS_NODE_SERVING);
    evict(1);
    evict(10);
    assert_int_equal(status(), RLX_GSS_STATUS_UNKNOWN);
    assert_int_equal(node(2, 6, 9, RLX_GSS_NODE_SERVING), RLX_GSS_JOINED_OUT);
    assert_int_equal(node(10, 7, 1, RLX_GSS_NODE_SERVING), RLX_GSS_JOINED_OUT);
    assert_int_equal(node(11, 4, 1, RLX_GSS_NODE_SERVING), RLX_GSS_JOINED_CHANGED);
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
}

/* B303, B304: the newer life takes the name at once, and the older is no entry of its own. */
static void one_name_is_one_entry(void **unused)
{
    (void)unused;
    node(1, 5, 7, RLX_GSS_NODE_SERVING);
    node(2, 3, 1, RLX_GSS_NODE_STARTING);
    assert_int_equal(state.store.kind_counts[RLX_GSS_NODE], 1);
    assert_int_equal(status(), RLX_GSS_STATUS_STARTING);
}

/* B307: leaving is a state like others; what the node says later holds. */
static void a_node_that_left_may_change_its_mind(void **unused)
{
    (void)unused;
    node(1, 5, 7, RLX_GSS_NODE_LEFT);
    assert_int_equal(status(), RLX_GSS_STATUS_LEFT);
    assert_int_equal(rlx_gss_state_members(&state), 0);
    node(1, 5, 8, RLX_GSS_NODE_SERVING);
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
}

static void row(uint64_t observer, uint64_t incarnation, uint64_t counter, bool suspect)
{
    test_cell_t cell = test_row(1, observer, incarnation, 5, counter, suspect);

    test_join(&state, &cell);
}

static void suspicion_ends_when_any_observer_has_heard_later(void **unused)
{
    (void)unused;
    node(3, 5, 1, RLX_GSS_NODE_SERVING);
    row(1, 3, 20, true);
    row(2, 3, 20, true);
    assert_int_equal(status(), RLX_GSS_STATUS_SUSPECT);
    row(2, 3, 21, false);
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
    row(1, 3, 20, true); /* late news */
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
    row(3, 3, 21, true);
    assert_int_equal(status(), RLX_GSS_STATUS_SUSPECT);
}

static void suspicion_of_a_former_life_says_nothing_of_this_one(void **unused)
{
    (void)unused;
    node(4, 5, 1, RLX_GSS_NODE_SERVING);
    row(1, 3, 500, true);
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
}

static void intend(uint64_t actor, uint64_t sequence, bool removed, uint32_t kind)
{
    test_cell_t cell = test_intent(actor, sequence, removed, kind, 1, "v");

    test_join(&state, &cell);
}

/* B314, B315: a removal takes what it saw; what was given elsewhere at the same time stays, and what was removed never returns. */
static void a_removal_removes_what_it_saw(void **unused)
{
    (void)unused;
    node(1, 5, 1, RLX_GSS_NODE_SERVING);
    intend(1, 1, false, RLX_GSS_INTENT_CORDON);
    intend(1, 1, true, RLX_GSS_INTENT_CORDON);
    intend(2, 1, false, RLX_GSS_INTENT_CORDON); /* another operator's, unseen by the removal */
    assert_int_equal(status(), RLX_GSS_STATUS_CORDONED);
    intend(2, 1, true, RLX_GSS_INTENT_CORDON);
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
    intend(1, 1, false, RLX_GSS_INTENT_CORDON); /* late */
    assert_int_equal(status(), RLX_GSS_STATUS_AVAILABLE);
}

static void a_ban_beats_all_else(void **unused)
{
    (void)unused;
    node(1, 5, 1, RLX_GSS_NODE_SERVING);
    row(1, 1, 3, true);
    intend(1, 1, false, RLX_GSS_INTENT_BAN);
    intend(1, 2, false, RLX_GSS_INTENT_DRAIN);
    assert_int_equal(status(), RLX_GSS_STATUS_BANNED);
}

static void tombstones_are_forgotten_by_age_and_by_number_and_that_is_remembered(void **unused)
{
    (void)unused;
    evict(1);
    assert_int_equal(state.store.n, 1);
    rlx_gss_state_expire(&state, 1000 + state.options->tombstone_ms - 1);
    assert_int_equal(state.store.n, 1);
    rlx_gss_state_expire(&state, 1000 + state.options->tombstone_ms);
    assert_int_equal(state.store.n, 0);
    assert_int_equal(state.forgot_ms, 1000);
    assert_int_equal(state.forgot_serial, 1);
    for (uint32_t i = 0; i < state.options->tombstones_max + 5; i++) {
        test_cell_t cell = test_eviction(i + 100, 1);
        test_join(&state, &cell);
    }
    rlx_gss_state_expire(&state, 1001);
    assert_int_equal(state.store.n, state.options->tombstones_max);
}

static void a_full_table_refuses_and_counts(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < state.options->nodes_max; i++) {
        test_cell_t cell = test_node(i + 10, 1, 1, 1, RLX_GSS_NODE_SERVING);
        assert_int_equal(test_join(&state, &cell), RLX_GSS_JOINED_CHANGED);
    }
    assert_int_equal(node(1, 1, 1, RLX_GSS_NODE_SERVING), RLX_GSS_JOINED_FULL);
    assert_int_equal(state.refused_full, 1);
}

static void an_incompatible_node_is_shown_as_such(void **unused)
{
    rlx_gss_record_t record = {.name = "node-1", .state = RLX_GSS_NODE_SERVING, .protocol_min = 7, .protocol_max = 9};
    rlx_gss_cell_t cell = {.key = {.a = test_node_id(1), .kind = RLX_GSS_NODE}, .version = {1, 1, 1}};
    rlx_text_t text;

    (void)unused;
    rlx_text_init(&text, 256);
    rlx_gss_record_encode(&record, &text);
    cell.body = (const uint8_t *)text.data;
    cell.bytes = (uint32_t)text.bytes;
    rlx_gss_state_join(&state, &cell, RLX_GSS_NONE, 1);
    assert_int_equal(status(), RLX_GSS_STATUS_INCOMPATIBLE);
    rlx_text_fini(&text);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(an_evicted_life_does_not_come_back_and_a_higher_one_does), RULE(one_name_is_one_entry), RULE(a_node_that_left_may_change_its_mind),
        RULE(suspicion_ends_when_any_observer_has_heard_later), RULE(suspicion_of_a_former_life_says_nothing_of_this_one),
        RULE(a_removal_removes_what_it_saw), RULE(a_ban_beats_all_else),
        RULE(tombstones_are_forgotten_by_age_and_by_number_and_that_is_remembered), RULE(a_full_table_refuses_and_counts),
        RULE(an_incompatible_node_is_shown_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
