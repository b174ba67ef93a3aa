/* The name map: see names.h. At most half full; XXH3 of the key. */
#include "ir/onnx/names.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/assert.h"

void rlx_onnx_names_init(rlx_onnx_names_t *names)
{
    memset(names, 0, sizeof *names);
}

void rlx_onnx_names_fini(rlx_onnx_names_t *names)
{
    free(names->slots);
    memset(names, 0, sizeof *names);
}

/* The slot of `key`, or the empty one where it belongs. `cap` is a power of two and never full. */
static struct rlx_onnx_name *slot_find(const rlx_onnx_names_t *names, const char *key)
{
    size_t at = (size_t)XXH3_64bits(key, strlen(key)) & (names->cap - 1);

    while (names->slots[at].key != NULL && strcmp(names->slots[at].key, key) != 0)
        at = (at + 1) & (names->cap - 1);
    return &names->slots[at];
}

void *rlx_onnx_names_get(const rlx_onnx_names_t *names, const char *key)
{
    return names->cap == 0 ? NULL : slot_find(names, key)->value;
}

static void names_grow(rlx_onnx_names_t *names)
{
    rlx_onnx_names_t old = *names;

    names->cap = old.cap == 0 ? 64 : old.cap * 2;
    names->slots = calloc(names->cap, sizeof *names->slots);
    RLX_ASSERT(names->slots != NULL); /* bounded by the caps on nodes and tensors */
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].key != NULL)
            *slot_find(names, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

bool rlx_onnx_names_add(rlx_onnx_names_t *names, const char *key, void *value)
{
    struct rlx_onnx_name *slot;

    if (2 * (names->count + 1) > names->cap)
        names_grow(names);
    slot = slot_find(names, key);
    if (slot->key != NULL)
        return false;
    *slot = (struct rlx_onnx_name){key, value};
    names->count++;
    return true;
}
