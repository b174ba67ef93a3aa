/* Unique slices by sorting their indices: a bottom-up merge sort, stable, so that the first of equal slices is the one of least index. */
#include "kernels/order.h"
#include "kernels/params.h"

typedef struct slices {
    const rlx_unique_params_t *p;
    const void *base;
} slices_t;

static uint64_t key_at(const slices_t *s, int64_t slice, int64_t outer, int64_t inner)
{
    uint64_t key;

    rlx_order_load(s->p->dtype, s->base, (outer * s->p->extent + slice) * s->p->inner + inner, 1, 1, &key);
    return key;
}

/* -1, 0, 1 as slice `a` is less than, equal to or greater than slice `b`. */
static int compare(const slices_t *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->p->outer; ++o)
        for (int64_t i = 0; i < s->p->inner; ++i) {
            uint64_t x = key_at(s, a, o, i), y = key_at(s, b, o, i);

            if (x != y)
                return x < y ? -1 : 1;
        }
    return 0;
}

static void merge(const slices_t *s, const int64_t *from, int64_t *to, int64_t begin, int64_t middle, int64_t end)
{
    int64_t a = begin, b = middle;

    for (int64_t k = begin; k < end; ++k)
        to[k] = a < middle && (b >= end || compare(s, from[a], from[b]) <= 0) ? from[a++] : from[b++];
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The sorted indices lie in the result, which is one of the two arrays. */
static int64_t *sort(const slices_t *s, int64_t *from, int64_t *to)
{
    int64_t n = s->p->extent;

    for (int64_t i = 0; i < n; ++i)
        from[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        int64_t *swap = from;

        for (int64_t begin = 0; begin < n; begin += 2 * width)
            merge(s, from, to, begin, least(begin + width, n), least(begin + 2 * width, n));
        from = to;
        to = swap;
    }
    return from;
}

/* Groups as they occur: group[g] becomes the place of group g. */
static void groups_reorder(int64_t n, int64_t found, int64_t *first, int64_t *inverse, int64_t *counts, int64_t *group, int64_t *spare)
{
    int64_t next = 0;

    for (int64_t i = 0; i < n; ++i)
        if (first[inverse[i]] == i)
            group[inverse[i]] = next++;
    for (int64_t g = 0; g < found; ++g)
        spare[group[g]] = first[g];
    for (int64_t g = 0; g < found; ++g)
        first[g] = spare[g];
    for (int64_t g = 0; g < found; ++g)
        spare[group[g]] = counts[g];
    for (int64_t g = 0; g < found; ++g)
        counts[g] = spare[g];
    for (int64_t i = 0; i < n; ++i)
        inverse[i] = group[inverse[i]];
}

RLX_KERNEL_ENTRY(unique)
{
    const rlx_unique_params_t *p = (const rlx_unique_params_t *)args->param;
    const slices_t s = {p, args->in[0].base};
    int64_t *first = args->out[0].base, *inverse = args->out[1].base, *counts = args->out[2].base;
    int64_t *a = args->scratch, *b, *order, found = 0;

    if (tile_begin >= tile_end)
        return;
    b = a + p->extent;
    order = p->extent > 0 ? sort(&s, a, b) : a;
    for (int64_t i = 0; i < p->extent; ++i) {
        if (i == 0 || compare(&s, order[i - 1], order[i]) != 0) {
            first[found] = order[i];
            counts[found++] = 0;
        }
        ++counts[found - 1];
        inverse[order[i]] = found - 1;
    }
    if (!p->sorted)
        groups_reorder(p->extent, found, first, inverse, counts, a, b);
    for (int64_t i = found; i < p->extent; ++i)
        first[i] = counts[i] = 0;
    *(int64_t *)args->out[3].base = found;
}
