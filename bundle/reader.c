/* Opens bundles. Order: header page (magic, version, sizes), manifest after its digest matched, the map of segments, gaps, then each
 * segment after its digest matched. Program and code are copied before they are digested, so what is checked is what runs. Where a stamp
 * vouches for the file, the file is looked at again after the copies: unchanged, they hold what was hashed when the stamp was left. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "bundle/format.h"

#define ALIGN 64

struct rlx_bundle {
    int fd;
    const uint8_t *map;
    size_t map_bytes;
    rlx_bundle_header_t header;
    uint8_t file_digest[RLX_BUNDLE_DIGEST]; /* of the header, whose manifest digest covers the rest */
    rlx_bundle_manifest_t manifest;
    void *program;
    const rlx_bundle_segment_t *ir, *program_segment, *constants, *code_segment;
    rlx_bundle_mapped_code_t code;
    rlx_bundle_seen_t seen; /* before anything was read */
    bool has_code, stamped;
};

#define BAD(diag, ...) rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, __VA_ARGS__)

static bool read_at(int fd, void *data, size_t bytes, off_t offset)
{
    char *at = data;

    while (bytes > 0) {
        ssize_t n = pread(fd, at, bytes, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool all_zero(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 0)
            return false;
    return true;
}

static rlx_status_t file_open(rlx_bundle_t *bundle, const char *path, rlx_diag_t *diag)
{
    struct stat info;

    bundle->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    if (bundle->fd < 0 || fstat(bundle->fd, &info) != 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open bundle: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open bundle: not a regular file");
    if (!rlx_bundle_seen_look(bundle->fd, &bundle->seen))
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open bundle: %s", strerror(errno));
    if (bundle->seen.bytes <= RLX_BUNDLE_PAGE)
        return BAD(diag, "the file has %" PRIu64 " bytes: no bundle, or cut off", bundle->seen.bytes);
    bundle->map_bytes = (size_t)bundle->seen.bytes;
    return RLX_OK;
}

static rlx_status_t header_read(rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    uint8_t page[RLX_BUNDLE_PAGE];
    rlx_bundle_header_t *header = &bundle->header;

    if (!read_at(bundle->fd, page, sizeof page, 0))
        return BAD(diag, "the header cannot be read");
    memcpy(header, page, sizeof *header);
    if (memcmp(header->magic, RLX_BUNDLE_MAGIC, sizeof header->magic) != 0)
        return BAD(diag, "the file does not begin like an RLX bundle");
    if (header->major != RLX_BUNDLE_MAJOR)
        return rlx_fail(diag, RLX_E_BUNDLE_VERSION, "the bundle has format %u.%u, this program reads %d.x", header->major, header->minor,
                        RLX_BUNDLE_MAJOR);
    if (header->manifest_offset != RLX_BUNDLE_PAGE || header->manifest_bytes > RLX_BUNDLE_MANIFEST_MAX ||
        header->manifest_bytes > bundle->map_bytes - RLX_BUNDLE_PAGE)
        return BAD(diag, "the manifest lies outside the file or is too large");
    if (!all_zero(page + sizeof *header, sizeof page - sizeof *header))
        return BAD(diag, "bytes of the header page that must be zero are not (%zu to %d)", sizeof *header, RLX_BUNDLE_PAGE - 1);
    rlx_digest_blake2b(header, sizeof *header, bundle->file_digest);
    return RLX_OK;
}

static rlx_status_t manifest_read(rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    size_t bytes = bundle->header.manifest_bytes;
    uint8_t digest[RLX_BUNDLE_DIGEST];
    uint8_t *data = malloc(bytes + 1);
    rlx_status_t status;

    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a manifest");
    if (!read_at(bundle->fd, data, bytes, RLX_BUNDLE_PAGE)) {
        free(data);
        return BAD(diag, "the manifest cannot be read");
    }
    rlx_digest_blake2b(data, bytes, digest);
    if (memcmp(digest, bundle->header.manifest_digest, sizeof digest) != 0)
        status = rlx_fail(diag, RLX_E_BUNDLE_DIGEST, "the manifest differs from its digest in the header");
    else
        status = rlx_bundle_manifest_decode(data, bytes, &bundle->manifest, diag);
    free(data);
    RLX_TRY(status);
    if (bundle->manifest.file_bytes != bundle->map_bytes)
        return BAD(diag, "the file has %zu bytes, its manifest says %" PRIu64 ": it was %s", bundle->map_bytes, bundle->manifest.file_bytes,
                   bundle->map_bytes < bundle->manifest.file_bytes ? "cut off" : "made longer");
    if (bundle->manifest.format_minor != bundle->header.minor)
        return BAD(diag, "header and manifest name different versions, %u.%u and %u.%" PRIu32, bundle->header.major, bundle->header.minor,
                   bundle->header.major, bundle->manifest.format_minor);
    return rlx_bundle_signatures_check(&bundle->header, diag);
}

/* Segments follow each other at the next page; nothing lies between, before or after them but zeros. */
static rlx_status_t segments_check(const rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    uint64_t end = RLX_BUNDLE_PAGE + bundle->header.manifest_bytes;

    for (int i = 0; i < bundle->manifest.n_segments; i++) {
        const rlx_bundle_segment_t *segment = &bundle->manifest.segments[i];
        uint64_t begin = (end + RLX_BUNDLE_PAGE - 1) / RLX_BUNDLE_PAGE * RLX_BUNDLE_PAGE;

        if (segment->offset != begin || (begin > bundle->map_bytes && segment->bytes > 0) ||
            (segment->bytes > 0 && segment->bytes > bundle->map_bytes - begin))
            return BAD(diag, "segment %d (%s) is not where it must be", i, segment->kind);
        end = begin + segment->bytes;
    }
    if (end != bundle->map_bytes)
        return BAD(diag, "the file has %zu bytes, its segments end at %" PRIu64, bundle->map_bytes, end);
    return RLX_OK;
}

static rlx_status_t gaps_check(const rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    uint64_t end = RLX_BUNDLE_PAGE + bundle->header.manifest_bytes;

    for (int i = 0; i < bundle->manifest.n_segments; i++) {
        const rlx_bundle_segment_t *segment = &bundle->manifest.segments[i];

        if (!all_zero(bundle->map + end, segment->offset - end))
            return BAD(diag, "gap: bytes %" PRIu64 " to %" PRIu64 " before segment %d (%s) must be zero and are not", end, segment->offset - 1, i,
                       segment->kind);
        end = segment->offset + segment->bytes;
    }
    return RLX_OK;
}

static rlx_status_t segment_find(const rlx_bundle_t *bundle, const char *kind, const rlx_bundle_segment_t **out_segment, rlx_diag_t *diag)
{
    const rlx_bundle_segment_t *found = NULL;

    for (int i = 0; i < bundle->manifest.n_segments; i++) {
        if (strcmp(bundle->manifest.segments[i].kind, kind) != 0)
            continue;
        if (found != NULL)
            return BAD(diag, "segment '%s' stands twice", kind);
        found = &bundle->manifest.segments[i];
    }
    if (found == NULL)
        return BAD(diag, "segment '%s' is missing", kind);
    *out_segment = found;
    return RLX_OK;
}

static rlx_status_t damage_tell(const rlx_bundle_t *bundle, const rlx_bundle_segment_t *segment, rlx_diag_t *diag)
{
    return rlx_bundle_damage_tell(&bundle->manifest, (int)(segment - bundle->manifest.segments), bundle->map, diag);
}

/* `data`: the segment's bytes, or a copy. */
static rlx_status_t digest_check(const rlx_bundle_t *bundle, const void *data, const rlx_bundle_segment_t *segment, int n_threads,
                                 rlx_diag_t *diag)
{
    uint8_t digest[RLX_BUNDLE_DIGEST];

    if (!rlx_bundle_digest_tree(data, segment->bytes, n_threads, digest))
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for digests");
    if (memcmp(digest, segment->digest, sizeof digest) != 0)
        return damage_tell(bundle, segment, diag);
    return RLX_OK;
}

static rlx_status_t program_load(rlx_bundle_t *bundle, bool vouched, rlx_diag_t *diag)
{
    const rlx_bundle_segment_t *segment = bundle->program_segment;

    bundle->program = aligned_alloc(ALIGN, (segment->bytes / ALIGN + 1) * ALIGN);
    if (bundle->program == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a program of %" PRIu64 " bytes", segment->bytes);
    memcpy(bundle->program, bundle->map + segment->offset, segment->bytes);
    if (!vouched)
        RLX_TRY(digest_check(bundle, bundle->program, segment, 1, diag));
    RLX_TRY(rlx_program_check(bundle->program, segment->bytes, bundle->constants->bytes, diag));
    if (((const rlx_program_header_t *)bundle->program)->kernel_abi != bundle->manifest.kernel_abi)
        return BAD(diag, "program and manifest name different kernel ABIs");
    return RLX_OK;
}

static int isa_rank(const char *isa) { return strcmp(isa, "x86-64-v4") == 0 ? 2 : strcmp(isa, "x86-64-v3") == 0 ? 1 : 0; }

static rlx_status_t code_load(rlx_bundle_t *bundle, bool vouched, rlx_diag_t *diag)
{
    const rlx_bundle_segment_t *best = NULL;
    const char *only = getenv("RLX_ISA");
    rlx_status_t status;

    for (int i = 0; i < bundle->manifest.n_segments; i++) {
        const rlx_bundle_segment_t *segment = &bundle->manifest.segments[i];

        if (strcmp(segment->kind, "code") == 0 && rlx_isa_runs(segment->isa) &&
            (best == NULL || isa_rank(segment->isa) > isa_rank(best->isa)))
            best = segment;
    }
    if (best == NULL)
        return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "the bundle has no code object that this machine runs%s%s",
                        only ? "; RLX_ISA asks for " : "", only ? only : "");
    bundle->code_segment = best;
    status = rlx_bundle_code_map(bundle->fd, best, vouched, &bundle->code, diag);
    if (status != RLX_OK && diag != NULL && diag->code == RLX_E_BUNDLE_DIGEST)
        return damage_tell(bundle, best, diag);
    RLX_TRY(status);
    bundle->has_code = true;
    return RLX_OK;
}

static int hashers(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus < 1 ? 1 : cpus < RLX_BUNDLE_HASHERS ? (int)cpus : RLX_BUNDLE_HASHERS;
}

/* All that was not digested yet: constants, text, code for other machines. */
static rlx_status_t rest_check(const rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    for (int i = 0; i < bundle->manifest.n_segments; i++) {
        const rlx_bundle_segment_t *segment = &bundle->manifest.segments[i];

        if (segment != bundle->program_segment && segment != bundle->code_segment)
            RLX_TRY(digest_check(bundle, bundle->map + segment->offset, segment, hashers(), diag));
    }
    return RLX_OK;
}

/* A stamp spares digests: of constants and text in any case, of program and code where nobody else may write the file, since whoever has
 * it mapped for writing could change a byte before its ctime tells. */
static rlx_status_t segments_load(rlx_bundle_t *bundle, unsigned flags, rlx_diag_t *diag)
{
    bool stamps = (flags & RLX_BUNDLE_NO_STAMP) == 0;
    bool stamp = stamps && rlx_bundle_stamp_holds(&bundle->seen, bundle->header.manifest_digest);

    RLX_TRY(program_load(bundle, stamp && bundle->seen.owned, diag));
    if ((flags & RLX_BUNDLE_SKIP_CODE) == 0)
        RLX_TRY(code_load(bundle, stamp && bundle->seen.owned, diag));
    if (stamp && !rlx_bundle_seen_same(bundle->fd, &bundle->seen))
        return rlx_fail(diag, RLX_E_BUNDLE_DIGEST, "the bundle changed while it was opened");
    bundle->stamped = stamp || (flags & RLX_BUNDLE_VOUCHED) != 0;
    if (!bundle->stamped)
        RLX_TRY(rest_check(bundle, diag));
    if (!bundle->stamped && stamps)
        rlx_bundle_stamp_leave(bundle->fd, &bundle->seen, bundle->header.manifest_digest);
    return RLX_OK;
}

static rlx_status_t bundle_load(rlx_bundle_t *bundle, const char *path, unsigned flags, rlx_diag_t *diag)
{
    const void *map;

    RLX_TRY(file_open(bundle, path, diag));
    RLX_TRY(header_read(bundle, diag));
    RLX_TRY(manifest_read(bundle, diag));
    RLX_TRY(segments_check(bundle, diag));
    RLX_TRY(segment_find(bundle, "ir", &bundle->ir, diag));
    RLX_TRY(segment_find(bundle, "program", &bundle->program_segment, diag));
    RLX_TRY(segment_find(bundle, "constants", &bundle->constants, diag));
    map = rlx_bundle_file_map(bundle->fd, bundle->map_bytes);
    if (map == NULL)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot map bundle: %s", strerror(errno));
    bundle->map = map;
    RLX_TRY(gaps_check(bundle, diag));
    return segments_load(bundle, flags, diag);
}

rlx_status_t rlx_bundle_open(const char *path, unsigned flags, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle = calloc(1, sizeof *bundle);
    rlx_status_t status;

    if (bundle == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a bundle");
    bundle->fd = -1;
    status = bundle_load(bundle, path, flags, diag);
    if (bundle->fd >= 0)
        close(bundle->fd);
    bundle->fd = -1;
    if (status != RLX_OK) {
        rlx_diag_at(diag, "%s", path);
        rlx_bundle_close(bundle);
        return status;
    }
    *out_bundle = bundle;
    return RLX_OK;
}

void rlx_bundle_close(rlx_bundle_t *bundle)
{
    if (bundle == NULL)
        return;
    rlx_bundle_code_unmap(&bundle->code);
    if (bundle->map != NULL)
        munmap((void *)(uintptr_t)bundle->map, bundle->map_bytes);
    free(bundle->program);
    rlx_bundle_manifest_fini(&bundle->manifest);
    free(bundle);
}

const char *rlx_bundle_name(const rlx_bundle_t *bundle) { return bundle->manifest.name; }
const char *rlx_bundle_compiler(const rlx_bundle_t *bundle) { return bundle->manifest.compiler; }
const rlx_program_header_t *rlx_bundle_program(const rlx_bundle_t *bundle) { return bundle->program; }
const uint8_t *rlx_bundle_source_digest(const rlx_bundle_t *bundle) { return bundle->manifest.source_digest; }
const uint8_t *rlx_bundle_manifest_digest(const rlx_bundle_t *bundle) { return bundle->header.manifest_digest; }
bool rlx_bundle_stamped(const rlx_bundle_t *bundle) { return bundle->stamped; }
size_t rlx_bundle_huge_bytes(const rlx_bundle_t *bundle) { return rlx_bundle_file_huge(bundle->map, bundle->map_bytes); }
const rlx_bundle_image_t *rlx_bundle_code(const rlx_bundle_t *bundle) { return bundle->has_code ? &bundle->code.image : NULL; }

const uint8_t *rlx_bundle_file_digest(const rlx_bundle_t *bundle) { return bundle->file_digest; }

const rlx_bundle_signature_t *rlx_bundle_signatures(const rlx_bundle_t *bundle, int *out_count)
{
    *out_count = bundle->header.n_signatures;
    return bundle->header.signatures;
}

const rlx_bundle_signature_t *rlx_bundle_source_signatures(const rlx_bundle_t *bundle, int *out_count)
{
    *out_count = bundle->manifest.n_source_signatures;
    return bundle->manifest.source_signatures;
}

const void *rlx_bundle_constants(const rlx_bundle_t *bundle, size_t *out_bytes)
{
    if (out_bytes != NULL)
        *out_bytes = (size_t)bundle->constants->bytes;
    return bundle->map + bundle->constants->offset;
}

const char *rlx_bundle_ir_text(const rlx_bundle_t *bundle, size_t *out_bytes)
{
    *out_bytes = (size_t)bundle->ir->bytes;
    return (const char *)bundle->map + bundle->ir->offset;
}

const rlx_bundle_option_t *rlx_bundle_options(const rlx_bundle_t *bundle, int *out_count)
{
    *out_count = bundle->manifest.n_options;
    return bundle->manifest.options;
}

const rlx_bundle_segment_t *rlx_bundle_segments(const rlx_bundle_t *bundle, int *out_count)
{
    *out_count = bundle->manifest.n_segments;
    return bundle->manifest.segments;
}
