/* See estimate.h. ratio = moving average of time / cost, deviation = moving average of its error, as TCP estimates round trips (RFC 6298).
 * One straggler counts as at most 4 times the mean, so that it cannot poison the estimate. */
#include "daemon/actor/estimate.h"

#define POINT 16
#define RATIO_MIN (1ull << 4)
#define RATIO_MAX (1ull << 32)

void actor_estimate_init(actor_model_t *model)
{
    model->ratio = 1ull << POINT;
    model->deviation = 0;
    model->samples = 0;
    model->measured_ns = 0;
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
    return scale(cost_ns, model->ratio);
}

uint64_t actor_estimate_safe(const actor_model_t *model, uint64_t cost_ns)
{
    return scale(cost_ns, model->ratio + 2 * model->deviation);
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

void actor_estimate_learn(actor_model_t *model, uint64_t cost_ns, uint64_t busy_ns, uint32_t team, uint64_t now_ns)
{
    uint64_t low = clamp((clamp(busy_ns, 0, ACTOR_COST_MAX) << POINT) / (cost_ns == 0 ? 1 : cost_ns), RATIO_MIN, RATIO_MAX);
    uint64_t sample = clamp(model->ratio, low, clamp(low * team, RATIO_MIN, RATIO_MAX));
    bool stale = now_ns - model->measured_ns > ACTOR_PROBE_NS;

    model->measured_ns = now_ns;
    if (model->samples == 0) {
        model->ratio = sample;
        model->deviation = sample / 4;
    } else {
        uint64_t parts = stale ? 2 : model->samples < 4 ? 4 : 8;
        sample = clamp(sample, RATIO_MIN, 4 * model->ratio);
        uint64_t error = sample > model->ratio ? sample - model->ratio : model->ratio - sample;
        model->deviation = approach(model->deviation, error, 8);
        model->ratio = clamp(approach(model->ratio, sample, parts), RATIO_MIN, RATIO_MAX);
    }
    if (model->samples < UINT8_MAX)
        model->samples++;
}
