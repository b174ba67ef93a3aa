/* Where requests spent their time: exact percentiles, of all requests of the trace. */
#include <stdlib.h>

#include "cli/profile/page.h"

#define ALL_MODELS RLX_NO_ROW

static int number_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* By nearest rank. */
static uint64_t percentile(const uint64_t *sorted, uint32_t n, double percent)
{
    double rank = percent / 100 * n;
    uint32_t index = (uint32_t)rank - (rank == (double)(uint32_t)rank && rank > 0);

    return sorted[index < n ? index : n - 1];
}

/* The times of `phase` (RLX_PHASES: the whole request) of one model's requests, or of all. Returns how many. */
static uint32_t times_of(const rlx_profile_t *profile, uint32_t model, int phase, uint64_t *times)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < profile->requests.n; i++) {
        const rlx_profile_request_t *request = &profile->requests.row[i];

        if (model == ALL_MODELS || request->model == model)
            times[n++] = phase == RLX_PHASES ? request->end - request->begin : request->phase[phase];
    }
    qsort(times, n, sizeof *times, number_compare);
    return n;
}

static void phase_add(rlx_text_t *out, const uint64_t *times, uint32_t n)
{
    static const double percents[] = {50, 90, 99, 99.9, 100};
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)times[i];
    rlx_text_printf(out, "[%.0f", sum / n);
    for (int i = 0; i < 5; i++)
        rlx_text_printf(out, ",%llu", (unsigned long long)percentile(times, n, percents[i]));
    rlx_text_puts(out, "]");
}

static void model_add(rlx_text_t *out, const rlx_profile_t *profile, uint32_t model, uint64_t *times, bool first)
{
    uint32_t n = times_of(profile, model, RLX_PHASES, times);

    if (n == 0)
        return;
    rlx_text_printf(out, "%s{\"model\":%d,\"n\":%u,\"total\":", first ? "" : ",", model == ALL_MODELS ? -1 : (int)model, n);
    phase_add(out, times, n);
    rlx_text_puts(out, ",\"phases\":[");
    for (int phase = 0; phase < RLX_PHASES; phase++) {
        rlx_text_puts(out, phase > 0 ? "," : "");
        phase_add(out, times, times_of(profile, model, phase, times));
    }
    rlx_text_puts(out, "]}");
}

void rlx_profile_latency_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    uint64_t *times = malloc(((size_t)profile->requests.n + 1) * sizeof *times);

    rlx_text_puts(out, ",\"latency\":[");
    if (times == NULL)
        out->full = true;
    else if (profile->requests.n > 0) {
        model_add(out, profile, ALL_MODELS, times, true);
        for (uint32_t model = 0; model < profile->models.n && profile->models.n > 1; model++)
            model_add(out, profile, model, times, false);
    }
    rlx_text_puts(out, "]");
    free(times);
}
