/* Reading a trace, event by event: the file is an array of objects and may end anywhere, as it does when the program was killed. Every
 * event is checked before anything is taken from it; events of other kinds are passed over. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/profile/event.h"

#define CHARACTER_MAX 6 /* bytes of one: \u1234 */

typedef struct reader {
    const char *data;
    size_t bytes, at;
    uint64_t line;
    uint64_t n_events;
    rlx_profile_t *profile;
    rlx_diag_t *diag;
} reader_t;

/* What `at` is, once spaces are passed; '\0' at the end of the file. */
static char next_char(reader_t *reader)
{
    for (; reader->at < reader->bytes && isspace((unsigned char)reader->data[reader->at]); reader->at++)
        reader->line += reader->data[reader->at] == '\n';
    return reader->at < reader->bytes ? reader->data[reader->at] : '\0';
}

static rlx_status_t reader_fail(const reader_t *reader, const char *what)
{
    rlx_fail(reader->diag, RLX_E_TRACE_MALFORMED, "not a trace of RLX: %s", what);
    rlx_diag_at(reader->diag, "%s:%llu (byte %zu)", reader->profile->path, (unsigned long long)reader->line, reader->at);
    return RLX_INVALID_ARGUMENT;
}

/* The value at `at`, which is moved behind it. NULL with `*out_cut` where the file ends inside it. */
static json_t *value_read(reader_t *reader, bool *out_cut, char *why, size_t why_bytes)
{
    json_error_t error;
    json_t *value = json_loadb(reader->data + reader->at, reader->bytes - reader->at, JSON_DISABLE_EOF_CHECK, &error);

    /* A file that is cut inside a number or a character ends in what looks like a wrong one. */
    *out_cut = value == NULL && (json_error_code(&error) == json_error_premature_end_of_input ||
                                 reader->at + (size_t)error.position + CHARACTER_MAX >= reader->bytes);
    if (value == NULL) {
        reader->line += (uint64_t)(error.line > 1 ? error.line - 1 : 0);
        snprintf(why, why_bytes, "%s", error.text);
        return NULL;
    }
    for (size_t end = reader->at + (size_t)error.position; reader->at < end; reader->at++)
        reader->line += reader->data[reader->at] == '\n';
    return value;
}

static rlx_status_t truncated(reader_t *reader)
{
    rlx_profile_t *profile = reader->profile;

    if (reader->n_events == 0)
        return reader_fail(reader, "the file ends before its first event");
    profile->truncated = true;
    snprintf(profile->note, sizeof profile->note,
             "The trace ends early, after event %llu (line %llu): the program was stopped, or the file was cut. What came before is shown.",
             (unsigned long long)reader->n_events, (unsigned long long)reader->line);
    return RLX_OK;
}

static rlx_status_t event_read(reader_t *reader, bool *out_end)
{
    bool cut;
    char why[160];
    const char *refusal;
    json_t *event = value_read(reader, &cut, why, sizeof why);

    if (event == NULL) {
        *out_end = true;
        return cut ? truncated(reader) : reader_fail(reader, why);
    }
    refusal = rlx_profile_event(reader->profile, event, reader->n_events == 0);
    json_decref(event);
    if (refusal != NULL)
        return reader_fail(reader, refusal);
    reader->n_events++;
    return RLX_OK;
}

/* From the opening bracket to the closing one, or to wherever the file ends. */
static rlx_status_t events_read(reader_t *reader)
{
    bool end = false;

    if (next_char(reader) != '[')
        return reader_fail(reader, reader->bytes == 0 ? "the file is empty" : "an array was expected: the file begins with something else");
    reader->at++;
    while (!end) {
        char next = next_char(reader);

        if (next == ']' && reader->n_events > 0) {
            reader->at++;
            return next_char(reader) == '\0' ? RLX_OK : reader_fail(reader, "something follows the end of the array");
        }
        if (next == ',' && reader->n_events > 0) {
            reader->at++;
            next = next_char(reader);
        } else if (next != '\0' && reader->n_events > 0) {
            return reader_fail(reader, "a comma was expected between events");
        }
        if (next == '\0')
            return truncated(reader);
        RLX_TRY(event_read(reader, &end));
    }
    return RLX_OK;
}

rlx_status_t rlx_profile_parse(const char *data, size_t bytes, const char *name, rlx_profile_t *out_profile, rlx_diag_t *diag)
{
    rlx_profile_t *profile = out_profile;
    reader_t reader = {.data = data, .bytes = bytes, .line = 1, .profile = profile, .diag = diag};
    rlx_status_t status;

    *profile = (rlx_profile_t){.path = name};
    status = events_read(&reader);
    if (status == RLX_OK && !rlx_profile_settle(profile))
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the profile");
    if (status != RLX_OK)
        rlx_profile_free(profile);
    return status;
}

rlx_status_t rlx_profile_read(const char *path, rlx_profile_t *out_profile, rlx_diag_t *diag)
{
    void *data;
    size_t bytes;
    rlx_status_t status;

    RLX_TRY(rlx_file_read(path, RLX_PROFILE_BYTES_MAX, &data, &bytes, diag));
    status = rlx_profile_parse(data, bytes, path, out_profile, diag);
    free(data);
    return status;
}

void rlx_profile_free(rlx_profile_t *profile)
{
    rlx_texts_free(&profile->texts);
    free(profile->models.row);
    free(profile->steps.row);
    free(profile->kernels.row);
    free(profile->spans.row);
    free(profile->requests.row);
    free(profile->points.row);
    free(profile->tracks.row);
    free(profile->counters.row);
    rlx_index_free(&profile->step_index);
    rlx_index_free(&profile->request_index);
    rlx_index_free(&profile->model_index);
    *profile = (rlx_profile_t){0};
}
