/* A load's table and JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/load/load.h"

static const struct {
    const char *name;
    double percent;
} quantiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}};
#define N_QUANTILES (sizeof quantiles / sizeof *quantiles)

static const char *const statuses[RLX_LOAD_STATUSES] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

static void row_print(const char *name, const rlx_histogram_t *histogram, FILE *out)
{
    if (histogram->count == 0)
        return;
    fprintf(out, "%-10s %10" PRIu64, name, histogram->count);
    for (size_t i = 0; i < N_QUANTILES; i++)
        fprintf(out, " %10.1f", rlx_histogram_percentile(histogram, quantiles[i].percent) / 1e3);
    fprintf(out, " %10.1f %10.1f\n", (double)histogram->max_ns / 1e3, rlx_histogram_mean(histogram) / 1e3);
}

static uint64_t requests_all(const rlx_load_result_t *result) { return result->answered.count + result->refused.count; }

static void cpu_print(const rlx_load_result_t *result, FILE *out)
{
    double n = (double)requests_all(result);

    if (n == 0)
        return;
    fprintf(out, "CPU per request: client %.1f us", result->client_cpu_s / n * 1e6);
    if (result->server_cpu_s >= 0)
        fprintf(out, ", server %.1f us", result->server_cpu_s / n * 1e6);
    fputc('\n', out);
}

static void load_describe(const rlx_load_options_t *options, const rlx_load_result_t *result, FILE *out)
{
    static const char *const places[] = {"in the message", "in a sealed memfd", "in system shared memory"};

    fprintf(out, "%s, model %s: ", options->url, options->model);
    if (options->rate > 0)
        fprintf(out, "open loop, %g/s, at most %" PRId64 " in flight on %" PRId64 " connection%s", options->rate, result->concurrency,
                result->connections, result->connections == 1 ? "" : "s");
    else
        fprintf(out, "closed loop, %" PRId64 " in flight on %" PRId64 " connection%s", result->concurrency, result->connections,
                result->connections == 1 ? "" : "s");
    if (options->think_s > 0)
        fprintf(out, ", %g ms think time", options->think_s * 1e3);
    fprintf(out, "\n%.0f bytes to the model, %.0f back, %s", result->bytes_out, result->bytes_in, places[options->memory]);
    if (result->device[0] != '\0')
        fprintf(out, "; served by %s", result->device);
    fputc('\n', out);
    if (result->note[0] != '\0')
        fprintf(out, "note: %s\n", result->note);
}

void rlx_load_print(const rlx_load_options_t *options, const rlx_load_result_t *result, FILE *out)
{
    load_describe(options, result, out);
    fprintf(out, "\n%-10s %10s", "us", "count");
    for (size_t i = 0; i < N_QUANTILES; i++)
        fprintf(out, " %10s", quantiles[i].name);
    fprintf(out, " %10s %10s\n", "max", "mean");
    row_print("answered", &result->answered, out);
    row_print("refused", &result->refused, out);
    row_print("queued", &result->queue, out);
    row_print("kernels", &result->kernel, out);
    fprintf(out, "\nthroughput: %.1f requests/s", (double)result->in_time / result->seconds);
    if (result->bytes_out > 0)
        fprintf(out, " (%.1f MB/s of inputs)", (double)result->in_time / result->seconds * result->bytes_out / 1e6);
    fputc('\n', out);
    if (result->connections > 1 && result->connection_max > 0)
        fprintf(out, "slowest/fastest connection: %" PRIu64 "/%" PRIu64 " = %.2f\n", result->connection_min, result->connection_max,
                (double)result->connection_min / (double)result->connection_max);
    cpu_print(result, out);
    for (int i = 1; i < RLX_LOAD_STATUSES; i++)
        if (result->status[i] > 0)
            fprintf(out, "%s: %" PRIu64 "\n", statuses[i], result->status[i]);
    if (result->late > 0)
        fprintf(out, "never sent: %" PRIu64 " requests were due while all were in flight\n", result->late);
    if (result->error[0] != '\0')
        fprintf(out, "first failure: %s\n", result->error);
}

static json_t *histogram_json(const rlx_histogram_t *histogram)
{
    json_t *object = json_object();

    json_object_set_new(object, "count", json_integer((json_int_t)histogram->count));
    if (histogram->count == 0)
        return object;
    json_object_set_new(object, "min", json_real((double)histogram->min_ns / 1e3));
    for (size_t i = 0; i < N_QUANTILES; i++)
        json_object_set_new(object, quantiles[i].name, json_real(rlx_histogram_percentile(histogram, quantiles[i].percent) / 1e3));
    json_object_set_new(object, "max", json_real((double)histogram->max_ns / 1e3));
    json_object_set_new(object, "mean", json_real(rlx_histogram_mean(histogram) / 1e3));
    return object;
}

static json_t *statuses_json(const rlx_load_result_t *result)
{
    json_t *object = json_object();

    for (int i = 0; i < RLX_LOAD_STATUSES; i++)
        if (result->status[i] > 0)
            json_object_set_new(object, statuses[i], json_integer((json_int_t)result->status[i]));
    return object;
}

static json_t *result_json(const rlx_load_options_t *options, const rlx_load_result_t *result)
{
    double n = (double)requests_all(result);
    json_t *root = json_object();

    json_object_set_new(root, "url", json_string(options->url));
    json_object_set_new(root, "model", json_string(options->model));
    json_object_set_new(root, "version", json_string(rlx_cli_version()));
    json_object_set_new(root, "connections", json_integer(result->connections));
    json_object_set_new(root, "concurrency", json_integer(result->concurrency));
    json_object_set_new(root, "rate", json_real(options->rate));
    json_object_set_new(root, "think_ms", json_real(options->think_s * 1e3));
    json_object_set_new(root, "note", json_string(result->note));
    json_object_set_new(root, "device", json_string(result->device));
    json_object_set_new(root, "input_bytes", json_real(result->bytes_out));
    json_object_set_new(root, "output_bytes", json_real(result->bytes_in));
    json_object_set_new(root, "seconds", json_real(result->seconds));
    json_object_set_new(root, "throughput", json_real((double)result->in_time / result->seconds));
    json_object_set_new(root, "latency_us", histogram_json(&result->answered));
    json_object_set_new(root, "refused_us", histogram_json(&result->refused));
    json_object_set_new(root, "server_queue_us", histogram_json(&result->queue));
    json_object_set_new(root, "server_kernel_us", histogram_json(&result->kernel));
    json_object_set_new(root, "status", statuses_json(result));
    json_object_set_new(root, "never_sent", json_integer((json_int_t)result->late));
    json_object_set_new(root, "connection_min", json_integer((json_int_t)result->connection_min));
    json_object_set_new(root, "connection_max", json_integer((json_int_t)result->connection_max));
    json_object_set_new(root, "first_failure", json_string(result->error));
    if (n > 0)
        json_object_set_new(root, "client_cpu_us", json_real(result->client_cpu_s / n * 1e6));
    if (n > 0 && result->server_cpu_s >= 0)
        json_object_set_new(root, "server_cpu_us", json_real(result->server_cpu_s / n * 1e6));
    return root;
}

rlx_status_t rlx_load_write_json(const rlx_load_options_t *options, const rlx_load_result_t *result, const char *path, rlx_diag_t *diag)
{
    json_t *root = result_json(options, result);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    rlx_status_t status = RLX_OK;

    json_decref(root);
    if (text == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (strcmp(path, "-") == 0)
        puts(text);
    else
        status = rlx_file_write(path, text, strlen(text), diag);
    free(text);
    return status;
}
