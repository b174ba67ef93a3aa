/* Who runs together: equal keys, not too many rows, never past a deadline, and no worker waits for it. */
#include "tests/actor/script.h"

/* A worker that is busy for 10 ms with a request of model 0; model 1 batches up to 4 rows, for at most `delay_ms`. */
static script_t *busy(uint64_t delay_ms)
{
    script_t *script = script_new(32, 1);

    script_model(script, 1, 16, 4, delay_ms);
    script_ask(script, 0, 10, 0);
    script_expect(script, "run 0 [0] alone");
    return script;
}

static void those_that_wait_with_equal_keys_run_together(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_state(script, 1, "batching");
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1 2 3] alone");
    script_free(script);
}

static void different_keys_never_run_together(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 8, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1 3], reply 1, reply 3, run 0 [2] alone");
    script_free(script);
}

static void key_zero_runs_by_itself(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 0, 0);
    script_ask_all(script, 1, 10, 0, 1, 0, 0);
    script_state(script, 1, "queued");
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1]");
    script_free(script);
}

static void equal_keys_of_two_models_never_run_together(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_model(script, 2, 16, 4, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 2, 10, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1]");
    script_free(script);
}

static void a_run_has_at_most_rows_max_rows(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 0, 2, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_state(script, 2, "batching");
    script_ask_all(script, 1, 10, 0, 2, 7, 0);
    script_state(script, 1, "queued"); /* There are enough for a run: they wait for a worker only. */
    script_state(script, 3, "queued");
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1 2]");
    script_complete(script, 0, 10);
    script_expect(script, "reply 1, reply 2, run 0 [3] alone");
    script_free(script);
}

static void one_with_more_rows_than_a_run_goes_by_itself(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 0, 9, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1]");
    script_free(script);
}

static void a_companion_joins_only_if_all_deadlines_are_still_met(void **state)
{
    script_t *script = busy(0);

    (void)state;
    script_ask_all(script, 1, 10, 45, 1, 7, 0); /* 10 ms of waiting, then 35 ms: room for three times 10 */
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_at(script, 10);
    script_complete(script, 0, 10);
    script_expect(script, "arm 45, reply 0, run 0 [1 2 3]");
    script_free(script);
}

static void while_it_may_gain_companions_others_go_first_but_not_for_longer(void **state)
{
    script_t *script = busy(20);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0); /* 1: until 20 */
    script_ask(script, 0, 10, 0);              /* 2 */
    script_ask(script, 0, 10, 0);              /* 3 */
    script_at(script, 10);
    script_complete(script, 0, 10); /* Model 1 has had less, but may gain companions. */
    script_expect(script, "reply 0, run 0 [2]");
    script_at(script, 20);
    script_complete(script, 0, 10);
    script_expect(script, "reply 2, run 0 [1]");
    script_free(script);
}

static void a_full_run_goes_before_one_that_may_gain_companions(void **state)
{
    script_t *script = busy(20);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0); /* 1 */
    script_ask_all(script, 1, 10, 0, 2, 8, 0); /* 2 */
    script_ask_all(script, 1, 10, 0, 2, 8, 0); /* 3 */
    script_at(script, 10);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [2 3]");
    script_free(script);
}

static void a_full_run_does_not_go_before_one_that_waited_its_delay(void **state)
{
    script_t *script = busy(20);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0); /* 1 */
    script_ask_all(script, 1, 10, 0, 2, 8, 0); /* 2 */
    script_ask_all(script, 1, 10, 0, 2, 8, 0); /* 3 */
    script_at(script, 20);
    script_complete(script, 0, 20);
    script_expect(script, "reply 0, run 0 [1]");
    script_free(script);
}

static void a_worker_never_idles_for_the_sake_of_a_batch(void **state)
{
    script_t *script = busy(1000);

    (void)state;
    script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_ask_all(script, 1, 10, 0, 1, 8, 0);
    script_at(script, 10);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1]");
    script_free(script);
}

static void one_that_leaves_a_group_leaves_room(void **state)
{
    script_t *script = busy(0);

    (void)state;
    for (int i = 0; i < 5; i++)
        script_ask_all(script, 1, 10, 0, 1, 7, 0);
    script_send(script, RLX_EVENT_CANCEL, 1);
    script_send(script, RLX_EVENT_CANCEL, 3);
    script_complete(script, 0, 10);
    script_expect(script, "free 1, free 3, reply 0, run 0 [2 4 5] alone");
    script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_wait_with_equal_keys_run_together),
        cmocka_unit_test(different_keys_never_run_together),
        cmocka_unit_test(key_zero_runs_by_itself),
        cmocka_unit_test(equal_keys_of_two_models_never_run_together),
        cmocka_unit_test(a_run_has_at_most_rows_max_rows),
        cmocka_unit_test(one_with_more_rows_than_a_run_goes_by_itself),
        cmocka_unit_test(a_companion_joins_only_if_all_deadlines_are_still_met),
        cmocka_unit_test(while_it_may_gain_companions_others_go_first_but_not_for_longer),
        cmocka_unit_test(a_full_run_goes_before_one_that_may_gain_companions),
        cmocka_unit_test(a_full_run_does_not_go_before_one_that_waited_its_delay),
        cmocka_unit_test(a_worker_never_idles_for_the_sake_of_a_batch),
        cmocka_unit_test(one_that_leaves_a_group_leaves_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
