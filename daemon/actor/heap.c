/* See heap.h. Entry i's children are 2i+1 and 2i+2; places[] follows every move. */
#include "daemon/actor/heap.h"

#include <stdlib.h>

#include "base/assert.h"

bool actor_heap_init(actor_heap_t *heap, uint32_t items_max)
{
    *heap = (actor_heap_t){.items_max = items_max};
    heap->entries = calloc(items_max, sizeof *heap->entries);
    heap->places = calloc(items_max, sizeof *heap->places);
    return heap->entries != NULL && heap->places != NULL;
}

void actor_heap_fini(actor_heap_t *heap)
{
    free(heap->entries);
    free(heap->places);
    *heap = (actor_heap_t){0};
}

static void place(actor_heap_t *heap, uint32_t index, actor_heap_entry_t entry)
{
    heap->entries[index] = entry;
    heap->places[entry.item] = index + 1;
}

static void sift_up(actor_heap_t *heap, uint32_t index, actor_heap_entry_t entry)
{
    while (index > 0 && heap->entries[(index - 1) / 2].key > entry.key) {
        place(heap, index, heap->entries[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    place(heap, index, entry);
}

static void sift_down(actor_heap_t *heap, uint32_t index, actor_heap_entry_t entry)
{
    for (uint32_t child = 2 * index + 1; child < heap->n; child = 2 * index + 1) {
        if (child + 1 < heap->n && heap->entries[child + 1].key < heap->entries[child].key)
            child++;
        if (heap->entries[child].key >= entry.key)
            break;
        place(heap, index, heap->entries[child]);
        index = child;
    }
    place(heap, index, entry);
}

static void settle(actor_heap_t *heap, uint32_t index, actor_heap_entry_t entry)
{
    if (index > 0 && heap->entries[(index - 1) / 2].key > entry.key)
        sift_up(heap, index, entry);
    else
        sift_down(heap, index, entry);
}

void actor_heap_set(actor_heap_t *heap, uint32_t item, uint64_t key)
{
    actor_heap_entry_t entry = {.key = key, .item = item};

    RLX_ASSERT(item < heap->items_max);
    if (heap->places[item] == 0)
        sift_up(heap, heap->n++, entry);
    else if (heap->entries[heap->places[item] - 1].key != key)
        settle(heap, heap->places[item] - 1, entry);
}

void actor_heap_remove(actor_heap_t *heap, uint32_t item)
{
    RLX_ASSERT(item < heap->items_max);
    if (heap->places[item] == 0)
        return;
    uint32_t index = heap->places[item] - 1;
    heap->places[item] = 0;
    heap->n--;
    if (index < heap->n)
        settle(heap, index, heap->entries[heap->n]);
}
