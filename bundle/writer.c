/* Writes bundles. Deterministic: no time, no path, no order that depends on memory; options are sorted by key. What is written passes what
 * the reader checks: the program is checked here, so a compiler fault shows at compile time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/format.h"

#define PARTS_MAX (2 * RLX_BUNDLE_SEGMENTS_MAX + 4)
#define HASHERS 2
#define TEXT_MAX 4096

static const uint8_t zeros[RLX_BUNDLE_PAGE];

typedef struct writer {
    rlx_bundle_manifest_t manifest;
    rlx_bytes_t parts[PARTS_MAX];
    int n_parts;
    rlx_bytes_t segments[RLX_BUNDLE_SEGMENTS_MAX];
    uint8_t *leaves; /* digests of the leaves of all segments so far */
    size_t leaves_bytes;
    void *owned[RLX_BUNDLE_SEGMENTS_MAX + 1]; /* segments made here: code, leaves */
    int n_owned;
    uint8_t *manifest_data;
    uint8_t page[RLX_BUNDLE_PAGE], manifest_digest[RLX_BUNDLE_DIGEST];
    rlx_diag_t *diag;
} writer_t;

static uint64_t page_up(uint64_t bytes) { return (bytes + RLX_BUNDLE_PAGE - 1) / RLX_BUNDLE_PAGE * RLX_BUNDLE_PAGE; }

/* The digest of a segment; those of its leaves are kept. */
static bool segment_digest(writer_t *writer, const void *data, size_t bytes, uint8_t *out_digest)
{
    size_t more = rlx_bundle_n_leaves(bytes) * RLX_BUNDLE_DIGEST;
    uint8_t *grown = realloc(writer->leaves, writer->leaves_bytes + more + 1);

    if (grown == NULL)
        return false;
    writer->leaves = grown;
    rlx_bundle_digest_leaves(data, bytes, HASHERS, (uint8_t(*)[RLX_BUNDLE_DIGEST])(grown + writer->leaves_bytes), out_digest);
    writer->leaves_bytes += more;
    return true;
}

static rlx_status_t segment_add(writer_t *writer, const char *kind, const char *isa, const void *data, size_t bytes)
{
    rlx_bundle_segment_t *segment = &writer->manifest.segments[writer->manifest.n_segments];

    if (writer->manifest.n_segments == RLX_BUNDLE_SEGMENTS_MAX)
        return rlx_fail(writer->diag, RLX_E_INTERNAL, "more than %d segments", RLX_BUNDLE_SEGMENTS_MAX);
    *segment = (rlx_bundle_segment_t){.kind = kind, .isa = isa, .bytes = bytes};
    if (!segment_digest(writer, data, bytes, segment->digest))
        return rlx_fail(writer->diag, RLX_E_NO_MEMORY, "no memory for digests");
    writer->segments[writer->manifest.n_segments++] = (rlx_bytes_t){data, bytes};
    return RLX_OK;
}

/* Header, index, zeros, image. */
static rlx_status_t code_add(writer_t *writer, const rlx_bundle_image_t *image)
{
    size_t entries_bytes = image->n_entries * sizeof *image->entries;
    uint64_t image_offset = page_up(sizeof(rlx_bundle_code_header_t) + entries_bytes);
    rlx_bundle_code_header_t header = {RLX_BUNDLE_CODE_MAGIC, image->n_entries, (uint32_t)image_offset, (uint32_t)image->bytes};
    char *data;

    if (image->n_entries > RLX_BUNDLE_ENTRIES_MAX || image->bytes > UINT32_MAX / 2)
        return rlx_fail(writer->diag, RLX_E_INTERNAL, "code image for %s is too large", image->isa);
    if (writer->n_owned == RLX_BUNDLE_SEGMENTS_MAX)
        return rlx_fail(writer->diag, RLX_E_INTERNAL, "more than %d code images", RLX_BUNDLE_SEGMENTS_MAX);
    data = calloc(1, image_offset + image->bytes);
    if (data == NULL)
        return rlx_fail(writer->diag, RLX_E_NO_MEMORY, "no memory for a code segment");
    writer->owned[writer->n_owned++] = data;
    memcpy(data, &header, sizeof header);
    memcpy(data + sizeof header, image->entries, entries_bytes);
    memcpy(data + image_offset, image->data, image->bytes);
    return segment_add(writer, "code", image->isa, data, image_offset + image->bytes);
}

static int option_compare(const void *a, const void *b)
{
    return strcmp(((const rlx_bundle_option_t *)a)->key, ((const rlx_bundle_option_t *)b)->key);
}

static rlx_status_t options_add(writer_t *writer, const rlx_bundle_parts_t *parts)
{
    if (parts->n_options > RLX_BUNDLE_OPTIONS_MAX)
        return rlx_fail(writer->diag, RLX_E_USAGE, "%d options, a bundle holds %d", parts->n_options, RLX_BUNDLE_OPTIONS_MAX);
    writer->manifest.n_options = parts->n_options;
    for (int i = 0; i < parts->n_options; i++) {
        if (strlen(parts->options[i].key) > 256 || strlen(parts->options[i].value) > TEXT_MAX)
            return rlx_fail(writer->diag, RLX_E_USAGE, "option '%.40s' is too long for a bundle", parts->options[i].key);
        writer->manifest.options[i] = parts->options[i];
    }
    if (parts->n_options > 0)
        qsort(writer->manifest.options, (size_t)parts->n_options, sizeof *parts->options, option_compare);
    return RLX_OK;
}

static rlx_status_t source_add(writer_t *writer, const rlx_bundle_parts_t *parts)
{
    if (parts->n_source_signatures > RLX_BUNDLE_SIGNATURES_MAX)
        return rlx_fail(writer->diag, RLX_E_USAGE, "%d signatures of the source, a bundle holds %d", parts->n_source_signatures,
                        RLX_BUNDLE_SIGNATURES_MAX);
    if (parts->source_digest != NULL)
        memcpy(writer->manifest.source_digest, parts->source_digest, RLX_BUNDLE_DIGEST);
    else
        rlx_digest_blake2b(parts->ir_text, parts->ir_text_bytes, writer->manifest.source_digest);
    for (int i = 0; i < parts->n_source_signatures; i++)
        writer->manifest.source_signatures[i] = parts->source_signatures[i];
    writer->manifest.n_source_signatures = parts->n_source_signatures;
    return RLX_OK;
}

static rlx_status_t segments_add(writer_t *writer, const rlx_bundle_parts_t *parts)
{
    uint8_t *leaves;
    size_t bytes;

    RLX_TRY(segment_add(writer, "ir", "", parts->ir_text, parts->ir_text_bytes));
    RLX_TRY(segment_add(writer, "program", "", parts->program, parts->program_bytes));
    RLX_TRY(segment_add(writer, "constants", "", parts->constants, parts->constants_bytes));
    for (int i = 0; i < parts->n_images; i++)
        RLX_TRY(code_add(writer, &parts->images[i]));
    leaves = writer->leaves;
    bytes = writer->leaves_bytes;
    writer->owned[writer->n_owned++] = leaves;
    writer->leaves = NULL;
    writer->leaves_bytes = 0; /* leaves of leaves are kept by nobody */
    return segment_add(writer, "leaves", "", leaves, bytes);
}

static void part_add(writer_t *writer, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        writer->parts[writer->n_parts++] = (rlx_bytes_t){data, bytes};
}

/* Offsets depend on the manifest's size, which depends on the offsets' varints: laid out again until it is stable (sizes only grow). */
static rlx_status_t manifest_lay_out(writer_t *writer, size_t *out_bytes)
{
    size_t bytes = 0, before;

    do {
        uint64_t at = page_up(RLX_BUNDLE_PAGE + bytes);

        before = bytes;
        for (int i = 0; i < writer->manifest.n_segments; i++) {
            writer->manifest.segments[i].offset = at;
            at += writer->manifest.segments[i].bytes;
            writer->manifest.file_bytes = at;
            at = page_up(at);
        }
        free(writer->manifest_data);
        writer->manifest_data = NULL;
        RLX_TRY(rlx_bundle_manifest_encode(&writer->manifest, &writer->manifest_data, &bytes, writer->diag));
    } while (page_up(bytes) != page_up(before));
    *out_bytes = bytes;
    return RLX_OK;
}

static rlx_status_t parts_lay_out(writer_t *writer)
{
    rlx_bundle_header_t header = {
        .magic = RLX_BUNDLE_MAGIC, .major = RLX_BUNDLE_MAJOR, .minor = RLX_BUNDLE_MINOR, .manifest_offset = RLX_BUNDLE_PAGE};
    uint64_t at;
    size_t bytes;

    RLX_TRY(manifest_lay_out(writer, &bytes));
    header.manifest_bytes = (uint32_t)bytes;
    rlx_digest_blake2b(writer->manifest_data, bytes, writer->manifest_digest);
    memcpy(header.manifest_digest, writer->manifest_digest, sizeof header.manifest_digest);
    memcpy(writer->page, &header, sizeof header);
    part_add(writer, writer->page, sizeof writer->page);
    part_add(writer, writer->manifest_data, bytes);
    at = RLX_BUNDLE_PAGE + bytes;
    for (int i = 0; i < writer->manifest.n_segments; i++) {
        part_add(writer, zeros, writer->manifest.segments[i].offset - at);
        part_add(writer, writer->segments[i].data, writer->segments[i].bytes);
        at = writer->manifest.segments[i].offset + writer->segments[i].bytes;
    }
    return RLX_OK;
}

static rlx_status_t bundle_build(writer_t *writer, const rlx_bundle_parts_t *parts)
{
    RLX_TRY(rlx_program_check(parts->program, parts->program_bytes, parts->constants_bytes, writer->diag));
    if (strlen(parts->name) > TEXT_MAX || strlen(parts->compiler) > 256)
        return rlx_fail(writer->diag, RLX_E_USAGE, "the model's name is longer than %d bytes", TEXT_MAX);
    writer->manifest.name = parts->name;
    writer->manifest.compiler = parts->compiler;
    writer->manifest.kernel_abi = parts->kernel_abi;
    writer->manifest.format_minor = RLX_BUNDLE_MINOR;
    RLX_TRY(source_add(writer, parts));
    RLX_TRY(options_add(writer, parts));
    RLX_TRY(segments_add(writer, parts));
    return parts_lay_out(writer);
}

/* Closes; what was digested is what was written, so a run at once need not hash it again. */
static rlx_status_t file_finish(int fd, const char *path, const uint8_t *manifest_digest, rlx_diag_t *diag)
{
    rlx_bundle_stamp_written(fd, manifest_digest);
    return close(fd) == 0 ? RLX_OK : rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
}

rlx_status_t rlx_bundle_write(const char *path, const rlx_bundle_parts_t *parts, rlx_diag_t *diag)
{
    writer_t *writer = calloc(1, sizeof *writer);
    rlx_status_t status;
    int fd;

    if (writer == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory to write a bundle");
    writer->diag = diag;
    status = bundle_build(writer, parts);
    if (status == RLX_OK)
        status = rlx_file_write_open(path, writer->parts, writer->n_parts, &fd, diag);
    if (status == RLX_OK)
        status = file_finish(fd, path, writer->manifest_digest, diag);
    for (int i = 0; i < writer->n_owned; i++)
        free(writer->owned[i]);
    free(writer->leaves);
    free(writer->manifest_data);
    free(writer);
    return status;
}
