/* What operators want: each intent is a cell of its own under a dot (this start of this replica, a number), so that two operators never write
 * the same cell. A removal removes the dots that are seen here: an intent that somebody gave elsewhere at the same time stays. An operator
 * is answered when two replicas have it on disk, or after answer_ms, with how many have. */
#include "base/assert.h"
#include "gss/core/inside.h"

static uint64_t actor(const rlx_gss_replica_t *replica) { return RLX_MUTANT(DOT_REUSED) ? replica->id : replica->boot; }

static void answer(rlx_gss_replica_t *replica, uint64_t request, rlx_status_t status, uint32_t durable_on)
{
    rlx_gss_effect_t *effect = rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_ANSWER);

    effect->request = request;
    effect->status = status;
    effect->durable_on = durable_on;
}

/* All that are seen here but the one under `spared`. */
static void remove_seen(rlx_gss_replica_t *replica, const rlx_gss_intent_t *like, rlx_gss_key_t spared)
{
    rlx_gss_entry_t *next;

    for (rlx_gss_entry_t *entry = rlx_gss_store_kind(&replica->state.store, RLX_GSS_INTENT); entry != NULL; entry = next) {
        rlx_gss_intent_t intent;
        next = rlx_gss_store_kind_next(&replica->state.store, entry);
        if (entry->cell.version.a != 1 || !rlx_gss_intent_decode(entry->cell.body, entry->cell.bytes, &intent))
            continue;
        if (rlx_gss_intent_same_key(&intent, like) && !rlx_gss_key_equal(entry->cell.key, spared)) {
            rlx_gss_cell_t removed = entry->cell;
            removed.version.a = 2;
            gss_join(replica, &removed, RLX_GSS_NONE);
        }
    }
}

static rlx_gss_joined_t add(rlx_gss_replica_t *replica, const rlx_gss_intent_t *intent)
{
    rlx_text_t body;
    rlx_gss_cell_t cell = {.key = {.a = actor(replica), .b = replica->next_dot + 1, .kind = RLX_GSS_INTENT}, .version = {.a = 1}};
    rlx_gss_cell_t context = {.key = {.a = actor(replica), .kind = RLX_GSS_CONTEXT}, .version = {.a = replica->next_dot + 1}};
    rlx_gss_joined_t joined;

    rlx_text_init(&body, RLX_GSS_BODY_MAX);
    rlx_gss_intent_encode(intent, &body);
    cell.body = (const uint8_t *)body.data;
    cell.bytes = (uint32_t)body.bytes;
    joined = body.full ? RLX_GSS_JOINED_FULL : gss_join(replica, &cell, RLX_GSS_NONE);
    rlx_text_fini(&body);
    if (joined != RLX_GSS_JOINED_CHANGED && !RLX_MUTANT(DOT_REUSED))
        return joined;
    replica->next_dot++;
    gss_join(replica, &context, RLX_GSS_NONE); /* after the intent: who has the context has what it tells of */
    return RLX_GSS_JOINED_CHANGED;
}

void gss_intent_event(rlx_gss_replica_t *replica, const rlx_gss_event_t *event)
{
    if (!replica->ready) {
        answer(replica, event->request, RLX_UNAVAILABLE, 0);
        return;
    }
    if (replica->n_answers == GSS_ANSWERS_MAX ||
        (!event->remove && replica->state.store.kind_counts[RLX_GSS_INTENT] >= replica->options.intents_max + replica->options.tombstones_max)) {
        answer(replica, event->request, RLX_RESOURCE_EXHAUSTED, 0);
        return;
    }
    rlx_gss_key_t dot = {.a = actor(replica), .b = event->remove ? 0 : replica->next_dot + 1, .kind = RLX_GSS_INTENT};
    if (!event->remove && add(replica, event->intent) != RLX_GSS_JOINED_CHANGED) {
        answer(replica, event->request, RLX_RESOURCE_EXHAUSTED, 0);
        return;
    }
    remove_seen(replica, event->intent, dot); /* a new intent takes the place of those before it */
    replica->answers[replica->n_answers++] = (gss_answer_t){
        .request = event->request, .serial = gss_topology(replica), .deadline_ms = gss_now(replica) + replica->options.answer_ms};
    replica->persist_now = true;
}

static uint32_t durable_on(const rlx_gss_replica_t *replica, uint64_t serial)
{
    uint32_t n = replica->durable >= serial;

    for (uint32_t i = 0; i < replica->n_replicas; i++)
        n += i != replica->self && replica->peers[i].durable >= serial;
    return RLX_MUTANT(EARLY_ANSWER) ? 2 : n;
}

void gss_intents_flush(rlx_gss_replica_t *replica)
{
    uint32_t wanted = replica->n_replicas == 1 ? 1 : 2, left = 0;

    for (uint32_t i = 0; i < replica->n_answers; i++) {
        const gss_answer_t *held = &replica->answers[i];
        uint32_t n = durable_on(replica, held->serial);
        if (n < wanted && gss_now(replica) < held->deadline_ms) {
            replica->answers[left++] = *held;
        } else if (!rlx_gss_effects_room(replica->effects)) {
            replica->answers[left++] = *held;
            replica->effects->more = true;
        } else {
            answer(replica, held->request, RLX_OK, n);
        }
    }
    replica->n_answers = left;
}

#ifdef RLX_GSS_MUTANTS
void gss_intent_removed(rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell)
{
    rlx_gss_intent_t intent;

    if (RLX_MUTANT(REMOVE_KEY) && cell->version.a == 2 && rlx_gss_intent_decode(cell->body, cell->bytes, &intent))
        remove_seen(replica, &intent, cell->key);
}
#endif

bool gss_intent_rescuable(const rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell)
{
    const rlx_gss_entry_t *context = rlx_gss_store_find(&replica->state.store, (rlx_gss_key_t){.a = cell->key.a, .kind = RLX_GSS_CONTEXT});

    if (cell->key.kind == RLX_GSS_CONTEXT || rlx_gss_store_find(&replica->state.store, cell->key) != NULL)
        return true; /* also a node that left, where its record is held: so its removal was not forgotten */
    return cell->key.kind == RLX_GSS_INTENT && (context == NULL || context->cell.version.a < cell->key.b);
}
