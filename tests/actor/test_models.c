/* Models come and go while requests are there; and the drain. */
#include "tests/actor/script.h"

static void a_model_that_is_not_there_is_refused(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    assert_int_equal(script_open(script, 3), RLX_ACTOR_NONE);
    assert_int_equal(script_open(script, 4000000000u), RLX_ACTOR_NONE);
    script_expect(script, "closed model_gone, closed model_gone");
    script_free(script);
}

static void an_unused_model_is_free_at_once(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_send(script, RLX_EVENT_MODEL_REMOVE, 0);
    script_expect(script, "model_free 0");
    script_model(script, 0, 4, 0, 0);
    assert_int_equal(script_open(script, 0), 0);
    script_free(script);
}

static void a_model_leaves_when_its_last_request_is_free_whatever_its_state(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_ask(script, 0, 10, 0);
    script_open(script, 0);
    script_send(script, RLX_EVENT_MODEL_REMOVE, 0);
    assert_int_equal(script_open(script, 0), RLX_ACTOR_NONE);
    script_expect(script, "run 0 [0] alone, closed model_gone");
    script_submit(script, 2, 10, 0); /* It was let in, so it is served. */
    script_complete(script, 0, 10);
    script_complete(script, 0, 10);
    script_complete(script, 0, 10);
    script_expect(script, "reply 0, run 0 [1], reply 1, run 0 [2] alone, reply 2");
    script_send(script, RLX_EVENT_REPLIED, 1);
    script_send(script, RLX_EVENT_REPLIED, 2);
    script_send(script, RLX_EVENT_REPLIED, 0);
    script_expect(script, "free 1, free 2, free 0, model_free 0");
    script_free(script);
}

static void a_model_leaves_with_a_run_that_was_cancelled(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_send(script, RLX_EVENT_MODEL_REMOVE, 0);
    script_send(script, RLX_EVENT_CANCEL, 0);
    script_expect(script, "run 0 [0] alone, cancel 0");
    script_complete(script, 0, 1);
    script_expect(script, "free 0, model_free 0");
    script_free(script);
}

static void the_drain_finishes_what_was_let_in_and_takes_nothing_new(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_ask(script, 0, 10, 0);
    script_open(script, 0);
    script_send(script, RLX_EVENT_DRAIN, 0);
    assert_int_equal(script_open(script, 0), RLX_ACTOR_NONE);
    script_expect(script, "run 0 [0] alone, closed draining");
    script_submit(script, 1, 10, 0);
    script_complete(script, 0, 10);
    script_complete(script, 0, 10);
    script_send(script, RLX_EVENT_REPLIED, 0);
    script_expect(script, "reply 0, run 0 [1] alone, reply 1, free 0");
    script_send(script, RLX_EVENT_REPLIED, 1);
    script_expect(script, "free 1, drained");
    script_free(script);
}

static void the_drain_of_an_idle_actor_ends_at_once_and_once(void **state)
{
    script_t *script = script_new(8, 1);

    (void)state;
    script_send(script, RLX_EVENT_DRAIN, 0);
    script_send(script, RLX_EVENT_DRAIN, 0);
    script_expect(script, "drained");
    script_free(script);
}

static void the_oldest_run_is_known(void **state)
{
    script_t *script = script_new(8, 2);

    (void)state;
    assert_int_equal(rlx_actor_oldest_run_ns(script->actor), RLX_ACTOR_NEVER);
    script_at(script, 3);
    script_ask(script, 0, 10, 0);
    script_at(script, 5);
    script_ask(script, 0, 10, 0);
    assert_int_equal(rlx_actor_oldest_run_ns(script->actor), 3 * MS);
    script_complete(script, 0, 2);
    assert_int_equal(rlx_actor_oldest_run_ns(script->actor), 5 * MS);
    script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_is_not_there_is_refused),
        cmocka_unit_test(an_unused_model_is_free_at_once),
        cmocka_unit_test(a_model_leaves_when_its_last_request_is_free_whatever_its_state),
        cmocka_unit_test(a_model_leaves_with_a_run_that_was_cancelled),
        cmocka_unit_test(the_drain_finishes_what_was_let_in_and_takes_nothing_new),
        cmocka_unit_test(the_drain_of_an_idle_actor_ends_at_once_and_once),
        cmocka_unit_test(the_oldest_run_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
