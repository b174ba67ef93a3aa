/* Each function says what is wrong with its event, or NULL. Fields that it does not know are skipped: newer traces can be read. */
#include "cli/profile/event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define TRACK_MAX 65535
#define TIME_US_MAX 1e14 /* three years */

static const char no_memory[] = "no memory for its events";
static const char *const phase_names[RLX_PHASES] = {"receiving", "queued", "running", "replying"};

static bool text_of(const json_t *object, const char *key, const char **out_text)
{
    const json_t *value = json_object_get(object, key);

    *out_text = json_string_value(value);
    return *out_text != NULL;
}

static bool number_of(const json_t *object, const char *key, double *out_number)
{
    const json_t *value = json_object_get(object, key);

    *out_number = json_number_value(value);
    return json_is_number(value) && isfinite(*out_number);
}

/* A count: 0 to 2^63. */
static bool count_of(const json_t *object, const char *key, double *out_number)
{
    return number_of(object, key, out_number) && *out_number >= 0 && *out_number <= 9.2e18;
}

static bool time_of(const json_t *event, const char *key, uint64_t *out_ns)
{
    double us;

    if (!number_of(event, key, &us) || us < 0 || us > TIME_US_MAX)
        return false;
    *out_ns = (uint64_t)llround(us * 1000);
    return true;
}

static void text_copy(const json_t *object, const char *key, char *out, size_t bytes)
{
    const char *text;

    snprintf(out, bytes, "%s", text_of(object, key, &text) ? text : "");
}

static const char *trace_fact(rlx_profile_t *profile, const json_t *args)
{
    double format, threads;

    if (!number_of(args, "format", &format) || format != FORMAT)
        return "its format is of another version";
    if (!count_of(args, "threads", &threads) || threads < 1 || threads > TRACK_MAX ||
        !count_of(args, "peak_gflops", &profile->peak_gflops) || !count_of(args, "peak_gbytes", &profile->peak_gbytes) ||
        !count_of(args, "thread_gflops", &profile->thread_gflops) || !count_of(args, "thread_gbytes", &profile->thread_gbytes))
        return "the first event does not say what machine it comes from";
    (void)number_of(args, "unix_ms", &profile->unix_ms);
    profile->threads = (int)threads;
    text_copy(args, "program", profile->program, sizeof profile->program);
    text_copy(args, "version", profile->version, sizeof profile->version);
    text_copy(args, "node", profile->node, sizeof profile->node);
    text_copy(args, "isa", profile->isa, sizeof profile->isa);
    return NULL;
}

/* The model of that name: events may name it before its facts come. */
static uint32_t model_row(rlx_profile_t *profile, const json_t *args)
{
    const char *name;
    uint32_t text, row;
    rlx_profile_model_t *model;

    if (!text_of(args, "model", &name) || (text = rlx_texts_put(&profile->texts, name)) == RLX_NO_ROW)
        return RLX_NO_ROW;
    row = rlx_index_find(&profile->model_index, text);
    if (row != RLX_NO_ROW)
        return row;
    model = RLX_TABLE_ADD(&profile->models);
    if (model == NULL || !rlx_index_put(&profile->model_index, text, profile->models.n - 1))
        return RLX_NO_ROW;
    model->name = text;
    return profile->models.n - 1;
}

static uint32_t text_row(rlx_profile_t *profile, const json_t *object, const char *key)
{
    const char *text;

    return rlx_texts_put(&profile->texts, text_of(object, key, &text) ? text : "");
}

static const char *model_fact(rlx_profile_t *profile, const json_t *args)
{
    uint32_t row = model_row(profile, args);
    double steps = 0;
    rlx_profile_model_t *model;

    if (row == RLX_NO_ROW)
        return "a model has no name";
    model = &profile->models.row[row];
    model->version = text_row(profile, args, "version");
    model->isa = text_row(profile, args, "isa");
    model->digest = text_row(profile, args, "digest");
    (void)count_of(args, "steps", &steps);
    model->steps = (int64_t)steps;
    return NULL;
}

static const char *end_fact(rlx_profile_t *profile, const json_t *args)
{
    double ring = 0, full = 0;

    (void)count_of(args, "dropped_ring", &ring);
    (void)count_of(args, "dropped_full", &full);
    profile->dropped = ring + full;
    if (profile->dropped > 0)
        snprintf(profile->note, sizeof profile->note,
                 "%.0f events are missing: %.0f did not fit the bound of the file, %.0f came faster than they could be written.",
                 profile->dropped, full, ring);
    return NULL;
}

static const char *fact_take(rlx_profile_t *profile, const json_t *event, const char *name)
{
    const json_t *args = json_object_get(event, "args");

    if (strcmp(name, "rlx.model") == 0)
        return model_fact(profile, args);
    if (strcmp(name, "rlx.end") == 0)
        return end_fact(profile, args);
    return NULL;
}

static const char *metadata_take(rlx_profile_t *profile, const json_t *event, const char *name)
{
    double track;
    uint32_t text;

    if (strcmp(name, "thread_name") != 0)
        return NULL;
    if (!count_of(event, "tid", &track) || track > TRACK_MAX)
        return "a thread's name has no number";
    text = text_row(profile, json_object_get(event, "args"), "name");
    while (profile->tracks.n <= (uint32_t)track)
        if (RLX_TABLE_ADD(&profile->tracks) == NULL)
            return no_memory;
    profile->tracks.row[(uint32_t)track] = text;
    return text == RLX_NO_ROW ? no_memory : NULL;
}

/* The row of a step; its names are taken from the first event that has them. */
static uint32_t step_row(rlx_profile_t *profile, const json_t *event, const json_t *args)
{
    uint32_t model = model_row(profile, args), row;
    double index;
    uint64_t key;
    rlx_profile_step_t *step;

    if (model == RLX_NO_ROW || !count_of(args, "step", &index) || index > 1e9)
        return RLX_NO_ROW;
    key = (uint64_t)model << 32 | (uint64_t)index;
    row = rlx_index_find(&profile->step_index, key);
    if (row == RLX_NO_ROW) {
        row = profile->steps.n;
        step = RLX_TABLE_ADD(&profile->steps);
        if (step == NULL || !rlx_index_put(&profile->step_index, key, row))
            return RLX_NO_ROW;
        step->model = model;
        step->index = (uint32_t)index;
        step->name = text_row(profile, event, "name");
    }
    return row;
}

/* What `threads` threads can do at best: between what one and all were measured to do. */
static double limit(const rlx_profile_t *profile, double threads, double one, double all)
{
    if (profile->threads <= 1 || threads >= profile->threads)
        return all;
    return one + (all - one) * (threads - 1) / (profile->threads - 1);
}

static const char *step_sum(rlx_profile_t *profile, rlx_profile_step_t *step, const json_t *args, uint64_t duration)
{
    double tiles, flops, bytes, team, busy;
    rlx_profile_work_t *work = &step->work;

    if (!count_of(args, "tiles", &tiles) || !count_of(args, "flops", &flops) || !count_of(args, "bytes", &bytes) ||
        !count_of(args, "team", &team) || team < 1 || team > TRACK_MAX || !count_of(args, "busy_ns", &busy))
        return "a step lacks its numbers";
    if (step->work.count == 0) {
        step->kernel = text_row(profile, args, "kernel");
        step->source = text_row(profile, args, "source");
    }
    work->count++;
    work->ns += (double)duration;
    work->busy += busy;
    work->team += team * (double)duration;
    work->flops += flops;
    work->bytes += bytes;
    work->tiles += tiles;
    work->peak_gflop += limit(profile, team, profile->thread_gflops, profile->peak_gflops) * (double)duration / 1e9;
    work->peak_gbyte += limit(profile, team, profile->thread_gbytes, profile->peak_gbytes) * (double)duration / 1e9;
    work->longest = (double)duration > work->longest ? (double)duration : work->longest;
    return NULL;
}

static const char *span_take(rlx_profile_t *profile, const json_t *event, const char *category)
{
    const json_t *args = json_object_get(event, "args");
    rlx_profile_span_t span = {.kind = strcmp(category, "step") == 0   ? RLX_SPAN_STEP
                                       : strcmp(category, "help") == 0 ? RLX_SPAN_HELP
                                       : strcmp(category, "run") == 0  ? RLX_SPAN_RUN
                                                                       : RLX_SPAN_TURN};
    rlx_profile_span_t *row;
    const char *refusal = NULL;
    double track;

    if (!time_of(event, "ts", &span.begin) || !time_of(event, "dur", &span.duration) || !count_of(event, "tid", &track) ||
        track > TRACK_MAX)
        return "a span lacks ts, dur or tid";
    span.track = (uint32_t)track;
    if (span.kind != RLX_SPAN_TURN)
        span.of = span.kind == RLX_SPAN_RUN ? model_row(profile, args) : step_row(profile, event, args);
    if (span.of == RLX_NO_ROW)
        return "a span does not say of which model and step it is";
    if (span.kind == RLX_SPAN_STEP)
        refusal = step_sum(profile, &profile->steps.row[span.of], args, span.duration);
    if (refusal != NULL)
        return refusal;
    row = RLX_TABLE_ADD(&profile->spans);
    if (row == NULL)
        return no_memory;
    *row = span;
    if (span.begin + span.duration > profile->end)
        profile->end = span.begin + span.duration;
    return NULL;
}

static rlx_profile_request_t *request_row(rlx_profile_t *profile, uint64_t number)
{
    uint32_t row = rlx_index_find(&profile->request_index, number);
    rlx_profile_request_t *request;

    if (row != RLX_NO_ROW)
        return &profile->requests.row[row];
    request = RLX_TABLE_ADD(&profile->requests);
    if (request == NULL || !rlx_index_put(&profile->request_index, number, profile->requests.n - 1))
        return NULL;
    request->number = number;
    return request;
}

static const char *request_open(rlx_profile_t *profile, rlx_profile_request_t *request, const json_t *args, uint64_t at)
{
    double rows = 0, run = 0, kernel_ns = 0;

    request->begin = at;
    request->model = model_row(profile, args);
    request->id = text_row(profile, args, "id");
    request->traceparent = text_row(profile, args, "traceparent");
    request->outcome = text_row(profile, args, "outcome");
    (void)number_of(args, "rows", &rows);
    (void)count_of(args, "run", &run);
    (void)count_of(args, "kernel_ns", &kernel_ns);
    request->rows = fabs(rows) < 9e15 ? (int64_t)rows : 0;
    request->run = (uint64_t)run;
    request->kernel_ns = (uint64_t)kernel_ns;
    return request->model == RLX_NO_ROW ? "a request does not say of which model it is" : NULL;
}

static const char *request_take(rlx_profile_t *profile, const json_t *event, const char *name, bool begins)
{
    const json_t *args = json_object_get(event, "args");
    bool outer = json_object_get(args, "model") != NULL; /* a model may be called as a phase is */
    const char *text;
    rlx_profile_request_t *request;
    uint64_t at, number;
    char *end;

    if (!text_of(event, "id", &text) || !time_of(event, "ts", &at))
        return "a request's span lacks id or ts";
    number = strtoull(text, &end, 16);
    if (end == text || *end != '\0')
        return "a request's id is no number";
    request = request_row(profile, number);
    if (request == NULL)
        return no_memory;
    if (at > profile->end)
        profile->end = at;
    for (int phase = 0; phase < RLX_PHASES && !outer; phase++) {
        if (strcmp(name, phase_names[phase]) != 0)
            continue;
        if (begins)
            request->phase_begin[phase] = at;
        else if (at >= request->phase_begin[phase])
            request->phase[phase] = at - request->phase_begin[phase];
        return NULL;
    }
    if (!outer)
        return NULL;
    if (begins)
        return request_open(profile, request, args, at);
    request->end = at;
    request->ended = at >= request->begin;
    return NULL;
}

static const char *counter_take(rlx_profile_t *profile, const json_t *event, const char *name)
{
    const json_t *value = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)json_object_get(event, "args")));
    uint32_t text = rlx_texts_put(&profile->texts, name), counter = 0, *added;
    uint64_t at;
    rlx_profile_point_t *point;

    if (!json_is_number(value) || !isfinite(json_number_value(value)) || !time_of(event, "ts", &at))
        return "a counter has no value or ts";
    while (counter < profile->counters.n && profile->counters.row[counter] != text)
        counter++;
    if (counter == profile->counters.n) {
        if (counter > 64 || (added = RLX_TABLE_ADD(&profile->counters)) == NULL)
            return counter > 64 ? "it has too many counters" : no_memory;
        *added = text;
    }
    point = RLX_TABLE_ADD(&profile->points);
    if (point == NULL)
        return no_memory;
    *point = (rlx_profile_point_t){counter, at, json_number_value(value)};
    return NULL;
}

const char *rlx_profile_event(rlx_profile_t *profile, const json_t *event, bool first)
{
    const char *phase, *name = "", *category = "";

    if (!json_is_object(event) || !text_of(event, "ph", &phase))
        return "an event is an object with a ph";
    (void)text_of(event, "name", &name);
    (void)text_of(event, "cat", &category);
    name = name != NULL ? name : "";
    category = category != NULL ? category : "";
    if (first)
        return strcmp(name, "rlx.trace") == 0 ? trace_fact(profile, json_object_get(event, "args")) : "its first event is not rlx.trace";
    switch (phase[0]) {
    case 'M': return metadata_take(profile, event, name);
    case 'i': return fact_take(profile, event, name);
    case 'C': return counter_take(profile, event, name);
    case 'b': case 'e': return strcmp(category, "request") == 0 ? request_take(profile, event, name, phase[0] == 'b') : NULL;
    case 'X':
        return strcmp(category, "step") == 0 || strcmp(category, "help") == 0 || strcmp(category, "run") == 0 ||
                       strcmp(category, "loop") == 0
                   ? span_take(profile, event, category)
                   : NULL;
    default: return NULL;
    }
}

static int span_compare(const void *a, const void *b)
{
    const rlx_profile_span_t *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->duration < y->duration) - (x->duration > y->duration); /* outer first */
}

static int request_compare(const void *a, const void *b)
{
    uint64_t x = ((const rlx_profile_request_t *)a)->begin, y = ((const rlx_profile_request_t *)b)->begin;

    return (x > y) - (x < y);
}

static int point_compare(const void *a, const void *b)
{
    const rlx_profile_point_t *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

bool rlx_profile_settle(rlx_profile_t *profile)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < profile->requests.n; i++)
        if (profile->requests.row[i].ended)
            profile->requests.row[kept++] = profile->requests.row[i];
    profile->requests.n = kept;
    if (profile->spans.n > 0)
        qsort(profile->spans.row, profile->spans.n, sizeof *profile->spans.row, span_compare);
    if (kept > 0)
        qsort(profile->requests.row, kept, sizeof *profile->requests.row, request_compare);
    if (profile->points.n > 0)
        qsort(profile->points.row, profile->points.n, sizeof *profile->points.row, point_compare);
    return rlx_texts_put(&profile->texts, "") != RLX_NO_ROW;
}
