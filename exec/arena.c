/* The pool holds few arenas, so the best fit is found by looking at all. Mapping happens outside the lock. */
#include "exec/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_STEP ((size_t)64 << 10)

/* Three quarters of the machine's memory: a larger request could only swap. */
static size_t memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (size_t)pages / 4 * 3 * (size_t)page : (size_t)8 << 30;
}

void rlx_arena_pool_init(rlx_arena_pool_t *pool)
{
    *pool = (rlx_arena_pool_t){.bytes_max = memory_limit()};
    pthread_mutex_init(&pool->lock, NULL);
}

void rlx_arena_pool_fini(rlx_arena_pool_t *pool)
{
    for (int i = 0; i < pool->n_idle; i++)
        munmap(pool->idle[i].data, pool->idle[i].bytes);
    pthread_mutex_destroy(&pool->lock);
}

static int idle_extreme(const rlx_arena_pool_t *pool, bool largest)
{
    int found = 0;

    for (int i = 1; i < pool->n_idle; i++)
        if ((pool->idle[i].bytes > pool->idle[found].bytes) == largest)
            found = i;
    return found;
}

static int idle_best_fit(const rlx_arena_pool_t *pool, size_t bytes)
{
    int best = -1;

    for (int i = 0; i < pool->n_idle; i++)
        if (pool->idle[i].bytes >= bytes && (best < 0 || pool->idle[i].bytes < pool->idle[best].bytes))
            best = i;
    return best;
}

static rlx_arena_t idle_take(rlx_arena_pool_t *pool, int index)
{
    rlx_arena_t arena = pool->idle[index];

    pool->idle[index] = pool->idle[--pool->n_idle];
    return arena;
}

/* Aligned to a huge page by mapping one more and giving the ends back. */
static char *map_aligned(size_t bytes, size_t align)
{
    char *raw = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t head;

    if (raw == MAP_FAILED)
        return NULL;
    head = (align - (size_t)((uintptr_t)raw % align)) % align;
    if (head > 0)
        munmap(raw, head);
    if (align > head)
        munmap(raw + head + bytes, align - head);
    return raw + head;
}

static rlx_status_t arena_map(size_t bytes, rlx_arena_t *out_arena, rlx_diag_t *diag)
{
    size_t step = bytes >= HUGE_PAGE ? HUGE_PAGE : SMALL_STEP;
    size_t size = (bytes + step - 1) / step * step;
    char *data = map_aligned(size, step);

    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot map an arena of %zu bytes", size);
    if (step == HUGE_PAGE)
        madvise(data, size, MADV_HUGEPAGE); /* advice only */
    *out_arena = (rlx_arena_t){data, size};
    return RLX_OK;
}

rlx_status_t rlx_arena_get(rlx_arena_pool_t *pool, size_t bytes, rlx_arena_t *out_arena, rlx_diag_t *diag)
{
    rlx_arena_t small = {NULL, 0};
    int index;

    *out_arena = (rlx_arena_t){NULL, 0};
    if (bytes == 0)
        return RLX_OK;
    if (bytes > pool->bytes_max)
        return rlx_fail(diag, RLX_E_ARENA_LIMIT, "the request needs an arena of %zu bytes, the limit is %zu", bytes, pool->bytes_max);
    pthread_mutex_lock(&pool->lock);
    index = idle_best_fit(pool, bytes);
    if (index >= 0)
        *out_arena = idle_take(pool, index);
    else if (pool->n_idle > 0)
        small = idle_take(pool, idle_extreme(pool, true));
    pthread_mutex_unlock(&pool->lock);
    if (small.data != NULL)
        munmap(small.data, small.bytes);
    return index >= 0 ? RLX_OK : arena_map(bytes, out_arena, diag);
}

void rlx_arena_put(rlx_arena_pool_t *pool, rlx_arena_t arena)
{
    rlx_arena_t loser = {NULL, 0};

    if (arena.data == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    if (pool->n_idle == RLX_ARENA_IDLE_MAX)
        loser = idle_take(pool, idle_extreme(pool, false));
    pool->idle[pool->n_idle++] = arena;
    pthread_mutex_unlock(&pool->lock);
    if (loser.data != NULL)
        munmap(loser.data, loser.bytes);
}
