/* The bounds are one table: what is counted into, and which of it the exposition shows. A label value may hold any bytes; three characters
 * of it are escaped. */
#include "base/metric.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t us;
    bool shown;
} bounds[RLX_METRIC_BUCKETS] = {
#define X(us, shown) {us, shown},
    RLX_METRIC_BOUNDS(X)
#undef X
};

void rlx_metric_histogram_add(rlx_metric_histogram_t *histogram, uint64_t ns)
{
    int low = 0, high = RLX_METRIC_BUCKETS; /* the first bound that is not below */

    while (low < high) {
        int middle = (low + high) / 2;

        if (ns <= (uint64_t)bounds[middle].us * 1000)
            high = middle;
        else
            low = middle + 1;
    }
    histogram->bucket[low]++;
    histogram->count++;
    histogram->sum_ns += ns;
}

uint64_t rlx_metric_histogram_quantile(const rlx_metric_histogram_t *histogram, double q)
{
    double wanted = q * (double)histogram->count, before = 0;

    if (histogram->count == 0)
        return 0;
    for (int i = 0; i < RLX_METRIC_BUCKETS; i++) {
        double inside = (double)histogram->bucket[i], from = i > 0 ? bounds[i - 1].us : 0;

        if (before + inside >= wanted && inside > 0)
            return (uint64_t)(1000 * (from + (bounds[i].us - from) * (wanted - before) / inside));
        before += inside;
    }
    return (uint64_t)bounds[RLX_METRIC_BUCKETS - 1].us * 1000;
}

/* Backslash, quote and line feed in label values; backslash and line feed in help texts. Nothing else is escaped in this format. */
static void escaped_add(rlx_text_t *text, const char *value, bool quote)
{
    for (;;) {
        size_t plain = strcspn(value, quote ? "\\\"\n" : "\\\n");

        rlx_text_add(text, value, plain);
        value += plain;
        if (*value == '\0')
            return;
        rlx_text_puts(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
        value++;
    }
}

void rlx_metric_family(rlx_text_t *text, const rlx_metric_t *metric)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};

    rlx_text_printf(text, "# HELP %s ", metric->name);
    escaped_add(text, metric->help, false);
    rlx_text_printf(text, "\n# TYPE %s %s\n", metric->name, kinds[metric->kind]);
}

/* NAME SUFFIX {labels, le} and a blank. `le` NULL: none. */
static void sample_begin(rlx_text_t *text, const rlx_metric_t *metric, const char *suffix, const rlx_metric_label_t *labels, int n_labels,
                         const char *le)
{
    const char *separator = "{";

    rlx_text_puts(text, metric->name);
    rlx_text_puts(text, suffix);
    for (int i = 0; i < n_labels; i++) {
        rlx_text_printf(text, "%s%s=\"", separator, labels[i].name);
        escaped_add(text, labels[i].value, true);
        rlx_text_puts(text, "\"");
        separator = ",";
    }
    if (le != NULL)
        rlx_text_printf(text, "%sle=\"%s\"", separator, le);
    rlx_text_puts(text, n_labels > 0 || le != NULL ? "} " : " ");
}

void rlx_metric_count(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels, uint64_t value)
{
    sample_begin(text, metric, "", labels, n_labels, NULL);
    rlx_text_printf(text, "%" PRIu64 "\n", value);
}

void rlx_metric_number(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels, double value)
{
    sample_begin(text, metric, "", labels, n_labels, NULL);
    rlx_text_printf(text, "%.17g\n", value);
}

void rlx_metric_histogram(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels,
                          const rlx_metric_histogram_t *histogram)
{
    uint64_t total = 0;
    char le[32];

    for (int i = 0; i < RLX_METRIC_BUCKETS; i++) {
        total += histogram->bucket[i];
        if (!bounds[i].shown)
            continue;
        snprintf(le, sizeof le, "%g", bounds[i].us / 1e6);
        sample_begin(text, metric, "_bucket", labels, n_labels, le);
        rlx_text_printf(text, "%" PRIu64 "\n", total);
    }
    sample_begin(text, metric, "_bucket", labels, n_labels, "+Inf");
    rlx_text_printf(text, "%" PRIu64 "\n", histogram->count);
    sample_begin(text, metric, "_sum", labels, n_labels, NULL);
    rlx_text_printf(text, "%.9f\n", (double)histogram->sum_ns / 1e9);
    sample_begin(text, metric, "_count", labels, n_labels, NULL);
    rlx_text_printf(text, "%" PRIu64 "\n", histogram->count);
}
