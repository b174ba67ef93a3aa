/* Made-up elements for benchmarks: seeded, so that two runs measure the same work. */
#ifndef RLX_CLI_BENCH_TENSOR_H
#define RLX_CLI_BENCH_TENSOR_H

#include <stdint.h>

#include "base/tensor.h"

/* Fills the `count` elements; `*state` is the seed, and goes on from tensor to tensor. */
void rlx_bench_tensor_fill(const rlx_tensor_t *tensor, int64_t count, uint64_t *state);

#endif
