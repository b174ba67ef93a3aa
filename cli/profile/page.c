/* The page: a template (page.html, page.css and scripts, joined when RLX is built) with the profile as JSON inside. It refers to nothing
 * outside itself. Every text is escaped for JSON inside HTML (base/json_quote.h). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/profile/page.h"
#include "cli/profile_page.h"

#define PAGE_BYTES_MAX ((size_t)256 << 20)
#define SPANS_MAX 200000     /* in the flame chart: some 4 MB; the tables count all */
#define REQUESTS_MAX 50000
#define POINTS_MAX 4000      /* of each counter, thinned evenly */

/* JSON has no infinity; a trace whose numbers lead there is not worth more than a 0. */
static double sane(double number) { return isfinite(number) ? number : 0; }

static void text_add(rlx_text_t *out, const rlx_profile_t *profile, const char *key, uint32_t text)
{
    rlx_text_printf(out, "\"%s\":", key);
    rlx_json_quote(out, rlx_texts_get(&profile->texts, text));
}

static void string_add(rlx_text_t *out, const char *key, const char *text)
{
    rlx_text_printf(out, "\"%s\":", key);
    rlx_json_quote(out, text);
}

static void judgement_add(rlx_text_t *out, const rlx_judgement_t *judgement)
{
    rlx_text_printf(out, ",\"busy\":%.5g,\"fma\":%.5g,\"bandwidth\":%.5g,", sane(judgement->busy), sane(judgement->fma),
                    sane(judgement->bandwidth));
    string_add(out, "verdict", rlx_verdict_name(judgement->verdict));
    rlx_text_puts(out, ",");
    string_add(out, "why", judgement->why);
    rlx_text_puts(out, ",");
    string_add(out, "knob", judgement->knob);
}

static void work_add(rlx_text_t *out, const rlx_profile_work_t *work)
{
    double n = work->count > 0 ? (double)work->count : 1;

    rlx_text_printf(out, "\"count\":%" PRIu64 ",\"ns\":%.0f,\"flops\":%.0f,\"bytes\":%.0f,\"tiles\":%.3g,\"team\":%.3g,\"longest\":%.0f,"
                    "\"peak\":%.5g,\"rate\":%.5g",
                    work->count, sane(work->ns), sane(work->flops), sane(work->bytes), sane(work->tiles / n), sane(work->team / work->ns),
                    sane(work->longest), sane(work->peak_gflop / work->ns * 1e9), sane(work->peak_gbyte / work->ns * 1e9));
}

static void meta_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, "\"meta\":{");
    string_add(out, "file", profile->path);
    rlx_text_puts(out, ",");
    string_add(out, "program", profile->program);
    rlx_text_puts(out, ",");
    string_add(out, "version", profile->version);
    rlx_text_puts(out, ",");
    string_add(out, "node", profile->node);
    rlx_text_puts(out, ",");
    string_add(out, "isa", profile->isa);
    rlx_text_puts(out, ",");
    string_add(out, "note", profile->note);
    rlx_text_puts(out, ",");
    string_add(out, "page_version", rlx_cli_version());
    rlx_text_printf(out, ",\"threads\":%d,\"peak_gflops\":%.5g,\"peak_gbytes\":%.5g", profile->threads, profile->peak_gflops,
                    profile->peak_gbytes);
    rlx_text_printf(out, ",\"thread_gflops\":%.5g,\"thread_gbytes\":%.5g,\"unix_ms\":%.0f", profile->thread_gflops,
                    profile->thread_gbytes, profile->unix_ms);
    rlx_text_printf(out, ",\"truncated\":%s,\"dropped\":%.0f,\"end\":%" PRIu64 "}", profile->truncated ? "true" : "false", profile->dropped,
                    profile->end);
}

static void models_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, ",\"models\":[");
    for (uint32_t i = 0; i < profile->models.n; i++) {
        const rlx_profile_model_t *model = &profile->models.row[i];

        rlx_text_puts(out, i > 0 ? ",{" : "{");
        text_add(out, profile, "name", model->name);
        rlx_text_puts(out, ",");
        text_add(out, profile, "version", model->version);
        rlx_text_puts(out, ",");
        text_add(out, profile, "isa", model->isa);
        rlx_text_puts(out, ",");
        text_add(out, profile, "digest", model->digest);
        rlx_text_printf(out, ",\"steps\":%" PRId64 "}", model->steps);
    }
    rlx_text_puts(out, "]");
}

static void overall_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, ",\"overall\":{");
    work_add(out, &profile->work);
    judgement_add(out, &profile->judgement);
    rlx_text_printf(out, ",\"window\":%.0f,\"transfer\":%.0f,\"idle\":%.0f,\"run_ns\":%.0f,\"runs\":%" PRIu64 "}", profile->window_ns,
                    profile->transfer_ns, profile->idle_ns, profile->run_ns, profile->n_runs);
}

static void kernels_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, ",\"kernels\":[");
    for (uint32_t i = 0; i < profile->kernels.n; i++) {
        const rlx_profile_kernel_t *kernel = &profile->kernels.row[i];

        rlx_text_puts(out, i > 0 ? ",{" : "{");
        text_add(out, profile, "kernel", kernel->name);
        rlx_text_printf(out, ",\"steps\":%" PRIu32 ",", kernel->steps);
        work_add(out, &kernel->work);
        judgement_add(out, &kernel->judgement);
        rlx_text_puts(out, "}");
    }
    rlx_text_puts(out, "],\"steps\":[");
    for (uint32_t i = 0; i < profile->steps.n; i++) {
        const rlx_profile_step_t *step = &profile->steps.row[i];

        rlx_text_puts(out, i > 0 ? ",{" : "{");
        text_add(out, profile, "name", step->name);
        rlx_text_puts(out, ",");
        text_add(out, profile, "kernel", step->kernel);
        rlx_text_puts(out, ",");
        text_add(out, profile, "source", step->source);
        rlx_text_printf(out, ",\"model\":%" PRIu32 ",\"step\":%" PRIu32 ",", step->model, step->index);
        work_add(out, &step->work);
        judgement_add(out, &step->judgement);
        rlx_text_puts(out, "}");
    }
    rlx_text_puts(out, "]");
}

/* [track, kind, of, ns since the span before, ns] and so on. */
static void spans_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    uint32_t n = profile->spans.n < SPANS_MAX ? profile->spans.n : SPANS_MAX;
    uint64_t before = 0;

    rlx_text_printf(out, ",\"spans_all\":%" PRIu32 ",\"spans\":[", profile->spans.n);
    for (uint32_t i = 0; i < n; i++) {
        const rlx_profile_span_t *span = &profile->spans.row[i];

        rlx_text_printf(out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, i > 0 ? "," : "", span->track, span->kind,
                        span->of, span->begin - before, span->duration);
        before = span->begin;
    }
    rlx_text_puts(out, "],\"tracks\":[");
    for (uint32_t i = 0; i < profile->tracks.n; i++) {
        rlx_text_puts(out, i > 0 ? "," : "");
        rlx_json_quote(out, rlx_texts_get(&profile->texts, profile->tracks.row[i]));
    }
    rlx_text_puts(out, "]");
}

static void requests_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    uint32_t n = profile->requests.n < REQUESTS_MAX ? profile->requests.n : REQUESTS_MAX;

    rlx_text_puts(out, ",\"requests\":[");
    for (uint32_t i = 0; i < n; i++) {
        const rlx_profile_request_t *request = &profile->requests.row[i];

        rlx_text_printf(out, "%s[%" PRIu32 ",%" PRIu64, i > 0 ? "," : "", request->model, request->begin);
        for (int phase = 0; phase < RLX_PHASES; phase++)
            rlx_text_printf(out, ",%" PRIu64, request->phase[phase]);
        rlx_text_printf(out, ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",", request->end - request->begin, request->rows, request->run);
        rlx_json_quote(out, rlx_texts_get(&profile->texts, request->outcome));
        rlx_text_puts(out, ",");
        rlx_json_quote(out, rlx_texts_get(&profile->texts, request->id));
        rlx_text_puts(out, ",");
        rlx_json_quote(out, rlx_texts_get(&profile->texts, request->traceparent));
        rlx_text_puts(out, "]");
    }
    rlx_text_puts(out, "]");
}

static void counters_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, ",\"counters\":[");
    for (uint32_t c = 0; c < profile->counters.n; c++) {
        uint32_t n = 0, seen = 0, every;
        bool first = true;

        for (uint32_t i = 0; i < profile->points.n; i++)
            n += profile->points.row[i].counter == c;
        every = n / POINTS_MAX + 1;
        rlx_text_puts(out, c > 0 ? ",{" : "{");
        text_add(out, profile, "name", profile->counters.row[c]);
        rlx_text_puts(out, ",\"points\":[");
        for (uint32_t i = 0; i < profile->points.n; i++) {
            const rlx_profile_point_t *point = &profile->points.row[i];

            if (point->counter != c || seen++ % every != 0)
                continue;
            rlx_text_printf(out, "%s%" PRIu64 ",%.6g", first ? "" : ",", point->at, point->value);
            first = false;
        }
        rlx_text_puts(out, "]}");
    }
    rlx_text_puts(out, "]");
}

void rlx_profile_data_add(rlx_text_t *out, const rlx_profile_t *profile)
{
    rlx_text_puts(out, "{");
    meta_add(out, profile);
    models_add(out, profile);
    overall_add(out, profile);
    kernels_add(out, profile);
    spans_add(out, profile);
    requests_add(out, profile);
    rlx_profile_latency_add(out, profile);
    counters_add(out, profile);
    rlx_text_puts(out, "}");
}

rlx_status_t rlx_profile_page(const rlx_profile_t *profile, const char *path, rlx_diag_t *diag)
{
    rlx_text_t out;
    rlx_status_t status;

    rlx_text_init(&out, PAGE_BYTES_MAX);
    rlx_text_puts(&out, rlx_profile_page_head);
    rlx_profile_data_add(&out, profile);
    rlx_text_puts(&out, rlx_profile_page_tail);
    status = out.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the page, or it would be larger than %zu MiB", PAGE_BYTES_MAX >> 20)
                      : rlx_file_write(path, out.data, out.bytes, diag);
    rlx_text_fini(&out);
    return status;
}
