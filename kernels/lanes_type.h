/* Body of kernels/lanes.h for one computation type. No include guard: included once per type, with LANES_T, LANES(name), LANES_PLUS,
 * LANES_TIMES, LANES_FMA, LANES_ABSOLUTE, LANES_NAN, LANES_EXPONENTIAL, LANES_FALLING, LANES_LOWEST and LANES_HIGHEST set; undefines them. */

LANES_INLINE LANES_T LANES(identity)(int kind)
{
    return kind == LANES_PROD ? 1 : kind == LANES_MAX ? LANES_LOWEST : kind == LANES_MIN ? LANES_HIGHEST : 0;
}

LANES_INLINE LANES_T LANES(join)(int kind, LANES_T a, LANES_T b)
{
    if (kind == LANES_MAX)
        return ((b > a) | LANES_NAN(b)) ? b : a;
    if (kind == LANES_MIN)
        return ((b < a) | LANES_NAN(b)) ? b : a;
    return kind == LANES_PROD ? LANES_TIMES(a, b) : LANES_PLUS(a, b);
}

/* The chain `a` after element `x`. */
LANES_INLINE LANES_T LANES(step)(int kind, LANES_T a, LANES_T x, LANES_T shift)
{
    if (kind == LANES_ABS)
        return LANES_PLUS(a, LANES_ABSOLUTE(x));
    if (kind == LANES_SQUARE)
        return LANES_FMA(x, x, a);
    if (kind == LANES_EXP)
        return LANES_PLUS(a, LANES_EXPONENTIAL(x - shift));
    if (kind == LANES_FALL)
        return LANES_PLUS(a, LANES_FALLING(x - shift));
    if (kind == LANES_SPREAD)
        return LANES_FMA(x - shift, x - shift, a);
    return LANES(join)(kind, a, x);
}

LANES_INLINE void LANES(start)(int kind, LANES_T lane[16])
{
    for (int j = 0; j < 16; j++)
        lane[j] = LANES(identity)(kind);
}

LANES_INLINE void LANES(run_of)(int kind, LANES_T *restrict lane, const LANES_T *restrict x, int64_t n, LANES_T shift)
{
    LANES_T l[16];
    int64_t i = 0;

    for (int j = 0; j < 16; j++)
        l[j] = lane[j];
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            l[j] = LANES(step)(kind, l[j], x[i + j], shift);
    for (int j = 0; j < 16; j++)
        lane[j] = l[j];
    for (int j = 0; i + j < n; j++)
        lane[j] = LANES(step)(kind, lane[j], x[i + j], shift);
}

/* Adds `n` contiguous elements; the first has an index that is a multiple of 16. */
static inline void LANES(run)(int kind, LANES_T *restrict lane, const LANES_T *restrict x, int64_t n, LANES_T shift)
{
    if (kind == LANES_ADD)
        LANES(run_of)(LANES_ADD, lane, x, n, shift);
    else if (kind == LANES_ABS)
        LANES(run_of)(LANES_ABS, lane, x, n, shift);
    else if (kind == LANES_SQUARE)
        LANES(run_of)(LANES_SQUARE, lane, x, n, shift);
    else if (kind == LANES_PROD)
        LANES(run_of)(LANES_PROD, lane, x, n, shift);
    else if (kind == LANES_MAX)
        LANES(run_of)(LANES_MAX, lane, x, n, shift);
    else if (kind == LANES_MIN)
        LANES(run_of)(LANES_MIN, lane, x, n, shift);
    else if (kind == LANES_EXP)
        LANES(run_of)(LANES_EXP, lane, x, n, shift);
    else if (kind == LANES_FALL)
        LANES(run_of)(LANES_FALL, lane, x, n, shift);
    else
        LANES(run_of)(LANES_SPREAD, lane, x, n, shift);
}

/* The final tree. */
LANES_INLINE LANES_T LANES(end)(int kind, LANES_T lane[16])
{
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] = LANES(join)(kind, lane[j], lane[j + half]);
    return lane[0];
}

#undef LANES_T
#undef LANES
#undef LANES_PLUS
#undef LANES_TIMES
#undef LANES_FMA
#undef LANES_ABSOLUTE
#undef LANES_NAN
#undef LANES_EXPONENTIAL
#undef LANES_FALLING
#undef LANES_LOWEST
#undef LANES_HIGHEST
