/* rlx bench --url, rlx bench --config: the options of a load on a server, and a server for it where none was named. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/load/bench_server.h"
#include "cli/load/bench_url.h"
#include "cli/load/load.h"

#define OPEN_LOOP_CONCURRENCY 1024 /* in flight at most, unless told */

typedef struct url_request {
    rlx_load_options_t load;
    const char *json, *config; /* config: a server is started with it */
    int64_t concurrency; /* 0: not told */
} url_request_t;

/* "5ms", "2s", "250us"; a bare number is milliseconds. */
static rlx_status_t duration_parse(const char *option, const char *text, double *out_seconds, rlx_diag_t *diag)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1e-3}, {"ms", 1e-3}, {"s", 1}, {"us", 1e-6}};
    char *end;
    double value = strtod(text, &end);

    for (size_t i = 0; end != text && isfinite(value) && value >= 0 && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *out_seconds = value * units[i].seconds;
            return RLX_OK;
        }
    return rlx_fail(diag, RLX_E_USAGE, "%s: '%s' is no time like 5ms, 2s or 250us", option, text);
}

static rlx_status_t rate_parse(const char *text, double *out_rate, rlx_diag_t *diag)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "/s") != 0) || !(value > 0) || value > 1e7)
        return rlx_fail(diag, RLX_E_USAGE, "--rate: '%s' is no number of requests per second, above 0 and up to 10000000", text);
    *out_rate = value;
    return RLX_OK;
}

static rlx_status_t memory_parse(const char *text, rlx_load_memory_t *out_memory, rlx_diag_t *diag)
{
    if (text == NULL || strcmp(text, "memfd") == 0)
        *out_memory = RLX_LOAD_MEMFD;
    else if (strcmp(text, "system") == 0)
        *out_memory = RLX_LOAD_SYSTEM;
    else
        return rlx_fail(diag, RLX_E_USAGE, "--shared-memory: '%s' is neither memfd nor system", text);
    return RLX_OK;
}

static rlx_status_t option_take(int option, url_request_t *request, rlx_diag_t *diag)
{
    rlx_load_options_t *load = &request->load;
    double timeout_s;

    switch (option) {
    case 'u': load->url = optarg; return RLX_OK;
    case 'm': load->model = optarg; return RLX_OK;
    case 'v': load->version = optarg; return RLX_OK;
    case 'i': load->input = optarg; return RLX_OK;
    case 'j': request->json = optarg; return RLX_OK;
    case 'F': request->config = optarg; return RLX_OK;
    case 'M': load->memory_socket = optarg; return RLX_OK;
    case 's': return rlx_cli_shape(optarg, &load->shapes, diag);
    case 'd': return rlx_cli_seconds("--duration", optarg, &load->duration_s, diag);
    case 'w': return rlx_cli_seconds("--warmup", optarg, &load->warmup_s, diag);
    case 'c': return rlx_cli_int("--concurrency", optarg, 1, RLX_LOAD_CONCURRENCY_MAX, &request->concurrency, diag);
    case 'C': return rlx_cli_int("--connections", optarg, 1, RLX_LOAD_CONNECTIONS_MAX, &load->connections, diag);
    case 'b': return rlx_cli_int("--batch-size", optarg, 1, RLX_LOAD_CONCURRENCY_MAX, &load->batch, diag);
    case 'p': return rlx_cli_int("--pid", optarg, 1, INT32_MAX, &load->pid, diag);
    case 'r': return rate_parse(optarg, &load->rate, diag);
    case 't': return duration_parse("--think", optarg, &load->think_s, diag);
    case 'H': return memory_parse(optarg, &load->memory, diag);
    default:
        RLX_TRY(duration_parse("--timeout", optarg, &timeout_s, diag));
        load->timeout_ms = (int64_t)ceil(timeout_s * 1e3);
        return load->timeout_ms <= 86400000 ? RLX_OK : rlx_fail(diag, RLX_E_USAGE, "--timeout: more than a day");
    }
}

static rlx_status_t request_check(url_request_t *request, rlx_diag_t *diag)
{
    rlx_load_options_t *load = &request->load;

    if (load->model == NULL) {
        rlx_fail(diag, RLX_E_USAGE, "--model is missing: %s",
                 request->config != NULL ? "a file" : "the name of a model that the server has");
        return rlx_diag_hint(diag, "`rlx help bench` shows how it is called.");
    }
    if (load->url != NULL && request->config != NULL)
        return rlx_fail(diag, RLX_E_USAGE, "--url and --config exclude each other: a server that runs, or one that is started");
    if (load->duration_s <= 0)
        return rlx_fail(diag, RLX_E_USAGE, "--duration must be above 0");
    if (load->rate > 0 && load->think_s > 0)
        return rlx_fail(diag, RLX_E_USAGE, "--rate and --think exclude each other: an open loop does not wait for answers");
    load->concurrency = request->concurrency > 0 ? request->concurrency : load->rate > 0 ? OPEN_LOOP_CONCURRENCY : load->connections;
    if (load->concurrency < load->connections)
        return rlx_fail(diag, RLX_E_USAGE, "--concurrency %lld is less than --connections %lld: some would have nothing to do",
                        (long long)load->concurrency, (long long)load->connections);
    return RLX_OK;
}

static rlx_status_t request_parse(int argc, char **argv, url_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"url", required_argument, NULL, 'u'},
        {"model", required_argument, NULL, 'm'},
        {"model-version", required_argument, NULL, 'v'},
        {"input", required_argument, NULL, 'i'},
        {"json", required_argument, NULL, 'j'},
        {"shape", required_argument, NULL, 's'},
        {"duration", required_argument, NULL, 'd'},
        {"warmup", required_argument, NULL, 'w'},
        {"concurrency", required_argument, NULL, 'c'},
        {"connections", required_argument, NULL, 'C'},
        {"batch-size", required_argument, NULL, 'b'},
        {"rate", required_argument, NULL, 'r'},
        {"think", required_argument, NULL, 't'},
        {"timeout", required_argument, NULL, 'T'},
        {"pid", required_argument, NULL, 'p'},
        {"shared-memory", optional_argument, NULL, 'H'},
        {"memory-socket", required_argument, NULL, 'M'},
        {"config", required_argument, NULL, 'F'},
        {0},
    };

    *request = (url_request_t){.load = {.duration_s = 3, .warmup_s = 0.5, .connections = 1, .batch = 1, .timeout_ms = 30000}};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;) {
        if (option == '?')
            return diag->status;
        RLX_TRY(option_take(option, request, diag));
    }
    if (optind < argc)
        return rlx_fail(diag, RLX_E_USAGE, "bench --url: unexpected argument '%s'", argv[optind]);
    return request_check(request, diag);
}

static rlx_status_t load_and_report(const url_request_t *request, rlx_diag_t *diag)
{
    rlx_load_result_t *result = malloc(sizeof *result);
    rlx_status_t status;

    if (result == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    rlx_cli_progress(NULL, "loading the server");
    status = rlx_load_run(&request->load, result, diag);
    rlx_cli_progress(NULL, NULL);
    if (status == RLX_OK && (request->json == NULL || strcmp(request->json, "-") != 0))
        rlx_load_print(&request->load, result, stdout);
    if (status == RLX_OK && request->json != NULL)
        status = rlx_load_write_json(&request->load, result, request->json, diag);
    free(result);
    return status;
}

rlx_status_t rlx_bench_url(int argc, char **argv, rlx_diag_t *diag)
{
    url_request_t request;
    rlx_bench_server_t server;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    if (request.config == NULL)
        return load_and_report(&request, diag);
    RLX_TRY(rlx_bench_server_start(request.config, request.load.model, &server, diag));
    request.load.url = server.url;
    request.load.model = server.model;
    request.load.pid = server.pid;
    status = load_and_report(&request, diag);
    rlx_bench_server_stop(&server);
    return status;
}
