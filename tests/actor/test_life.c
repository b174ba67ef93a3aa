/* The life of one request: every state, every way out of it, and one answer. */
#include "tests/actor/script.h"

static void a_lone_request_runs_at_once_and_with_all_workers(void **state)
{
    script_t *script = script_new(4, 2);
    uint32_t request = script_open(script, 0);

    (void)state;
    script_state(script, request, "receiving");
    script_submit(script, request, 10, 0);
    script_expect(script, "run 0 [0] alone");
    script_state(script, request, "running");
    script_at(script, 10);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0");
    script_state(script, request, "replying");
    script_send(script, RLX_EVENT_REPLIED, request);
    script_expect(script, "free 0");
    script_state(script, request, "free");
    script_free(script);
}

static void a_request_beside_others_runs_on_one_worker(void **state)
{
    script_t *script = script_new(4, 2);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 0);
    script_expect(script, "run 0 [0] alone, run 1 [1]");
    script_free(script);
}

static void input_that_is_bad_ends_without_an_answer(void **state)
{
    script_t *script = script_new(4, 1);

    (void)state;
    script_open(script, 0);
    script_send(script, RLX_EVENT_ABANDON, 0);
    script_expect(script, "free 0");
    script_free(script);
}

static void a_client_that_goes_while_it_sends_or_waits_frees_its_request(void **state)
{
    script_t *script = script_new(4, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 0);
    script_open(script, 0);
    script_expect(script, "run 0 [0] alone");
    script_state(script, 1, "queued");
    script_send(script, RLX_EVENT_CANCEL, 2);
    script_send(script, RLX_EVENT_CANCEL, 1);
    script_expect(script, "free 2, free 1");
    script_complete(script, 0, 10);
    script_expect(script, "reply 0");
    script_free(script);
}

static void a_run_is_stopped_when_its_client_goes_and_nobody_is_answered(void **state)
{
    script_t *script = script_new(4, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 0);
    script_expect(script, "run 0 [0] alone");
    script_send(script, RLX_EVENT_CANCEL, 0);
    script_expect(script, "cancel 0");
    script_state(script, 0, "cancelling");
    script_send(script, RLX_EVENT_CANCEL, 0);
    script_expect(script, "");
    script_complete(script, 0, 1);
    script_expect(script, "free 0, run 0 [1] alone");
    script_free(script);
}

static void a_batch_is_stopped_only_when_all_its_clients_are_gone(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_model(script, 1, 8, 4, 0);
    script_ask(script, 0, 10, 0);
    for (int i = 0; i < 3; i++)
        script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1 2 3] alone");
    script_send(script, RLX_EVENT_CANCEL, 2);
    script_send(script, RLX_EVENT_CANCEL, 1);
    script_expect(script, "");
    script_send(script, RLX_EVENT_CANCEL, 3);
    script_expect(script, "cancel 0");
    script_complete(script, 0, 5);
    script_expect(script, "free 1, free 2, free 3");
    script_free(script);
}

static void those_of_a_batch_whose_clients_stay_are_answered(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_model(script, 1, 8, 4, 0);
    script_ask(script, 0, 10, 0);
    for (int i = 0; i < 3; i++)
        script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    script_send(script, RLX_EVENT_CANCEL, 2);
    script_complete(script, 0, 30);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1 2 3] alone, reply 1, free 2, reply 3");
    script_free(script);
}

static void a_client_that_goes_while_the_answer_leaves_changes_nothing(void **state)
{
    script_t *script = script_new(4, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0");
    script_send(script, RLX_EVENT_CANCEL, 0);
    script_expect(script, "");
    script_state(script, 0, "replying");
    script_send(script, RLX_EVENT_REPLIED, 0);
    script_expect(script, "free 0");
    script_free(script);
}

static void when_the_table_is_full_opening_is_refused_without_an_id(void **state)
{
    script_t *script = script_new(2, 1);

    (void)state;
    script_open(script, 0);
    script_open(script, 0);
    assert_int_equal(script_open(script, 0), RLX_ACTOR_NONE);
    script_expect(script, "closed table_full");
    script_send(script, RLX_EVENT_CANCEL, 1);
    assert_int_equal(script_open(script, 0), 1);
    script_expect(script, "free 1");
    script_free(script);
}

static void opening_says_nothing_and_may_come_between_the_parts_of_a_step(void **state)
{
    script_t *script = script_new(200, 1);
    rlx_actor_event_t complete = {.kind = RLX_EVENT_COMPLETE, .busy_ns = 10 * MS}, open = {.kind = RLX_EVENT_OPEN};
    static rlx_actor_effects_t effects, none;

    (void)state;
    script_model(script, 1, 100, 64, 0);
    script_ask(script, 0, 10, 0);
    for (int i = 0; i < 64; i++)
        script_ask_all(script, 1, 1, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    rlx_actor_step(script->actor, &complete, script->now_ns, &effects);
    assert_true(effects.more);
    rlx_actor_step(script->actor, &open, script->now_ns + 5, &none);
    assert_int_equal(open.request, 65);
    assert_int_equal(none.n, 0);
    assert_false(none.more);
    rlx_actor_step(script->actor, NULL, script->now_ns + 5, &effects);
    assert_false(effects.more);
    script_state(script, 64, "replying");
    script_free(script);
}

static void no_rows_count_as_one(void **state)
{
    script_t *script = script_new(4, 1);

    (void)state;
    script_model(script, 1, 4, 4, 0);
    script_ask_all(script, 1, 10, 0, 0, 7, 0);
    script_expect(script, "run 0 [0] alone");
    script_free(script);
}

static void a_batch_of_64_is_told_completely(void **state)
{
    script_t *script = script_new(80, 1);
    rlx_actor_view_t view;

    (void)state;
    script_model(script, 1, 80, 64, 0);
    script_ask(script, 0, 10, 0);
    for (int i = 0; i < 70; i++)
        script_ask_all(script, 1, 1, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    rlx_actor_look(script->actor, &view);
    assert_int_equal(view.in_state[RLX_REQUEST_RUNNING], 64);
    assert_int_equal(view.batched_requests, 64);
    script_complete(script, 0, 64);
    rlx_actor_look(script->actor, &view);
    assert_int_equal(view.in_state[RLX_REQUEST_REPLYING], 65);
    assert_int_equal(view.in_state[RLX_REQUEST_RUNNING], 6);
    script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_request_runs_at_once_and_with_all_workers),
        cmocka_unit_test(a_request_beside_others_runs_on_one_worker),
        cmocka_unit_test(input_that_is_bad_ends_without_an_answer),
        cmocka_unit_test(a_client_that_goes_while_it_sends_or_waits_frees_its_request),
        cmocka_unit_test(a_run_is_stopped_when_its_client_goes_and_nobody_is_answered),
        cmocka_unit_test(a_batch_is_stopped_only_when_all_its_clients_are_gone),
        cmocka_unit_test(those_of_a_batch_whose_clients_stay_are_answered),
        cmocka_unit_test(a_client_that_goes_while_the_answer_leaves_changes_nothing),
        cmocka_unit_test(when_the_table_is_full_opening_is_refused_without_an_id),
        cmocka_unit_test(opening_says_nothing_and_may_come_between_the_parts_of_a_step),
        cmocka_unit_test(no_rows_count_as_one),
        cmocka_unit_test(a_batch_of_64_is_told_completely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
