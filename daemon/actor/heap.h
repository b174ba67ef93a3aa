/* An indexed binary heap: items are small numbers (requests, models), each at most once, each with a 64-bit key; the smallest key is on
 * top. Set, remove: O(log n). Equal keys leave in an order that depends on the calls alone, so a replay is exact. Memory is the actor's;
 * unused pages are never touched. */
#ifndef RLX_DAEMON_ACTOR_HEAP_H
#define RLX_DAEMON_ACTOR_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct actor_heap_entry {
    uint64_t key;
    uint32_t item;
} actor_heap_entry_t;

typedef struct actor_heap {
    actor_heap_entry_t *entries;
    uint32_t *places; /* by item: its index in entries + 1; 0: not in the heap */
    uint32_t n, items_max;
} actor_heap_t;

/* False when there is no memory; fini is allowed either way. */
bool actor_heap_init(actor_heap_t *heap, uint32_t items_max);
void actor_heap_fini(actor_heap_t *heap);
/* Puts `item` in, or changes its key. */
void actor_heap_set(actor_heap_t *heap, uint32_t item, uint64_t key);
/* Nothing happens when it is not in. */
void actor_heap_remove(actor_heap_t *heap, uint32_t item);
/* The heap is not empty. */
static inline actor_heap_entry_t actor_heap_top(const actor_heap_t *heap)
{
    return heap->entries[0];
}

#endif
