/* The digest tree: leaves of 1 MiB, hashed independently, so that a large segment is checked by many threads. Threads take leaves by a
 * counter; the root does not depend on who hashed what. */
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bundle/format.h"

#define THREADS_MAX 64

typedef struct tree {
    const uint8_t *data;
    uint64_t bytes, n_leaves;
    uint8_t (*leaves)[RLX_BUNDLE_DIGEST];
    atomic_uint_fast64_t next;
} tree_t;

static void *leaves_hash(void *argument)
{
    tree_t *tree = argument;

    for (;;) {
        uint64_t leaf = atomic_fetch_add(&tree->next, 1);
        uint64_t begin = leaf * RLX_BUNDLE_LEAF;

        if (leaf >= tree->n_leaves)
            return NULL;
        crypto_generichash(tree->leaves[leaf], RLX_BUNDLE_DIGEST, tree->data + begin,
                           tree->bytes - begin < RLX_BUNDLE_LEAF ? tree->bytes - begin : RLX_BUNDLE_LEAF, NULL, 0);
    }
}

static void root_hash(const tree_t *tree, uint8_t *out_root)
{
    crypto_generichash_state state;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(tree->bytes >> (8 * i));
    crypto_generichash_init(&state, NULL, 0, RLX_BUNDLE_DIGEST);
    crypto_generichash_update(&state, (const uint8_t *)"RLXtree1", 8);
    crypto_generichash_update(&state, length, sizeof length);
    crypto_generichash_update(&state, (const uint8_t *)tree->leaves, tree->n_leaves * RLX_BUNDLE_DIGEST);
    crypto_generichash_final(&state, out_root, RLX_BUNDLE_DIGEST);
}

uint64_t rlx_bundle_n_leaves(uint64_t bytes) { return bytes / RLX_BUNDLE_LEAF + (bytes % RLX_BUNDLE_LEAF != 0); }

void rlx_bundle_digest_leaves(const void *data, uint64_t bytes, int n_threads, uint8_t (*leaves)[RLX_BUNDLE_DIGEST],
                              uint8_t out_root[RLX_BUNDLE_DIGEST])
{
    tree_t tree = {.data = data, .bytes = bytes, .n_leaves = rlx_bundle_n_leaves(bytes), .leaves = leaves};
    pthread_t threads[THREADS_MAX];
    int started = 0;

    if (n_threads > THREADS_MAX)
        n_threads = THREADS_MAX;
    if ((uint64_t)n_threads > tree.n_leaves)
        n_threads = (int)tree.n_leaves;
    while (started < n_threads - 1 && pthread_create(&threads[started], NULL, leaves_hash, &tree) == 0)
        started++; /* a thread that cannot start is no loss: the others take its leaves */
    leaves_hash(&tree);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    root_hash(&tree, out_root);
}

bool rlx_bundle_digest_tree(const void *data, uint64_t bytes, int n_threads, uint8_t out_root[RLX_BUNDLE_DIGEST])
{
    uint8_t (*leaves)[RLX_BUNDLE_DIGEST] = malloc(rlx_bundle_n_leaves(bytes) * RLX_BUNDLE_DIGEST + 1);

    if (leaves == NULL)
        return false;
    rlx_bundle_digest_leaves(data, bytes, n_threads, leaves, out_root);
    free(leaves);
    return true;
}
