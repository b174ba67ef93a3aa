/* The frame of the simulator: time, order, chance, links, traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/link.h"
#include "sim/world.h"

static void events_come_by_time_and_then_in_the_order_of_scheduling(void **state)
{
    static const uint64_t delays[] = {30, 10, 20, 10, 30, 10};
    static const uint64_t order[] = {1, 3, 5, 2, 0, 4};
    sim_world_t world;
    sim_event_t event;

    (void)state;
    sim_world_init(&world, 1, NULL, false);
    for (uint64_t i = 0; i < 6; i++)
        sim_schedule(&world, delays[i], (sim_event_t){0, i, 0, 0});
    for (int i = 0; i < 6; i++) {
        assert_true(sim_next(&world, &event));
        assert_int_equal(event.a, order[i]);
        assert_int_equal(world.now_ns, delays[order[i]]);
    }
    assert_false(sim_next(&world, &event));
    sim_world_fini(&world);
}

static void a_thousand_events_come_sorted(void **state)
{
    sim_world_t world;
    sim_event_t event;
    uint64_t last = 0;
    int n = 0;

    (void)state;
    sim_world_init(&world, 2, NULL, false);
    for (int i = 0; i < 1000; i++)
        sim_schedule(&world, rlx_prng_below(&world.prng, 500), (sim_event_t){0});
    for (; sim_next(&world, &event); n++) {
        assert_true(world.now_ns >= last);
        last = world.now_ns;
    }
    assert_int_equal(n, 1000);
    sim_world_fini(&world);
}

/* The reference code of xoshiro256** from state {1, 2, 3, 4}. */
static void the_generator_is_the_published_one(void **state)
{
    rlx_prng_t prng = {{1, 2, 3, 4}};

    (void)state;
    assert_int_equal(rlx_prng_next(&prng), 11520);
    assert_int_equal(rlx_prng_next(&prng), 0);
    assert_int_equal(rlx_prng_next(&prng), 1509978240);
    assert_int_equal(rlx_prng_next(&prng), 1215971899390074240);
}

static void chances_and_means_are_what_they_say(void **state)
{
    rlx_prng_t prng;
    uint64_t hits = 0, sum = 0, exponential = 0;

    (void)state;
    rlx_prng_init(&prng, 3);
    for (int i = 0; i < 100000; i++) {
        hits += rlx_prng_chance(&prng, 250);
        sum += rlx_prng_between(&prng, 10, 20);
        exponential += rlx_prng_exponential(&prng, 1000);
    }
    assert_in_range(hits, 24500, 25500);
    assert_in_range(sum, 1490000, 1510000);
    assert_in_range(exponential, 98000000, 102000000);
    assert_int_equal(rlx_prng_between(&prng, 7, 7), 7);
    rlx_prng_between(&prng, 0, UINT64_MAX);
}

static int arrivals(sim_link_t link, int sent, int *out_overtakes)
{
    sim_world_t world;
    sim_event_t event;
    uint64_t last = 0;
    int n = 0;

    sim_world_init(&world, 4, NULL, false);
    for (int i = 0; i < sent; i++)
        sim_link_send(&world, &link, (sim_event_t){0, (uint64_t)i, 0, 0});
    for (*out_overtakes = 0; sim_next(&world, &event); n++) {
        *out_overtakes += event.a < last;
        last = event.a > last ? event.a : last;
    }
    sim_world_fini(&world);
    return n;
}

static void a_link_without_faults_delivers_everything_once_and_in_order(void **state)
{
    int overtakes;

    (void)state;
    assert_int_equal(arrivals((sim_link_t){.delay_min_ns = 5, .delay_max_ns = 500}, 1000, &overtakes), 1000);
    assert_int_equal(overtakes, 0);
}

static void a_datagram_link_loses_repeats_and_overtakes_as_often_as_it_is_told(void **state)
{
    int overtakes;

    (void)state;
    assert_in_range(arrivals((sim_link_t){.loss_per_mille = 100}, 10000, &overtakes), 8900, 9100);
    assert_in_range(arrivals((sim_link_t){.repeat_per_mille = 100}, 10000, &overtakes), 10900, 11100);
    assert_int_equal(arrivals((sim_link_t){.overtake_per_mille = 500, .delay_max_ns = 1000}, 1000, &overtakes), 1000);
    assert_in_range(overtakes, 100, 1000);
}

static void a_stream_that_loses_something_delivers_nothing_after_it(void **state)
{
    sim_link_t link = {.loss_per_mille = 1000, .stream = true};
    sim_world_t world;

    (void)state;
    sim_world_init(&world, 5, NULL, false);
    assert_false(sim_link_send(&world, &link, (sim_event_t){0}));
    link.loss_per_mille = 0;
    assert_false(sim_link_send(&world, &link, (sim_event_t){0}));
    link.broken = false;
    assert_true(sim_link_send(&world, &link, (sim_event_t){0}));
    sim_world_fini(&world);
}

static uint64_t digest_of(uint64_t seed, const char *what, uint64_t d)
{
    sim_world_t world;

    sim_world_init(&world, seed, NULL, false);
    sim_trace(&world, "begin", rlx_prng_next(&world.prng), 0, 0, 0);
    sim_trace(&world, what, 1, 2, 3, d);
    return world.digest;
}

static void equal_traces_have_equal_digests_and_others_do_not(void **state)
{
    (void)state;
    assert_true(digest_of(1, "run", 4) == digest_of(1, "run", 4));
    assert_true(digest_of(1, "run", 4) != digest_of(2, "run", 4));
    assert_true(digest_of(1, "run", 4) != digest_of(1, "nur", 4));
    assert_true(digest_of(1, "run", 4) != digest_of(1, "run", 5));
}

static void the_first_broken_rule_ends_a_world_and_is_kept(void **state)
{
    sim_world_t world;
    sim_event_t event;

    (void)state;
    sim_world_init(&world, 1, NULL, false);
    sim_schedule(&world, 5, (sim_event_t){0});
    assert_true(sim_check(&world, true, "fine", 0, 0));
    assert_false(sim_check(&world, false, "first", 7, 8));
    assert_false(sim_check(&world, false, "second", 0, 0));
    assert_string_equal(world.failure, "at 0 ns: broken: first (7, 8)");
    assert_false(sim_next(&world, &event));
    sim_world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_by_time_and_then_in_the_order_of_scheduling),
        cmocka_unit_test(a_thousand_events_come_sorted),
        cmocka_unit_test(the_generator_is_the_published_one),
        cmocka_unit_test(chances_and_means_are_what_they_say),
        cmocka_unit_test(a_link_without_faults_delivers_everything_once_and_in_order),
        cmocka_unit_test(a_datagram_link_loses_repeats_and_overtakes_as_often_as_it_is_told),
        cmocka_unit_test(a_stream_that_loses_something_delivers_nothing_after_it),
        cmocka_unit_test(equal_traces_have_equal_digests_and_others_do_not),
        cmocka_unit_test(the_first_broken_rule_ends_a_world_and_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
