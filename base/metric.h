/* Metrics in Prometheus' text exposition format 0.0.4, and the histogram behind them.
 *
 * Nothing is registered: a family is a constant row of a list, its numbers are counters that exist anyway, and the text is made when
 * somebody scrapes. Labels come from what the server knows (models, states, reasons), never from a request's words, so their number is
 * bounded by what is loaded.
 *
 * A histogram is a plain struct that its owner's thread counts into: no lock, no allocation. Bounds are the same on every node, so that
 * histograms of several nodes add up. */
#ifndef RLX_BASE_METRIC_H
#define RLX_BASE_METRIC_H

#include <stdint.h>

#include "base/text.h"

/* Upper bounds in microseconds. Those marked 1 are buckets of the exposition (1-2-5 steps from 50 us to 10 s); all serve quantiles. */
#define RLX_METRIC_BOUNDS(X) \
    X(20, 0) X(30, 0) X(50, 1) X(70, 0) X(100, 1) X(150, 0) X(200, 1) X(300, 0) X(500, 1) X(700, 0) X(1000, 1) X(1500, 0) X(2000, 1) \
    X(3000, 0) X(5000, 1) X(7000, 0) X(10000, 1) X(15000, 0) X(20000, 1) X(30000, 0) X(50000, 1) X(70000, 0) X(100000, 1) X(150000, 0) \
    X(200000, 1) X(300000, 0) X(500000, 1) X(700000, 0) X(1000000, 1) X(1500000, 0) X(2000000, 1) X(3000000, 0) X(5000000, 1) \
    X(7000000, 0) X(10000000, 1)
#define RLX_METRIC_BOUND(us, shown) +1
enum { RLX_METRIC_BUCKETS = 0 RLX_METRIC_BOUNDS(RLX_METRIC_BOUND) };
#undef RLX_METRIC_BOUND

typedef struct rlx_metric_histogram {
    uint64_t count, sum_ns;
    uint64_t bucket[RLX_METRIC_BUCKETS + 1]; /* not cumulative; the last: above all bounds */
} rlx_metric_histogram_t;

void rlx_metric_histogram_add(rlx_metric_histogram_t *histogram, uint64_t ns);
/* The quantile (0 < q < 1), interpolated inside its bucket; the largest bound for what is above; 0 when empty. */
uint64_t rlx_metric_histogram_quantile(const rlx_metric_histogram_t *histogram, double q);

typedef enum rlx_metric_kind { RLX_METRIC_COUNTER, RLX_METRIC_GAUGE, RLX_METRIC_HISTOGRAM } rlx_metric_kind_t;

/* Names are ours: [a-z_:][a-z0-9_:]*, base units, counters end in _total. */
typedef struct rlx_metric {
    const char *name;
    rlx_metric_kind_t kind;
    const char *help;
} rlx_metric_t;

typedef struct rlx_metric_label {
    const char *name, *value; /* value: any bytes; escaped where it is written */
} rlx_metric_label_t;

/* HELP and TYPE lines: once per family, before its samples. */
void rlx_metric_family(rlx_text_t *text, const rlx_metric_t *metric);
void rlx_metric_count(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels, uint64_t value);
void rlx_metric_number(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels, double value);
void rlx_metric_histogram(rlx_text_t *text, const rlx_metric_t *metric, const rlx_metric_label_t *labels, int n_labels,
                          const rlx_metric_histogram_t *histogram);

#endif
