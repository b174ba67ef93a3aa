/* See batch.h. `first` is the oldest of its group, so every member is met once, in order. */
#include "daemon/actor/batch.h"

#include "base/assert.h"
#include "daemon/actor/admission.h"
#include "daemon/actor/estimate.h"
#include "daemon/actor/queue.h"

uint32_t actor_batch_take(rlx_actor_t *actor, uint32_t first, uint64_t now_ns, uint32_t requests[RLX_ACTOR_BATCH_MAX],
                          uint64_t *out_cost_ns)
{
    uint32_t model = actor->requests[first].model, n = 0;
    bool ahead = actor->n_running > actor->options.workers; /* the run to come is counted */
    uint64_t rows = 0, cost_ns = 0, soonest_ns = RLX_ACTOR_NEVER;

    RLX_ASSERT(actor->requests[first].group_prev == RLX_ACTOR_NONE);
    for (uint32_t at = first; at != RLX_ACTOR_NONE && n < RLX_ACTOR_BATCH_MAX;) {
        const actor_request_t *member = &actor->requests[at];
        uint32_t next = member->group_next;
        uint64_t deadline_ns = member->deadline_ns < soonest_ns ? member->deadline_ns : soonest_ns;
        uint64_t end_ns = actor_add(now_ns, actor_admission_own_ns(actor, model, cost_ns + member->cost_ns));
        if (n > 0 && (rows + member->rows > actor->models[model].settings.rows_max || end_ns > deadline_ns))
            break;
        if (n > 0 && ahead && actor_estimate_mean(&actor->models[model], cost_ns + member->cost_ns) >= RLX_ACTOR_BRIEF_NS)
            break;
        rows += member->rows;
        cost_ns += member->cost_ns;
        soonest_ns = deadline_ns;
        requests[n++] = at;
        actor_queue_remove(actor, at);
        at = next;
    }
    *out_cost_ns = cost_ns;
    return n;
}
