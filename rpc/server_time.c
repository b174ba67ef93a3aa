/* The histogram of server time: quarter octaves, so a quantile read from it is within 19 %. */
#include "rpc/server_internal.h"

/* 4 * log2(ns), rounded down. */
static int bucket_of(uint64_t ns)
{
    static const uint32_t quarter[] = {2553802834u, 3037000500u, 3611622603u}; /* 2^31 * 2^(1/4), 2^(2/4), 2^(3/4) */
    int octave, index;
    uint32_t mantissa;

    if (ns == 0)
        return 0;
    octave = 63 - __builtin_clzll(ns);
    mantissa = (uint32_t)((ns << (63 - octave)) >> 32);
    index = octave * 4 + (mantissa >= quarter[0]) + (mantissa >= quarter[1]) + (mantissa >= quarter[2]);
    return index > 127 ? 127 : index;
}

void rlx_rpc_histogram_add(rlx_rpc_histogram_t *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->sum_ns += ns;
    histogram->bucket[bucket_of(ns)]++;
}

const rlx_rpc_histogram_t *rlx_rpc_server_time(const rlx_rpc_server_t *server)
{
    return &server->time;
}
