/* After numpy's randomkit: Matsumoto and Nishimura's generator of 1998 with the initialisation of 2002. */
#include "ir/module/random.h"

#include <math.h>

#define N 624
#define M 397

void rlx_random_seed(rlx_random_t *random, uint32_t seed)
{
    for (uint32_t i = 0; i < N; i++) {
        random->key[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    random->position = N;
    random->has_gauss = false;
    random->gauss = 0;
}

static uint32_t twist(uint32_t high, uint32_t low, uint32_t other)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

    return other ^ y >> 1 ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
}

static void refill(rlx_random_t *random)
{
    uint32_t *key = random->key;

    for (int i = 0; i < N; i++)
        key[i] = twist(key[i], key[(i + 1) % N], key[(i + M) % N]);
    random->position = 0;
}

uint32_t rlx_random_bits(rlx_random_t *random)
{
    uint32_t y;

    if (random->position == N)
        refill(random);
    y = random->key[random->position++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double rlx_random_double(rlx_random_t *random)
{
    uint32_t high = rlx_random_bits(random) >> 5, low = rlx_random_bits(random) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double rlx_random_gauss(rlx_random_t *random)
{
    double x, y, square, factor;

    if (random->has_gauss) {
        random->has_gauss = false;
        return random->gauss;
    }
    do {
        x = 2.0 * rlx_random_double(random) - 1.0;
        y = 2.0 * rlx_random_double(random) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    factor = sqrt(-2.0 * log(square) / square);
    random->gauss = factor * x;
    random->has_gauss = true;
    return factor * y;
}

int64_t rlx_random_int(rlx_random_t *random, int64_t low, uint64_t range)
{
    uint64_t mask = range, value;

    if (range == 0)
        return low;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    do {
        value = rlx_random_bits(random);
        if (range > UINT32_MAX) /* the high word is drawn first */
            value = value << 32 | rlx_random_bits(random);
        value &= mask;
    } while (value > range);
    return (int64_t)((uint64_t)low + value);
}
