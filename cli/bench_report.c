/* Tables and JSON of a benchmark. Numbers that could not be measured are left out, never guessed. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench.h"
#include "cli/cli.h"

double rlx_bench_percentile(const rlx_bench_t *bench, double percent)
{
    int64_t index = (int64_t)((double)bench->n_runs * percent / 100.0);

    return bench->latency_ns[index < bench->n_runs ? index : bench->n_runs - 1];
}

static int row_compare(const void *a, const void *b)
{
    const rlx_bench_row_t *x = a, *y = b;

    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->kernel, y->kernel);
}

void rlx_bench_sum(rlx_bench_t *bench)
{
    bench->n_kernels = 0;
    for (int i = 0; i < bench->n_steps; i++) {
        const rlx_bench_row_t *step = &bench->steps[i];
        int k = 0;

        while (k < bench->n_kernels && strcmp(bench->kernels[k].kernel, step->kernel) != 0)
            k++;
        if (k == bench->n_kernels)
            bench->kernels[bench->n_kernels++] = (rlx_bench_row_t){.kernel = step->kernel};
        bench->kernels[k].n_steps++;
        bench->kernels[k].ns += step->ns;
        bench->kernels[k].flops += step->flops;
        bench->kernels[k].bytes += step->bytes;
        bench->flops += step->flops;
    }
    qsort(bench->kernels, (size_t)bench->n_kernels, sizeof *bench->kernels, row_compare);
}

/* A rate and its share of the machine's best, or dashes. */
static void rate_print(double amount, double ns, double best, FILE *out)
{
    if (amount <= 0 || ns <= 0)
        fprintf(out, "  %8s %6s", "-", "-");
    else if (best <= 0)
        fprintf(out, "  %8.1f %6s", amount / ns, "-");
    else
        fprintf(out, "  %8.1f %5.0f%%", amount / ns, 100 * amount / ns / best);
}

static void row_print(const rlx_bench_t *bench, const rlx_bench_row_t *row, double total_ns, FILE *out)
{
    fprintf(out, "%-24s %5d %9.3f %5.1f%%", row->kernel, row->n_steps, row->ns / 1e6, total_ns > 0 ? 100 * row->ns / total_ns : 0);
    rate_print(row->flops, row->ns, bench->machine.gflops, out);
    rate_print(row->bytes, row->ns, bench->machine.gbytes, out);
    if (row->name != NULL)
        fprintf(out, "  %s", row->name);
    fputc('\n', out);
}

static void rows_print(const rlx_bench_t *bench, const rlx_bench_row_t *rows, int n_rows, double total_ns, FILE *out)
{
    fprintf(out, "\n%-24s %5s %9s %6s  %8s %6s  %8s %6s\n", "kernel", "steps", "ms", "share", "GF/s", "peak", "GB/s", "memory");
    for (int i = 0; i < n_rows; i++)
        row_print(bench, &rows[i], total_ns, out);
}

static double traced_p50(const rlx_bench_t *bench) { return bench->traced_ns[bench->n_traced / 2]; }

void rlx_bench_print(const rlx_bench_t *bench, bool with_steps, FILE *out)
{
    double p50 = rlx_bench_percentile(bench, 50), total_ns = 0;

    for (int i = 0; i < bench->n_kernels; i++)
        total_ns += bench->kernels[i].ns;
    fprintf(out, "%s: %s kernels, %d thread%s, %d steps, arena %.1f MB\n", bench->path, bench->session->isa, bench->session->n_threads,
            bench->session->n_threads > 1 ? "s" : "", bench->n_steps, (double)bench->arena_bytes / 1e6);
    fprintf(out, "latency     min %.3f  p50 %.3f  p90 %.3f  p99 %.3f ms  (%lld runs in %.1f s)\n", bench->latency_ns[0] / 1e6, p50 / 1e6,
            rlx_bench_percentile(bench, 90) / 1e6, rlx_bench_percentile(bench, 99) / 1e6, (long long)bench->n_runs, bench->seconds);
    fprintf(out, "throughput  %.1f runs/s", (double)(bench->n_runs + bench->n_traced) / bench->seconds);
    if (bench->flops > 0)
        fprintf(out, ", %.1f GF/s at p50", bench->flops / p50);
    if (bench->flops > 0 && bench->machine.gflops > 0)
        fprintf(out, " = %.0f%% of the FMA peak", 100 * bench->flops / p50 / bench->machine.gflops);
    fprintf(out, "\nmachine     %.1f GF/s FMA peak, %.1f GB/s memory read, measured now with as many threads\n", bench->machine.gflops,
            bench->machine.gbytes);
    if (bench->fma_gflops > 0)
        fprintf(out, "            %.1f GF/s FMA alone over stretches as long as a run, between the runs: %.1f%% of that\n", bench->fma_gflops,
                100 * bench->flops / p50 / bench->fma_gflops);
    fprintf(out, "weights     %.1f MB, %.1f MB of the bundle mapped in huge pages\n", (double)bench->constants_bytes / 1e6,
            (double)bench->huge_bytes / 1e6);
    if (bench->n_traced > 0)
        fprintf(out, "profiling   p50 %.3f ms traced, %.3f ms not (every other run): %+.2f %%\n", traced_p50(bench) / 1e6, p50 / 1e6,
                100 * (traced_p50(bench) / p50 - 1));
    rows_print(bench, bench->kernels, bench->n_kernels, total_ns, out);
    if (with_steps)
        rows_print(bench, bench->steps, bench->n_steps, total_ns, out);
    fputs("\nGF/s and GB/s count the work that the operator needs; GB/s above memory's mean that caches served it.\n", out);
}

static void json_string(const char *text, FILE *out)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++)
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    fputc('"', out);
}

static void json_rows(const rlx_bench_t *bench, const char *key, const rlx_bench_row_t *rows, int n_rows, FILE *out)
{
    fprintf(out, "  \"%s\": [", key);
    for (int i = 0; i < n_rows; i++) {
        fprintf(out, "%s\n    {\"kernel\": ", i > 0 ? "," : "");
        json_string(rows[i].kernel, out);
        if (rows[i].name != NULL) {
            fputs(", \"name\": ", out);
            json_string(rows[i].name, out);
        }
        fprintf(out, ", \"steps\": %d, \"ms\": %.6f, \"flops\": %.0f, \"bytes\": %.0f", rows[i].n_steps, rows[i].ns / 1e6, rows[i].flops,
                rows[i].bytes);
        if (rows[i].flops > 0 && rows[i].ns > 0 && bench->machine.gflops > 0)
            fprintf(out, ", \"peak_fraction\": %.4f", rows[i].flops / rows[i].ns / bench->machine.gflops);
        if (rows[i].bytes > 0 && rows[i].ns > 0 && bench->machine.gbytes > 0)
            fprintf(out, ", \"memory_fraction\": %.4f", rows[i].bytes / rows[i].ns / bench->machine.gbytes);
        fputc('}', out);
    }
    fputs("\n  ]", out);
}

static void json_print(const rlx_bench_t *bench, FILE *out)
{
    double sum = 0;

    for (int64_t i = 0; i < bench->n_runs; i++)
        sum += bench->latency_ns[i];
    fputs("{\n  \"bundle\": ", out);
    json_string(bench->path, out);
    fputs(",\n  \"version\": ", out);
    json_string(rlx_cli_version(), out);
    fprintf(out, ",\n  \"isa\": \"%s\",\n  \"threads\": %d,\n  \"runs\": %lld,\n  \"seconds\": %.3f,\n", bench->session->isa,
            bench->session->n_threads, (long long)bench->n_runs, bench->seconds);
    fprintf(out, "  \"latency_ms\": {\"min\": %.6f, \"p50\": %.6f, \"p90\": %.6f, \"p99\": %.6f, \"mean\": %.6f},\n",
            bench->latency_ns[0] / 1e6, rlx_bench_percentile(bench, 50) / 1e6,
            rlx_bench_percentile(bench, 90) / 1e6, rlx_bench_percentile(bench, 99) / 1e6,
            sum / (double)bench->n_runs / 1e6);
    fprintf(out, "  \"flops\": %.0f,\n  \"arena_bytes\": %lld,\n  \"constants_bytes\": %zu,\n  \"huge_bytes\": %zu,\n  \"machine\": {\"gflops\": %.3f, \"gbytes_per_s\": %.3f, \"gflops_over_runs\": %.3f},\n", bench->flops,
            (long long)bench->arena_bytes, bench->constants_bytes, bench->huge_bytes, bench->machine.gflops, bench->machine.gbytes, bench->fma_gflops);
    if (bench->n_traced > 0)
        fprintf(out, "  \"profiling\": {\"runs\": %lld, \"p50_ms\": %.6f},\n", (long long)bench->n_traced, traced_p50(bench) / 1e6);
    json_rows(bench, "kernels", bench->kernels, bench->n_kernels, out);
    fputs(",\n", out);
    json_rows(bench, "steps", bench->steps, bench->n_steps, out);
    fputs("\n}\n", out);
}

rlx_status_t rlx_bench_write_json(const rlx_bench_t *bench, const char *path, rlx_diag_t *diag)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    rlx_status_t status;

    if (out == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    json_print(bench, out);
    if (fclose(out) != 0)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    else
        status = rlx_file_write(path, text, bytes, diag);
    free(text);
    return status;
}
