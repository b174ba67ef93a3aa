/* Seeded numbers for the elements of a tensor. */
#include "cli/bench_tensor.h"

#include <string.h>

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Sum of four uniforms: mean 0, variance 1, bounded. */
static double random_normal(uint64_t *state)
{
    uint64_t bits = random_next(state);
    double sum = 0;

    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> (16 * i) & 0xffff) / 65536.0 - 0.5;
    return sum * 1.7320508075688772;
}

static uint16_t half_bits(float value, bool brain)
{
    union { float f; uint32_t u; } v = {.f = value};
    int exponent = (int)(v.u >> 23 & 255) - 127 + 15;

    if (brain)
        return (uint16_t)(v.u >> 16);
    if (exponent <= 0)
        return 0;
    return (uint16_t)((v.u >> 16 & 0x8000) | (uint32_t)exponent << 10 | (v.u >> 13 & 0x3ff));
}

void rlx_bench_tensor_fill(const rlx_tensor_t *tensor, int64_t count, uint64_t *state)
{
    for (int64_t i = 0; i < count; i++)
        switch (tensor->dtype) {
        case RLX_F32: ((float *)tensor->data)[i] = (float)random_normal(state); break;
        case RLX_F64: ((double *)tensor->data)[i] = random_normal(state); break;
        case RLX_F16: ((uint16_t *)tensor->data)[i] = half_bits((float)random_normal(state), false); break;
        case RLX_BF16: ((uint16_t *)tensor->data)[i] = half_bits((float)random_normal(state), true); break;
        case RLX_I16: case RLX_U16: ((uint16_t *)tensor->data)[i] = 1; break;
        case RLX_I32: case RLX_U32: ((uint32_t *)tensor->data)[i] = 1; break;
        case RLX_I64: case RLX_U64: ((uint64_t *)tensor->data)[i] = 1; break;
        default: ((uint8_t *)tensor->data)[i] = 1; break;
        }
}
