/* Where a bundle is damaged. The manifest knows only the root of each segment's digest tree; the segment "leaves" holds the leaves of those
 * before it, so that the MiB can be named. It only names: what is refused is decided by the roots. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/format.h"

#define NAMED_MAX 4 /* leaves in a message */

/* "segment 'constants'", "the code image for x86-64-v3". */
static void segment_name(const rlx_bundle_segment_t *segment, char out[96])
{
    if (strcmp(segment->kind, "code") == 0)
        snprintf(out, 96, "the code image for %.40s", segment->isa);
    else
        snprintf(out, 96, "segment '%.40s'", segment->kind);
}

/* The leaves' digests of segment `index`, or NULL when they are not there or damaged themselves. */
static const uint8_t (*leaves_find(const rlx_bundle_manifest_t *manifest, int index, const uint8_t *map))[RLX_BUNDLE_DIGEST]
{
    uint64_t before = 0, all = 0;
    uint8_t root[RLX_BUNDLE_DIGEST];

    for (int i = 0; i < manifest->n_segments; i++) {
        const rlx_bundle_segment_t *segment = &manifest->segments[i];

        if (strcmp(segment->kind, "leaves") == 0 && index < i && segment->bytes == all * RLX_BUNDLE_DIGEST &&
            rlx_bundle_digest_tree(map + segment->offset, segment->bytes, 1, root) && memcmp(root, segment->digest, sizeof root) == 0)
            return (const uint8_t(*)[RLX_BUNDLE_DIGEST])(map + segment->offset) + before;
        if (i < index)
            before += rlx_bundle_n_leaves(segment->bytes);
        all += rlx_bundle_n_leaves(segment->bytes);
    }
    return NULL;
}

/* "; damaged: bytes 4096..1052671 of the file (MiB 0 of 3), ...". */
static void leaves_tell(const rlx_bundle_segment_t *segment, const uint8_t (*want)[RLX_BUNDLE_DIGEST], const uint8_t (*have)[RLX_BUNDLE_DIGEST],
                        char *out, size_t bytes)
{
    uint64_t n = rlx_bundle_n_leaves(segment->bytes), n_bad = 0;
    size_t used = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t begin = i * RLX_BUNDLE_LEAF, end = begin + RLX_BUNDLE_LEAF < segment->bytes ? begin + RLX_BUNDLE_LEAF : segment->bytes;

        if (memcmp(want[i], have[i], RLX_BUNDLE_DIGEST) == 0 || n_bad++ >= NAMED_MAX)
            continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%" PRIu64 " of %" PRIu64 " (bytes %" PRIu64 " to %" PRIu64 " of the file)",
                                 n_bad == 1 ? ": MiB " : ", ", i + 1, n, segment->offset + begin, segment->offset + end - 1);
    }
    if (n_bad > NAMED_MAX)
        snprintf(out + used, bytes - used, " and %" PRIu64 " more", n_bad - NAMED_MAX);
}

rlx_status_t rlx_bundle_damage_tell(const rlx_bundle_manifest_t *manifest, int index, const uint8_t *map, rlx_diag_t *diag)
{
    const rlx_bundle_segment_t *segment = &manifest->segments[index];
    const uint8_t (*want)[RLX_BUNDLE_DIGEST] = leaves_find(manifest, index, map);
    uint8_t (*have)[RLX_BUNDLE_DIGEST] = want != NULL ? malloc(rlx_bundle_n_leaves(segment->bytes) * RLX_BUNDLE_DIGEST + 1) : NULL;
    char name[96], where[512] = "";
    uint8_t root[RLX_BUNDLE_DIGEST];

    segment_name(segment, name);
    if (have != NULL) {
        rlx_bundle_digest_leaves(map + segment->offset, segment->bytes, 1, have, root);
        leaves_tell(segment, want, (const uint8_t(*)[RLX_BUNDLE_DIGEST])have, where, sizeof where);
        free(have);
    }
    if (diag != NULL)
        *diag = (rlx_diag_t){0};
    return rlx_fail(diag, RLX_E_BUNDLE_DIGEST, "%s differs from its digest%s", name, where);
}
