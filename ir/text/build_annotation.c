/* Annotations of values, and what all annotations are made of (ir/text/note.h). The exporter writes the same names: ir/text/export_annotation.c. */
#include <stdio.h>
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

/* DDR, or DDR5: a generation may stand behind. */
static bool location_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    static const char *const words[] = {"DDR", "LPDDR", "GDDR", "HBM", "DRAM", "SRAM", "VRAM", "BRAM", "URAM", "L1", "L2", "L3", "CXL", "NVM"};

    if (!rlx_note_string(builder, field, out))
        return false;
    for (size_t i = 0; i < N(words); i++) {
        size_t n = strlen(words[i]), digits;

        if (strncmp(*out, words[i], n) != 0)
            continue;
        digits = strspn(*out + n, "0123456789");
        if ((*out)[n] == '\0' || (digits == 1 && strcmp(*out + n + 1 + ((*out)[n + 1] != '\0'), "") == 0))
            return true;
    }
    return rlx_note_word(builder, RLX_E_AFFINITY, field, *out, words, N(words));
}

static bool coherence_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    static const char *const words[] = {"MSI", "MESI", "MOSI", "MOESI", "MESIF", "none"};

    return rlx_note_string(builder, field, out) && rlx_note_word(builder, RLX_E_AFFINITY, field, *out, words, N(words));
}

static bool affinity_field(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_affinity_t *out)
{
    if (strcmp(field->name, "location") == 0)
        return location_read(builder, field, &out->location);
    if (strcmp(field->name, "bandwidth") == 0)
        return rlx_note_bandwidth(builder, field, &out->bandwidth);
    if (strcmp(field->name, "latency") == 0)
        return rlx_note_latency(builder, field, &out->latency_ps);
    if (strcmp(field->name, "coherence") == 0)
        return coherence_read(builder, field, &out->coherence);
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

bool rlx_note_word(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *word, const char *const *words,
                   int n_words)
{
    rlx_finding_t *finding;
    rlx_closest_t closest;
    char list[256] = "";

    rlx_closest_init(&closest, word, strlen(word));
    for (int i = 0; i < n_words; i++) {
        size_t n = strlen(list);

        if (strcmp(words[i], word) == 0)
            return true;
        rlx_closest_offer(&closest, words[i]);
        snprintf(list + n, sizeof list - n, "%s%s", i == 0 ? "" : i == n_words - 1 ? " or " : ", ", words[i]);
    }
    finding = rlx_report(builder->findings, code, field->value->span, "%s is '%s'", field->name, word);
    rlx_finding_expected(finding, "%s", list);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    return false;
}

bool rlx_note_device(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char *text)
{
    static const char *const kinds[] = {"cpu", "gpu", "cuda", "rocm", "opencl", "vulkan", "metal", "fpga"};
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz_"), digits = 0;

    if (word > 0 && text[word] == ':')
        digits = strspn(text + word + 1, "0123456789");
    if (digits == 0 || digits > 5 || text[word + 1 + digits] != '\0')
        return rlx_note_wrong(builder, RLX_E_DEVICE_TEXT, field, text, "KIND:NUMBER, such as \"gpu:0\" or \"cpu:0\"");
    return rlx_note_word(builder, RLX_E_DEVICE_TEXT, &(rlx_syntax_field_t){"the kind of device", field->name_span, field->value},
                         rlx_graph_printf(builder->graph, "%.*s", (int)word, text), kinds, N(kinds));
}

static bool device_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    return rlx_note_string(builder, field, out) && rlx_note_device(builder, field, *out);
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

/* memory_affinity, or location alone; both where they agree. */
static bool memory_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_value_annotation_t *note)
{
    const char *before = note->affinity.location;
    rlx_span_t first = note->affinity_span;

    note->affinity_span = field->name_span;
    if (strcmp(field->name, "location") == 0 ? !location_read(builder, field, &note->affinity.location)
                                             : !affinity_read(builder, field, &note->affinity))
        return false;
    if (before == NULL || strcmp(before, note->affinity.location) == 0)
        return true;
    rlx_finding_note(rlx_finding_hint(rlx_report(builder->findings, RLX_E_AFFINITY, field->value->span, "the location is '%s' here and '%s' before",
                                                 note->affinity.location, before), "Remove one of them."), first, "first here");
    return false;
}

static bool layout_take(rlx_text_builder_t *builder, const rlx_value_t *value, const rlx_syntax_field_t *field, rlx_value_annotation_t *note)
{
    if (note->layout != NULL) {
        rlx_finding_t *finding = rlx_report(builder->findings, RLX_E_NAME_TWICE, field->name_span, "the layout is given twice");

        rlx_finding_note(finding, note->layout_span, "first here");
        rlx_finding_hint(finding, "Remove one of them: layout and memory_layout are the same.");
        return false;
    }
    note->layout_span = field->name_span;
    return layout_read(builder, value, field, &note->layout);
}

bool rlx_text_value_note(rlx_text_builder_t *builder, rlx_value_t *value, const rlx_syntax_field_t *field)
{
    rlx_value_annotation_t *note = rlx_value_annotate(builder->graph, value);

    if (strcmp(field->name, "memory_affinity") == 0 || strcmp(field->name, "location") == 0)
        return memory_read(builder, field, note);
    if (strcmp(field->name, "device") == 0)
        return device_read(builder, field, &note->device);
    if (strcmp(field->name, "layout") == 0 || strcmp(field->name, "memory_layout") == 0)
        return layout_take(builder, value, field, note);
    if (strcmp(field->name, "buffer_sharing_capability") == 0)
        return sharing_read(builder, field, &note->sharing);
    if (strcmp(field->name, "content") == 0)
        return content_read(builder, value, field, &note->content);
    return rlx_text_bool(builder, field, &note->lossy);
}
