/* From records to events, one JSON object each. docs/PROFILING.md is the format.
 *
 * Every event but the first begins with ",\n", so the file is an array that lacks its bracket at worst. Near the bound of the file only
 * what closes it is written; the room for that is kept free. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_quote.h"
#include "trace/event.h"

#define CLOSING_BYTES 4096
#define FLUSH_BYTES 65536

/* "\"key\":value", by hand: printf would take half of the writer's time. */
static void number_add(rlx_text_t *out, const char *key, uint64_t value)
{
    char digits[24], *at = digits + sizeof digits;

    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    rlx_text_puts(out, key);
    rlx_text_add(out, at, (size_t)(digits + sizeof digits - at));
}

/* Costs and tiles: never negative, unless a program's costs overflow. */
static void signed_add(rlx_text_t *out, const char *key, int64_t value) { number_add(out, key, value > 0 ? (uint64_t)value : 0); }

static const char *const counter_names[RLX_TRACE_COUNTERS] = {"queued", "running", "in flight"};

/* Nanoseconds as microseconds, as the format wants them. */
static void micros_add(rlx_text_t *out, const char *key, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};

    number_add(out, key, ns / 1000);
    rlx_text_add(out, fraction, sizeof fraction);
}

/* Since the trace began; what was before is its beginning. */
static void time_add(rlx_trace_t *trace, uint64_t ns)
{
    micros_add(&trace->out, ",\"ts\":", ns > trace->start_ns ? ns - trace->start_ns : 0);
}

static void duration_add(rlx_trace_t *trace, uint64_t begin_ns, uint64_t end_ns)
{
    micros_add(&trace->out, ",\"dur\":", end_ns > begin_ns ? end_ns - begin_ns : 0);
}

/* Every event between begin and end. One that does not fit is taken back and counted. */
static size_t event_begin(rlx_trace_t *trace)
{
    size_t mark = trace->out.bytes;

    rlx_text_puts(&trace->out, trace->events > 0 ? ",\n{" : "{");
    return mark;
}

static void event_end(rlx_trace_t *trace, size_t mark, uint64_t reserve)
{
    rlx_text_puts(&trace->out, "}");
    if (trace->out.full || trace->failed != 0 || trace->written + trace->out.bytes + reserve > trace->bytes_max) {
        trace->out.bytes = mark;
        trace->out.full = false;
        trace->dropped_full++;
        return;
    }
    trace->events++;
    if (trace->out.bytes >= FLUSH_BYTES)
        rlx_trace_flush(trace);
}

/* `kind`: "\"ph\":...,\"cat\":..." */
static void head_add(rlx_trace_t *trace, const char *kind, uint32_t track)
{
    rlx_text_puts(&trace->out, kind);
    number_add(&trace->out, ",\"pid\":", trace->pid);
    number_add(&trace->out, ",\"tid\":", track);
}

static void label_add(rlx_trace_t *trace, const char *key, const rlx_trace_model_t *model)
{
    rlx_text_printf(&trace->out, "\"%s\":", key);
    rlx_text_add(&trace->out, model->text.data, model->label_bytes);
}

static void step_name_add(rlx_trace_t *trace, const rlx_trace_model_t *model, uint32_t step)
{
    rlx_text_puts(&trace->out, ",\"name\":");
    rlx_text_add(&trace->out, model->text.data + model->steps[step].name, model->steps[step].name_bytes);
}

static void step_write(rlx_trace_t *trace, const rlx_record_step_t *record)
{
    const rlx_trace_model_t *model = record->model;
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"X\",\"cat\":\"step\"", record->track);
    step_name_add(trace, model, record->step);
    time_add(trace, record->begin_ns);
    duration_add(trace, record->begin_ns, record->end_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    label_add(trace, "model", model);
    number_add(&trace->out, ",\"step\":", record->step);
    rlx_text_puts(&trace->out, ",");
    rlx_text_add(&trace->out, model->text.data + model->steps[record->step].args, model->steps[record->step].args_bytes);
    signed_add(&trace->out, ",\"tiles\":", record->tiles);
    signed_add(&trace->out, ",\"flops\":", record->flops);
    signed_add(&trace->out, ",\"bytes\":", record->bytes);
    number_add(&trace->out, ",\"team\":", record->team);
    number_add(&trace->out, ",\"workers\":", record->workers);
    number_add(&trace->out, ",\"ns\":", record->end_ns - record->begin_ns);
    number_add(&trace->out, ",\"busy_ns\":", record->busy_ns);
    number_add(&trace->out, ",\"cost_ns\":", record->cost_ns);
    number_add(&trace->out, ",\"run\":", record->run);
    rlx_text_puts(&trace->out, "}");
    event_end(trace, mark, CLOSING_BYTES);
}

static void part_write(rlx_trace_t *trace, const rlx_record_part_t *record)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"X\",\"cat\":\"help\"", record->track);
    step_name_add(trace, record->model, record->step);
    time_add(trace, record->begin_ns);
    duration_add(trace, record->begin_ns, record->end_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    label_add(trace, "model", record->model);
    number_add(&trace->out, ",\"step\":", record->step);
    signed_add(&trace->out, ",\"tiles\":", record->tiles);
    number_add(&trace->out, ",\"run\":", record->run);
    rlx_text_puts(&trace->out, "}");
    event_end(trace, mark, CLOSING_BYTES);
}

static void run_write(rlx_trace_t *trace, const rlx_record_run_t *record)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"X\",\"cat\":\"run\"", record->track);
    rlx_text_puts(&trace->out, ",");
    label_add(trace, "name", record->model);
    time_add(trace, record->begin_ns);
    duration_add(trace, record->begin_ns, record->end_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    label_add(trace, "model", record->model);
    rlx_text_printf(&trace->out,
                    ",\"run\":%" PRIu64 ",\"requests\":%" PRIu32 ",\"rows\":%" PRId64 ",\"kernel_ns\":%" PRIu64 ",\"outcome\":\"%s\"}",
                    record->run, record->requests, record->rows, record->kernel_ns, record->outcome);
    event_end(trace, mark, CLOSING_BYTES);
}

static void span_write(rlx_trace_t *trace, bool begins, const char *name, uint64_t number, uint64_t at_ns)
{
    size_t mark = event_begin(trace);

    head_add(trace, begins ? "\"ph\":\"b\",\"cat\":\"request\"" : "\"ph\":\"e\",\"cat\":\"request\"", 0);
    rlx_text_printf(&trace->out, ",\"name\":\"%s\",\"id\":\"0x%" PRIx64 "\"", name, number);
    time_add(trace, at_ns);
    event_end(trace, mark, CLOSING_BYTES);
}

static void request_open_write(rlx_trace_t *trace, const rlx_record_request_t *record)
{
    const rlx_trace_request_t *request = &record->request;
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"b\",\"cat\":\"request\"", 0);
    rlx_text_puts(&trace->out, ",");
    label_add(trace, "name", request->model);
    rlx_text_printf(&trace->out, ",\"id\":\"0x%" PRIx64 "\"", request->number);
    time_add(trace, request->read_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    label_add(trace, "model", request->model);
    rlx_text_puts(&trace->out, ",\"id\":");
    rlx_json_quote(&trace->out, record->text);
    rlx_text_puts(&trace->out, ",\"traceparent\":");
    rlx_json_quote(&trace->out, record->text + record->id_bytes);
    rlx_text_printf(&trace->out, ",\"rows\":%" PRId64 ",\"run\":%" PRIu64 ",\"kernel_ns\":%" PRIu64 ",\"outcome\":\"%s\"}", request->rows,
                    request->run, request->kernel_ns, request->outcome);
    event_end(trace, mark, CLOSING_BYTES);
}

static void request_close_write(rlx_trace_t *trace, const rlx_trace_request_t *request)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"e\",\"cat\":\"request\"", 0);
    rlx_text_puts(&trace->out, ",");
    label_add(trace, "name", request->model);
    rlx_text_printf(&trace->out, ",\"id\":\"0x%" PRIx64 "\"", request->number);
    time_add(trace, request->free_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    label_add(trace, "model", request->model);
    rlx_text_puts(&trace->out, "}");
    event_end(trace, mark, CLOSING_BYTES);
}

/* Its spans, outer first, so that a viewer nests them. A phase that it did not reach has no span. All of them or none: a file that ends
 * between them would show a request that never ends. */
static void request_write(rlx_trace_t *trace, const rlx_record_request_t *record)
{
    static const char *const names[] = {"receiving", "queued", "running", "replying"};
    const rlx_trace_request_t *request = &record->request;
    uint64_t times[] = {request->read_ns, request->submit_ns, request->start_ns, request->end_ns, request->free_ns};
    uint64_t begin = request->read_ns;

    if (trace->written + trace->out.bytes + 4 * CLOSING_BYTES > trace->bytes_max) {
        trace->dropped_full += 2;
        return;
    }
    request_open_write(trace, record);
    for (int i = 0; i < 4; i++) {
        uint64_t end = times[i + 1];
        bool last = true;

        for (int later = i + 1; later < 4; later++)
            last = last && times[later] == 0;
        end = last ? request->free_ns : end;
        if (begin == 0 || end < begin)
            continue;
        span_write(trace, true, names[i], request->number, begin);
        span_write(trace, false, names[i], request->number, end);
        begin = end;
        if (last)
            break;
    }
    request_close_write(trace, request);
}

void rlx_event_counter(rlx_trace_t *trace, const char *name, const char *series, uint64_t at_ns, double value)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"C\",\"cat\":\"counter\"", 0);
    rlx_text_printf(&trace->out, ",\"name\":\"%s\"", name);
    time_add(trace, at_ns);
    rlx_text_printf(&trace->out, ",\"args\":{\"%s\":%.10g}", series, value);
    event_end(trace, mark, CLOSING_BYTES);
}

static void turn_write(rlx_trace_t *trace, const rlx_record_turn_t *record)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"X\",\"cat\":\"loop\"", record->track);
    rlx_text_puts(&trace->out, ",\"name\":\"long turn\"");
    time_add(trace, record->begin_ns);
    duration_add(trace, record->begin_ns, record->end_ns);
    event_end(trace, mark, CLOSING_BYTES);
}

void rlx_event_record(rlx_trace_t *trace, const rlx_ring_head_t *head)
{
    const void *record = head;
    const rlx_record_counter_t *counter = record;

    switch ((rlx_record_kind_t)head->kind) {
    case RLX_RECORD_STEP: step_write(trace, record); break;
    case RLX_RECORD_PART: part_write(trace, record); break;
    case RLX_RECORD_RUN: run_write(trace, record); break;
    case RLX_RECORD_REQUEST: request_write(trace, record); break;
    case RLX_RECORD_COUNTER:
        rlx_event_counter(trace, counter_names[counter->counter], "requests", counter->at_ns, (double)counter->value);
        break;
    case RLX_RECORD_TURN: turn_write(trace, record); break;
    }
}

static void metadata_write(rlx_trace_t *trace, const char *name, uint32_t track, const char *key, const char *value)
{
    size_t mark = event_begin(trace);

    rlx_text_printf(&trace->out, "\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"args\":{\"%s\":", name, (int)trace->pid,
                    track, key);
    rlx_json_quote(&trace->out, value);
    rlx_text_puts(&trace->out, "}");
    event_end(trace, mark, CLOSING_BYTES / 2);
}

void rlx_event_track(rlx_trace_t *trace, const rlx_trace_track_t *track)
{
    size_t mark;

    metadata_write(trace, "thread_name", track->id, "name", track->name);
    mark = event_begin(trace);
    rlx_text_printf(&trace->out,
                    "\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%" PRIu32 ",\"args\":{\"sort_index\":%" PRIu32 "}",
                    (int)trace->pid, track->id, track->id);
    event_end(trace, mark, CLOSING_BYTES / 2);
}

/* An event that carries facts about the trace itself: viewers show it as a flag that can be clicked. */
size_t rlx_event_fact_begin(rlx_trace_t *trace, const char *name, uint64_t at_ns)
{
    size_t mark = event_begin(trace);

    head_add(trace, "\"ph\":\"i\",\"cat\":\"rlx\"", 0);
    rlx_text_printf(&trace->out, ",\"name\":\"%s\",\"s\":\"p\"", name);
    time_add(trace, at_ns);
    rlx_text_puts(&trace->out, ",\"args\":{");
    return mark;
}

void rlx_event_fact_end(rlx_trace_t *trace, size_t mark, uint64_t reserve)
{
    rlx_text_puts(&trace->out, "}");
    event_end(trace, mark, reserve);
}

void rlx_event_model(rlx_trace_t *trace, const rlx_trace_model_t *model)
{
    size_t mark = rlx_event_fact_begin(trace, "rlx.model", rlx_clock_ns());

    label_add(trace, "model", model);
    rlx_text_puts(&trace->out, ",\"version\":");
    rlx_json_quote(&trace->out, model->version);
    rlx_text_puts(&trace->out, ",\"isa\":");
    rlx_json_quote(&trace->out, model->isa);
    rlx_text_printf(&trace->out, ",\"steps\":%" PRIu32 ",\"digest\":\"", model->n_steps);
    for (size_t i = 0; i < sizeof model->digest; i++)
        rlx_text_printf(&trace->out, "%02x", model->digest[i]);
    rlx_text_puts(&trace->out, "\"");
    rlx_event_fact_end(trace, mark, CLOSING_BYTES / 2);
}

void rlx_event_process(rlx_trace_t *trace, const char *name) { metadata_write(trace, "process_name", 0, "name", name); }
