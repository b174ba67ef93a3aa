/* A histogram of nanoseconds for measuring: 1/128 of a value's size is its resolution, from 1 ns to 2^40 ns (18 minutes), in fixed memory
 * (35 KB). What is above counts in the last bucket, and in `max_ns` exactly. One thread's; no allocation.
 *
 * What Prometheus scrapes for each model is another one, with few bounds that are round numbers (base/metric.h). */
#ifndef RLX_BASE_HISTOGRAM_H
#define RLX_BASE_HISTOGRAM_H

#include <stdint.h>

#define RLX_HISTOGRAM_SUB_BITS 7
#define RLX_HISTOGRAM_BUCKETS ((40 - RLX_HISTOGRAM_SUB_BITS + 1) << RLX_HISTOGRAM_SUB_BITS)

typedef struct rlx_histogram {
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t bucket[RLX_HISTOGRAM_BUCKETS];
} rlx_histogram_t;

void rlx_histogram_clear(rlx_histogram_t *histogram);
void rlx_histogram_add(rlx_histogram_t *histogram, uint64_t ns);
/* The bucket of a value. For a value of few leading bits (2^n, 5 * 2^n) it begins there: those before it hold what is less. */
int rlx_histogram_bucket(uint64_t ns);
/* The middle of the bucket that holds it; the maximum is exact. 0 when empty. */
double rlx_histogram_percentile(const rlx_histogram_t *histogram, double percent);
double rlx_histogram_mean(const rlx_histogram_t *histogram);

#endif
