/* Entries live in one array, an index + 1 is a link, 0 is none. Invariants: every used entry is in one bucket, one list by serial and one
 * list by kind; serials rise along a list; `digest` is the sum over the entries that count. */
#include "gss/core/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "gss/core/record.h"

static uint32_t kind_of(rlx_gss_key_t key) { return key.kind < RLX_GSS_KINDS ? key.kind : 0; }

static rlx_gss_list_t list_of(rlx_gss_key_t key) { return key.kind == RLX_GSS_BEAT ? RLX_GSS_BEATS : RLX_GSS_TOPOLOGY; }

static uint32_t bucket_of(const rlx_gss_store_t *store, rlx_gss_key_t key)
{
    uint64_t x = (key.a ^ (key.b << 32 | key.b >> 32) ^ (uint64_t)key.kind << 56) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(x >> 32) & store->buckets_mask;
}

static rlx_gss_entry_t *at(const rlx_gss_store_t *store, uint32_t link) { return link == 0 ? NULL : &store->entries[link - 1]; }

static uint32_t link_of(const rlx_gss_store_t *store, const rlx_gss_entry_t *entry) { return (uint32_t)(entry - store->entries) + 1; }

bool rlx_gss_store_init(rlx_gss_store_t *store, uint32_t cells_max, size_t bytes_max)
{
    uint32_t buckets = 16;

    while (buckets < cells_max && buckets < 1u << 30)
        buckets *= 2;
    *store = (rlx_gss_store_t){.entries_max = cells_max, .bytes_max = bytes_max, .buckets_mask = buckets - 1};
    store->entries = calloc(cells_max, sizeof *store->entries); /* pages that are never used are never touched */
    store->buckets = calloc(buckets, sizeof *store->buckets);
    return store->entries != NULL && store->buckets != NULL;
}

void rlx_gss_store_fini(rlx_gss_store_t *store)
{
    for (uint32_t i = 0; i < store->touched; i++)
        free((void *)store->entries[i].cell.body);
    free(store->entries);
    free(store->buckets);
    *store = (rlx_gss_store_t){0};
}

bool rlx_gss_store_is_tombstone(const rlx_gss_entry_t *entry)
{
    rlx_gss_record_t record;

    switch (entry->cell.key.kind) {
    case RLX_GSS_EVICTION: return true;
    case RLX_GSS_INTENT: return entry->cell.version.a >= 2;
    case RLX_GSS_NODE: return rlx_gss_record_decode(entry->cell.body, entry->cell.bytes, &record) && record.state == RLX_GSS_NODE_LEFT;
    default: return false;
    }
}

static uint64_t digest_part(const rlx_gss_entry_t *entry)
{
    bool counts = entry->cell.key.kind == RLX_GSS_NODE || entry->cell.key.kind == RLX_GSS_INTENT;

    return counts && !rlx_gss_store_is_tombstone(entry) ? rlx_gss_cell_hash(&entry->cell) : 0;
}

static void list_add(rlx_gss_store_t *store, rlx_gss_entry_t *entry)
{
    rlx_gss_list_t list = list_of(entry->cell.key);
    uint32_t link = link_of(store, entry);

    entry->serial = ++store->serial;
    store->last[list] = entry->serial;
    entry->prev = store->tails[list];
    entry->next = 0;
    *(entry->prev == 0 ? &store->heads[list] : &at(store, entry->prev)->next) = link;
    store->tails[list] = link;
}

static void list_remove(rlx_gss_store_t *store, rlx_gss_entry_t *entry)
{
    rlx_gss_list_t list = list_of(entry->cell.key);

    *(entry->prev == 0 ? &store->heads[list] : &at(store, entry->prev)->next) = entry->next;
    *(entry->next == 0 ? &store->tails[list] : &at(store, entry->next)->prev) = entry->prev;
}

static void kind_add(rlx_gss_store_t *store, rlx_gss_entry_t *entry)
{
    uint32_t kind = kind_of(entry->cell.key), link = link_of(store, entry);

    entry->kind_prev = 0;
    entry->kind_next = store->kind_heads[kind];
    if (entry->kind_next != 0)
        at(store, entry->kind_next)->kind_prev = link;
    store->kind_heads[kind] = link;
    store->kind_counts[kind]++;
}

static void kind_remove(rlx_gss_store_t *store, rlx_gss_entry_t *entry)
{
    uint32_t kind = kind_of(entry->cell.key);

    *(entry->kind_prev == 0 ? &store->kind_heads[kind] : &at(store, entry->kind_prev)->kind_next) = entry->kind_next;
    if (entry->kind_next != 0)
        at(store, entry->kind_next)->kind_prev = entry->kind_prev;
    store->kind_counts[kind]--;
}

rlx_gss_entry_t *rlx_gss_store_find(const rlx_gss_store_t *store, rlx_gss_key_t key)
{
    rlx_gss_entry_t *entry = at(store, store->buckets[bucket_of(store, key)]);

    while (entry != NULL && !rlx_gss_key_equal(entry->cell.key, key))
        entry = at(store, entry->bucket_next);
    return entry;
}

/* A copy of the body, in the old memory where it fits. False: no room, nothing changed. */
static bool body_set(rlx_gss_store_t *store, rlx_gss_entry_t *entry, const rlx_gss_cell_t *cell)
{
    uint32_t wanted = cell->bytes < 16 ? 16 : cell->bytes;

    if (entry->body_max < wanted) {
        uint8_t *body = store->bytes - entry->body_max + wanted > store->bytes_max ? NULL : malloc(wanted);
        if (body == NULL)
            return false;
        free((void *)entry->cell.body);
        entry->cell.body = body;
        store->bytes += wanted - entry->body_max;
        entry->body_max = wanted;
    }
    if (cell->bytes > 0)
        memmove((void *)entry->cell.body, cell->body, cell->bytes);
    entry->cell.bytes = cell->bytes;
    entry->cell.version = cell->version;
    return true;
}

static rlx_gss_entry_t *entry_take(rlx_gss_store_t *store, const rlx_gss_cell_t *cell)
{
    rlx_gss_entry_t *entry = at(store, store->free);

    if (entry == NULL && store->touched == store->entries_max)
        return NULL;
    if (entry == NULL)
        entry = &store->entries[store->touched];
    if (!body_set(store, entry, cell))
        return NULL;
    if (store->free != 0)
        store->free = entry->next;
    else
        store->touched++;
    entry->cell.key = cell->key;
    return entry;
}

static rlx_gss_put_t add(rlx_gss_store_t *store, const rlx_gss_cell_t *cell, uint32_t from, uint64_t now_ms)
{
    uint32_t *bucket = &store->buckets[bucket_of(store, cell->key)];
    rlx_gss_entry_t *entry = entry_take(store, cell);

    if (entry == NULL)
        return RLX_GSS_PUT_FULL;
    entry->bucket_next = *bucket;
    *bucket = link_of(store, entry);
    entry->from = from;
    entry->changed_ms = now_ms;
    entry->mark = 0;
    list_add(store, entry);
    kind_add(store, entry);
    store->n++;
    store->digest += digest_part(entry);
    return RLX_GSS_PUT_CHANGED;
}

rlx_gss_put_t rlx_gss_store_put(rlx_gss_store_t *store, const rlx_gss_cell_t *cell, uint32_t from, uint64_t now_ms)
{
    rlx_gss_entry_t *entry = rlx_gss_store_find(store, cell->key);
    uint64_t before;

    if (entry == NULL)
        return add(store, cell, from, now_ms);
    if (rlx_gss_cell_join(&entry->cell, cell) == &entry->cell || rlx_gss_cell_compare(&entry->cell, cell) == 0)
        return RLX_GSS_PUT_SAME;
    before = digest_part(entry);
    if (!body_set(store, entry, cell))
        return RLX_GSS_PUT_FULL;
    list_remove(store, entry);
    list_add(store, entry);
    entry->from = from;
    entry->changed_ms = now_ms;
    store->digest += digest_part(entry) - before;
    return RLX_GSS_PUT_CHANGED;
}

void rlx_gss_store_remove(rlx_gss_store_t *store, rlx_gss_entry_t *entry)
{
    uint32_t *link = &store->buckets[bucket_of(store, entry->cell.key)];

    store->digest -= digest_part(entry);
    while (at(store, *link) != entry)
        link = &at(store, *link)->bucket_next;
    *link = entry->bucket_next;
    list_remove(store, entry);
    kind_remove(store, entry);
    free((void *)entry->cell.body);
    store->bytes -= entry->body_max;
    *entry = (rlx_gss_entry_t){.next = store->free};
    store->free = link_of(store, entry);
    store->n--;
}

void rlx_gss_store_clear(rlx_gss_store_t *store)
{
    for (uint32_t i = 0; i < store->touched; i++)
        if (store->entries[i].serial != 0)
            rlx_gss_store_remove(store, &store->entries[i]);
    RLX_ASSERT(store->n == 0);
    RLX_ASSERT(store->bytes == 0);
    RLX_ASSERT(store->digest == 0);
}

const rlx_gss_entry_t *rlx_gss_store_after(const rlx_gss_store_t *store, rlx_gss_list_t list, uint64_t serial)
{
    const rlx_gss_entry_t *entry = at(store, store->tails[list]);

    if (entry == NULL || entry->serial <= serial)
        return NULL;
    if (serial == 0)
        return at(store, store->heads[list]);
    while (entry->prev != 0 && at(store, entry->prev)->serial > serial)
        entry = at(store, entry->prev);
    return entry;
}

const rlx_gss_entry_t *rlx_gss_store_next(const rlx_gss_store_t *store, const rlx_gss_entry_t *entry) { return at(store, entry->next); }

rlx_gss_entry_t *rlx_gss_store_kind(const rlx_gss_store_t *store, rlx_gss_kind_t kind) { return at(store, store->kind_heads[kind]); }

rlx_gss_entry_t *rlx_gss_store_kind_next(const rlx_gss_store_t *store, const rlx_gss_entry_t *entry) { return at(store, entry->kind_next); }
