/* Operations on blocks of an integer class. No include guard: included once per type with MAP_T, MAP_U (the unsigned type of its width),
 * MAP_WIDTH, MAP_NEGATIVE(x) and MAP_NAME(name) set. Arithmetic wraps; a zero divisor gives 0 and the error bit; the least number divided
 * by -1 wraps. */

/* A positive or zero exponent by squaring; a negative one gives the truncated reciprocal. */
static MAP_T MAP_NAME(power)(MAP_T base, MAP_T exponent)
{
    MAP_U result = 1, square = (MAP_U)base;

    if (MAP_NEGATIVE(exponent))
        return base == 1 ? 1 : base == (MAP_T)-1 ? (exponent & 1 ? (MAP_T)-1 : 1) : 0;
    for (MAP_U left = (MAP_U)exponent; left != 0; left >>= 1) {
        if (left & 1)
            result *= square;
        square *= square;
    }
    return (MAP_T)result;
}

static inline MAP_T MAP_NAME(divide)(MAP_T x, MAP_T d)
{
    if (d == 0)
        return 0;
    return MAP_NEGATIVE(d) && d == (MAP_T)-1 ? (MAP_T)(0 - (MAP_U)x) : x / d;
}

/* Remainder with the sign of x, or of the divisor. */
static inline MAP_T MAP_NAME(remainder)(MAP_T x, MAP_T d, int sign_of_divisor)
{
    MAP_T r;

    if (d == 0 || (MAP_NEGATIVE(d) && d == (MAP_T)-1))
        return 0;
    r = x % d;
    return sign_of_divisor && r != 0 && MAP_NEGATIVE(r) != MAP_NEGATIVE(d) ? r + d : r;
}

void MAP_NAME(unary)(int64_t op, MAP_T *y, const MAP_T *x, int64_t n)
{
    if (op == RLX_MAP_abs)
        RLX_MAP_LOOP(n) y[i] = MAP_NEGATIVE(x[i]) ? (MAP_T)(0 - (MAP_U)x[i]) : x[i];
    else if (op == RLX_MAP_neg)
        RLX_MAP_LOOP(n) y[i] = (MAP_T)(0 - (MAP_U)x[i]);
    else if (op == RLX_MAP_sign)
        RLX_MAP_LOOP(n) y[i] = (MAP_T)((x[i] > 0) - (MAP_NEGATIVE(x[i])));
    else if (op == RLX_MAP_relu)
        RLX_MAP_LOOP(n) y[i] = MAP_NEGATIVE(x[i]) ? 0 : x[i];
    else if (op == RLX_MAP_bit_not)
        RLX_MAP_LOOP(n) y[i] = (MAP_T)~x[i];
    else
        RLX_MAP_LOOP(n) y[i] = x[i];
}

#define BINARY(name, expr) case RLX_MAP_##name: RLX_MAP_LOOP(n) { MAP_T v = x0[i], w = x1[i]; y[i] = (MAP_T)(expr); } break;

static uint32_t MAP_NAME(division)(int64_t op, MAP_T *y, const MAP_T *x0, const MAP_T *x1, int64_t n)
{
    uint32_t zero = 0;

    for (int64_t i = 0; i < n; i++)
        zero |= x1[i] == 0;
    if (op == RLX_MAP_div)
        for (int64_t i = 0; i < n; i++)
            y[i] = MAP_NAME(divide)(x0[i], x1[i]);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = MAP_NAME(remainder)(x0[i], x1[i], op == RLX_MAP_mod);
    return zero ? RLX_KERR_DIVIDE : 0;
}

uint32_t MAP_NAME(binary)(int64_t op, MAP_T *y, const MAP_T *x0, const MAP_T *x1, int64_t n)
{
    switch (op) {
    BINARY(add, (MAP_U)v + (MAP_U)w)
    BINARY(sub, (MAP_U)v - (MAP_U)w)
    BINARY(mul, (MAP_U)v * (MAP_U)w)
    BINARY(min, v < w ? v : w)
    BINARY(max, v > w ? v : w)
    BINARY(bit_and, v & w)
    BINARY(bit_or, v | w)
    BINARY(bit_xor, v ^ w)
    BINARY(shift_left, (MAP_U)w < MAP_WIDTH ? (MAP_U)v << ((MAP_U)w & (MAP_WIDTH - 1)) : 0)
    BINARY(shift_right, (MAP_U)w < MAP_WIDTH ? v >> ((MAP_U)w & (MAP_WIDTH - 1)) : 0)
    BINARY(prelu, MAP_NEGATIVE(v) ? (MAP_U)v * (MAP_U)w : (MAP_U)v)
    case RLX_MAP_pow:
        for (int64_t i = 0; i < n; i++)
            y[i] = MAP_NAME(power)(x0[i], x1[i]);
        break;
    case RLX_MAP_div:
    case RLX_MAP_mod:
    case RLX_MAP_fmod: return MAP_NAME(division)(op, y, x0, x1, n);
    default: break;
    }
    return 0;
}

#undef BINARY
#undef MAP_T
#undef MAP_U
#undef MAP_WIDTH
#undef MAP_NEGATIVE
#undef MAP_NAME
