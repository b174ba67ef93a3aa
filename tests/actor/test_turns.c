/* Models share the workers by the time they use, and inside a model the oldest goes first. */
#include "tests/actor/script.h"

static void inside_a_model_the_oldest_goes_first(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    for (int i = 0; i < 4; i++)
        script_ask(script, 0, 10, 0);
    for (int i = 0; i < 3; i++)
        script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1], reply 1, run 0 [2], reply 2, run 0 [3] alone");
    script_free(script);
}

static void high_priority_goes_before_normal_of_its_model(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 0);
    script_ask_all(script, 0, 10, 0, 1, 0, 1);
    script_ask_all(script, 0, 10, 0, 1, 0, 1);
    for (int i = 0; i < 3; i++)
        script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [2], reply 2, run 0 [3], reply 3, run 0 [1] alone");
    script_free(script);
}

static void priority_gives_no_right_over_other_models(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_model(script, 1, 8, 0, 0);
    script_ask(script, 0, 10, 0);
    script_ask_all(script, 0, 10, 0, 1, 0, 1);
    script_ask(script, 1, 10, 0);
    script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [2]");
    script_free(script);
}

static void a_flood_on_one_model_delays_another_by_one_run(void **state)
{
    script_t *script = script_new(80, 1);

    (void)state;
    script_model(script, 1, 64, 0, 0);
    script_model(script, 2, 64, 0, 0);
    for (int i = 0; i < 50; i++)
        script_ask(script, 1, 10, 0);
    script_complete(script, 0, 10);
    script_ask(script, 2, 10, 0);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1]");
    script_complete(script, 0, 10);
    script_expect(script, "reply 1, run 0 [50]");
    script_free(script);
}

static void turns_are_by_time_not_by_count(void **state)
{
    script_t *script = script_new(16, 1);

    (void)state;
    script_model(script, 1, 8, 0, 0);
    script_ask(script, 0, 25, 0);     /* 0 */
    script_ask(script, 0, 25, 0);     /* 1: model 0 stands at 25 */
    for (int i = 0; i < 6; i++)
        script_ask(script, 1, 10, 0); /* 2 to 7: model 1 starts where model 0 stood at its turn */
    script_expect(script, "run 0 [0] alone");
    script_complete(script, 0, 25);
    for (int i = 0; i < 3; i++)
        script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [2], reply 2, run 0 [3], reply 3, run 0 [4], reply 4, run 0 [1]");
    script_free(script);
}

static void a_model_that_was_idle_has_saved_up_nothing(void **state)
{
    script_t *script = script_new(16, 1);

    (void)state;
    script_model(script, 1, 8, 0, 0);
    for (int i = 0; i < 5; i++) { /* Model 0 works alone for a long time. */
        script_ask(script, 0, 100, 0);
        script_complete(script, 0, 100);
        script_send(script, RLX_EVENT_REPLIED, 0);
    }
    for (int i = 0; i < 3; i++)
        script_ask(script, 0, 10, 0);
    for (int i = 0; i < 3; i++)
        script_ask(script, 1, 11, 0);
    script_forget(script);
    for (int i = 0; i < 5; i++)
        script_complete(script, 0, i % 2 == 0 ? 10 : 11);
    /* Model 1 goes first, then they take turns. */
    script_expect(script, "reply 0, run 0 [3], reply 3, run 0 [1], reply 1, run 0 [4], reply 4, run 0 [2], reply 2, run 0 [5] alone");
    script_free(script);
}

static void what_a_run_really_took_is_what_counts(void **state)
{
    script_t *script = script_new(16, 1);

    (void)state;
    script_model(script, 1, 8, 0, 0);
    script_ask(script, 0, 10, 0); /* 0 */
    script_ask(script, 1, 10, 0); /* 1 */
    script_ask(script, 0, 10, 0); /* 2 */
    script_ask(script, 1, 10, 0); /* 3 */
    script_ask(script, 1, 10, 0); /* 4 */
    script_ask(script, 1, 10, 0); /* 5 */
    script_complete(script, 0, 35); /* Model 0 took 35 ms and not 10: three of model 1 may go before its next. */
    for (int i = 0; i < 4; i++)
        script_complete(script, 0, 10);
    script_expect(script, "run 0 [0] alone, reply 0, run 0 [1], reply 1, run 0 [3], reply 3, run 0 [4], reply 4, run 0 [5], reply 5, "
                          "run 0 [2] alone");
    script_free(script);
}

static void a_newcomer_does_not_stand_behind_one_that_was_charged_too_much(void **state)
{
    script_t *script = script_new(80, 4);

    (void)state;
    script_model(script, 1, 64, 0, 0);
    script_model(script, 2, 64, 0, 0);
    for (int i = 0; i < 20; i++)
        script_ask(script, 1, 100, 0);
    for (uint32_t i = 0; i < 4; i++) /* 1 ms each, not 100 */
        script_complete(script, i, 1);
    script_ask(script, 2, 100, 0);
    for (uint32_t i = 0; i < 5; i++) /* What was charged too much for a run of each worker is given back first, but no more. */
        script_complete(script, i % 4, 1);
    script_state(script, 20, "running");
    script_free(script);
}

static void no_request_waits_while_a_worker_is_free(void **state)
{
    script_t *script = script_new(16, 3);

    (void)state;
    script_model(script, 1, 8, 8, 1000);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 8, 0);
    script_expect(script, "run 0 [0] alone, run 1 [1], run 2 [2]");
    script_free(script);
}

static void brief_runs_are_handed_over_ahead_of_the_workers(void **state)
{
    script_t *script = script_new_ahead(16, 1, 2);

    (void)state;
    for (int i = 0; i < 4; i++)
        script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone brief, run 1 [1] brief, run 2 [2] brief");
    script_complete(script, 0, 0);
    script_expect(script, "reply 0, run 0 [3] brief");
    script_free(script);
}

static void nothing_is_handed_over_ahead_of_a_long_run(void **state)
{
    script_t *script = script_new_ahead(16, 2, 2);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask_brief(script, 0);
    script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone, run 1 [1]");
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [2] brief");
    script_free(script);
}

static void a_long_run_is_not_handed_over_ahead(void **state)
{
    script_t *script = script_new_ahead(16, 1, 2);

    (void)state;
    script_ask_brief(script, 0);
    script_ask(script, 0, 10, 0);
    script_expect(script, "run 0 [0] alone brief");
    script_free(script);
}

static void nothing_is_handed_over_ahead_of_a_brief_run_that_is_overdue(void **state)
{
    script_t *script = script_new_ahead(16, 1, 2);

    (void)state;
    script_ask_brief(script, 0);
    script_at(script, 5);
    script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone brief");
    script_free(script);
}

/* Asks `n` times for a run that takes `busy_ns`, one after the other, and forgets what was said. */
static void runs_measured(script_t *script, int n, uint64_t busy_ns)
{
    for (int i = 0; i < n; i++) {
        uint32_t request = script_ask_brief(script, 0);

        script_complete_ns(script, 0, busy_ns);
        script_send(script, RLX_EVENT_REPLIED, request);
    }
    script_forget(script);
}

static void runs_are_tiny_once_eight_were_measured_to_be(void **state)
{
    script_t *script = script_new(16, 2);

    (void)state;
    runs_measured(script, 7, RLX_ACTOR_BRIEF_NS / 4);
    runs_measured(script, 1, RLX_ACTOR_BRIEF_NS / 4);
    script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone brief tiny");
    script_free(script);

    script = script_new(16, 2);
    runs_measured(script, 7, RLX_ACTOR_BRIEF_NS / 4);
    script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone brief");
    script_free(script);
}

static void runs_that_take_longer_than_expected_are_tiny_no_more(void **state)
{
    script_t *script = script_new(16, 2);

    (void)state;
    runs_measured(script, 20, RLX_ACTOR_BRIEF_NS / 4);
    runs_measured(script, 4, RLX_ACTOR_BRIEF_NS * 2);
    script_ask_brief(script, 0);
    script_expect(script, "run 0 [0] alone");
    script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_a_model_the_oldest_goes_first),
        cmocka_unit_test(high_priority_goes_before_normal_of_its_model),
        cmocka_unit_test(priority_gives_no_right_over_other_models),
        cmocka_unit_test(a_flood_on_one_model_delays_another_by_one_run),
        cmocka_unit_test(turns_are_by_time_not_by_count),
        cmocka_unit_test(a_model_that_was_idle_has_saved_up_nothing),
        cmocka_unit_test(what_a_run_really_took_is_what_counts),
        cmocka_unit_test(a_newcomer_does_not_stand_behind_one_that_was_charged_too_much),
        cmocka_unit_test(no_request_waits_while_a_worker_is_free),
        cmocka_unit_test(brief_runs_are_handed_over_ahead_of_the_workers),
        cmocka_unit_test(nothing_is_handed_over_ahead_of_a_long_run),
        cmocka_unit_test(a_long_run_is_not_handed_over_ahead),
        cmocka_unit_test(nothing_is_handed_over_ahead_of_a_brief_run_that_is_overdue),
        cmocka_unit_test(runs_are_tiny_once_eight_were_measured_to_be),
        cmocka_unit_test(runs_that_take_longer_than_expected_are_tiny_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
