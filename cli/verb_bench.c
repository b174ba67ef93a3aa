/* rlx bench: runs a bundle again and again, and says where the time goes, against what this machine can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bench.h"
#include "cli/bench_input.h"
#include "cli/cli.h"
#include "cli/profiling.h"
#include "kernels/reference.h"

#define RUNS_MAX ((int64_t)1 << 20)
#define SAMPLES_MAX 256 /* runs whose steps are kept; later runs overwrite the oldest */
#define FMA_STRETCHES 32
#define STRETCH_NS_MIN 1000000

typedef struct bench_request {
    const char *bundle, *input, *json, *profiling;
    rlx_session_options_t session;
    rlx_compile_options_t shapes;
    double duration_s, warmup_s;
    bool steps;
} bench_request_t;

/* One plan and its tensors, run repeatedly. */
typedef struct bench_loop {
    rlx_session_t *session;
    rlx_plan_t *plan;
    const rlx_io_t *inputs;
    rlx_io_t *outputs;
    uint64_t *samples; /* SAMPLES_MAX x n_steps */
    int64_t n_runs;
    rlx_profiling_t *profiling; /* NULL: nothing is traced */
} bench_loop_t;

/* FMA alone, between the runs. */
typedef struct stretches {
    double gflops[FMA_STRETCHES];
    int n;
    uint64_t total_ns;
} stretches_t;

static rlx_status_t request_parse(int argc, char **argv, bench_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},    {"input", required_argument, NULL, 'i'},  {"json", required_argument, NULL, 'j'},
        {"threads", required_argument, NULL, 't'},  {"kernels", required_argument, NULL, 'k'}, {"shape", required_argument, NULL, 's'},
        {"duration", required_argument, NULL, 'd'}, {"warmup", required_argument, NULL, 'w'}, {"steps", no_argument, NULL, 'S'},
        {"profiling", required_argument, NULL, 'p'},
        {0},
    };

    *request = (bench_request_t){.duration_s = 3, .warmup_s = 0.5};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->bundle = optarg; break;
        case 'i': request->input = optarg; break;
        case 'j': request->json = optarg; break;
        case 't': RLX_TRY(rlx_session_threads_parse(optarg, &request->session, diag)); break;
        case 'k': RLX_TRY(rlx_session_kernels_parse(optarg, &request->session, diag)); break;
        case 's': RLX_TRY(rlx_cli_shape(optarg, &request->shapes, diag)); break;
        case 'd': RLX_TRY(rlx_cli_seconds("--duration", optarg, &request->duration_s, diag)); break;
        case 'w': RLX_TRY(rlx_cli_seconds("--warmup", optarg, &request->warmup_s, diag)); break;
        case 'S': request->steps = true; break;
        case 'p': request->profiling = optarg; break;
        default: return diag->status;
        }
    return rlx_cli_operand(argc, argv, "FILE.rlxb", &request->bundle, diag);
}

static rlx_status_t loop_once(bench_loop_t *loop, uint64_t *out_ns, rlx_diag_t *diag)
{
    size_t n_steps = rlx_program_steps_total(loop->session->program);
    rlx_run_stats_t stats = {.step_ns = loop->samples + (size_t)(loop->n_runs % SAMPLES_MAX) * n_steps};
    uint64_t start = rlx_clock_ns();

    RLX_TRY(rlx_run(loop->plan, loop->session->team, loop->inputs, loop->outputs, NULL, &stats, diag));
    *out_ns = rlx_clock_ns() - start;
    loop->n_runs++;
    return RLX_OK;
}

static int number_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The same, told to the trace. The steps' times are not sampled: they would be of two kinds. */
static rlx_status_t loop_traced(bench_loop_t *loop, uint64_t *out_ns, rlx_diag_t *diag)
{
    rlx_run_stats_t stats = {0};
    uint64_t read_ns = rlx_clock_ns();

    RLX_TRY(rlx_profiling_run(loop->profiling, loop->session, loop->plan, loop->inputs, loop->outputs, &stats, diag));
    *out_ns = rlx_clock_ns() - read_ns;
    rlx_profiling_request(loop->profiling, read_ns, read_ns, 1, rlx_status_name(RLX_OK));
    return RLX_OK;
}

/* FMA alone for as long as a run took: what the machine gives now. A quarter of the runs' time at most. */
static void loop_stretch(const bench_loop_t *loop, uint64_t run_ns, uint64_t passed_ns, stretches_t *stretches)
{
    uint64_t ns = run_ns < STRETCH_NS_MIN ? STRETCH_NS_MIN : run_ns, start = rlx_clock_ns();

    if (stretches->n == FMA_STRETCHES || (stretches->total_ns + ns) * 4 > passed_ns)
        return;
    stretches->gflops[stretches->n++] = rlx_machine_fma_over(loop->session->isa, loop->session->n_threads, ns);
    stretches->total_ns += rlx_clock_ns() - start;
}

/* Until the time is over. With a trace every other run is told to it, so that both kinds see the same machine. */
static rlx_status_t loop_repeat(bench_loop_t *loop, double duration_s, rlx_bench_t *bench, rlx_diag_t *diag)
{
    uint64_t start = rlx_clock_ns(), ns, passed_ns;
    stretches_t stretches = {.n = 0};

    do {
        RLX_TRY(loop_once(loop, &ns, diag));
        bench->latency_ns[bench->n_runs++] = (double)ns;
        if (loop->profiling == NULL) {
            loop_stretch(loop, ns, rlx_clock_ns() - start - stretches.total_ns, &stretches);
        } else {
            RLX_TRY(loop_traced(loop, &ns, diag));
            bench->traced_ns[bench->n_traced++] = (double)ns;
        }
        passed_ns = rlx_clock_ns() - start - stretches.total_ns;
    } while ((double)passed_ns < duration_s * 1e9 && bench->n_runs < RUNS_MAX);
    bench->seconds = (double)passed_ns / 1e9;
    qsort(stretches.gflops, (size_t)stretches.n, sizeof *stretches.gflops, number_compare);
    bench->fma_gflops = stretches.n > 0 ? stretches.gflops[stretches.n / 2] : 0;
    return RLX_OK;
}

static rlx_status_t loop_measure(bench_loop_t *loop, const bench_request_t *request, rlx_bench_t *bench, rlx_diag_t *diag)
{
    uint64_t start = rlx_clock_ns(), ns;

    do
        RLX_TRY(loop_once(loop, &ns, diag));
    while ((double)(rlx_clock_ns() - start) < request->warmup_s * 1e9);
    loop->n_runs = 0;
    if (request->profiling != NULL)
        RLX_TRY(rlx_profiling_open(request->profiling, loop->session, &bench->machine, &loop->profiling, diag));
    RLX_TRY(loop_repeat(loop, request->duration_s, bench, diag));
    qsort(bench->latency_ns, (size_t)bench->n_runs, sizeof *bench->latency_ns, number_compare);
    qsort(bench->traced_ns, (size_t)bench->n_traced, sizeof *bench->traced_ns, number_compare);
    return RLX_OK;
}

static double step_median(const bench_loop_t *loop, size_t step)
{
    size_t n_steps = rlx_program_steps_total(loop->session->program);
    int n = (int)(loop->n_runs < SAMPLES_MAX ? loop->n_runs : SAMPLES_MAX);
    double values[SAMPLES_MAX];

    for (int i = 0; i < n; i++)
        values[i] = (double)loop->samples[(size_t)i * n_steps + step];
    qsort(values, (size_t)n, sizeof *values, number_compare);
    return values[n / 2];
}

static const char *kernel_name(uint32_t kernel)
{
    const char *name = rlx_call_name(kernel) != NULL ? rlx_call_name(kernel) : rlx_kernel_name((rlx_kernel_id_t)kernel);

    return name != NULL ? name : "?";
}

static void steps_fill(const bench_loop_t *loop, rlx_bench_t *bench)
{
    const rlx_program_header_t *program = loop->session->program;
    const rlx_program_cost_t *costs = RLX_PROGRAM_TABLE(rlx_program_cost_t, program, costs);

    bench->n_steps = (int)rlx_program_steps_total(program);
    for (int i = 0; i < bench->n_steps; i++) {
        const rlx_program_header_t *owner;
        const rlx_program_step_t *step = rlx_program_step_find(program, (uint32_t)i, &owner);
        rlx_bench_row_t row = {.kernel = kernel_name(step->kernel), .n_steps = 1};

        row.name = RLX_PROGRAM_TABLE(char, owner, strings) + step->name;
        row.ns = step_median(loop, (size_t)i);
        if ((uint64_t)i < program->costs.count) { /* those of bodies depend on the plans of their calls */
            row.flops = (double)rlx_plan_number(loop->plan, &costs[i].flops);
            row.bytes = (double)rlx_plan_number(loop->plan, &costs[i].bytes);
        }
        bench->steps[i] = row;
    }
    bench->arena_bytes = rlx_plan_arena_bytes(loop->plan);
    (void)rlx_bundle_constants(loop->session->bundle, &bench->constants_bytes);
    bench->huge_bytes = rlx_bundle_huge_bytes(loop->session->bundle);
    rlx_bench_sum(bench);
}

static rlx_status_t bench_inputs(rlx_session_t *session, const bench_request_t *request, rlx_io_t *inputs, rlx_diag_t *diag)
{
    size_t n_steps = rlx_program_steps_total(session->program), n_outputs = session->program->outputs.count;
    bench_loop_t loop = {.session = session, .inputs = inputs};
    rlx_bench_t bench = {.path = request->bundle, .session = session};
    rlx_status_t status;

    loop.outputs = calloc(n_outputs + 1, sizeof *loop.outputs);
    loop.samples = calloc(n_steps * SAMPLES_MAX + 1, sizeof *loop.samples);
    bench.latency_ns = malloc((size_t)RUNS_MAX * sizeof *bench.latency_ns);
    bench.traced_ns = malloc((size_t)RUNS_MAX * sizeof *bench.traced_ns);
    bench.steps = calloc(n_steps + 1, sizeof *bench.steps);
    bench.kernels = calloc(RLX_K_END, sizeof *bench.kernels);
    if (loop.outputs == NULL || loop.samples == NULL || bench.latency_ns == NULL || bench.traced_ns == NULL ||
        bench.steps == NULL || bench.kernels == NULL) {
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        goto free_all;
    }
    status = rlx_plan_get(session->model, inputs, &loop.plan, diag);
    if (status != RLX_OK)
        goto free_all;
    rlx_cli_progress(NULL, "measuring this machine");
    bench.machine = rlx_machine_measure(session->isa, session->n_threads);
    rlx_cli_progress(NULL, "running");
    status = loop_measure(&loop, request, &bench, diag);
    if (rlx_profiling_close(loop.profiling, diag) != RLX_OK)
        status = diag->status;
    rlx_cli_progress(NULL, NULL);
    if (status == RLX_OK) {
        steps_fill(&loop, &bench);
        rlx_bench_print(&bench, request->steps, stdout);
        if (request->json != NULL)
            status = rlx_bench_write_json(&bench, request->json, diag);
    }
    rlx_plan_release(loop.plan);
free_all:
    for (size_t i = 0; i < n_outputs && loop.outputs != NULL; i++)
        free(loop.outputs[i].tensor.data);
    free(loop.outputs);
    free(loop.samples);
    free(bench.latency_ns);
    free(bench.traced_ns);
    free(bench.steps);
    free(bench.kernels);
    return status;
}

static rlx_status_t bench_file(rlx_session_t *session, const bench_request_t *request, rlx_diag_t *diag)
{
    rlx_npz_t npz;
    rlx_io_t *inputs;
    rlx_status_t status;

    RLX_TRY(rlx_npz_read(request->input, &npz, diag));
    status = rlx_session_bind(session, &npz, &inputs, diag);
    if (status == RLX_OK) {
        status = bench_inputs(session, request, inputs, diag);
        free(inputs);
    }
    rlx_npz_fini(&npz);
    return status;
}

static rlx_status_t bench_made_up(rlx_session_t *session, const bench_request_t *request, rlx_diag_t *diag)
{
    rlx_io_t *inputs;
    rlx_status_t status;

    RLX_TRY(rlx_bench_inputs_make(session, &request->shapes, &inputs, diag));
    status = bench_inputs(session, request, inputs, diag);
    rlx_bench_inputs_free(session, inputs);
    if (status != RLX_OK)
        rlx_diag_hint(diag, "The inputs were made up. Give open extents with --shape NAME=DIMS, or real arrays with --input IN.npz.");
    return status;
}

static bool word_is(const char *word, const char *option)
{
    size_t n = strlen(option);

    return strncmp(word, option, n) == 0 && (word[n] == '\0' || word[n] == '=');
}

/* Loads on servers have a program of their own. */
static const char *load_program(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (word_is(argv[i], "--url") || word_is(argv[i], "--config"))
            return "rlx-load";
    return NULL;
}

static rlx_status_t bench_run(int argc, char **argv, rlx_diag_t *diag)
{
    bench_request_t request;
    rlx_session_t session;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    RLX_TRY(rlx_session_open(request.bundle, &request.session, &session, diag));
    status = request.input != NULL ? bench_file(&session, &request, diag) : bench_made_up(&session, &request, diag);
    rlx_session_close(&session);
    return status;
}

const rlx_verb_t rlx_verb_bench = {
    .name = "bench",
    .alias = "benchmark",
    .summary = "measure a bundle, or a server that serves it",
    .help = "rlx bench FILE.rlxb [options]\n"
            "rlx bench --url grpc://HOST:PORT --model NAME [options]\n"
            "rlx bench --config FILE --model FILE [options]\n"
            "\n"
            "Prints p50, p90 and p99, and per kernel the share of time and of what this machine can do at best (FMA peak and memory\n"
            "bandwidth are measured first, with as many threads).\n"
            "\n"
            "Options:\n"
            "  --threads N         threads that run the kernels (default: one per CPU)\n"
            "  --duration S        seconds to measure (3); at least one run\n"
            "  --warmup S          seconds to run before (0.5); at least one run\n"
            "  --input IN.npz      inputs; without it they are made up: seeded floats, integers 1\n"
            "  --shape NAME=DIMS   extents of a made-up input: --shape image=1x3x224x224\n"
            "  --steps             also lists every step\n"
            "  --json FILE         also writes everything as JSON\n"
            "  --profiling FILE    writes a trace of every other run, for Perfetto and `rlx profile`, and prints what tracing costs\n"
            "  --kernels reference runs the reference kernels instead of the bundle's code\n"
            "\n"
            "With --url (grpc://, http://, https://, unix:PATH) the load is on a server, and the answer is latency as clients see it.\n"
            "With --config a server is started for it, as `rlx run` would, on a free port:\n"
            "  --concurrency N     requests in flight, as streams (default: one per connection)\n"
            "  --connections N     connections they are spread over (1)\n"
            "  --rate R            open loop: R requests per second whether or not the server keeps up; latency counts from the time a\n"
            "                      request was due. --concurrency then bounds what is in flight (1024)\n"
            "  --think TIME        closed loop: pause between answer and next request: --think 5ms\n"
            "  --batch-size N      rows in a request; a model of fixed batch 1 is kept busy with N requests in flight instead\n"
            "  --timeout TIME      deadline of each request (30s)\n"
            "  --shared-memory=KIND  tensors in shared memory: memfd (handed over on --memory-socket PATH) or system\n"
            "  --pid PID           also tells the CPU time of that process per request\n"
            "  --model-version V, --input, --shape, --duration, --warmup, --json (- for standard output) as above\n",
    .run = bench_run,
    .program = load_program,
};
