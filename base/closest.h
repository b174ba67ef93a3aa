/* "Did you mean": the known word that a misspelt one is nearest to. Pure. */
#ifndef RLX_BASE_CLOSEST_H
#define RLX_BASE_CLOSEST_H

#include <stddef.h>

typedef struct rlx_closest {
    const char *word; /* the misspelt one; borrowed */
    size_t bytes;
    const char *best; /* NULL while none is near enough: a third of its letters may differ, and case does not count */
    int distance;     /* letters inserted, removed, replaced, or swapped with their neighbour */
} rlx_closest_t;

void rlx_closest_init(rlx_closest_t *closest, const char *word, size_t bytes);
/* Offers a known word (borrowed). Of equally near ones the first wins. Words above 64 bytes are never near. */
void rlx_closest_offer(rlx_closest_t *closest, const char *known);

#endif
