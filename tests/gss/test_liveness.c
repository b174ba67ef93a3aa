/* The observer's clock, thresholds, and the table of pulses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/prng.h"
#include "gss/core/pulse.h"

static void an_observers_own_pause_is_no_time(void **unused)
{
    rlx_gss_awake_t awake = {.now_ms = 1000, .last_ms = 50};

    (void)unused;
    rlx_gss_awake_step(&awake, 150, 100);
    assert_int_equal(awake.now_ms, 1100);
    rlx_gss_awake_step(&awake, 60150, 100); /* a minute's pause */
    assert_int_equal(awake.now_ms, 1500);
    assert_int_equal(awake.score, RLX_GSS_SCORE_MAX);
    for (int i = 1; i <= 140; i++)
        rlx_gss_awake_step(&awake, 60150 + 100 * (uint64_t)i, 100);
    assert_int_equal(awake.score, 0); /* a point less every two seconds */
}

static void thresholds_are_the_largest_of_three_and_stretched_by_health(void **unused)
{
    rlx_gss_options_t half = rlx_gss_options_default(500, 8), slow = rlx_gss_options_default(2000, 8);
    rlx_gss_pulse_t pulse = {.node = 1};

    (void)unused;
    assert_int_equal(rlx_gss_pulse_threshold_ms(&pulse, &half, 0), 2000);
    assert_int_equal(rlx_gss_pulse_threshold_ms(&pulse, &half, 3), 8000);
    assert_int_equal(rlx_gss_pulse_threshold_ms(&pulse, &slow, 0), 8000);
    pulse.mean_q8 = 1000 << 8;
    pulse.dev_q8 = 400 << 8; /* 1000 + 7.5 * 400 */
    assert_int_equal(rlx_gss_pulse_threshold_ms(&pulse, &half, 0), 4000);
    pulse.dev_q8 = 4000 << 8;
    assert_int_equal(rlx_gss_pulse_threshold_ms(&pulse, &half, 0), half.evict_ms);
    assert_int_equal(half.evict_ms, 6000);
    assert_int_equal(slow.evict_ms, 12000);
}

static void only_a_counter_that_rises_is_life(void **unused)
{
    rlx_gss_pulse_t pulse = {.node = 1, .heard_ms = 100};

    (void)unused;
    assert_true(rlx_gss_pulse_beat(&pulse, (rlx_gss_version_t){1, 9, 5}, 600));
    assert_false(rlx_gss_pulse_beat(&pulse, (rlx_gss_version_t){1, 9, 5}, 900));
    assert_false(rlx_gss_pulse_beat(&pulse, (rlx_gss_version_t){1, 9, 4}, 900));
    assert_int_equal(pulse.heard_ms, 600);
    assert_true(rlx_gss_pulse_beat(&pulse, (rlx_gss_version_t){2, 3, 0}, 1000)); /* a new life */
    assert_false(rlx_gss_pulse_beat(&pulse, (rlx_gss_version_t){1, 9, 99}, 1100));
}

static void pulses_are_found_whatever_was_removed(void **unused)
{
    rlx_gss_pulses_t pulses;
    rlx_prng_t prng;
    bool in[101] = {false};

    (void)unused;
    assert_true(rlx_gss_pulses_init(&pulses, 64));
    rlx_prng_init(&prng, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t node = rlx_prng_between(&prng, 1, 100);
        if (rlx_prng_chance(&prng, 500)) {
            in[node] |= rlx_gss_pulses_get(&pulses, node, 1) != NULL;
        } else {
            rlx_gss_pulses_remove(&pulses, node);
            in[node] = false;
        }
        for (uint64_t j = 1; j <= 100 && i % 50 == 0; j++)
            assert_int_equal(in[j], rlx_gss_pulses_find(&pulses, j) != NULL);
    }
    rlx_gss_pulses_fini(&pulses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_observers_own_pause_is_no_time), cmocka_unit_test(thresholds_are_the_largest_of_three_and_stretched_by_health),
        cmocka_unit_test(only_a_counter_that_rises_is_life), cmocka_unit_test(pulses_are_found_whatever_was_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
