/* Who is let in and who is refused, when. */
#include "tests/actor/script.h"

static void a_request_that_takes_longer_than_it_may_is_refused_at_once(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 11, 10);
    script_expect(script, "refuse 0 deadline_unreachable");
    script_state(script, 0, "replying");
    script_ask(script, 0, 10, 10);
    script_expect(script, "run 0 [1] alone");
    script_free(script);
}

static void the_work_ahead_counts(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 80, 0);
    script_expect(script, "run 0 [0] alone");
    /* 80 ms run, a quarter of that to spare, 10 ms of its own. */
    script_ask(script, 0, 10, 109);
    script_expect(script, "refuse 1 deadline_unreachable");
    script_ask(script, 0, 10, 110);
    script_expect(script, "arm 110");
    script_state(script, 2, "queued");
    script_free(script);
}

static void workers_share_the_work_ahead(void **state)
{
    script_t *script = script_new(8, 2);

    (void)state;
    script_ask(script, 0, 80, 0);
    script_ask(script, 0, 80, 0);
    script_ask(script, 0, 10, 109);
    script_expect(script, "run 0 [0] alone, run 1 [1], refuse 2 deadline_unreachable");
    script_ask(script, 0, 10, 110);
    script_expect(script, "arm 110");
    script_free(script);
}

static void time_that_a_run_has_used_is_not_counted_again(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 80, 0);
    script_at(script, 72);
    script_ask(script, 0, 10, 20); /* 8 ms are left; 8 + 2 + 10 */
    script_expect(script, "run 0 [0] alone, arm 92");
    script_free(script);
}

static void a_deadline_that_has_passed_is_told_so(void **state)
{
    script_t *script = script_new(8, 1);
    uint32_t request = script_open(script, 0);
    rlx_actor_event_t event = {.kind = RLX_EVENT_SUBMIT, .request = request, .rows = 1, .cost_ns = MS, .deadline_ns = 5 * MS};
    static rlx_actor_effects_t effects;

    (void)state;
    rlx_actor_step(script->actor, &event, 5 * MS, &effects);
    assert_int_equal(effects.n, 1);
    assert_int_equal(effects.effect[0].kind, RLX_EFFECT_REFUSE);
    assert_int_equal(effects.effect[0].refusal, RLX_REFUSAL_DEADLINE_PASSED);
    script_free(script);
}

static void a_deadline_that_passes_in_the_queue_is_refused_by_timer_and_never_run(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 50);
    script_expect(script, "run 0 [0] alone, arm 50");
    script_at(script, 50);
    script_send(script, RLX_EVENT_TIMER, 0);
    script_expect(script, "refuse 1 deadline_passed");
    script_complete(script, 0, 50);
    script_expect(script, "reply 0");
    script_free(script);
}

static void a_request_that_can_no_longer_meet_its_deadline_is_not_started(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 50);
    script_ask(script, 0, 10, 0);
    script_at(script, 45);
    script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, arm 50, reply 0, refuse 1 deadline_unreachable, run 0 [2] alone");
    script_free(script);
}

static void a_timer_that_comes_early_is_armed_again(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 50);
    script_at(script, 20);
    script_send(script, RLX_EVENT_TIMER, 0);
    script_expect(script, "run 0 [0] alone, arm 50, arm 50");
    script_free(script);
}

static void the_earliest_deadline_is_armed(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 1, 0);
    script_ask(script, 0, 1, 50);
    script_ask(script, 0, 1, 90);
    script_ask(script, 0, 1, 40);
    script_expect(script, "run 0 [0] alone, arm 50, arm 40");
    script_at(script, 40);
    script_send(script, RLX_EVENT_TIMER, 0);
    script_expect(script, "refuse 3 deadline_passed, arm 50");
    script_free(script);
}

static void a_full_queue_refuses_and_what_waits_stays(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    for (int i = 0; i < 6; i++)
        script_ask(script, 0, 10, 0);
    script_expect(script, "run 0 [0] alone, refuse 5 queue_full");
    assert_int_equal(rlx_actor_waiting(script->actor, 0), 4);
    script_free(script);
}

static void runs_that_take_twice_as_long_double_the_estimate(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_at(script, 20);
    script_complete(script, 0, 20);
    script_expect(script, "run 0 [0] alone, reply 0");
    script_ask(script, 0, 10, 19);
    script_expect(script, "refuse 1 deadline_unreachable");
    script_ask(script, 0, 10, 20);
    script_expect(script, "run 0 [2] alone");
    script_free(script);
}

static void a_run_that_was_stopped_teaches_nothing(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_send(script, RLX_EVENT_CANCEL, 0);
    script_at(script, 1);
    script_complete(script, 0, 1);
    script_ask(script, 0, 10, 9);
    script_expect(script, "run 0 [0] alone, cancel 0, free 0, refuse 0 deadline_unreachable");
    script_free(script);
}

static void an_estimate_that_refuses_everything_is_tried_again_after_a_second(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_at(script, 100);
    script_complete(script, 0, 100);
    script_expect(script, "run 0 [0] alone, reply 0");
    script_at(script, 1100);
    script_ask(script, 0, 10, 50);
    script_expect(script, "refuse 1 deadline_unreachable");
    script_at(script, 1101);
    script_ask(script, 0, 10, 50);
    script_expect(script, "run 0 [2] alone");
    script_ask(script, 0, 10, 50);
    script_expect(script, "refuse 3 deadline_unreachable");
    script_free(script);
}

static void a_straggler_counts_as_four_times_the_mean_at_most(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    for (int i = 0; i < 2; i++) {
        script_ask(script, 0, 10, 0);
        script_complete(script, 0, i == 0 ? 10 : 1000);
    }
    script_forget(script);
    script_ask(script, 0, 10, 17); /* 10, and a quarter of the way to 40: 17.5 */
    script_ask(script, 0, 10, 18);
    script_expect(script, "refuse 2 deadline_unreachable, run 0 [3] alone");
    script_free(script);
}

static void a_request_that_will_be_alone_may_count_on_all_workers(void **state)
{
    script_t *script = script_new(8, 4);

    (void)state;
    script_ask(script, 0, 40, 9); /* Nothing is known yet, but four workers need 10 at least. */
    script_ask(script, 0, 40, 10);
    script_complete(script, 0, 20); /* They need 20. */
    script_ask(script, 0, 40, 19);
    script_ask(script, 0, 40, 20);
    script_expect(script, "refuse 0 deadline_unreachable, run 0 [1] alone, reply 1, refuse 2 deadline_unreachable, run 0 [3] alone");
    script_free(script);
}

static void what_all_workers_did_says_little_about_one(void **state)
{
    script_t *script = script_new(8, 4);

    (void)state;
    script_ask(script, 0, 40, 0);
    script_complete(script, 0, 20);
    script_ask(script, 0, 40, 0);
    script_ask(script, 0, 40, 39); /* Not alone: 40, as the table says. */
    script_ask(script, 0, 40, 40);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1] alone, refuse 2 deadline_unreachable, run 1 [3]");
    script_free(script);
}

static void absurd_costs_and_deadlines_do_not_wrap(void **state)
{
    script_t *script = script_new(8, 1);
    rlx_actor_event_t event = {.kind = RLX_EVENT_OPEN};
    static rlx_actor_effects_t effects;

    (void)state;
    for (int i = 0; i < 4; i++) {
        event = (rlx_actor_event_t){.kind = RLX_EVENT_OPEN};
        rlx_actor_step(script->actor, &event, 1, &effects);
        event = (rlx_actor_event_t){.kind = RLX_EVENT_SUBMIT, .request = event.request, .rows = 1, .cost_ns = UINT64_MAX,
            .deadline_ns = i == 3 ? UINT64_MAX - 1 : RLX_ACTOR_NEVER};
        rlx_actor_step(script->actor, &event, 1, &effects);
    }
    /* Three times 2^44 ns are 15 hours; the last one's deadline is centuries away. */
    script_state(script, 3, "queued");
    event = (rlx_actor_event_t){.kind = RLX_EVENT_COMPLETE, .run = 0, .busy_ns = UINT64_MAX};
    rlx_actor_step(script->actor, &event, UINT64_MAX - 2, &effects);
    script_state(script, 1, "running");
    script_state(script, 3, "queued");
    script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_takes_longer_than_it_may_is_refused_at_once),
        cmocka_unit_test(the_work_ahead_counts),
        cmocka_unit_test(workers_share_the_work_ahead),
        cmocka_unit_test(time_that_a_run_has_used_is_not_counted_again),
        cmocka_unit_test(a_deadline_that_has_passed_is_told_so),
        cmocka_unit_test(a_deadline_that_passes_in_the_queue_is_refused_by_timer_and_never_run),
        cmocka_unit_test(a_request_that_can_no_longer_meet_its_deadline_is_not_started),
        cmocka_unit_test(a_timer_that_comes_early_is_armed_again),
        cmocka_unit_test(the_earliest_deadline_is_armed),
        cmocka_unit_test(a_full_queue_refuses_and_what_waits_stays),
        cmocka_unit_test(runs_that_take_twice_as_long_double_the_estimate),
        cmocka_unit_test(a_run_that_was_stopped_teaches_nothing),
        cmocka_unit_test(an_estimate_that_refuses_everything_is_tried_again_after_a_second),
        cmocka_unit_test(a_straggler_counts_as_four_times_the_mean_at_most),
        cmocka_unit_test(a_request_that_will_be_alone_may_count_on_all_workers),
        cmocka_unit_test(what_all_workers_did_says_little_about_one),
        cmocka_unit_test(absurd_costs_and_deadlines_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
