/* See queue.h. Sums, deadlines and turns follow every change here, so nobody else keeps them. */
#include "daemon/actor/queue.h"

#include "base/assert.h"
#include "daemon/actor/estimate.h"
#include "daemon/actor/group.h"
#include "daemon/actor/request.h"
#include "daemon/actor/turn.h"

void actor_queue_revalue(rlx_actor_t *actor, uint32_t model)
{
    actor_model_t *held = &actor->models[model];

    actor->waiting_ns -= held->waiting_ns;
    held->waiting_ns = actor_estimate_mean(held, held->lines[0].cost_ns + held->lines[1].cost_ns);
    if (held->waiting_ns > UINT64_MAX / 1024 / 1024) /* Sums over models stay far from the end of 64 bits. */
        held->waiting_ns = UINT64_MAX / 1024 / 1024;
    actor->waiting_ns += held->waiting_ns;
}

/* The newest member completes a run: those before it wait for a worker now, not for companions. The oldest may do so already. */
static void queue_group(rlx_actor_t *actor, const actor_group_t *group)
{
    for (uint32_t member = actor->requests[group->tail].group_prev; member != RLX_ACTOR_NONE; member = actor->requests[member].group_prev) {
        if (actor->requests[member].state != RLX_REQUEST_BATCHING)
            break;
        actor_request_move(actor, member, RLX_REQUEST_QUEUED);
    }
}

static void changed(rlx_actor_t *actor, uint32_t model)
{
    actor_queue_revalue(actor, model);
    actor_turn_update(actor, model);
}

void actor_queue_push(rlx_actor_t *actor, uint32_t request)
{
    actor_request_t *pushed = actor_request_at(actor, request);
    actor_model_t *model = &actor->models[pushed->model];
    actor_line_t *line = &model->lines[pushed->priority];

    pushed->prev = line->tail;
    pushed->next = RLX_ACTOR_NONE;
    *(line->tail == RLX_ACTOR_NONE ? &line->head : &actor->requests[line->tail].next) = request;
    line->tail = request;
    line->n++;
    line->cost_ns += pushed->cost_ns;
    actor->waiting++;
    if (pushed->deadline_ns != RLX_ACTOR_NEVER)
        actor_heap_set(&actor->deadlines, request, pushed->deadline_ns);
    if (actor_group_join(actor, request)) {
        actor_request_move(actor, request, RLX_REQUEST_QUEUED);
        queue_group(actor, &actor->groups[pushed->group]);
    } else {
        actor_request_move(actor, request, RLX_REQUEST_BATCHING);
    }
    changed(actor, pushed->model);
}

void actor_queue_remove(rlx_actor_t *actor, uint32_t request)
{
    actor_request_t *removed = actor_request_at(actor, request);
    actor_line_t *line = &actor->models[removed->model].lines[removed->priority];

    RLX_ASSERT(removed->state == RLX_REQUEST_QUEUED || removed->state == RLX_REQUEST_BATCHING);
    *(removed->prev == RLX_ACTOR_NONE ? &line->head : &actor->requests[removed->prev].next) = removed->next;
    *(removed->next == RLX_ACTOR_NONE ? &line->tail : &actor->requests[removed->next].prev) = removed->prev;
    line->n--;
    line->cost_ns -= removed->cost_ns;
    actor->waiting--;
    actor_heap_remove(&actor->deadlines, request);
    actor_group_leave(actor, request);
    changed(actor, removed->model);
}

/* When the oldest of `line` stops waiting for companions. */
static uint64_t line_ripe_ns(const rlx_actor_t *actor, const actor_model_t *model, const actor_line_t *line)
{
    if (line->head == RLX_ACTOR_NONE)
        return RLX_ACTOR_NEVER;
    if (line->full_head != RLX_ACTOR_NONE)
        return 0;
    return actor_add(actor->requests[line->head].submitted_ns, model->settings.batch_delay_ns);
}

uint64_t actor_queue_ripe_ns(const rlx_actor_t *actor, uint32_t model)
{
    const actor_model_t *held = &actor->models[model];
    uint64_t normal = line_ripe_ns(actor, held, &held->lines[0]), high = line_ripe_ns(actor, held, &held->lines[1]);

    return normal < high ? normal : high;
}

uint32_t actor_queue_next(const rlx_actor_t *actor, uint32_t model, uint64_t now_ns)
{
    const actor_model_t *held = &actor->models[model];
    const actor_line_t *line = &held->lines[held->lines[1].n > 0 ? 1 : 0];

    if (line->head == RLX_ACTOR_NONE)
        return RLX_ACTOR_NONE;
    const actor_request_t *head = &actor->requests[line->head];
    bool may_gain = !actor->groups[head->group].full && now_ns < actor_add(head->submitted_ns, held->settings.batch_delay_ns);
    return may_gain && line->full_head != RLX_ACTOR_NONE ? actor->groups[line->full_head].head : line->head;
}
