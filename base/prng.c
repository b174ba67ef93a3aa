/* See prng.h. */
#include "base/prng.h"

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void rlx_prng_init(rlx_prng_t *prng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        prng->state[i] = z ^ z >> 31;
    }
}

uint64_t rlx_prng_next(rlx_prng_t *prng)
{
    uint64_t *s = prng->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rlx_prng_below(rlx_prng_t *prng, uint64_t n)
{
    uint64_t limit = -n % n; /* 2^64 mod n: what lies below would make small numbers likelier. */
    uint64_t draw = rlx_prng_next(prng);

    while (draw < limit)
        draw = rlx_prng_next(prng);
    return draw % n;
}

uint64_t rlx_prng_between(rlx_prng_t *prng, uint64_t low, uint64_t high)
{
    return low + (high - low == UINT64_MAX ? rlx_prng_next(prng) : rlx_prng_below(prng, high - low + 1));
}

bool rlx_prng_chance(rlx_prng_t *prng, uint32_t per_mille)
{
    return rlx_prng_below(prng, 1000) < per_mille;
}

/* -ln(u) = ln 2 * -log2(u). With u = (1 + f) * 2^-(zeros + 1): log2(1 + f) is about f + 0.34 f (1 - f). 16 bits behind the point. */
uint64_t rlx_prng_exponential(rlx_prng_t *prng, uint64_t mean)
{
    uint64_t draw = rlx_prng_next(prng) | 1;
    int zeros = __builtin_clzll(draw);
    uint64_t f = (draw << zeros) << 1 >> 48;
    uint64_t log2 = f + (22500 * (f * (65536 - f) >> 16) >> 16);
    uint64_t minus_log2 = ((uint64_t)(zeros + 1) << 16) - log2;

    return mean * (minus_log2 * 45426 >> 16) >> 16;
}
