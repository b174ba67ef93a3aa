/* Manifest: plain data <-> protobuf. Decoding never trusts: the guard walks the bytes first, protobuf-c gets a byte budget, counts are
 * checked. Encoding is canonical: protobuf-c writes fields in order, options and segments come in the caller's order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/format.h"
#include "proto/bundle.pb-c.h"
#include "proto/unpack.h"

static const rlx_guard_field_t option_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 256},
    {.number = 2, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 65536},
};
static const rlx_guard_message_t option_message = {"Option", option_fields, 2};
static const rlx_guard_field_t segment_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 2, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 64},
    {.number = 3, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 4, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 5, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = RLX_BUNDLE_DIGEST},
};
static const rlx_guard_message_t segment_message = {"Segment", segment_fields, 5};
static const rlx_guard_field_t signature_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 32},
    {.number = 2, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 64},
};
static const rlx_guard_message_t signature_message = {"Signature", signature_fields, 2};
static const rlx_guard_field_t manifest_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 4096},
    {.number = 2, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 256},
    {.number = 3, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 4, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 5, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = RLX_BUNDLE_DIGEST},
    {.number = 6, .kind = RLX_GUARD_KIND_MESSAGE, .message = &option_message},
    {.number = 7, .kind = RLX_GUARD_KIND_MESSAGE, .message = &segment_message},
    {.number = 8, .kind = RLX_GUARD_KIND_SCALAR},
    {.number = 9, .kind = RLX_GUARD_KIND_MESSAGE, .message = &signature_message},
};
static const rlx_guard_message_t manifest_message = {"Manifest", manifest_fields, 9};
static const rlx_guard_limits_t manifest_limits = {
    .depth_max = 4, .fields_max = 4096, .broken = RLX_E_BUNDLE_MALFORMED, .above = RLX_E_BUNDLE_MALFORMED};

static const struct {
    const char *name;
    Rlx__Bundle__V1__SegmentKind kind;
} segment_kinds[] = {
    {"ir", RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_IR},
    {"program", RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_PROGRAM},
    {"constants", RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_CONSTANTS},
    {"code", RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_CODE},
    {"leaves", RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_LEAVES},
};
#define N_KINDS (sizeof segment_kinds / sizeof *segment_kinds)

static Rlx__Bundle__V1__SegmentKind kind_number(const char *name)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(segment_kinds[i].name, name) == 0)
            return segment_kinds[i].kind;
    return RLX__BUNDLE__V1__SEGMENT_KIND__SEGMENT_NONE;
}

static const char *kind_name(Rlx__Bundle__V1__SegmentKind kind)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (segment_kinds[i].kind == kind)
            return segment_kinds[i].name;
    return "unknown"; /* of a newer minor version: digested, not used */
}

rlx_status_t rlx_bundle_manifest_encode(const rlx_bundle_manifest_t *manifest, uint8_t **out_data, size_t *out_bytes, rlx_diag_t *diag)
{
    Rlx__Bundle__V1__Manifest message = RLX__BUNDLE__V1__MANIFEST__INIT;
    Rlx__Bundle__V1__Option options[RLX_BUNDLE_OPTIONS_MAX], *option_list[RLX_BUNDLE_OPTIONS_MAX];
    Rlx__Bundle__V1__Segment segments[RLX_BUNDLE_SEGMENTS_MAX], *segment_list[RLX_BUNDLE_SEGMENTS_MAX];
    Rlx__Bundle__V1__Signature signatures[RLX_BUNDLE_SIGNATURES_MAX], *signature_list[RLX_BUNDLE_SIGNATURES_MAX];
    uint8_t *data;

    message.name = (char *)(uintptr_t)manifest->name;
    message.compiler = (char *)(uintptr_t)manifest->compiler;
    message.kernel_abi = manifest->kernel_abi;
    message.format_minor = manifest->format_minor;
    message.file_bytes = manifest->file_bytes;
    message.source_digest = (ProtobufCBinaryData){RLX_BUNDLE_DIGEST, (uint8_t *)(uintptr_t)manifest->source_digest};
    for (int i = 0; i < manifest->n_options; i++) {
        rlx__bundle__v1__option__init(&options[i]);
        options[i].key = (char *)(uintptr_t)manifest->options[i].key;
        options[i].value = (char *)(uintptr_t)manifest->options[i].value;
        option_list[i] = &options[i];
    }
    for (int i = 0; i < manifest->n_segments; i++) {
        const rlx_bundle_segment_t *segment = &manifest->segments[i];

        rlx__bundle__v1__segment__init(&segments[i]);
        segments[i].kind = kind_number(segment->kind);
        segments[i].isa = (char *)(uintptr_t)segment->isa;
        segments[i].offset = segment->offset;
        segments[i].bytes = segment->bytes;
        segments[i].digest = (ProtobufCBinaryData){RLX_BUNDLE_DIGEST, (uint8_t *)(uintptr_t)segment->digest};
        segment_list[i] = &segments[i];
    }
    for (int i = 0; i < manifest->n_source_signatures; i++) {
        const rlx_bundle_signature_t *signature = &manifest->source_signatures[i];

        rlx__bundle__v1__signature__init(&signatures[i]);
        signatures[i].key = (ProtobufCBinaryData){sizeof signature->key, (uint8_t *)(uintptr_t)signature->key};
        signatures[i].signature = (ProtobufCBinaryData){sizeof signature->signature, (uint8_t *)(uintptr_t)signature->signature};
        signature_list[i] = &signatures[i];
    }
    message.n_source_signatures = (size_t)manifest->n_source_signatures;
    message.source_signatures = signature_list;
    message.n_options = (size_t)manifest->n_options;
    message.options = option_list;
    message.n_segments = (size_t)manifest->n_segments;
    message.segments = segment_list;
    *out_bytes = rlx__bundle__v1__manifest__get_packed_size(&message);
    if (*out_bytes > RLX_BUNDLE_MANIFEST_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "name and options of the bundle take %zu bytes, at most %d", *out_bytes,
                        RLX_BUNDLE_MANIFEST_MAX);
    data = malloc(*out_bytes);
    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a manifest");
    rlx__bundle__v1__manifest__pack(&message, data);
    *out_data = data;
    return RLX_OK;
}

/* Appends a copy of `text` at `*at`. */
static const char *text_keep(char **at, const char *text)
{
    char *start = *at;

    *at = stpcpy(start, text) + 1;
    return start;
}

static rlx_status_t segment_keep(const Rlx__Bundle__V1__Segment *from, char **at, rlx_bundle_segment_t *out, rlx_diag_t *diag)
{
    if (from->digest.len != RLX_BUNDLE_DIGEST)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "a segment's digest has %zu bytes instead of %d", from->digest.len,
                        RLX_BUNDLE_DIGEST);
    *out = (rlx_bundle_segment_t){
        .kind = kind_name(from->kind), .isa = text_keep(at, from->isa), .offset = from->offset, .bytes = from->bytes};
    memcpy(out->digest, from->digest.data, RLX_BUNDLE_DIGEST);
    return RLX_OK;
}

static rlx_status_t signatures_keep(const Rlx__Bundle__V1__Manifest *from, rlx_bundle_manifest_t *out, rlx_diag_t *diag)
{
    if (from->n_source_signatures > RLX_BUNDLE_SIGNATURES_MAX)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "%zu signatures of the source, at most %d", from->n_source_signatures,
                        RLX_BUNDLE_SIGNATURES_MAX);
    for (size_t i = 0; i < from->n_source_signatures; i++) {
        const Rlx__Bundle__V1__Signature *signature = from->source_signatures[i];

        if (signature->key.len != 32 || signature->signature.len != 64)
            return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "a signature of the source has a key of %zu and %zu bytes instead of 32 and 64",
                            signature->key.len, signature->signature.len);
        memcpy(out->source_signatures[i].key, signature->key.data, 32);
        memcpy(out->source_signatures[i].signature, signature->signature.data, 64);
    }
    out->n_source_signatures = (int)from->n_source_signatures;
    return RLX_OK;
}

/* `bytes` bounds all text: strings are parts of the message, each at least two bytes longer there than its NUL. */
static rlx_status_t manifest_keep(const Rlx__Bundle__V1__Manifest *from, size_t bytes, rlx_bundle_manifest_t *out, rlx_diag_t *diag)
{
    char *at;

    if (from->n_options > RLX_BUNDLE_OPTIONS_MAX || from->n_segments > RLX_BUNDLE_SEGMENTS_MAX)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "%zu options and %zu segments, at most %d and %d", from->n_options, from->n_segments,
                        RLX_BUNDLE_OPTIONS_MAX, RLX_BUNDLE_SEGMENTS_MAX);
    if (from->source_digest.len != RLX_BUNDLE_DIGEST)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "the source digest has %zu bytes instead of %d", from->source_digest.len,
                        RLX_BUNDLE_DIGEST);
    at = out->text = malloc(bytes + 2 + 2 * RLX_BUNDLE_OPTIONS_MAX + RLX_BUNDLE_SEGMENTS_MAX);
    if (at == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a manifest");
    out->name = text_keep(&at, from->name);
    out->compiler = text_keep(&at, from->compiler);
    out->kernel_abi = from->kernel_abi;
    out->format_minor = from->format_minor;
    out->file_bytes = from->file_bytes;
    memcpy(out->source_digest, from->source_digest.data, RLX_BUNDLE_DIGEST);
    out->n_options = (int)from->n_options;
    for (int i = 0; i < out->n_options; i++) {
        out->options[i].key = text_keep(&at, from->options[i]->key);
        out->options[i].value = text_keep(&at, from->options[i]->value);
    }
    out->n_segments = (int)from->n_segments;
    for (int i = 0; i < out->n_segments; i++)
        RLX_TRY(segment_keep(from->segments[i], &at, &out->segments[i], diag));
    return signatures_keep(from, out, diag);
}

rlx_status_t rlx_bundle_manifest_decode(const uint8_t *data, size_t bytes, rlx_bundle_manifest_t *out_manifest, rlx_diag_t *diag)
{
    ProtobufCMessage *message;
    rlx_status_t status;

    memset(out_manifest, 0, sizeof *out_manifest);
    if (bytes > RLX_BUNDLE_MANIFEST_MAX)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "the manifest has %zu bytes, at most %d", bytes, RLX_BUNDLE_MANIFEST_MAX);
    RLX_TRY(rlx_unpack(&rlx__bundle__v1__manifest__descriptor, &manifest_message, &manifest_limits, data, bytes, &message, diag));
    status = manifest_keep((const Rlx__Bundle__V1__Manifest *)message, bytes, out_manifest, diag);
    rlx_unpack_free(message);
    if (status != RLX_OK)
        rlx_bundle_manifest_fini(out_manifest);
    return status;
}

void rlx_bundle_manifest_fini(rlx_bundle_manifest_t *manifest)
{
    free(manifest->text);
    manifest->text = NULL;
}
