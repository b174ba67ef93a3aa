/* See group.h. Found by hash: chained buckets, as many as the table has requests. There are never more groups than waiting requests, so the
 * table cannot be full. */
#include "daemon/actor/group.h"

#include "base/assert.h"

static uint32_t *bucket_of(rlx_actor_t *actor, uint32_t model, uint32_t priority, uint64_t key)
{
    uint64_t hash = (key ^ ((uint64_t)model << 1 | priority)) * 0x9e3779b97f4a7c15u;

    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return &actor->buckets[(hash >> 32) & actor->buckets_mask];
}

static uint32_t find(rlx_actor_t *actor, const actor_request_t *request)
{
    uint32_t at = *bucket_of(actor, request->model, request->priority, request->batch_key);

    for (; at != 0; at = actor->groups[at - 1].bucket_next) {
        const actor_group_t *group = &actor->groups[at - 1];
        if (group->key == request->batch_key && group->model == request->model && group->priority == request->priority)
            return at - 1;
    }
    return RLX_ACTOR_NONE;
}

static uint32_t add(rlx_actor_t *actor, const actor_request_t *request, bool single)
{
    uint32_t index;

    if (actor->groups_free != 0) {
        index = actor->groups_free - 1;
        actor->groups_free = actor->groups[index].bucket_next;
    } else {
        RLX_ASSERT(actor->groups_touched < actor->options.requests_max);
        index = actor->groups_touched++;
    }
    actor->groups[index] = (actor_group_t){.key = request->batch_key, .model = request->model, .priority = request->priority,
        .head = RLX_ACTOR_NONE, .tail = RLX_ACTOR_NONE, .full_prev = RLX_ACTOR_NONE, .full_next = RLX_ACTOR_NONE, .single = single};
    if (!single) {
        uint32_t *bucket = bucket_of(actor, request->model, request->priority, request->batch_key);
        actor->groups[index].bucket_next = *bucket;
        *bucket = index + 1;
    }
    return index;
}

static void drop(rlx_actor_t *actor, uint32_t index)
{
    actor_group_t *group = &actor->groups[index];

    if (!group->single) {
        uint32_t *link = bucket_of(actor, group->model, group->priority, group->key);
        while (*link != index + 1)
            link = &actor->groups[*link - 1].bucket_next;
        *link = group->bucket_next;
    }
    group->bucket_next = actor->groups_free;
    actor->groups_free = index + 1;
}

/* Keeps `full` and the model's list of full groups true. */
static void weigh(rlx_actor_t *actor, uint32_t index)
{
    actor_group_t *group = &actor->groups[index];
    actor_model_t *model = &actor->models[group->model];
    actor_line_t *line = &model->lines[group->priority];
    bool enough = group->single || group->rows >= model->settings.rows_max || group->n >= RLX_ACTOR_BATCH_MAX;
    bool full = group->n > 0 && enough;

    if (full == group->full)
        return;
    group->full = full;
    if (full) {
        group->full_prev = line->full_tail;
        group->full_next = RLX_ACTOR_NONE;
        *(line->full_tail == RLX_ACTOR_NONE ? &line->full_head : &actor->groups[line->full_tail].full_next) = index;
        line->full_tail = index;
    } else {
        *(group->full_prev == RLX_ACTOR_NONE ? &line->full_head : &actor->groups[group->full_prev].full_next) = group->full_next;
        *(group->full_next == RLX_ACTOR_NONE ? &line->full_tail : &actor->groups[group->full_next].full_prev) = group->full_prev;
    }
}

bool actor_group_join(rlx_actor_t *actor, uint32_t request)
{
    actor_request_t *joining = actor_request_at(actor, request);
    bool single = joining->batch_key == 0 || joining->rows >= actor->models[joining->model].settings.rows_max;
    uint32_t index = single ? RLX_ACTOR_NONE : find(actor, joining);

    if (index == RLX_ACTOR_NONE)
        index = add(actor, joining, single);
    actor_group_t *group = &actor->groups[index];
    joining->group = index;
    joining->group_prev = group->tail;
    joining->group_next = RLX_ACTOR_NONE;
    *(group->tail == RLX_ACTOR_NONE ? &group->head : &actor->requests[group->tail].group_next) = request;
    group->tail = request;
    group->n++;
    group->rows += joining->rows;
    weigh(actor, index);
    return group->full;
}

void actor_group_leave(rlx_actor_t *actor, uint32_t request)
{
    actor_request_t *leaving = actor_request_at(actor, request);
    actor_group_t *group = &actor->groups[leaving->group];
    uint32_t prev = leaving->group_prev, next = leaving->group_next;

    *(prev == RLX_ACTOR_NONE ? &group->head : &actor->requests[prev].group_next) = next;
    *(next == RLX_ACTOR_NONE ? &group->tail : &actor->requests[next].group_prev) = prev;
    group->n--;
    group->rows -= leaving->rows;
    weigh(actor, leaving->group);
    if (group->n == 0)
        drop(actor, leaving->group);
    leaving->group = RLX_ACTOR_NONE;
}
