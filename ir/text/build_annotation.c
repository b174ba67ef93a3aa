/* Annotations of values, and what all annotations are made of (ir/text/note.h). The exporter writes the same names: ir/text/export_annotation.c. */
#include <string.h>

#include "base/closest.h"
#include "ir/annotation.h"
#include "ir/text/builder.h"
#include "ir/text/note.h"
#include "ir/text/units.h"

#define N(table) (sizeof(table) / sizeof(table)[0])

bool rlx_note_unknown(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *what, const char *expected)
{
    rlx_finding_expected(rlx_report(builder->findings, code, field->name_span, "%s has no '%s'", what, field->name), "%s", expected);
    return false;
}

bool rlx_note_wrong(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *word, const char *expected)
{
    rlx_finding_expected(rlx_report(builder->findings, code, field->value->span, "%s is '%s'", field->name, word), "%s", expected);
    return false;
}

bool rlx_note_dict(rlx_text_builder_t *builder, const rlx_syntax_field_t *field)
{
    return field->value->kind == RLX_SYNTAX_DICT || rlx_text_wrong(builder, field->value, field->name, "a dictionary { name = value, ... }");
}

bool rlx_note_string(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    if (!rlx_text_string(builder, field, out))
        return false;
    *out = rlx_graph_strdup(builder->graph, *out);
    return true;
}

bool rlx_note_names(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_names_t *out)
{
    const rlx_syntax_value_t *list = field->value;

    if (list->kind != RLX_SYNTAX_LIST || list->n_items > RLX_ANNOTATION_NAMES_MAX || list->n_items == 0)
        return rlx_text_wrong(builder, list, field->name, "a list of 1 to 16 strings");
    *out = (rlx_names_t){0};
    for (int i = 0; i < list->n_items; i++) {
        rlx_syntax_field_t item = {.name = field->name, .value = list->items[i]};

        if (!rlx_note_string(builder, &item, &out->name[out->n]))
            return false;
        out->n++;
    }
    return true;
}

bool rlx_note_bandwidth(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t *out)
{
    const char *text;

    if (!rlx_text_string(builder, field, &text))
        return false;
    return rlx_bandwidth_parse(text, out) || rlx_note_wrong(builder, RLX_E_AFFINITY, field, text, "a quantity such as \"32GB/s\" or \"1Gbps\"");
}

bool rlx_note_latency(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t *out)
{
    const char *text;

    if (!rlx_text_string(builder, field, &text))
        return false;
    return rlx_latency_parse(text, out) || rlx_note_wrong(builder, RLX_E_AFFINITY, field, text, "a quantity such as \"12ns\" or \"50ms\"");
}

static bool affinity_field(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_affinity_t *out)
{
    if (strcmp(field->name, "location") == 0)
        return rlx_note_string(builder, field, &out->location);
    if (strcmp(field->name, "bandwidth") == 0)
        return rlx_note_bandwidth(builder, field, &out->bandwidth);
    if (strcmp(field->name, "latency") == 0)
        return rlx_note_latency(builder, field, &out->latency_ps);
    if (strcmp(field->name, "coherence") == 0)
        return rlx_note_string(builder, field, &out->coherence);
    return rlx_note_unknown(builder, RLX_E_AFFINITY, field, "memory_affinity", "location, bandwidth, latency or coherence");
}

static bool affinity_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_affinity_t *out)
{
    if (!rlx_note_dict(builder, field))
        return false;
    for (int i = 0; i < field->value->n_fields; i++)
        if (!affinity_field(builder, &field->value->fields[i], out))
            return false;
    return true;
}

/* "gpu:0": a word, a colon, a number. */
bool rlx_note_is_device(const char *text)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz_"), digits;

    if (word == 0 || text[word] != ':')
        return false;
    digits = strspn(text + word + 1, "0123456789");
    return digits > 0 && digits < 6 && text[word + 1 + digits] == '\0';
}

static bool device_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    if (!rlx_note_string(builder, field, out))
        return false;
    return rlx_note_is_device(*out) || rlx_note_wrong(builder, RLX_E_DEVICE_TEXT, field, *out, "KIND:NUMBER, such as \"gpu:0\" or \"cpu:0\"");
}

/* One letter for each axis, each once; NCHW16c: a block of an axis at the end. */
static bool is_layout(const char *text, int rank)
{
    size_t letters = strspn(text, "NCHWDOILTSRKFG"), digits = strspn(text + letters, "0123456789");
    const char *block = text + letters + digits;

    if (letters != (size_t)rank || letters == 0)
        return false;
    for (size_t i = 0; i < letters; i++)
        if (memchr(text + i + 1, text[i], letters - i - 1) != NULL)
            return false;
    if (digits == 0)
        return *block == '\0';
    return digits < 4 && *block >= 'a' && *block <= 'z' && block[1] == '\0' && memchr(text, *block - 'a' + 'A', letters) != NULL;
}

static bool layout_read(rlx_text_builder_t *builder, const rlx_value_t *value, const rlx_syntax_field_t *field, const char **out)
{
    if (!rlx_note_string(builder, field, out))
        return false;
    if (is_layout(*out, value->rank))
        return true;
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_LAYOUT_TEXT, field->value->span, "'%s' is no layout of a tensor of rank %d", *out,
                                    value->rank), "a letter for each axis, such as NCHW, NHWC, OIHW, HWIO, or a blocked one such as NCHW16c");
    return false;
}

static bool sharing_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_sharing_t *out)
{
    const char *word;

    if (!rlx_text_string(builder, field, &word))
        return false;
    *out = rlx_sharing_parse(word);
    return *out != RLX_SHARING_UNSAID || rlx_note_wrong(builder, RLX_E_AFFINITY, field, word, "none, shm, dma_buf, cuda_ipc or p2p_dma");
}

static bool content_read(rlx_text_builder_t *builder, const rlx_value_t *value, const rlx_syntax_field_t *field, const char **out)
{
    if (!rlx_note_string(builder, field, out))
        return false;
    if (strcmp(*out, "image") != 0)
        return rlx_note_wrong(builder, RLX_E_ARG_VALUE, field, *out, "image");
    if (value->dtype == RLX_U8)
        return true;
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_TYPE_MISMATCH, field->value->span, "an image of %s", rlx_dtype_name(value->dtype)),
                         "u8");
    return false;
}

static const char *const value_notes[] = {"memory_affinity", "location", "device", "layout",
                                          "memory_layout", "buffer_sharing_capability", "content", "lossy"};
static const char *const op_notes[] = {"tile_layout",       "compute_schedule", "memory_coalesce", "target_device_set", "sharding_strategy",
                                       "sync_mode",         "data_transfer",    "fallback",        "stability_requirement"};

static bool is_among(const char *const *names, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

bool rlx_text_is_value_note(const char *word) { return is_among(value_notes, N(value_notes), word); }
bool rlx_text_is_op_note(const char *word) { return is_among(op_notes, N(op_notes), word); }

void rlx_text_notes_offer(rlx_closest_t *closest)
{
    for (size_t i = 0; i < N(value_notes); i++)
        rlx_closest_offer(closest, value_notes[i]);
    for (size_t i = 0; i < N(op_notes); i++)
        rlx_closest_offer(closest, op_notes[i]);
}

bool rlx_text_value_note(rlx_text_builder_t *builder, rlx_value_t *value, const rlx_syntax_field_t *field)
{
    rlx_value_annotation_t *note = rlx_value_annotate(builder->graph, value);

    if (strcmp(field->name, "memory_affinity") == 0 || strcmp(field->name, "location") == 0) {
        note->affinity_span = field->name_span;
        return field->name[0] == 'm' ? affinity_read(builder, field, &note->affinity)
                                     : rlx_note_string(builder, field, &note->affinity.location);
    }
    if (strcmp(field->name, "device") == 0)
        return device_read(builder, field, &note->device);
    if (strcmp(field->name, "layout") == 0 || strcmp(field->name, "memory_layout") == 0) {
        note->layout_span = field->name_span;
        return layout_read(builder, value, field, &note->layout);
    }
    if (strcmp(field->name, "buffer_sharing_capability") == 0)
        return sharing_read(builder, field, &note->sharing);
    if (strcmp(field->name, "content") == 0)
        return content_read(builder, value, field, &note->content);
    return rlx_text_bool(builder, field, &note->lossy);
}
