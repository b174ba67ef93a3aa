/* Plans of one model by (region, symbol values): RLX_PLAN_SLOTS slots, least recently used goes first. A plan is built once for all who
 * wait for it, outside the lock, and is immutable once published. Any thread. */
#ifndef RLX_EXEC_PLAN_CACHE_H
#define RLX_EXEC_PLAN_CACHE_H

#include <pthread.h>

#include "exec/executor.h"

typedef struct rlx_plan_slot {
    rlx_plan_t *plan; /* NULL: empty, or being built */
    bool building;
    uint32_t region;
    int64_t *key;  /* symbol values, capacity: all symbols of the program */
    uint64_t used; /* time of last use, in uses */
} rlx_plan_slot_t;

typedef struct rlx_plan_cache {
    pthread_mutex_t lock;
    pthread_cond_t built;
    rlx_plan_slot_t slots[RLX_PLAN_SLOTS];
    int64_t *keys;
    uint64_t uses, hits, builds;
} rlx_plan_cache_t;

rlx_status_t rlx_plan_cache_init(rlx_plan_cache_t *cache, size_t n_symbols, rlx_diag_t *diag);
void rlx_plan_cache_fini(rlx_plan_cache_t *cache);
/* The plan of `region` under `symbols`, retained for the caller. `before` is the plan of the region before (NULL for region 0): the new
 * plan starts from its slots; it is determined by `symbols`, so it is no part of the key. */
rlx_status_t rlx_plan_cache_get(rlx_model_t *model, uint32_t region, const rlx_plan_t *before, const int64_t *symbols,
                                rlx_plan_t **out_plan, rlx_diag_t *diag);
/* The plan of region 0 under `symbols` if it is there and the lock is free: retained; else NULL. Never waits. */
rlx_plan_t *rlx_plan_cache_peek(rlx_model_t *model, const int64_t *symbols);

#endif
