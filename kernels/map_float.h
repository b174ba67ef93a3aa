/* Operations on blocks of a float class. No include guard: included once per type with MAP_T, MAP(name) and MAP_NAME(name) (functions),
 * MATH(name) (math.h), MAP_SWISH (a loop), MAP_FMA, MAP_FABS, MAP_CEIL, MAP_FLOOR, MAP_RINT and MAP_SQRT set. Every loop vectorises,
 * except fmod and trigonometry of huge arguments. The expressions are the operators' definitions. */

static inline MAP_T MAP(unit)(MAP_T x) /* to [0, 1]; NaN passes */
{
    MAP_T low = x < 0 ? 0 : x;

    return low > 1 ? 1 : low;
}

static inline MAP_T MAP(clip)(MAP_T x, MAP_T lo, MAP_T hi)
{
    MAP_T above = x < lo ? lo : x;

    return above > hi ? hi : above;
}

static int MAP(any_far)(const MAP_T *x, int64_t n)
{
    int far = 0;

    for (int64_t i = 0; i < n; i++)
        far |= MAP_FABS(x[i]) > (MAP_T)RLX_MATH_TRIG_NEAR;
    return far;
}

#define LOOP(expr) do { RLX_MAP_LOOP(n) { MAP_T v = x[i]; y[i] = (expr); } } while (0)
#define UNARY(name, expr) case RLX_MAP_##name: LOOP(expr); break;
#define TRIG(name)                         \
    case RLX_MAP_##name:                   \
        if (MAP(any_far)(x, n))            \
            for (int64_t i = 0; i < n; i++) \
                y[i] = MATH(name)(x[i]);   \
        else                               \
            LOOP(MATH(name##_near)(v));    \
        break;

static void MAP(immediate)(int64_t op, MAP_T *y, const MAP_T *x, int64_t n, MAP_T a, MAP_T b)
{
    switch (op) {
    UNARY(add_imm, v + a)
    UNARY(sub_imm, v - a)
    UNARY(rsub_imm, a - v)
    UNARY(mul_imm, v * a)
    UNARY(div_imm, v / a)
    UNARY(rdiv_imm, a / v)
    UNARY(min_imm, ((v < a) | (v != v)) ? v : a)
    UNARY(max_imm, ((v > a) | (v != v)) ? v : a)
    UNARY(clip_imm, MAP(clip)(v, a, b))
    default: break;
    }
}

static void MAP(activation)(int64_t op, MAP_T *y, const MAP_T *x, int64_t n, MAP_T a, MAP_T b)
{
    switch (op) {
    UNARY(sigmoid, MATH(sigmoid)(v))
    UNARY(softplus, MATH(softplus)(v))
    UNARY(softsign, v / (1 + MAP_FABS(v)))
    UNARY(relu, v < 0 ? 0 : v)
    UNARY(leaky_relu, v < 0 ? a * v : v)
    UNARY(elu, v < 0 ? a * MATH(expm1)(v) : v)
    UNARY(celu, v > 0 ? v : a * MATH(expm1)(v / a))
    UNARY(selu, v > 0 ? b * v : b * (a * MATH(expm1)(v)))
    UNARY(thresholded_relu, v > a ? v : 0)
    UNARY(hard_sigmoid, MAP(unit)(MAP_FMA(a, v, b)))
    UNARY(hard_swish, v * MAP(unit)(MAP_FMA(v, (MAP_T)1 / 6, (MAP_T)0.5)))
    UNARY(mish, MATH(mish)(v))
    UNARY(gelu, MATH(gelu)(v))
    UNARY(gelu_tanh, MATH(gelu_tanh)(v))
    case RLX_MAP_swish: MAP_SWISH(y, x, n, a); break;
    UNARY(shrink, v < -a ? v + b : v > a ? v - b : 0)
    default: MAP(immediate)(op, y, x, n, a, b);
    }
}

static void MAP(function)(int64_t op, MAP_T *y, const MAP_T *x, int64_t n)
{
    switch (op) {
    UNARY(exp, MATH(exp)(v))
    UNARY(log, MATH(log)(v))
    TRIG(sin)
    TRIG(cos)
    TRIG(tan)
    UNARY(asin, MATH(asin)(v))
    UNARY(acos, MATH(acos)(v))
    UNARY(atan, MATH(atan)(v))
    UNARY(sinh, MATH(sinh)(v))
    UNARY(cosh, MATH(cosh)(v))
    UNARY(tanh, MATH(tanh)(v))
    UNARY(asinh, MATH(asinh)(v))
    UNARY(acosh, MATH(acosh)(v))
    UNARY(atanh, MATH(atanh)(v))
    UNARY(erf, MATH(erf)(v))
    UNARY(abs, MAP_FABS(v))
    UNARY(neg, -v)
    UNARY(sign, v > 0 ? 1 : v < 0 ? -1 : v == 0 ? 0 : v)
    UNARY(ceil, MAP_CEIL(v))
    UNARY(floor, MAP_FLOOR(v))
    UNARY(round, MAP_RINT(v))
    UNARY(sqrt, MAP_SQRT(v))
    UNARY(reciprocal, 1 / v)
    default: break;
    }
}

void MAP_NAME(unary)(int64_t op, MAP_T *y, const MAP_T *x, int64_t n, MAP_T a, MAP_T b)
{
    if (op >= RLX_MAP_sigmoid && op < RLX_MAP_first_binary)
        MAP(activation)(op, y, x, n, a, b);
    else if (op < RLX_MAP_sigmoid)
        MAP(function)(op, y, x, n);
    else
        LOOP(v); /* copy */
}

#undef LOOP
#undef UNARY
#undef TRIG
#define BINARY(name, expr) case RLX_MAP_##name: RLX_MAP_LOOP(n) { MAP_T v = x0[i], w = x1[i]; y[i] = (expr); } break;

void MAP_NAME(binary)(int64_t op, MAP_T *y, const MAP_T *x0, const MAP_T *x1, int64_t n)
{
    switch (op) {
    BINARY(add, v + w)
    BINARY(sub, v - w)
    BINARY(mul, v * w)
    BINARY(div, v / w)
    BINARY(pow, MATH(pow)(v, w))
    BINARY(min, ((v < w) | (v != v)) ? v : w)
    BINARY(max, ((v > w) | (v != v)) ? v : w)
    BINARY(prelu, v < 0 ? w * v : v)
    case RLX_MAP_fmod:
        for (int64_t i = 0; i < n; i++)
            y[i] = (MAP_T)rlx_math_fmod((double)x0[i], (double)x1[i]);
        break;
    case RLX_MAP_mod: /* sign of the divisor */
        for (int64_t i = 0; i < n; i++) {
            double r = rlx_math_fmod((double)x0[i], (double)x1[i]);
            y[i] = ((r != 0) & ((r < 0) != (x1[i] < 0))) ? (MAP_T)(r + (double)x1[i]) : (MAP_T)r;
        }
        break;
    default: break;
    }
}

#undef BINARY
#undef MAP_T
#undef MAP
#undef MAP_NAME
#undef MATH
#undef MAP_SWISH
#undef MAP_FMA
#undef MAP_FABS
#undef MAP_CEIL
#undef MAP_FLOOR
#undef MAP_RINT
#undef MAP_SQRT
