/* See estimate.h. ratio = moving average of time / cost, deviation = moving average of its error, as TCP estimates round trips (RFC 6298).
 * One straggler counts as at most 4 times the mean, so that it cannot poison the estimate. */
#include "daemon/actor/estimate.h"

#define POINT 16
#define TINY_SAMPLES 8 /* the first runs touch cold memory */
#define RATIO_MIN (1ull << 4)
#define RATIO_MAX (1ull << 32)

/* A sum of costs of a run stays below 2^50, so nothing here leaves 64 bits but scale, which says so. */

void actor_estimate_init(actor_model_t *model)
{
    model->one = model->team = (actor_estimate_t){.ratio = 1ull << POINT};
}

static uint64_t scale(uint64_t cost_ns, uint64_t ratio)
{
    uint64_t high;

    if (__builtin_mul_overflow(cost_ns >> POINT, ratio, &high))
        return UINT64_MAX;
    return actor_add(high, ((cost_ns & ((1u << POINT) - 1)) * ratio) >> POINT);
}

uint64_t actor_estimate_mean(const actor_model_t *model, uint64_t cost_ns)
{
    return scale(cost_ns, model->one.ratio);
}

uint64_t actor_estimate_safe(const actor_model_t *model, uint64_t cost_ns)
{
    return scale(cost_ns, model->one.ratio + 2 * model->one.deviation);
}

uint64_t actor_estimate_alone(const actor_model_t *model, uint64_t cost_ns, uint32_t workers)
{
    uint64_t one_ns = actor_estimate_mean(model, cost_ns);
    uint64_t team_ns = model->team.samples == 0 ? one_ns / workers : scale(cost_ns, model->team.ratio);

    return team_ns < one_ns ? team_ns : one_ns;
}

bool actor_estimate_tiny(const actor_model_t *model, uint64_t cost_ns)
{
    return model->one.samples >= TINY_SAMPLES && actor_estimate_mean(model, cost_ns) < RLX_ACTOR_BRIEF_NS;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* a + (b - a) / parts without leaving unsigned numbers. */
static uint64_t approach(uint64_t a, uint64_t b, uint64_t parts)
{
    return b >= a ? a + (b - a) / parts : a - (a - b) / parts;
}

static void learn(actor_estimate_t *estimate, uint64_t sample, uint64_t now_ns)
{
    bool stale = now_ns - estimate->measured_ns > ACTOR_PROBE_NS;

    estimate->measured_ns = now_ns;
    if (estimate->samples == 0) {
        estimate->ratio = sample;
        estimate->deviation = sample / 4;
    } else {
        uint64_t parts = stale ? 2 : estimate->samples < 4 ? 4 : 8;
        sample = clamp(sample, RATIO_MIN, 4 * estimate->ratio);
        uint64_t error = sample > estimate->ratio ? sample - estimate->ratio : estimate->ratio - sample;
        estimate->deviation = approach(estimate->deviation, error, 8);
        estimate->ratio = clamp(approach(estimate->ratio, sample, parts), RATIO_MIN, RATIO_MAX);
    }
    if (estimate->samples < UINT8_MAX)
        estimate->samples++;
}

void actor_estimate_learn(actor_model_t *model, uint64_t cost_ns, uint64_t busy_ns, uint32_t team, uint64_t now_ns)
{
    uint64_t low = clamp((clamp(busy_ns, 0, ACTOR_COST_MAX) << POINT) / (cost_ns == 0 ? 1 : cost_ns), RATIO_MIN, RATIO_MAX);

    if (team > 1)
        learn(&model->team, low, now_ns);
    learn(&model->one, clamp(model->one.ratio, low, clamp(low * team, RATIO_MIN, RATIO_MAX)), now_ns);
}
