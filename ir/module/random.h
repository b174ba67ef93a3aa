/* numpy's legacy generator, the one behind np.random.randn: MT19937 seeded with one number, Gauss's polar method. The numbers are numpy's, bit
 * for bit, where libm's log is numpy's. Owner: the caller, by value. */
#ifndef RLX_IR_MODULE_RANDOM_H
#define RLX_IR_MODULE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rlx_random {
    uint32_t key[624];
    int position;
    bool has_gauss;
    double gauss;
} rlx_random_t;

void rlx_random_seed(rlx_random_t *random, uint32_t seed);
uint32_t rlx_random_bits(rlx_random_t *random);
/* [0, 1), 53 bits. */
double rlx_random_double(rlx_random_t *random);
/* Normal, mean 0, deviation 1. */
double rlx_random_gauss(rlx_random_t *random);
/* [low, low + range], by masked rejection. */
int64_t rlx_random_int(rlx_random_t *random, int64_t low, uint64_t range);

#endif
