/* The k largest or smallest of each line of [outer, count, inner], sorted. A heap of the k best so far, its worst at the root; then heap
 * sort. Better means: larger key (smaller when asked), then lower index. So the result is one, whatever the algorithm. */
#include "kernels/abi.h"
#include "kernels/order.h"
#include "kernels/params.h"

typedef struct top_entry {
    uint64_t rank; /* greater is better */
    int64_t index;
} top_entry_t;

static int entry_worse(const top_entry_t *a, const top_entry_t *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->index > b->index;
}

/* Restores "parent is worse than child" below `at`. */
static void heap_sift(top_entry_t *heap, int64_t n, int64_t at)
{
    top_entry_t moving = heap[at];

    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && entry_worse(&heap[child + 1], &heap[child]))
            child++;
        if (!entry_worse(&heap[child], &moving))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void heap_offer(top_entry_t *heap, int64_t k, int64_t *filled, top_entry_t entry)
{
    if (*filled < k) {
        heap[(*filled)++] = entry;
        if (*filled == k)
            for (int64_t i = k / 2 - 1; i >= 0; i--)
                heap_sift(heap, k, i);
    } else if (entry_worse(&heap[0], &entry)) {
        heap[0] = entry;
        heap_sift(heap, k, 0);
    }
}

/* Best first. */
static void heap_sort(top_entry_t *heap, int64_t n)
{
    for (int64_t last = n - 1; last > 0; last--) {
        top_entry_t worst = heap[0];
        heap[0] = heap[last];
        heap[last] = worst;
        heap_sift(heap, last, 0);
    }
}

static void copy_element(int64_t bytes, void *to, int64_t to_index, const void *from, int64_t from_index)
{
    __builtin_memcpy((char *)to + to_index * bytes, (const char *)from + from_index * bytes, (size_t)bytes);
}

RLX_KERNEL_ENTRY(top_k)
{
    const rlx_top_k_params_t *p = (const rlx_top_k_params_t *)args->param;
    const void *x = args->in[0].base;
    void *values = args->out[0].base;
    int64_t *indices = args->out[1].base, bytes = rlx_number_bytes(p->dtype);
    top_entry_t *heap = args->scratch;
    uint64_t key[RLX_NUMBER_RUN];

    for (int64_t t = tile_begin; t < tile_end && p->k > 0; t++) {
        int64_t from = t / p->inner * p->count * p->inner + t % p->inner, to = t / p->inner * p->k * p->inner + t % p->inner, filled = 0;
        for (int64_t i = 0; i < p->count; i += RLX_NUMBER_RUN) {
            int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;
            rlx_order_load(p->dtype, x, from + i * p->inner, p->inner, n, key);
            for (int64_t j = 0; j < n; j++)
                heap_offer(heap, p->k, &filled, (top_entry_t){p->largest ? key[j] : ~key[j], i + j});
        }
        heap_sort(heap, p->k);
        for (int64_t i = 0; i < p->k; i++) {
            if (values)
                copy_element(bytes, values, to + i * p->inner, x, from + heap[i].index * p->inner);
            if (indices)
                indices[to + i * p->inner] = heap[i].index;
        }
    }
}
