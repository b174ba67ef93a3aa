/* See state.h. */
#include "gss/core/state.h"

#include <string.h>

#include "gss/core/mutant.h"

#define CONTEXTS_MAX 1024    /* starts of replicas that took intents; above, the oldest is forgotten */
#define ORPHAN_MS 60000      /* rows and beats whose node is unknown wait so long for its record */
#define BODY_MEAN 1536       /* bytes of bodies a node that the memory bound allows */

const char *rlx_gss_status_name(rlx_gss_status_t status)
{
    static const char *const names[] = {
#define X(id, text) text,
        RLX_GSS_STATUSES(X)
#undef X
    };
    return names[status];
}

bool rlx_gss_state_init(rlx_gss_state_t *state, const rlx_gss_options_t *options)
{
    uint32_t cells = options->nodes_max * 6 + options->tombstones_max + options->intents_max + CONTEXTS_MAX + 64;

    *state = (rlx_gss_state_t){.options = options};
    return rlx_gss_store_init(&state->store, cells, (size_t)options->nodes_max * BODY_MEAN + ((size_t)4 << 20));
}

void rlx_gss_state_fini(rlx_gss_state_t *state) { rlx_gss_store_fini(&state->store); }

const rlx_gss_entry_t *rlx_gss_state_node(const rlx_gss_state_t *state, uint64_t node)
{
    return rlx_gss_store_find(&state->store, (rlx_gss_key_t){.a = node, .kind = RLX_GSS_NODE});
}

uint64_t rlx_gss_state_evicted(const rlx_gss_state_t *state, uint64_t node)
{
    const rlx_gss_entry_t *entry = rlx_gss_store_find(&state->store, (rlx_gss_key_t){.a = node, .kind = RLX_GSS_EVICTION});

    return entry == NULL ? 0 : entry->cell.version.a;
}

static bool observer_known(rlx_gss_state_t *state, uint64_t observer)
{
    for (uint32_t i = 0; i < state->n_observers; i++)
        if (state->observers[i] == observer)
            return true;
    if (state->n_observers == RLX_GSS_OBSERVERS_MAX)
        return false;
    state->observers[state->n_observers++] = observer;
    return true;
}

/* A new key below its kind's bound. */
static bool fits(const rlx_gss_state_t *state, const rlx_gss_cell_t *cell)
{
    const uint32_t *counts = state->store.kind_counts;

    return cell->key.kind != RLX_GSS_NODE || counts[RLX_GSS_NODE] < state->options->nodes_max || rlx_gss_store_find(&state->store, cell->key);
}

static bool well_formed(rlx_gss_state_t *state, const rlx_gss_cell_t *cell)
{
    rlx_gss_record_t record;
    rlx_gss_intent_t intent;

    if (cell->bytes > RLX_GSS_BODY_MAX || cell->key.a == 0 || cell->version.a == 0)
        return false;
    switch (cell->key.kind) {
    case 0: return false;
    case RLX_GSS_NODE: return rlx_gss_record_decode(cell->body, cell->bytes, &record) && rlx_gss_id(record.name) == cell->key.a;
    case RLX_GSS_BEAT: return cell->bytes <= RLX_GSS_LOAD_MAX;
    case RLX_GSS_ROW: return observer_known(state, cell->key.b);
    case RLX_GSS_INTENT: return cell->version.a >= 2 || rlx_gss_intent_decode(cell->body, cell->bytes, &intent);
    default: return true;
    }
}

static bool kept_out(const rlx_gss_state_t *state, const rlx_gss_cell_t *cell)
{
    uint32_t kind = cell->key.kind;

    return (kind == RLX_GSS_NODE || kind == RLX_GSS_BEAT || kind == RLX_GSS_ROW) &&
           cell->version.a <= rlx_gss_state_evicted(state, cell->key.a);
}

/* Over the rows about a node's present life. */
static uint64_t rows_of(const rlx_gss_state_t *state, uint64_t node)
{
    const rlx_gss_entry_t *record = rlx_gss_state_node(state, node);
    uint64_t sum = 0;

    if (record == NULL || rlx_gss_store_is_tombstone(record))
        return 0;
    for (uint32_t i = 0; i < state->n_observers; i++) {
        const rlx_gss_entry_t *row = rlx_gss_store_find(&state->store, (rlx_gss_key_t){.a = node, .b = state->observers[i], .kind = RLX_GSS_ROW});
        if (row != NULL && row->cell.version.a == record->cell.version.a && row->cell.version.b == record->cell.version.b)
            sum += rlx_gss_cell_hash(&row->cell);
    }
    return sum;
}

void rlx_gss_state_drop(rlx_gss_state_t *state, rlx_gss_entry_t *entry)
{
    uint64_t node = entry->cell.key.a;

    state->rows_digest -= rows_of(state, node);
    rlx_gss_store_remove(&state->store, entry);
    state->rows_digest += rows_of(state, node);
}

void rlx_gss_state_clear(rlx_gss_state_t *state)
{
    rlx_gss_store_clear(&state->store);
    state->rows_digest = 0;
}

static void drop_below(rlx_gss_state_t *state, rlx_gss_key_t key, uint64_t incarnation)
{
    rlx_gss_entry_t *entry = rlx_gss_store_find(&state->store, key);

    if (entry != NULL && entry->cell.version.a <= incarnation)
        rlx_gss_state_drop(state, entry);
}

static void apply_eviction(rlx_gss_state_t *state, uint64_t node, uint64_t incarnation)
{
    drop_below(state, (rlx_gss_key_t){.a = node, .kind = RLX_GSS_NODE}, incarnation);
    drop_below(state, (rlx_gss_key_t){.a = node, .kind = RLX_GSS_BEAT}, incarnation);
    for (uint32_t i = 0; i < state->n_observers; i++)
        drop_below(state, (rlx_gss_key_t){.a = node, .b = state->observers[i], .kind = RLX_GSS_ROW}, incarnation);
}

static bool is_clash(const rlx_gss_state_t *state, const rlx_gss_cell_t *cell)
{
    const rlx_gss_entry_t *held = cell->key.kind == RLX_GSS_NODE ? rlx_gss_store_find(&state->store, cell->key) : NULL;

    return held != NULL && rlx_gss_version_compare(held->cell.version, cell->version) == 0 && rlx_gss_cell_compare(&held->cell, cell) != 0;
}

rlx_gss_joined_t rlx_gss_state_join(rlx_gss_state_t *state, const rlx_gss_cell_t *cell, uint32_t from, uint64_t now_ms)
{
    if (!well_formed(state, cell)) {
        state->refused_bad++;
        return RLX_GSS_JOINED_BAD;
    }
    if (RLX_MUTANT(EVICTION_KEPT) && cell->key.kind == RLX_GSS_EVICTION && rlx_gss_state_evicted(state, cell->key.a) != 0)
        return RLX_GSS_JOINED_SAME;
    if (kept_out(state, cell))
        return RLX_GSS_JOINED_OUT;
    state->clashes += is_clash(state, cell);
    bool rows = cell->key.kind == RLX_GSS_NODE || cell->key.kind == RLX_GSS_ROW;
    state->rows_digest -= rows ? rows_of(state, cell->key.a) : 0;
    rlx_gss_put_t put = fits(state, cell) ? rlx_gss_store_put(&state->store, cell, from, now_ms) : RLX_GSS_PUT_FULL;
    state->rows_digest += rows ? rows_of(state, cell->key.a) : 0;
    if (put == RLX_GSS_PUT_FULL) {
        state->refused_full++;
        return RLX_GSS_JOINED_FULL;
    }
    if (put == RLX_GSS_PUT_CHANGED && cell->key.kind == RLX_GSS_EVICTION)
        apply_eviction(state, cell->key.a, cell->version.a);
    return put == RLX_GSS_PUT_CHANGED ? RLX_GSS_JOINED_CHANGED : RLX_GSS_JOINED_SAME;
}

static void forget(rlx_gss_state_t *state, rlx_gss_entry_t *entry)
{
    if (!RLX_MUTANT(TOMBSTONE_EARLY)) {
        state->forgot_ms = entry->changed_ms > state->forgot_ms ? entry->changed_ms : state->forgot_ms;
        state->forgot_serial = entry->serial > state->forgot_serial ? entry->serial : state->forgot_serial;
    }
    rlx_gss_state_drop(state, entry);
}

static void expire_tombstones(rlx_gss_state_t *state, uint64_t now_ms)
{
    uint64_t bound_ms = RLX_MUTANT(TOMBSTONE_EARLY) ? 1000 : state->options->tombstone_ms;
    uint32_t count = 0;
    const rlx_gss_entry_t *entry, *next;

    for (entry = rlx_gss_store_after(&state->store, RLX_GSS_TOPOLOGY, 0); entry != NULL; entry = rlx_gss_store_next(&state->store, entry))
        count += rlx_gss_store_is_tombstone(entry);
    for (entry = rlx_gss_store_after(&state->store, RLX_GSS_TOPOLOGY, 0); entry != NULL && count > 0; entry = next) {
        next = rlx_gss_store_next(&state->store, entry);
        if (!rlx_gss_store_is_tombstone(entry))
            continue;
        if (count > state->options->tombstones_max || now_ms - entry->changed_ms >= bound_ms)
            forget(state, (rlx_gss_entry_t *)entry);
        count--;
    }
}

static void expire_orphans(rlx_gss_state_t *state, rlx_gss_kind_t kind, uint64_t now_ms)
{
    rlx_gss_entry_t *next;

    for (rlx_gss_entry_t *entry = rlx_gss_store_kind(&state->store, kind); entry != NULL; entry = next) {
        next = rlx_gss_store_kind_next(&state->store, entry);
        if (now_ms - entry->changed_ms >= ORPHAN_MS && rlx_gss_state_node(state, entry->cell.key.a) == NULL)
            rlx_gss_state_drop(state, entry);
    }
}

void rlx_gss_state_expire(rlx_gss_state_t *state, uint64_t now_ms)
{
    expire_tombstones(state, now_ms);
    expire_orphans(state, RLX_GSS_ROW, now_ms);
    expire_orphans(state, RLX_GSS_BEAT, now_ms);
    while (state->store.kind_counts[RLX_GSS_CONTEXT] > CONTEXTS_MAX) {
        rlx_gss_entry_t *oldest = rlx_gss_store_kind(&state->store, RLX_GSS_CONTEXT);
        for (rlx_gss_entry_t *entry = oldest; entry != NULL; entry = rlx_gss_store_kind_next(&state->store, entry))
            oldest = entry->serial < oldest->serial ? entry : oldest;
        rlx_gss_store_remove(&state->store, oldest);
    }
}

bool rlx_gss_state_suspect(const rlx_gss_state_t *state, const rlx_gss_entry_t *node)
{
    rlx_gss_version_t life = node->cell.version;
    uint64_t last = 0;

    for (uint32_t i = 0; i < state->n_observers; i++) {
        const rlx_gss_entry_t *row =
            rlx_gss_store_find(&state->store, (rlx_gss_key_t){.a = node->cell.key.a, .b = state->observers[i], .kind = RLX_GSS_ROW});
        if (row != NULL && row->cell.version.a == life.a && row->cell.version.b == life.b && row->cell.version.c > last)
            last = row->cell.version.c;
    }
    return last & 1;
}

uint32_t rlx_gss_state_intents(const rlx_gss_state_t *state, uint32_t kind, uint64_t target, const char *key, rlx_gss_intent_t *out_intent)
{
    rlx_gss_key_t best = {0};
    uint32_t n = 0;

    for (const rlx_gss_entry_t *entry = rlx_gss_store_kind(&state->store, RLX_GSS_INTENT); entry != NULL;
         entry = rlx_gss_store_kind_next(&state->store, entry)) {
        rlx_gss_intent_t intent;
        if (entry->cell.version.a != 1 || !rlx_gss_intent_decode(entry->cell.body, entry->cell.bytes, &intent))
            continue;
        if (intent.kind != kind || intent.target != target || strcmp(intent.key, key) != 0)
            continue;
        n++;
        if (entry->cell.key.a > best.a || (entry->cell.key.a == best.a && entry->cell.key.b > best.b)) {
            best = entry->cell.key;
            *out_intent = intent;
        }
    }
    return n;
}

static rlx_gss_status_t status_of_record(const rlx_gss_record_t *record)
{
    if (record->state == RLX_GSS_NODE_LEFT)
        return RLX_GSS_STATUS_LEFT;
    if (record->protocol_max < RLX_GSS_PROTOCOL_MIN || record->protocol_min > RLX_GSS_PROTOCOL)
        return RLX_GSS_STATUS_INCOMPATIBLE;
    if (record->state == RLX_GSS_NODE_DRAINING)
        return RLX_GSS_STATUS_DRAINING;
    return record->state == RLX_GSS_NODE_SERVING ? RLX_GSS_STATUS_AVAILABLE : RLX_GSS_STATUS_STARTING;
}

rlx_gss_status_t rlx_gss_state_status(const rlx_gss_state_t *state, uint64_t node)
{
    static const struct { uint32_t intent; rlx_gss_status_t status; } ordered[] = {
        {RLX_GSS_INTENT_CORDON, RLX_GSS_STATUS_CORDONED}, {RLX_GSS_INTENT_DRAIN, RLX_GSS_STATUS_DRAINING},
        {RLX_GSS_INTENT_BAN, RLX_GSS_STATUS_BANNED},
    };
    const rlx_gss_entry_t *entry = rlx_gss_state_node(state, node);
    rlx_gss_record_t record;
    rlx_gss_intent_t intent;
    rlx_gss_status_t status;

    if (entry == NULL || !rlx_gss_record_decode(entry->cell.body, entry->cell.bytes, &record))
        return RLX_GSS_STATUS_UNKNOWN;
    status = status_of_record(&record);
    if (status < RLX_GSS_STATUS_SUSPECT && rlx_gss_state_suspect(state, entry))
        status = RLX_GSS_STATUS_SUSPECT;
    for (int i = 0; i < 3; i++)
        if (status < ordered[i].status && rlx_gss_state_intents(state, ordered[i].intent, node, "", &intent) > 0)
            status = ordered[i].status;
    return status;
}

uint32_t rlx_gss_state_members(const rlx_gss_state_t *state)
{
    uint32_t n = 0;

    for (const rlx_gss_entry_t *entry = rlx_gss_store_kind(&state->store, RLX_GSS_NODE); entry != NULL;
         entry = rlx_gss_store_kind_next(&state->store, entry))
        n += !rlx_gss_store_is_tombstone(entry);
    return n;
}
