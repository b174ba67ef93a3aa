/* Invariants: a slot with `building` has no plan and belongs to one thread, which publishes or clears it and then wakes all waiters; a
 * published plan holds one reference for the cache. Eviction never frees a plan in use: it only drops the cache's reference. When every
 * slot is being built, the plan is built outside the cache. A failed build is not kept: the next request tries again and gets its own
 * diagnosis. */
#include "exec/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "exec/model.h"
#include "exec/plan.h"

rlx_status_t rlx_plan_cache_init(rlx_plan_cache_t *cache, size_t n_symbols, rlx_diag_t *diag)
{
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->built, NULL);
    cache->keys = calloc(RLX_PLAN_SLOTS * n_symbols + 1, sizeof *cache->keys);
    if (cache->keys == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a plan cache");
    for (size_t i = 0; i < RLX_PLAN_SLOTS; i++)
        cache->slots[i].key = cache->keys + i * n_symbols;
    return RLX_OK;
}

void rlx_plan_cache_fini(rlx_plan_cache_t *cache)
{
    for (int i = 0; i < RLX_PLAN_SLOTS; i++)
        rlx_plan_release_internal(cache->slots[i].plan);
    free(cache->keys);
    pthread_cond_destroy(&cache->built);
    pthread_mutex_destroy(&cache->lock);
}

static rlx_plan_slot_t *slot_find(rlx_plan_cache_t *cache, uint32_t region, const int64_t *symbols, size_t n_symbols)
{
    for (int i = 0; i < RLX_PLAN_SLOTS; i++) {
        rlx_plan_slot_t *slot = &cache->slots[i];

        if ((slot->plan != NULL || slot->building) && slot->region == region &&
            memcmp(slot->key, symbols, n_symbols * sizeof *symbols) == 0)
            return slot;
    }
    return NULL;
}

/* An empty slot, or the least recently used one, emptied; NULL when all are being built. The evicted plan goes to `out_evicted`. */
static rlx_plan_slot_t *slot_claim(rlx_plan_cache_t *cache, rlx_plan_t **out_evicted)
{
    rlx_plan_slot_t *oldest = NULL;

    for (int i = 0; i < RLX_PLAN_SLOTS; i++) {
        rlx_plan_slot_t *slot = &cache->slots[i];

        if (slot->building)
            continue;
        if (slot->plan == NULL)
            return slot;
        if (oldest == NULL || slot->used < oldest->used)
            oldest = slot;
    }
    if (oldest != NULL) {
        *out_evicted = oldest->plan;
        oldest->plan = NULL;
    }
    return oldest;
}

rlx_plan_t *rlx_plan_cache_peek(rlx_model_t *model, const int64_t *symbols)
{
    rlx_plan_cache_t *cache = &model->cache;
    rlx_plan_t *plan = NULL;
    rlx_plan_slot_t *slot;

    if (pthread_mutex_trylock(&cache->lock) != 0)
        return NULL;
    slot = slot_find(cache, 0, symbols, rlx_model_symbols_until(model, 0));
    if (slot != NULL && !slot->building)
        plan = rlx_plan_retain_internal(slot->plan);
    pthread_mutex_unlock(&cache->lock);
    return plan;
}

rlx_status_t rlx_plan_cache_get(rlx_model_t *model, uint32_t region, const rlx_plan_t *before, const int64_t *symbols,
                                rlx_plan_t **out_plan, rlx_diag_t *diag)
{
    rlx_plan_cache_t *cache = &model->cache;
    size_t n_symbols = rlx_model_symbols_until(model, region);
    rlx_plan_t *evicted = NULL, *plan = NULL;
    rlx_plan_slot_t *slot;
    rlx_status_t status;

    pthread_mutex_lock(&cache->lock);
    while ((slot = slot_find(cache, region, symbols, n_symbols)) != NULL && slot->building)
        pthread_cond_wait(&cache->built, &cache->lock);
    if (slot != NULL) {
        slot->used = ++cache->uses;
        cache->hits++;
        *out_plan = rlx_plan_retain_internal(slot->plan);
        pthread_mutex_unlock(&cache->lock);
        return RLX_OK;
    }
    slot = slot_claim(cache, &evicted);
    if (slot != NULL) {
        slot->building = true;
        slot->region = region;
        memcpy(slot->key, symbols, n_symbols * sizeof *symbols);
    }
    cache->builds++;
    pthread_mutex_unlock(&cache->lock);

    rlx_plan_release_internal(evicted);
    status = rlx_plan_build(model, region, before, symbols, &plan, diag);
    if (slot != NULL) {
        pthread_mutex_lock(&cache->lock);
        slot->building = false;
        slot->plan = status == RLX_OK ? rlx_plan_retain_internal(plan) : NULL;
        slot->used = ++cache->uses;
        pthread_cond_broadcast(&cache->built);
        pthread_mutex_unlock(&cache->lock);
    }
    if (status == RLX_OK)
        *out_plan = plan;
    return status;
}
