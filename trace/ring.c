/* Positions count bytes since the beginning and never wrap; their low bits are the place in the memory. */
#include "trace/ring.h"

#include <stdlib.h>

#include "base/assert.h"

#define GRAIN 16
#define KIND_SKIP 0

bool rlx_ring_init(rlx_ring_t *ring, size_t capacity)
{
    RLX_ASSERT((capacity & (capacity - 1)) == 0);
    RLX_ASSERT(capacity >= 2 * RLX_RING_RECORD_MAX);
    *ring = (rlx_ring_t){.data = aligned_alloc(64, capacity), .capacity = capacity};
    return ring->data != NULL;
}

void rlx_ring_fini(rlx_ring_t *ring)
{
    free(ring->data);
    ring->data = NULL;
}

void *rlx_ring_reserve(rlx_ring_t *ring, size_t bytes, uint32_t kind)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    uint64_t need = (bytes + GRAIN - 1) / GRAIN * GRAIN, at = written & (ring->capacity - 1), skip = 0;
    rlx_ring_head_t *head;

    RLX_ASSERT(bytes <= RLX_RING_RECORD_MAX);
    if (at + need > ring->capacity)
        skip = ring->capacity - at;
    /* Acquire pairs with rlx_ring_next: the consumer has done with the room. */
    if (written + skip + need - atomic_load_explicit(&ring->read, memory_order_acquire) > ring->capacity) {
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
        return NULL;
    }
    if (skip > 0)
        *(rlx_ring_head_t *)(ring->data + at) = (rlx_ring_head_t){(uint32_t)skip, KIND_SKIP};
    head = (rlx_ring_head_t *)(ring->data + ((written + skip) & (ring->capacity - 1)));
    *head = (rlx_ring_head_t){(uint32_t)need, kind};
    ring->reserved = skip + need;
    return head;
}

void rlx_ring_commit(rlx_ring_t *ring)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

    atomic_store_explicit(&ring->written, written + ring->reserved, memory_order_release); /* pairs with rlx_ring_peek */
}

const rlx_ring_head_t *rlx_ring_peek(rlx_ring_t *ring)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

    while (read != atomic_load_explicit(&ring->written, memory_order_acquire)) { /* pairs with rlx_ring_commit */
        const rlx_ring_head_t *head = (const rlx_ring_head_t *)(ring->data + (read & (ring->capacity - 1)));

        if (head->kind != KIND_SKIP)
            return head;
        rlx_ring_next(ring, head);
        read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    }
    return NULL;
}

void rlx_ring_next(rlx_ring_t *ring, const rlx_ring_head_t *record)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

    atomic_store_explicit(&ring->read, read + record->bytes, memory_order_release); /* pairs with rlx_ring_reserve */
}
