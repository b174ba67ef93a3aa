/* A seeded generator for simulation and tests: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64. The same seed gives the same
 * numbers on every machine and compiler: integers only. Not for secrets. */
#ifndef RLX_BASE_PRNG_H
#define RLX_BASE_PRNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rlx_prng {
    uint64_t state[4];
} rlx_prng_t;

void rlx_prng_init(rlx_prng_t *prng, uint64_t seed);
uint64_t rlx_prng_next(rlx_prng_t *prng);
/* Uniform in [0, n); n > 0. */
uint64_t rlx_prng_below(rlx_prng_t *prng, uint64_t n);
/* Uniform in [low, high]. */
uint64_t rlx_prng_between(rlx_prng_t *prng, uint64_t low, uint64_t high);
/* True in `per_mille` of 1000 cases. */
bool rlx_prng_chance(rlx_prng_t *prng, uint32_t per_mille);
/* Exponentially distributed with this mean (to about 1 %); at most 44 times the mean, which is below 2^40. */
uint64_t rlx_prng_exponential(rlx_prng_t *prng, uint64_t mean);

#endif
