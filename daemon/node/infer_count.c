/* Statistics: every finished request is counted once, as a success or as one failure with its reason. */
#include <time.h>

#include "base/clock.h"
#include "daemon/node/state.h"

static void duration_add(rlx_duration_t *duration, uint64_t from_ns, uint64_t until_ns)
{
    duration->count++;
    duration->ns += until_ns > from_ns ? until_ns - from_ns : 0;
}

static uint64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void rlx_infer_count(rlx_infer_t *infer, rlx_status_t status, rlx_fail_reason_t reason)
{
    rlx_model_stats_t *stats = infer->served->stats;
    uint64_t now = rlx_clock_ns();

    if (status != RLX_OK) {
        stats->fail[reason]++;
        duration_add(&stats->fail_all, infer->read_ns, now);
        return;
    }
    stats->inferences += infer->slot->inputs != NULL && infer->served->batch_max > 1 ? (uint64_t)infer->slot->inputs[0].tensor.dims[0] : 1;
    stats->last_ms = wall_ms();
    duration_add(&stats->success, infer->read_ns, now);
    duration_add(&stats->input, infer->read_ns, infer->submit_ns);
    duration_add(&stats->queue, infer->submit_ns, infer->start_ns);
    duration_add(&stats->infer, 0, infer->kernel_ns);
    duration_add(&stats->output, infer->end_ns, now);
    rlx_metric_histogram_add(&stats->queue_time, infer->start_ns > infer->submit_ns ? infer->start_ns - infer->submit_ns : 0);
    rlx_metric_histogram_add(&stats->compute_time, infer->kernel_ns);
    rlx_metric_histogram_add(&stats->total_time, now > infer->read_ns ? now - infer->read_ns : 0);
}
