/* One changed byte of a signed bundle is refused, and the refusal says where.
 *
 *     tamper                     a bundle of 2 MiB made here: every byte of header, signature block, manifest, gaps, text and program, and a
 *                                sample of constants and code, each changed in the file and opened
 *     tamper FILE                the same with a signed bundle
 *     tamper FILE --random N     N bytes anywhere, changed in the file and opened
 *     tamper FILE --all I/N      every byte: slice I of N (0 <= I < N). In constants and code the digests are computed here from a kept
 *                                state of the bytes before it: a minute instead of an hour
 *     tamper FILE --open I/N     every byte of slice I of N, changed in the file and opened
 *     tamper --make FILE         keeps the bundle of 2 MiB
 *
 * Prints how many were refused; ends with 1 at the first that is not, or whose refusal names another part. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "bundle/format.h"
#include "bundle/sign.h"
#include "kernels/abi.h"
#include "tests/exec/program_builder.h"

#define SAMPLE 997 /* distance of sampled bytes */
#define EDGE 64    /* bytes at both ends of a leaf that are all tried */

typedef struct tamper {
    uint8_t *data; /* the whole file, changed and changed back */
    size_t bytes;
    int fd; /* a memfd with the same bytes */
    char path[64];
    rlx_bundle_header_t header;
    rlx_bundle_manifest_t manifest;
    uint64_t n_opened, n_digested;
} tamper_t;

static void fail(const char *what, const rlx_diag_t *diag)
{
    fprintf(stderr, "%s: %s\n", what, diag != NULL ? diag->message : strerror(errno));
    exit(1);
}

/* ---- What the refusal must say */

static const rlx_bundle_segment_t *segment_at(const tamper_t *tamper, uint64_t at)
{
    for (int i = 0; i < tamper->manifest.n_segments; i++) {
        const rlx_bundle_segment_t *segment = &tamper->manifest.segments[i];

        if (at >= segment->offset && at < segment->offset + segment->bytes)
            return segment;
    }
    return NULL;
}

static void expectation(const tamper_t *tamper, uint64_t at, char out[96])
{
    const rlx_bundle_segment_t *segment = segment_at(tamper, at);

    if (at < sizeof tamper->header.magic)
        snprintf(out, 96, "does not begin like");
    else if (at < 12)
        snprintf(out, 96, at < 10 ? "format" : "versions");
    else if (at < RLX_BUNDLE_SIGNED_BYTES)
        snprintf(out, 96, "manifest");
    else if (at < sizeof tamper->header)
        snprintf(out, 96, "signature block");
    else if (at < RLX_BUNDLE_PAGE)
        snprintf(out, 96, "header page");
    else if (at < RLX_BUNDLE_PAGE + tamper->header.manifest_bytes)
        snprintf(out, 96, "manifest");
    else if (segment == NULL)
        snprintf(out, 96, "gap");
    else if (strcmp(segment->kind, "leaves") == 0)
        snprintf(out, 96, "segment 'leaves'");
    else if (strcmp(segment->kind, "code") == 0)
        snprintf(out, 96, "the code image for %s differs from its digest: MiB %d of", segment->isa,
                 (int)((at - segment->offset) / RLX_BUNDLE_LEAF) + 1);
    else
        snprintf(out, 96, "segment '%s' differs from its digest: MiB %d of", segment->kind, (int)((at - segment->offset) / RLX_BUNDLE_LEAF) + 1);
}

/* ---- One byte */

static uint8_t change_of(uint64_t at) { return (uint8_t)(1 + (at * 2654435761u >> 7) % 255); } /* never 0 */

static void byte_open(tamper_t *tamper, uint64_t at)
{
    uint8_t changed = tamper->data[at] ^ change_of(at);
    rlx_bundle_t *bundle = NULL;
    rlx_diag_t diag = {0};
    char want[96];

    if (pwrite(tamper->fd, &changed, 1, (off_t)at) != 1)
        fail("pwrite", NULL);
    if (rlx_bundle_open(tamper->path, RLX_BUNDLE_NO_STAMP | (at % 2 == 0 ? RLX_BUNDLE_SKIP_CODE : 0), &bundle, &diag) == RLX_OK) {
        fprintf(stderr, "byte %llu may be changed\n", (unsigned long long)at);
        exit(1);
    }
    expectation(tamper, at, want);
    if (strstr(diag.message, want) == NULL) {
        fprintf(stderr, "byte %llu: '%s' does not say '%s'\n", (unsigned long long)at, diag.message, want);
        exit(1);
    }
    if (pwrite(tamper->fd, &tamper->data[at], 1, (off_t)at) != 1)
        fail("pwrite", NULL);
    tamper->n_opened++;
}

/* The root of a segment's digest tree, whose leaf `leaf` has `digest`. */
static void root_make(const rlx_bundle_segment_t *segment, uint8_t (*leaves)[RLX_BUNDLE_DIGEST], uint64_t leaf, const uint8_t *digest,
                      uint8_t out_root[RLX_BUNDLE_DIGEST])
{
    crypto_generichash_state state;
    uint64_t length = segment->bytes, n = rlx_bundle_n_leaves(segment->bytes);

    crypto_generichash_init(&state, NULL, 0, RLX_BUNDLE_DIGEST);
    crypto_generichash_update(&state, (const uint8_t *)"RLXtree1", 8);
    crypto_generichash_update(&state, (const uint8_t *)&length, 8);
    for (uint64_t i = 0; i < n; i++)
        crypto_generichash_update(&state, i == leaf ? digest : leaves[i], RLX_BUNDLE_DIGEST);
    crypto_generichash_final(&state, out_root, RLX_BUNDLE_DIGEST);
}

/* Every byte of one leaf in [begin, end) of the file: its digest, and the root, become others. */
static void leaf_digest(tamper_t *tamper, const rlx_bundle_segment_t *segment, uint8_t (*leaves)[RLX_BUNDLE_DIGEST], uint64_t leaf,
                        uint64_t begin, uint64_t end)
{
    uint64_t first = segment->offset + leaf * RLX_BUNDLE_LEAF, stop = segment->offset + segment->bytes, kept = first;
    crypto_generichash_state before, state;
    uint8_t digest[RLX_BUNDLE_DIGEST], root[RLX_BUNDLE_DIGEST];

    stop = stop < first + RLX_BUNDLE_LEAF ? stop : first + RLX_BUNDLE_LEAF;
    crypto_generichash_init(&before, NULL, 0, RLX_BUNDLE_DIGEST);
    for (uint64_t at = begin > first ? begin : first; at < stop && at < end; at++) {
        crypto_generichash_update(&before, tamper->data + kept, at - kept);
        kept = at;
        state = before;
        tamper->data[at] ^= change_of(at);
        crypto_generichash_update(&state, tamper->data + at, stop - at);
        crypto_generichash_final(&state, digest, sizeof digest);
        tamper->data[at] ^= change_of(at);
        root_make(segment, leaves, leaf, digest, root);
        if (memcmp(root, segment->digest, sizeof root) == 0 || memcmp(digest, leaves[leaf], sizeof digest) == 0) {
            fprintf(stderr, "byte %llu may be changed\n", (unsigned long long)at);
            exit(1);
        }
        tamper->n_digested++;
    }
}

static void segment_digest(tamper_t *tamper, const rlx_bundle_segment_t *segment, uint64_t begin, uint64_t end)
{
    uint64_t n = rlx_bundle_n_leaves(segment->bytes);
    uint8_t (*leaves)[RLX_BUNDLE_DIGEST] = malloc(n * RLX_BUNDLE_DIGEST + 1), root[RLX_BUNDLE_DIGEST];

    if (leaves == NULL)
        fail("malloc", NULL);
    rlx_bundle_digest_leaves(tamper->data + segment->offset, segment->bytes, 1, leaves, root);
    root_make(segment, leaves, n, NULL, root); /* what is computed here is what the reader computes */
    if (memcmp(root, segment->digest, sizeof root) != 0)
        fail("the unchanged segment has another digest", NULL);
    for (uint64_t leaf = 0; leaf < n; leaf++)
        leaf_digest(tamper, segment, leaves, leaf, begin, end);
    free(leaves);
}

/* ---- Which bytes */

static bool is_large(const rlx_bundle_segment_t *segment)
{
    return segment != NULL && (strcmp(segment->kind, "constants") == 0 || strcmp(segment->kind, "code") == 0);
}

static bool is_sampled(const rlx_bundle_segment_t *segment, uint64_t at)
{
    uint64_t inside = at - segment->offset, in_leaf = inside % RLX_BUNDLE_LEAF;

    return at % SAMPLE == 0 || in_leaf < EDGE || in_leaf >= RLX_BUNDLE_LEAF - EDGE || inside >= segment->bytes - EDGE;
}

static void sample_try(tamper_t *tamper, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at < end; at++) {
        const rlx_bundle_segment_t *segment = segment_at(tamper, at);

        if (!is_large(segment) || is_sampled(segment, at))
            byte_open(tamper, at);
    }
}

static void slice_of(const tamper_t *tamper, const char *text, uint64_t *out_begin, uint64_t *out_end)
{
    unsigned long index, count;

    if (sscanf(text, "%lu/%lu", &index, &count) != 2 || count == 0 || index >= count)
        fail("--all and --open take I/N", NULL);
    *out_begin = tamper->bytes * index / count;
    *out_end = tamper->bytes * (index + 1) / count;
}

static void slice_open(tamper_t *tamper, const char *text)
{
    uint64_t begin, end;

    slice_of(tamper, text, &begin, &end);
    for (uint64_t at = begin; at < end; at++)
        byte_open(tamper, at);
}

static void slice_try(tamper_t *tamper, const char *text)
{
    uint64_t begin, end;

    slice_of(tamper, text, &begin, &end);
    sample_try(tamper, begin, end);
    for (int i = 0; i < tamper->manifest.n_segments; i++)
        if (is_large(&tamper->manifest.segments[i]))
            segment_digest(tamper, &tamper->manifest.segments[i], begin, end);
}

static void random_try(tamper_t *tamper, long count)
{
    uint64_t state = 1;

    for (long i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte_open(tamper, (state >> 24) % tamper->bytes);
    }
}

/* ---- The bundle */

static void bundle_make(const char *path)
{
    static uint8_t constants[1400000], code[260000];
    static const rlx_bundle_entry_t entries[] = {{240, 0}};
    static char text[9000];
    static pb_t pb;
    const rlx_bundle_image_t images[] = {{"x86-64-v3", code, sizeof code, entries, 1}, {"x86-64-v4", code, sizeof code, entries, 1}};
    const rlx_ref_t dims[1] = {pb_number(1)};
    rlx_bundle_parts_t parts = {.name = "tampered", .compiler = "rlx test", .kernel_abi = RLX_KERNEL_ABI, .constants = constants,
                                .constants_bytes = sizeof constants, .ir_text = text, .ir_text_bytes = sizeof text, .images = images,
                                .n_images = 2};
    rlx_secret_key_t keys[2];
    rlx_diag_t diag = {0};
    uint32_t y;
    int n;

    randombytes_buf_deterministic(constants, sizeof constants, (const uint8_t[randombytes_SEEDBYTES]){1});
    randombytes_buf_deterministic(code, sizeof code, (const uint8_t[randombytes_SEEDBYTES]){2});
    memset(text, 'x', sizeof text);
    pb_init(&pb);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_number(4));
    pb_step(&pb, 240, 0, 1, &y, pb_number(1));
    pb_finish(&pb, pb_number(0), &parts.program_bytes);
    parts.program = pb.blob;
    if (rlx_bundle_write(path, &parts, &diag) != RLX_OK)
        fail("write", &diag);
    for (int i = 0; i < 2; i++)
        if (rlx_secret_key_make("", &keys[i], &diag) != RLX_OK || rlx_bundle_sign(path, path, &keys[i], &n, &diag) != RLX_OK)
            fail("sign", &diag);
}

static void bundle_take(tamper_t *tamper, const char *path)
{
    rlx_bundle_t *bundle;
    rlx_diag_t diag = {0};
    void *data;
    int n;

    if (rlx_file_read(path, (size_t)1 << 30, &data, &tamper->bytes, &diag) != RLX_OK)
        fail(path, &diag);
    tamper->data = data;
    tamper->fd = memfd_create("tamper", MFD_CLOEXEC);
    snprintf(tamper->path, sizeof tamper->path, "/proc/self/fd/%d", tamper->fd);
    if (tamper->fd < 0 || !rlx_fd_write(tamper->fd, data, tamper->bytes))
        fail("memfd", NULL);
    if (rlx_bundle_open(tamper->path, RLX_BUNDLE_NO_STAMP, &bundle, &diag) != RLX_OK)
        fail("the unchanged bundle", &diag);
    (void)rlx_bundle_signatures(bundle, &n);
    rlx_bundle_close(bundle);
    if (n == 0)
        fail("the bundle is not signed", NULL);
    memcpy(&tamper->header, data, sizeof tamper->header);
    if (rlx_bundle_manifest_decode(tamper->data + RLX_BUNDLE_PAGE, tamper->header.manifest_bytes, &tamper->manifest, &diag) != RLX_OK)
        fail("the manifest", &diag);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "tampered.rlxb";
    tamper_t tamper = {0};
    rlx_bundle_t *bundle;
    rlx_diag_t diag = {0};

    unsetenv("RLX_CACHE_DIR");
    if (sodium_init() < 0)
        fail("sodium_init", NULL);
    if (argc == 3 && strcmp(argv[1], "--make") == 0) {
        bundle_make(argv[2]);
        return 0;
    }
    if (argc == 1)
        bundle_make(path);
    bundle_take(&tamper, path);
    if (argc == 1)
        (void)unlink(path);
    if (argc == 4 && strcmp(argv[2], "--random") == 0)
        random_try(&tamper, atol(argv[3]));
    else if (argc == 4 && strcmp(argv[2], "--all") == 0)
        slice_try(&tamper, argv[3]);
    else if (argc == 4 && strcmp(argv[2], "--open") == 0)
        slice_open(&tamper, argv[3]);
    else if (argc <= 2)
        sample_try(&tamper, 0, tamper.bytes);
    else
        fail("tamper [FILE [--random N|--all I/N|--open I/N]], or tamper --make FILE", NULL);
    if (rlx_bundle_open(tamper.path, RLX_BUNDLE_NO_STAMP, &bundle, &diag) != RLX_OK)
        fail("the bundle, all bytes changed back", &diag);
    rlx_bundle_close(bundle);
    printf("%zu bytes: %llu changed in the file and refused when opened, %llu refused by their digest\n", tamper.bytes,
           (unsigned long long)tamper.n_opened, (unsigned long long)tamper.n_digested);
    rlx_bundle_manifest_fini(&tamper.manifest);
    free(tamper.data);
    close(tamper.fd);
    return 0;
}
