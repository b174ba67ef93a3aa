/* Values below 2^SUB_BITS have a bucket each; above, every power of two has 2^SUB_BITS of them. */
#include "base/histogram.h"

#include <string.h>

#define SUB_BITS RLX_HISTOGRAM_SUB_BITS

void rlx_histogram_clear(rlx_histogram_t *histogram)
{
    memset(histogram, 0, sizeof *histogram);
    histogram->min_ns = UINT64_MAX;
}

int rlx_histogram_bucket(uint64_t ns)
{
    int shift;

    if (ns >= (uint64_t)1 << 40)
        return RLX_HISTOGRAM_BUCKETS - 1;
    if (ns < (uint64_t)1 << SUB_BITS)
        return (int)ns;
    shift = 63 - __builtin_clzll(ns) - SUB_BITS;
    return ((shift + 1) << SUB_BITS) + (int)((ns >> shift) - ((uint64_t)1 << SUB_BITS));
}

static double bucket_middle(int bucket)
{
    int shift = (bucket >> SUB_BITS) - 1;

    if (shift < 0)
        return bucket;
    return ((double)(bucket & ((1 << SUB_BITS) - 1)) + (1 << SUB_BITS) + 0.5) * (double)((uint64_t)1 << shift);
}

void rlx_histogram_add(rlx_histogram_t *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->sum_ns += ns;
    histogram->min_ns = ns < histogram->min_ns ? ns : histogram->min_ns;
    histogram->max_ns = ns > histogram->max_ns ? ns : histogram->max_ns;
    histogram->bucket[rlx_histogram_bucket(ns)]++;
}

double rlx_histogram_percentile(const rlx_histogram_t *histogram, double percent)
{
    uint64_t wanted = (uint64_t)((double)histogram->count * percent / 100.0), seen = 0;

    if (histogram->count == 0)
        return 0;
    if (wanted >= histogram->count)
        return (double)histogram->max_ns;
    for (int i = 0; i < RLX_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen > wanted) {
            double middle = bucket_middle(i);

            return middle < (double)histogram->max_ns ? middle : (double)histogram->max_ns;
        }
    }
    return (double)histogram->max_ns;
}

double rlx_histogram_mean(const rlx_histogram_t *histogram)
{
    return histogram->count > 0 ? (double)histogram->sum_ns / (double)histogram->count : 0;
}
