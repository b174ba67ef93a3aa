/* What limits a work: docs/PROFILING.md gives the rules and why they are as they are.
 *
 * busy: worker time in tiles, of the worker time that was there. fma: floating-point operations, of what these workers' FMA units could do.
 * bandwidth: bytes that the operator must move, of what these workers could read from memory (above 1 where caches serve them). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/profile.h"

#define BUSY_BOUND 0.95
#define BANDWIDTH_BOUND 0.90
#define FMA_BELOW 0.70
#define BUSY_LOW 0.70
#define BUSY_HARDLY 0.30 /* memory is no limit for workers that wait most of the time, whatever the costs say */
#define TRANSFER_BOUND 0.50
#define OUTSIDE_LOW 0.20 /* of the time without a run: below, what is lost is lost inside of runs */
#define SHORT_NS 20000 /* handing a step over costs up to this */

const char *rlx_verdict_name(rlx_verdict_t verdict)
{
    static const char *const names[] = {"compute-bound", "memory-bound", "network-bound", "overhead-bound", "no single limit"};

    return names[verdict];
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static void fractions(const rlx_profile_work_t *work, rlx_judgement_t *judgement)
{
    judgement->busy = work->team > 0 ? work->busy / work->team : 0;
    judgement->fma = work->peak_gflop > 0 ? work->flops / 1e9 / work->peak_gflop : 0;
    judgement->bandwidth = work->peak_gbyte > 0 ? work->bytes / 1e9 / work->peak_gbyte : 0;
}

static rlx_verdict_t verdict_of(const rlx_judgement_t *judgement)
{
    if (judgement->busy < BUSY_HARDLY)
        return RLX_BOUND_OVERHEAD;
    if (judgement->bandwidth > BANDWIDTH_BOUND && judgement->fma < FMA_BELOW)
        return RLX_BOUND_MEMORY;
    if (judgement->busy > BUSY_BOUND)
        return RLX_BOUND_COMPUTE;
    return judgement->busy < BUSY_LOW ? RLX_BOUND_OVERHEAD : RLX_BOUND_NONE;
}

static void compute_explain(rlx_judgement_t *judgement, const char *kernel)
{
    snprintf(judgement->why, sizeof judgement->why,
             "Workers are in its tiles %.0f %% of the time; %.0f %% of the FMA peak, %.0f %% of the memory's rate.", 100 * judgement->busy,
             100 * judgement->fma, 100 * judgement->bandwidth);
    if (judgement->fma >= FMA_BELOW)
        snprintf(judgement->knob, sizeof judgement->knob,
                 "At the machine's peak. More cores (scheduling.workers, --threads), a smaller model or smaller inputs; "
                 "tuning will not help.");
    else if (ends_with(kernel, "_plain"))
        snprintf(judgement->knob, sizeof judgement->knob,
                 "This is the plain kernel: no fast one fits. Compile with --opt-level 3; channels in multiples of 16 and f32 get the fast "
                 "ones.");
    else
        snprintf(judgement->knob, sizeof judgement->knob,
                 "Busy with other instructions than FMA at full width. --opt-level 3 and channels in multiples of 16 give the widest kernels; "
                 "with few channels vectorize_dim=\"width\" in the model's text (rlx dump --explain says what is there now).");
}

static void memory_explain(rlx_judgement_t *judgement)
{
    snprintf(judgement->why, sizeof judgement->why, "It moves bytes at %.0f %% of what memory gives%s, and the FMA units run at %.0f %%.",
             100 * judgement->bandwidth, judgement->bandwidth > 1 ? " (caches serve it)" : "", 100 * judgement->fma);
    snprintf(judgement->knob, sizeof judgement->knob,
             "Fewer bytes: --opt-level 2 and above fuse it with its producer where they can, --opt-level 3 keeps blocked layouts. "
             "A smaller tile_layout.input in the model's text keeps a tile's input in the cache. More workers will not help.");
}

static void overhead_explain(rlx_judgement_t *judgement, const rlx_profile_work_t *work)
{
    double mean_ns = work->ns / (double)work->count, tiles = work->tiles / (double)work->count, team = work->team / work->ns;

    snprintf(judgement->why, sizeof judgement->why,
             "Workers are in its tiles %.0f %% of the time: %.1f us a step, %.0f tiles for %.0f workers.", 100 * judgement->busy,
             mean_ns / 1000, tiles, team);
    if (mean_ns < SHORT_NS)
        snprintf(judgement->knob, sizeof judgement->knob,
                 "Too short to share: it runs on one worker while the others wait. Larger batches (compile with an open batch axis, "
                 "scheduling.batch_delay_us), or more requests at once on fewer threads each.");
    else if (tiles < 2 * team)
        snprintf(judgement->knob, sizeof judgement->knob,
                 "Too few tiles for the workers. Larger batches give more tiles; fewer threads (scheduling.workers, "
                 "--threads) waste less.");
    else
        snprintf(judgement->knob, sizeof judgement->knob,
                 "Workers come late or wait for the slowest: other programs on these cores, or more threads than cores "
                 "(scheduling.workers, --threads).");
}

static void work_judge(const rlx_profile_work_t *work, const char *kernel, rlx_judgement_t *out)
{
    fractions(work, out);
    out->verdict = verdict_of(out);
    if (work->count == 0)
        return;
    switch (out->verdict) {
    case RLX_BOUND_COMPUTE: compute_explain(out, kernel); break;
    case RLX_BOUND_MEMORY: memory_explain(out); break;
    case RLX_BOUND_OVERHEAD: overhead_explain(out, work); break;
    default:
        snprintf(out->why, sizeof out->why,
                 "Workers are in its tiles %.0f %% of the time; %.0f %% of the FMA peak, %.0f %% of the memory's rate.", 100 * out->busy,
                 100 * out->fma, 100 * out->bandwidth);
        snprintf(out->knob, sizeof out->knob, "Nothing stands out. Larger batches shorten the waits between steps.");
    }
}

static void work_add(rlx_profile_work_t *sum, const rlx_profile_work_t *work)
{
    sum->count += work->count;
    sum->ns += work->ns;
    sum->busy += work->busy;
    sum->team += work->team;
    sum->flops += work->flops;
    sum->bytes += work->bytes;
    sum->tiles += work->tiles;
    sum->peak_gflop += work->peak_gflop;
    sum->peak_gbyte += work->peak_gbyte;
    sum->longest = work->longest > sum->longest ? work->longest : sum->longest;
}

static rlx_profile_kernel_t *kernel_row(rlx_profile_t *profile, uint32_t name)
{
    rlx_profile_kernel_t *kernel;

    for (uint32_t i = 0; i < profile->kernels.n; i++) /* there are under two hundred kernels */
        if (profile->kernels.row[i].name == name)
            return &profile->kernels.row[i];
    kernel = RLX_TABLE_ADD(&profile->kernels);
    if (kernel != NULL)
        kernel->name = name;
    return kernel;
}

static int kernel_compare(const void *a, const void *b)
{
    const rlx_profile_kernel_t *x = a, *y = b;

    return (x->work.ns < y->work.ns) - (x->work.ns > y->work.ns);
}

static bool kernels_sum(rlx_profile_t *profile)
{
    for (uint32_t i = 0; i < profile->steps.n; i++) {
        rlx_profile_step_t *step = &profile->steps.row[i];
        rlx_profile_kernel_t *kernel;

        if (step->work.count == 0) /* only a helper's part of it was in the trace */
            continue;
        kernel = kernel_row(profile, step->kernel);
        if (kernel == NULL)
            return false;
        kernel->steps++;
        work_add(&kernel->work, &step->work);
        work_add(&profile->work, &step->work);
        work_judge(&step->work, rlx_texts_get(&profile->texts, step->kernel), &step->judgement);
    }
    for (uint32_t i = 0; i < profile->kernels.n; i++)
        work_judge(&profile->kernels.row[i].work, rlx_texts_get(&profile->texts, profile->kernels.row[i].name),
                   &profile->kernels.row[i].judgement);
    if (profile->kernels.n > 0)
        qsort(profile->kernels.row, profile->kernels.n, sizeof *profile->kernels.row, kernel_compare);
    return true;
}

/* Changes of what is going on, for the sweep below. */
typedef struct edge {
    uint64_t at;
    int32_t runs, transfers, open;
} edge_t;

static int edge_compare(const void *a, const void *b)
{
    const edge_t *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static void edges_add(edge_t *edges, size_t *n, uint64_t begin, uint64_t end, edge_t what)
{
    edges[*n] = what;
    edges[(*n)++].at = begin;
    edges[*n] = (edge_t){end, -what.runs, -what.transfers, -what.open};
    (*n)++;
}

static size_t edges_make(const rlx_profile_t *profile, edge_t *edges)
{
    size_t n = 0;

    for (uint32_t i = 0; i < profile->spans.n; i++) {
        const rlx_profile_span_t *span = &profile->spans.row[i];

        if (span->kind == RLX_SPAN_RUN)
            edges_add(edges, &n, span->begin, span->begin + span->duration, (edge_t){.runs = 1});
    }
    for (uint32_t i = 0; i < profile->requests.n; i++) {
        const rlx_profile_request_t *request = &profile->requests.row[i];
        uint64_t received = request->begin + request->phase[RLX_PHASE_RECEIVING];
        uint64_t replying = request->end - (request->phase[RLX_PHASE_REPLYING] < request->end - request->begin
                                                ? request->phase[RLX_PHASE_REPLYING] : request->end - request->begin);

        edges_add(edges, &n, request->begin, request->end, (edge_t){.open = 1});
        edges_add(edges, &n, request->begin, received, (edge_t){.transfers = 1});
        edges_add(edges, &n, replying, request->end, (edge_t){.transfers = 1});
    }
    qsort(edges, n, sizeof *edges, edge_compare);
    return n;
}

/* How the time in which anything was in flight was spent. */
static bool window_sweep(rlx_profile_t *profile)
{
    size_t n;
    edge_t *edges = malloc((2 * (size_t)profile->spans.n + 6 * (size_t)profile->requests.n + 1) * sizeof *edges), now = {0};

    if (edges == NULL)
        return false;
    n = edges_make(profile, edges);
    for (size_t i = 0; i < n; i++) {
        double ns = i > 0 ? (double)(edges[i].at - now.at) : 0;

        if (now.runs > 0 || now.open > 0)
            profile->window_ns += ns;
        if (now.runs == 0 && now.transfers > 0)
            profile->transfer_ns += ns;
        else if (now.runs == 0 && now.open > 0)
            profile->idle_ns += ns;
        now = (edge_t){edges[i].at, now.runs + edges[i].runs, now.transfers + edges[i].transfers, now.open + edges[i].open};
    }
    free(edges);
    return true;
}

static void overall_explain(rlx_profile_t *profile)
{
    rlx_judgement_t *overall = &profile->judgement;
    double transfer = profile->window_ns > 0 ? profile->transfer_ns / profile->window_ns : 0;

    if (overall->verdict == RLX_BOUND_NETWORK) {
        snprintf(overall->why, sizeof overall->why,
                 "%.0f %% of the time that requests were in flight, bytes moved and no worker ran.", 100 * transfer);
        snprintf(overall->knob, sizeof overall->knob,
                 "Clients on this machine: hand memory over (server.memory_socket) or use server.unix. Large tensors over a network: "
                 "server.limits.window_bytes. network.compression (zstd), network.rdma and network.prefetch act between nodes, not on one "
                 "machine.");
    } else if (overall->verdict == RLX_BOUND_OVERHEAD && profile->transfer_ns + profile->idle_ns < OUTSIDE_LOW * profile->window_ns) {
        overhead_explain(overall, &profile->work);
    } else if (overall->verdict == RLX_BOUND_OVERHEAD) {
        snprintf(overall->why, sizeof overall->why, "Workers are in tiles %.0f %% of the time that requests were in flight.",
                 100 * overall->busy);
        snprintf(overall->knob, sizeof overall->knob,
                 "Workers had no work: more requests at once, or larger batches (scheduling.batch_delay_us, an open batch axis).");
    }
}

/* Of the whole trace: workers that had nothing to do while something was in flight count as idle. */
static void overall_judge(rlx_profile_t *profile)
{
    rlx_judgement_t *overall = &profile->judgement;
    double there = profile->window_ns * profile->threads;

    work_judge(&profile->work, "", overall);
    if (there > 0) {
        overall->busy = profile->work.busy / there;
        overall->fma = profile->peak_gflops > 0 ? profile->work.flops / (profile->peak_gflops * profile->window_ns) : 0;
        overall->bandwidth = profile->peak_gbytes > 0 ? profile->work.bytes / (profile->peak_gbytes * profile->window_ns) : 0;
        overall->verdict = profile->transfer_ns > TRANSFER_BOUND * profile->window_ns ? RLX_BOUND_NETWORK : verdict_of(overall);
    }
    if (overall->verdict == RLX_BOUND_COMPUTE)
        compute_explain(overall, "");
    else if (overall->verdict == RLX_BOUND_MEMORY)
        memory_explain(overall);
    else if (overall->verdict == RLX_BOUND_NONE) {
        snprintf(overall->knob, sizeof overall->knob,
                 "Nothing stands out: see the kernels. Larger batches shorten the waits between steps.");
        snprintf(overall->why, sizeof overall->why,
                 "Workers are in tiles %.0f %% of the time; %.0f %% of the FMA peak, %.0f %% of the memory's rate.", 100 * overall->busy,
                 100 * overall->fma, 100 * overall->bandwidth);
    }
    overall_explain(profile);
}

rlx_status_t rlx_profile_judge(rlx_profile_t *profile, rlx_diag_t *diag)
{
    for (uint32_t i = 0; i < profile->spans.n; i++)
        if (profile->spans.row[i].kind == RLX_SPAN_RUN) {
            profile->n_runs++;
            profile->run_ns += (double)profile->spans.row[i].duration;
        }
    if (!kernels_sum(profile) || !window_sweep(profile))
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the profile");
    overall_judge(profile);
    return RLX_OK;
}
