/* Hands events to the actor and applies its effects, one event after another: an event that arises while effects are applied waits in a
 * ring, since an effect not yet applied may concern the same request. OPEN alone goes straight through (it emits nothing but its answer).
 *
 * The ring cannot overflow: a request has at most three events waiting (submit, cancel or abandon, replied), a run and a model one each. */
#include <inttypes.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "daemon/node/state.h"

_Static_assert(RLX_ACTOR_BATCH_MAX <= RLX_JOB_SLOTS_MAX, "a job has room for every batch");

static void run_start(rlx_node_t *node, const rlx_actor_effect_t *effect)
{
    rlx_node_run_t *run = &node->runs[effect->run];
    rlx_job_t *job = &run->job;
    uint64_t run_number = 0;

    job->run = effect->run;
    job->n_slots = (int)effect->n;
    job->alone = effect->alone;
    job->brief = effect->brief;
    job->tiny = effect->tiny;
    job->start_ns = job->end_ns = job->kernel_ns = job->input_copies = 0;
    atomic_store_explicit(&job->cancel, false, memory_order_relaxed); /* handed over by rlx_pool_submit */
    if (node->options.tracing != NULL)
        run_number = rlx_tracing_run(node->options.tracing, node->requests[effect->requests[0]].served->number, job);
    for (uint32_t i = 0; i < effect->n; i++) {
        rlx_infer_t *infer = &node->requests[effect->requests[i]];

        run->requests[i] = effect->requests[i];
        infer->run_number = run_number;
        job->model = infer->served->model;
        job->name = infer->served->name;
        job->slots[i] = infer->slot;
        job->rows[i] = infer->slot->inputs != NULL && infer->slot->inputs[0].tensor.rank > 0 ? infer->slot->inputs[0].tensor.dims[0] : 1;
    }
    node->run_end_ns = rlx_clock_ns() + effect->expected_ns;
    rlx_pool_submit(node->pool, job);
}

static void request_refuse(rlx_infer_t *infer, const rlx_actor_effect_t *effect)
{
    rlx_diag_t *diag = &infer->diag;
    const char *model = infer->served->name;
    double wait_ms = (double)effect->wait_ns / 1e6;
    rlx_fail_reason_t reason = RLX_FAIL_REJECTED;

    switch (effect->refusal) {
    case RLX_REFUSAL_QUEUE_FULL:
        rlx_fail(diag, RLX_E_QUEUE_FULL, "the queue of model '%s' is full: %u requests wait", model, infer->node->options.queue_max);
        break;
    case RLX_REFUSAL_DEADLINE_UNREACHABLE:
        rlx_fail(diag, RLX_E_DEADLINE_UNREACHABLE,
                 "model '%s' could start in about %.1f ms and would not end before the deadline in %.1f ms", model, wait_ms,
                 infer->deadline_ns > infer->submit_ns ? (double)(infer->deadline_ns - infer->submit_ns) / 1e6 : 0.0);
        break;
    case RLX_REFUSAL_DEADLINE_PASSED:
        rlx_fail(diag, RLX_E_DEADLINE_PASSED, "the deadline passed while the request waited for model '%s'", model);
        reason = RLX_FAIL_DEADLINE;
        break;
    case RLX_REFUSAL_MODEL_GONE:
        rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "model '%s' version %s is no longer served", model, infer->served->version);
        reason = RLX_FAIL_UNAVAILABLE;
        break;
    default:
        rlx_fail(diag, RLX_E_DRAINING, "the server is stopping and takes no new requests");
        reason = RLX_FAIL_UNAVAILABLE;
        break;
    }
    rlx_infer_count(infer, diag->status, reason);
    rlx_infer_answer_fail(infer);
}

/* The answer of a request whose run has completed. */
static void request_reply(rlx_infer_t *infer)
{
    rlx_slot_t *slot = infer->slot;

    rlx_infer_count(infer, slot->status, slot->status == RLX_INVALID_ARGUMENT ? RLX_FAIL_INPUT : RLX_FAIL_RUN);
    if (slot->status == RLX_OK) {
        rlx_infer_answer_ok(infer);
        return;
    }
    infer->diag = slot->diag;
    rlx_infer_answer_fail(infer);
}

/* Sets the timer unless it rings earlier anyway: an early ring only makes the actor name its time again. */
void rlx_node_timer_arm(rlx_node_t *node, uint64_t at_ns)
{
    struct itimerspec when = {0};

    if (at_ns >= node->armed_ns)
        return;
    node->armed_ns = at_ns;
    when.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
    when.it_value.tv_nsec = (long)(at_ns % 1000000000u) + 1; /* all zero would disarm it */
    RLX_ASSERT(timerfd_settime(node->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0);
}

static void model_free(rlx_node_t *node, uint32_t number)
{
    rlx_served_t *served = node->served[number];

    rlx_binding_forget(node, served);
    rlx_slots_destroy(node->slots[number]);
    node->slots[number] = NULL;
    node->served[number] = NULL;
    rlx_models_forget(node->models, served);
}

static void effect_apply(rlx_node_t *node, const rlx_actor_effect_t *effect)
{
    switch (effect->kind) {
    case RLX_EFFECT_RUN: run_start(node, effect); break;
    case RLX_EFFECT_CANCEL_RUN: atomic_store_explicit(&node->runs[effect->run].job.cancel, true, memory_order_relaxed); break; /* a hint */
    case RLX_EFFECT_REPLY: request_reply(&node->requests[effect->request]); break;
    case RLX_EFFECT_REFUSE: request_refuse(&node->requests[effect->request], effect); break;
    case RLX_EFFECT_FREE: rlx_infer_free(&node->requests[effect->request]); break;
    case RLX_EFFECT_ARM: rlx_node_timer_arm(node, effect->at_ns); break;
    case RLX_EFFECT_MODEL_FREE: model_free(node, effect->model); break;
    case RLX_EFFECT_DRAINED:
        node->drained = true;
        if (node->drain_done != NULL)
            node->drain_done(node->drain_context);
        break;
    }
}

static void event_run(rlx_node_t *node, rlx_actor_event_t *event)
{
    rlx_actor_effects_t effects;

    do {
        rlx_actor_step(node->actor, event, rlx_clock_ns(), &effects);
        for (int i = 0; i < effects.n; i++)
            effect_apply(node, &effects.effect[i]);
        event = NULL;
    } while (effects.more);
}

void rlx_node_event(rlx_node_t *node, rlx_actor_event_t *event)
{
    rlx_event_ring_t *ring = &node->waiting;

    if (event->kind == RLX_EVENT_OPEN) {
        rlx_actor_effects_t none;

        rlx_actor_step(node->actor, event, rlx_clock_ns(), &none);
        RLX_ASSERT(none.n == 0);
        return;
    }
    RLX_ASSERT(ring->count < ring->capacity);
    ring->events[(ring->first + ring->count++) % ring->capacity] = *event;
    if (node->applying)
        return;
    node->applying = true;
    while (ring->count > 0) {
        rlx_actor_event_t next = ring->events[ring->first];

        ring->first = (ring->first + 1) % ring->capacity;
        ring->count--;
        event_run(node, &next);
    }
    node->applying = false;
    if (node->options.tracing != NULL)
        rlx_tracing_counts(node->options.tracing, node->actor);
}

/* Bytes that the worker moved between regions and the slot. */
static void moves_count(rlx_node_t *node, const rlx_infer_t *infer)
{
    const rlx_slot_t *slot = infer->slot;

    for (int i = 0; i < slot->n_reads; i++)
        node->copies.region_read += slot->reads[i].bytes;
    for (int i = 0; i < slot->n_writes && slot->status == RLX_OK; i++)
        node->copies.region_write += slot->writes[i].bytes;
}

void rlx_node_completed(void *context, rlx_job_t *job)
{
    rlx_node_t *node = context;
    rlx_node_run_t *run = &node->runs[job->run];
    rlx_actor_event_t event = {.kind = RLX_EVENT_COMPLETE, .run = job->run, .busy_ns = job->end_ns - job->start_ns};
    rlx_model_stats_t *stats = node->requests[run->requests[0]].served->stats;
    int64_t rows = 0;

    for (int i = 0; i < job->n_slots; i++) {
        rlx_infer_t *infer = &node->requests[run->requests[i]];

        infer->start_ns = job->start_ns;
        infer->end_ns = job->end_ns;
        infer->kernel_ns = job->kernel_ns;
        moves_count(node, infer);
        rows += job->rows[i];
    }
    stats->executions++;
    stats->input_copies += job->input_copies;
    node->copies.staged += job->input_copies;
    rows = rows < 0 ? 0 : rows > RLX_BATCH_ROWS_MAX ? RLX_BATCH_ROWS_MAX : rows;
    stats->batch[rows].count++;
    stats->batch[rows].ns += job->kernel_ns;
    rlx_node_event(node, &event);
}
