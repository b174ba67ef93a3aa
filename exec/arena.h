/* Arenas: memory of one region of one run, from a pool. Large arenas get huge pages where the system gives them. An arena goes back to its
 * pool with its pages, so a steady load allocates nothing; where all idle ones are too small the largest of them makes way, so that there
 * are never more arenas than runs at once. Contents are unspecified. Any thread. */
#ifndef RLX_EXEC_ARENA_H
#define RLX_EXEC_ARENA_H

#include <pthread.h>
#include <stddef.h>

#include "base/diag.h"

#define RLX_ARENA_IDLE_MAX 64 /* when full, the smallest idle arena is unmapped */

typedef struct rlx_arena {
    char *data; /* aligned to a page at least */
    size_t bytes;
} rlx_arena_t;

typedef struct rlx_arena_pool {
    pthread_mutex_t lock;
    rlx_arena_t idle[RLX_ARENA_IDLE_MAX];
    int n_idle;
    size_t bytes_max; /* of one arena */
} rlx_arena_pool_t;

void rlx_arena_pool_init(rlx_arena_pool_t *pool);
void rlx_arena_pool_fini(rlx_arena_pool_t *pool);
/* An arena of at least `bytes`; 0 bytes give data == NULL. */
rlx_status_t rlx_arena_get(rlx_arena_pool_t *pool, size_t bytes, rlx_arena_t *out_arena, rlx_diag_t *diag);
void rlx_arena_put(rlx_arena_pool_t *pool, rlx_arena_t arena);

#endif
