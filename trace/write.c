/* The writer's thread: comes by every few milliseconds, takes what the rings hold, and writes it. */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_quote.h"
#include "trace/event.h"

#define FORMAT 1
#define PERIOD_NS 5000000
#define SAMPLE_NS 100000000
#define NICE 5 /* as workers: below them it would fall behind just when there is much to tell */

void rlx_trace_flush(rlx_trace_t *trace)
{
    const char *at = trace->out.data;
    size_t left = trace->out.bytes;

    while (left > 0 && trace->failed == 0) {
        ssize_t n = write(trace->fd, at, left);

        if (n < 0 && errno != EINTR)
            trace->failed = errno;
        else if (n > 0) {
            at += n;
            left -= (size_t)n;
        }
    }
    trace->written += trace->out.bytes;
    rlx_text_clear(&trace->out);
}

static uint64_t dropped_in_rings(const rlx_trace_t *trace)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < trace->n_seen; i++)
        sum += atomic_load_explicit(&trace->tracks[i]->ring.dropped, memory_order_relaxed);
    return sum;
}

static void samples_write(rlx_trace_t *trace)
{
    uint64_t now = rlx_clock_ns(), resident, dropped = dropped_in_rings(trace);

    if (now - trace->sample_ns < SAMPLE_NS)
        return;
    trace->sample_ns = now;
    resident = rlx_trace_resident_bytes();
    if (resident != trace->rss_told)
        rlx_event_counter(trace, "resident memory", "MiB", now, (double)resident / 1048576.0);
    trace->rss_told = resident;
    if (dropped != trace->dropped_told)
        rlx_event_counter(trace, "dropped events", "events", now, (double)dropped);
    trace->dropped_told = dropped;
}

void rlx_trace_write_begin(rlx_trace_t *trace)
{
    const rlx_trace_options_t *options = &trace->options;
    struct timespec wall;
    size_t mark;

    clock_gettime(CLOCK_REALTIME, &wall);
    rlx_text_puts(&trace->out, "[\n");
    mark = rlx_event_fact_begin(trace, "rlx.trace", trace->start_ns);
    rlx_text_printf(&trace->out, "\"format\":%d,\"program\":", FORMAT);
    rlx_json_quote(&trace->out, options->program);
    rlx_text_puts(&trace->out, ",\"version\":");
    rlx_json_quote(&trace->out, options->version);
    rlx_text_puts(&trace->out, ",\"node\":");
    rlx_json_quote(&trace->out, options->node);
    rlx_text_puts(&trace->out, ",\"isa\":");
    rlx_json_quote(&trace->out, options->isa);
    rlx_text_printf(&trace->out, ",\"threads\":%d,\"peak_gflops\":%.4g,\"peak_gbytes\":%.4g,\"thread_gflops\":%.4g,\"thread_gbytes\":%.4g",
                    options->threads, options->machine.gflops, options->machine.gbytes, options->one_thread.gflops,
                    options->one_thread.gbytes);
    rlx_text_printf(&trace->out, ",\"unix_ms\":%lld", (long long)wall.tv_sec * 1000 + wall.tv_nsec / 1000000);
    rlx_event_fact_end(trace, mark, 0);
    rlx_event_process(trace, options->node[0] != '\0' ? options->node : options->program);
    rlx_trace_flush(trace);
}

static void write_end(rlx_trace_t *trace)
{
    uint64_t in_rings = dropped_in_rings(trace), full = trace->dropped_full;
    size_t mark = rlx_event_fact_begin(trace, "rlx.end", rlx_clock_ns());

    rlx_text_printf(&trace->out,
                    "\"events\":%" PRIu64 ",\"dropped_ring\":%" PRIu64 ",\"dropped_full\":%" PRIu64 ",\"models_refused\":%" PRIu64,
                    trace->events, in_rings, full, atomic_load_explicit(&trace->models_refused, memory_order_relaxed));
    rlx_event_fact_end(trace, mark, 0);
    rlx_text_puts(&trace->out, "\n]\n");
    rlx_trace_flush(trace);
}

/* One round over everything. New tracks and models are told first: what speaks of them follows. */
static void round_write(rlx_trace_t *trace)
{
    pthread_mutex_lock(&trace->lock);
    trace->n_seen = trace->n_tracks;
    for (rlx_trace_model_t *model = trace->models; model != NULL && !model->told; model = model->next) {
        rlx_event_model(trace, model);
        model->told = true;
    }
    pthread_mutex_unlock(&trace->lock);
    for (uint32_t i = 0; i < trace->n_seen; i++) {
        rlx_trace_track_t *track = trace->tracks[i];

        if (!track->told)
            rlx_event_track(trace, track);
        track->told = true;
        for (const rlx_ring_head_t *record; (record = rlx_ring_peek(&track->ring)) != NULL; rlx_ring_next(&track->ring, record))
            rlx_event_record(trace, record);
    }
    samples_write(trace);
    if (trace->out.bytes > 0)
        rlx_trace_flush(trace);
}

void *rlx_trace_writer_main(void *context)
{
    rlx_trace_t *trace = context;
    bool stop = false;

    pthread_setname_np(pthread_self(), "rlx-trace");
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* lowering needs no right */
    while (!stop) {
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PERIOD_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&trace->lock);
        if (!trace->stop)
            pthread_cond_timedwait(&trace->stopped, &trace->lock, &until);
        stop = trace->stop; /* read before the last round: nobody tells anything after stop */
        pthread_mutex_unlock(&trace->lock);
        round_write(trace);
    }
    write_end(trace);
    return NULL;
}
