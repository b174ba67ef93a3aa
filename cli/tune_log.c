/* The log of tuning, written and read. See cli/tune.h. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json_quote.h"
#include "cli/tune.h"

#define LOG_VERSION 1

static void cut_write(rlx_text_t *log, const rlx_cut_t *cut)
{
    rlx_cut_t copy = *cut;
    const char *comma = "";

    rlx_text_puts(log, "{");
    for (int i = 0; i < RLX_CUT_FIELDS; i++) {
        if (*rlx_cut_at(&copy, i) == 0)
            continue;
        rlx_text_printf(log, "%s\"%s\": %" PRId64, comma, rlx_cut_fields[i].name, *rlx_cut_at(&copy, i));
        comma = ", ";
    }
    rlx_text_puts(log, "}");
}

void rlx_tune_log_head(rlx_text_t *log, const char *isa, int n_threads)
{
    rlx_text_printf(log, "{\"rlx_tune\": %d, \"isa\": \"%s\", \"threads\": %d}\n", LOG_VERSION, isa, n_threads);
}

void rlx_tune_log_entry(rlx_text_t *log, const rlx_tuning_entry_t *entry, rlx_op_kind_t kind, const uint64_t (*ns)[2])
{
    int n;
    const rlx_cut_t *candidates = rlx_cut_candidates(kind, &n);
    const char *comma = "";

    rlx_text_puts(log, "{\"op\": ");
    rlx_json_quote(log, entry->key);
    rlx_text_puts(log, ", \"cut\": ");
    cut_write(log, &entry->cut);
    rlx_text_puts(log, ", \"scale\": [");
    for (int i = 0; i < entry->n_steps; i++)
        rlx_text_printf(log, "%s%" PRIu64, i > 0 ? ", " : "", entry->scale[i]);
    rlx_text_puts(log, "], \"measured\": [");
    for (int i = 0; i < n; i++) {
        if (ns[i][0] == 0)
            continue;
        rlx_text_printf(log, "%s{\"cut\": ", comma);
        cut_write(log, &candidates[i]);
        rlx_text_printf(log, ", \"alone_ns\": %" PRIu64 ", \"team_ns\": %" PRIu64 "}", ns[i][0], ns[i][1]);
        comma = ", ";
    }
    rlx_text_puts(log, "]}\n");
}

static rlx_status_t cut_read(const json_t *object, rlx_cut_t *cut, rlx_diag_t *diag)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return rlx_fail(diag, RLX_E_TUNE_LOG, "\"cut\" is no object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        int i = 0;

        while (i < RLX_CUT_FIELDS && strcmp(rlx_cut_fields[i].name, name) != 0)
            i++;
        if (i == RLX_CUT_FIELDS)
            return rlx_fail(diag, RLX_E_TUNE_LOG, "\"cut\" has a field '%.40s', which this version does not know", name);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > rlx_cut_fields[i].max)
            return rlx_fail(diag, RLX_E_TUNE_LOG, "'%s' is no integer from 0 to %" PRId64, name, rlx_cut_fields[i].max);
        *rlx_cut_at(cut, i) = json_integer_value(value);
    }
    return RLX_OK;
}

static rlx_status_t entry_read(const json_t *line, rlx_tuning_entry_t *out, rlx_diag_t *diag)
{
    const char *key = json_string_value(json_object_get(line, "op"));
    const json_t *scale = json_object_get(line, "scale");
    rlx_tuning_entry_t entry = {0};

    if (key == NULL)
        return rlx_fail(diag, RLX_E_TUNE_LOG, "there is no text \"op\"");
    RLX_TRY(cut_read(json_object_get(line, "cut"), &entry.cut, diag));
    if (!json_is_array(scale) || json_array_size(scale) > RLX_SCHEDULE_STEPS_MAX)
        return rlx_fail(diag, RLX_E_TUNE_LOG, "\"scale\" is no list of at most %d integers", RLX_SCHEDULE_STEPS_MAX);
    for (; entry.n_steps < (int)json_array_size(scale); entry.n_steps++) {
        const json_t *value = json_array_get(scale, (size_t)entry.n_steps);

        if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > RLX_COST_SCALE_MAX)
            return rlx_fail(diag, RLX_E_TUNE_LOG, "\"scale\" holds something else than integers from 0 to 2^48");
        entry.scale[entry.n_steps] = (uint64_t)json_integer_value(value);
    }
    entry.key = strdup(key);
    if (entry.key == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    *out = entry;
    return RLX_OK;
}

static rlx_status_t head_check(const json_t *line, rlx_diag_t *diag)
{
    const json_t *version = json_object_get(line, "rlx_tune");

    if (json_is_integer(version) && json_integer_value(version) == LOG_VERSION)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_TUNE_LOG, "the first line is no head {\"rlx_tune\": %d, ...}: not a log of --tune-log", LOG_VERSION);
}

static rlx_status_t line_read(const char *text, size_t bytes, int number, rlx_tuning_t *tuning, rlx_diag_t *diag)
{
    json_error_t error;
    json_t *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    rlx_status_t status;

    if (line == NULL)
        return rlx_fail(diag, RLX_E_TUNE_LOG, "column %d: %s", error.column, error.text);
    if (number == 1) {
        status = head_check(line, diag);
    } else if (tuning->n_entries == RLX_TUNING_ENTRIES_MAX) {
        status = rlx_fail(diag, RLX_E_TUNE_LOG, "more than %d lines", RLX_TUNING_ENTRIES_MAX);
    } else {
        status = entry_read(line, &tuning->entries[tuning->n_entries], diag);
        tuning->n_entries += status == RLX_OK;
    }
    json_decref(line);
    return status;
}

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const rlx_tuning_entry_t *)a)->key, ((const rlx_tuning_entry_t *)b)->key);
}

static rlx_status_t lines_read(const char *path, const char *text, rlx_tuning_t *tuning, rlx_diag_t *diag)
{
    int number = 0;

    for (const char *at = text, *end; *at != '\0'; at = *end != '\0' ? end + 1 : end) {
        end = strchrnul(at, '\n');
        if (line_read(at, (size_t)(end - at), ++number, tuning, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s, line %d", path, number);
    }
    if (number == 0)
        return rlx_diag_at((head_check(NULL, diag), diag), "%s", path);
    if (tuning->n_entries > 0)
        qsort(tuning->entries, (size_t)tuning->n_entries, sizeof *tuning->entries, entry_compare);
    for (int i = 1; i < tuning->n_entries; i++)
        if (strcmp(tuning->entries[i - 1].key, tuning->entries[i].key) == 0) {
            rlx_fail(diag, RLX_E_TUNE_LOG, "two lines are for the same op: %.200s", tuning->entries[i].key);
            return rlx_diag_at(diag, "%s", path);
        }
    return RLX_OK;
}

rlx_status_t rlx_tune_log_read(const char *path, rlx_tuning_t *out_tuning, rlx_diag_t *diag)
{
    rlx_tuning_t tuning = {.entries = calloc(RLX_TUNING_ENTRIES_MAX, sizeof *tuning.entries)};
    void *text = NULL;
    size_t bytes;
    rlx_status_t status;

    if (tuning.entries == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = rlx_file_read(path, RLX_TUNE_LOG_MAX, &text, &bytes, diag);
    if (status == RLX_OK && strlen(text) != bytes)
        status = rlx_fail(diag, RLX_E_TUNE_LOG, "%s holds a zero byte: not a log of --tune-log", path);
    if (status == RLX_OK)
        status = lines_read(path, text, &tuning, diag);
    free(text);
    if (status == RLX_OK)
        *out_tuning = tuning;
    else
        rlx_tuning_fini(&tuning);
    return status;
}

rlx_status_t rlx_tuning_digest(const rlx_tuning_t *tuning, char out_hex[65], rlx_diag_t *diag)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    rlx_text_t text;
    rlx_status_t status = RLX_OK;

    rlx_text_init(&text, RLX_TUNE_LOG_MAX);
    for (int i = 0; i < tuning->n_entries; i++) {
        const rlx_tuning_entry_t *entry = &tuning->entries[i];

        rlx_text_printf(&text, "%s\n", entry->key);
        cut_write(&text, &entry->cut);
        for (int k = 0; k < entry->n_steps; k++)
            rlx_text_printf(&text, " %" PRIu64, entry->scale[k]);
        rlx_text_puts(&text, "\n");
    }
    if (text.full)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "the tuning table is too large");
    rlx_digest_blake2b(text.data, text.bytes, digest);
    rlx_digest_hex(digest, sizeof digest, out_hex);
    rlx_text_fini(&text);
    return status;
}
