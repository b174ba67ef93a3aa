/* Opening and closing a trace, its tables of tracks and models, and what threads tell. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/record.h"

#define RING_BYTES ((size_t)4 << 20) /* some 37,000 steps; the writer comes by every few milliseconds */
#define OUT_BYTES_MAX ((size_t)4 << 20)

static void options_free(rlx_trace_options_t *options)
{
    free((char *)(uintptr_t)options->path);
    free((char *)(uintptr_t)options->program);
    free((char *)(uintptr_t)options->version);
    free((char *)(uintptr_t)options->node);
    free((char *)(uintptr_t)options->isa);
}

static bool options_copy(const rlx_trace_options_t *from, rlx_trace_options_t *to)
{
    *to = *from;
    to->path = strdup(from->path);
    to->program = strdup(from->program);
    to->version = strdup(from->version);
    to->node = strdup(from->node != NULL ? from->node : "");
    to->isa = strdup(from->isa);
    return to->path != NULL && to->program != NULL && to->version != NULL && to->node != NULL && to->isa != NULL;
}

static void trace_free(rlx_trace_t *trace)
{
    for (uint32_t i = 0; i < trace->n_tracks; i++) {
        rlx_ring_fini(&trace->tracks[i]->ring);
        free(trace->tracks[i]);
    }
    for (rlx_trace_model_t *model = trace->models, *next; model != NULL; model = next) {
        next = model->next;
        rlx_trace_model_free(model);
    }
    if (trace->fd >= 0)
        close(trace->fd);
    pthread_cond_destroy(&trace->stopped);
    pthread_mutex_destroy(&trace->lock);
    rlx_text_fini(&trace->out);
    options_free(&trace->options);
    free(trace);
}

static rlx_status_t writer_start(rlx_trace_t *trace, rlx_diag_t *diag)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all); /* signals belong to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&trace->thread, NULL, rlx_trace_writer_main, trace);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "cannot start the thread that writes the trace: %s", strerror(failed));
}

rlx_status_t rlx_trace_open(const rlx_trace_options_t *options, rlx_trace_t **out_trace, rlx_diag_t *diag)
{
    rlx_trace_t *trace = calloc(1, sizeof *trace);
    pthread_condattr_t monotonic;
    rlx_status_t status;

    if (trace == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a trace");
    trace->fd = -1;
    trace->pid = (uint32_t)getpid();
    trace->start_ns = rlx_clock_ns();
    trace->bytes_max = options->bytes_max > 0 ? options->bytes_max : RLX_TRACE_BYTES_DEFAULT;
    rlx_text_init(&trace->out, OUT_BYTES_MAX);
    pthread_mutex_init(&trace->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&trace->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!options_copy(options, &trace->options)) {
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a trace");
        goto free_trace;
    }
    trace->fd = open(options->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (trace->fd < 0) {
        status = rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write the trace %s: %s", options->path, strerror(errno));
        goto free_trace;
    }
    rlx_trace_write_begin(trace);
    status = writer_start(trace, diag);
    if (status != RLX_OK)
        goto free_trace;
    *out_trace = trace;
    return RLX_OK;
free_trace:
    trace_free(trace);
    return status;
}

rlx_status_t rlx_trace_close(rlx_trace_t *trace, rlx_diag_t *diag)
{
    rlx_status_t status = RLX_OK;

    if (trace == NULL)
        return RLX_OK;
    pthread_mutex_lock(&trace->lock);
    trace->stop = true;
    pthread_cond_signal(&trace->stopped);
    pthread_mutex_unlock(&trace->lock);
    pthread_join(trace->thread, NULL);
    if (trace->failed != 0)
        status = rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write the trace %s: %s", trace->options.path, strerror(trace->failed));
    trace_free(trace);
    return status;
}

rlx_trace_track_t *rlx_trace_track(rlx_trace_t *trace, const char *name)
{
    rlx_trace_track_t *track = aligned_alloc(64, (sizeof *track + 63) / 64 * 64);

    if (track == NULL || !rlx_ring_init(&track->ring, RING_BYTES)) {
        free(track);
        return NULL;
    }
    track->trace = trace;
    track->told = false;
    strncpy(track->name, name, sizeof track->name - 1);
    track->name[sizeof track->name - 1] = '\0';
    pthread_mutex_lock(&trace->lock);
    if (trace->n_tracks == RLX_TRACE_TRACKS_MAX) {
        pthread_mutex_unlock(&trace->lock);
        rlx_ring_fini(&track->ring);
        free(track);
        return NULL;
    }
    track->id = trace->n_tracks + 1;
    trace->tracks[trace->n_tracks++] = track;
    pthread_mutex_unlock(&trace->lock);
    return track;
}

uint32_t rlx_trace_track_id(const rlx_trace_track_t *track) { return track->id; }

static const rlx_trace_model_t *model_find(const rlx_trace_t *trace, const char *name, const char *version, const uint8_t digest[32])
{
    for (const rlx_trace_model_t *model = trace->models; model != NULL; model = model->next)
        if (memcmp(model->digest, digest, sizeof model->digest) == 0 && strcmp(model->name, name) == 0 &&
            strcmp(model->version, version) == 0)
            return model;
    return NULL;
}

static uint32_t models_named(const rlx_trace_t *trace, const char *name)
{
    uint32_t n = 0;

    for (const rlx_trace_model_t *model = trace->models; model != NULL; model = model->next)
        n += strcmp(model->name, name) == 0;
    return n;
}

const rlx_trace_model_t *rlx_trace_model(rlx_trace_t *trace, const char *name, const char *version, const uint8_t digest[32],
                                         const char *isa, const rlx_program_header_t *program)
{
    const rlx_trace_model_t *model;
    rlx_trace_model_t *made;

    pthread_mutex_lock(&trace->lock);
    model = model_find(trace, name, version, digest);
    made = model == NULL && trace->n_models < RLX_TRACE_MODELS_MAX
               ? rlx_trace_model_make(name, version, digest, isa, models_named(trace, name), program)
               : NULL;
    if (made != NULL) {
        made->next = trace->models;
        trace->models = made;
        trace->n_models++;
        model = made;
    }
    pthread_mutex_unlock(&trace->lock);
    if (model == NULL)
        atomic_fetch_add_explicit(&trace->models_refused, 1, memory_order_relaxed);
    return model;
}

uint64_t rlx_trace_number(rlx_trace_t *trace) { return atomic_fetch_add_explicit(&trace->numbers, 1, memory_order_relaxed) + 1; }

void rlx_trace_request(rlx_trace_track_t *track, const rlx_trace_request_t *request)
{
    size_t id_bytes = strnlen(request->id, RLX_TRACE_ID_MAX - 1) + 1, trace_bytes = strnlen(request->traceparent, RLX_TRACE_ID_MAX - 1) + 1;
    rlx_record_request_t *record;

    if (request->model == NULL)
        return;
    record = rlx_ring_reserve(&track->ring, sizeof *record + id_bytes + trace_bytes, RLX_RECORD_REQUEST);
    if (record == NULL)
        return;
    record->request = *request;
    record->id_bytes = (uint32_t)id_bytes;
    memcpy(record->text, request->id, id_bytes - 1);
    record->text[id_bytes - 1] = '\0';
    memcpy(record->text + id_bytes, request->traceparent, trace_bytes - 1);
    record->text[id_bytes + trace_bytes - 1] = '\0';
    rlx_ring_commit(&track->ring);
}

void rlx_trace_count(rlx_trace_track_t *track, rlx_trace_counter_t counter, uint64_t at_ns, uint64_t value)
{
    rlx_record_counter_t *record = rlx_ring_reserve(&track->ring, sizeof *record, RLX_RECORD_COUNTER);

    if (record == NULL)
        return;
    record->at_ns = at_ns;
    record->value = value;
    record->counter = counter;
    rlx_ring_commit(&track->ring);
}

void rlx_trace_turn(rlx_trace_track_t *track, uint64_t begin_ns, uint64_t end_ns)
{
    rlx_record_turn_t *record = rlx_ring_reserve(&track->ring, sizeof *record, RLX_RECORD_TURN);

    if (record == NULL)
        return;
    record->track = track->id;
    record->begin_ns = begin_ns;
    record->end_ns = end_ns;
    rlx_ring_commit(&track->ring);
}
