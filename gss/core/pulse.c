/* See pulse.h. Integers only: an observer's verdicts are the same on every machine. */
#include "gss/core/pulse.h"

#include <stdlib.h>

#include "base/assert.h"
#include "gss/core/mutant.h"

#define LATE_MS 500     /* a lateness of so much costs a point of health, twice that two */
#define CALM_MS 2000    /* and so long without one gives a point back */
#define SAMPLE_SHIFT 4  /* mean and deviation follow the last 16 intervals or so */

void rlx_gss_awake_step(rlx_gss_awake_t *awake, uint64_t now_ms, uint64_t step_max_ms)
{
    uint64_t passed = now_ms > awake->last_ms ? now_ms - awake->last_ms : 0, late;

    awake->last_ms = now_ms > awake->last_ms ? now_ms : awake->last_ms;
    if (passed > 4 * step_max_ms && !RLX_MUTANT(DEAF_OBSERVER)) {
        late = passed - 4 * step_max_ms;
        passed = 4 * step_max_ms;
        awake->score += (uint32_t)(late / LATE_MS < RLX_GSS_SCORE_MAX ? late / LATE_MS : RLX_GSS_SCORE_MAX);
        awake->score = awake->score < RLX_GSS_SCORE_MAX ? awake->score : RLX_GSS_SCORE_MAX;
        awake->calm_ms = 0;
    }
    awake->now_ms += passed;
    awake->calm_ms += passed;
    if (awake->calm_ms >= CALM_MS) {
        awake->score -= awake->score > 0;
        awake->calm_ms = 0;
    }
}

bool rlx_gss_pulses_init(rlx_gss_pulses_t *pulses, uint32_t nodes_max)
{
    uint32_t slots = 16;

    while (slots < 2 * nodes_max && slots < 1u << 30)
        slots *= 2;
    *pulses = (rlx_gss_pulses_t){.mask = slots - 1, .slots = calloc(slots, sizeof *pulses->slots)};
    return pulses->slots != NULL;
}

void rlx_gss_pulses_fini(rlx_gss_pulses_t *pulses)
{
    free(pulses->slots);
    *pulses = (rlx_gss_pulses_t){0};
}

static uint32_t home_of(const rlx_gss_pulses_t *pulses, uint64_t node)
{
    return (uint32_t)(node * 0x9e3779b97f4a7c15u >> 32) & pulses->mask;
}

static uint32_t slot_of(const rlx_gss_pulses_t *pulses, uint64_t node)
{
    uint32_t slot = home_of(pulses, node);

    while (pulses->slots[slot].node != 0 && pulses->slots[slot].node != node)
        slot = (slot + 1) & pulses->mask;
    return slot;
}

rlx_gss_pulse_t *rlx_gss_pulses_find(const rlx_gss_pulses_t *pulses, uint64_t node)
{
    rlx_gss_pulse_t *pulse = &pulses->slots[slot_of(pulses, node)];

    return pulse->node == 0 ? NULL : pulse;
}

rlx_gss_pulse_t *rlx_gss_pulses_get(rlx_gss_pulses_t *pulses, uint64_t node, uint64_t awake_ms)
{
    rlx_gss_pulse_t *pulse = &pulses->slots[slot_of(pulses, node)];

    RLX_ASSERT(node != 0);
    if (pulse->node != 0)
        return pulse;
    if (pulses->n > pulses->mask / 2)
        return NULL;
    *pulse = (rlx_gss_pulse_t){.node = node, .heard_ms = awake_ms};
    pulses->n++;
    return pulse;
}

void rlx_gss_pulses_remove(rlx_gss_pulses_t *pulses, uint64_t node)
{
    uint32_t hole = slot_of(pulses, node), slot = hole;

    if (pulses->slots[hole].node == 0)
        return;
    pulses->n--;
    for (;;) { /* What follows moves into the hole unless its home lies behind it. */
        pulses->slots[hole].node = 0;
        do {
            slot = (slot + 1) & pulses->mask;
            if (pulses->slots[slot].node == 0)
                return;
        } while (((slot - home_of(pulses, pulses->slots[slot].node)) & pulses->mask) < ((slot - hole) & pulses->mask));
        pulses->slots[hole] = pulses->slots[slot];
        hole = slot;
    }
}

bool rlx_gss_pulse_beat(rlx_gss_pulse_t *pulse, rlx_gss_version_t beat, uint64_t awake_ms)
{
    bool same_life = pulse->life.a == beat.a && pulse->life.b == beat.b;

    if (rlx_gss_version_compare(beat, pulse->life) <= 0)
        return false;
    if (same_life) {
        uint64_t interval = awake_ms - pulse->heard_ms < 60000 ? awake_ms - pulse->heard_ms : 60000;
        int64_t error = (int64_t)(interval << 8) - pulse->mean_q8;
        pulse->mean_q8 = (uint32_t)((int64_t)pulse->mean_q8 + error / (1 << SAMPLE_SHIFT));
        error = (error < 0 ? -error : error) - pulse->dev_q8;
        pulse->dev_q8 = (uint32_t)((int64_t)pulse->dev_q8 + error / (1 << SAMPLE_SHIFT));
    }
    pulse->life = beat;
    pulse->heard_ms = awake_ms;
    return true;
}

uint64_t rlx_gss_pulse_threshold_ms(const rlx_gss_pulse_t *pulse, const rlx_gss_options_t *options, uint32_t score)
{
    /* The deviation here is the mean absolute one: 0.8 sigma where intervals are normal, so 6 sigma are 7.5 of it. */
    uint64_t usual_ms = (pulse->mean_q8 + (uint64_t)pulse->dev_q8 * 15 / 2) >> 8;
    uint64_t threshold_ms = (uint64_t)options->suspect_beats * options->heartbeat_ms;

    if (threshold_ms < options->suspect_ms)
        threshold_ms = options->suspect_ms;
    if (usual_ms > options->evict_ms)
        usual_ms = options->evict_ms;
    if (threshold_ms < usual_ms)
        threshold_ms = usual_ms;
    return threshold_ms * (score + 1);
}
