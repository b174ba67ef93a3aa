/* Error bounds of kernels/math.h over the whole float range, strided, against the C library in double or long double precision.
 *
 * RLX_MATH_STRIDE=1 tests every float. An error is counted in units of the result's last place, subnormals included; results that must be
 * exact (special values) are compared by class and sign. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/math.h"

typedef struct case_f32 {
    const char *name;
    float (*fn)(float);
    double (*reference)(double);
    double ulp_max;
    double absolute_max; /* or this absolute error */
} case_f32_t;

typedef struct case_f64 {
    const char *name;
    double (*fn)(double);
    long double (*reference)(long double);
    double ulp_max;
} case_f64_t;

#define WRAP_F(name) static float f_##name(float x) { return rlx_math_##name##f(x); }
WRAP_F(exp) WRAP_F(expm1) WRAP_F(log) WRAP_F(log1p) WRAP_F(sigmoid) WRAP_F(tanh) WRAP_F(erf) WRAP_F(softplus)
WRAP_F(sin) WRAP_F(cos) WRAP_F(tan) WRAP_F(asin) WRAP_F(acos) WRAP_F(atan) WRAP_F(sinh) WRAP_F(cosh)
WRAP_F(asinh) WRAP_F(acosh) WRAP_F(atanh) WRAP_F(gelu) WRAP_F(gelu_tanh) WRAP_F(mish)
static float f_exp_fall(float x) { return rlx_math_exp_fallf(x > 0 ? 0 : x); }
static float f_swish(float x) { return rlx_math_swishf(x, 1); }
#define WRAP_D(name) static double d_##name(double x) { return rlx_math_##name(x); }
WRAP_D(exp) WRAP_D(expm1) WRAP_D(log) WRAP_D(log1p) WRAP_D(sigmoid) WRAP_D(tanh) WRAP_D(erf) WRAP_D(sin)
WRAP_D(cos) WRAP_D(tan) WRAP_D(asin) WRAP_D(acos) WRAP_D(atan) WRAP_D(sinh) WRAP_D(cosh) WRAP_D(asinh)
WRAP_D(acosh) WRAP_D(atanh) WRAP_D(softplus)

static double reference_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double reference_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double reference_gelu(double x) { return x == -INFINITY ? 0 : x * 0.5 * erfc(-x * M_SQRT1_2); } /* the limit */
/* Of x <= 0; 0 below -87. */
static double reference_exp_fall(double x) { return x > 0 ? 1 : x < -87 ? 0 : exp(x); }
static double reference_gelu_tanh(double x) { return x * reference_sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }
static double reference_swish(double x) { return x * reference_sigmoid(x); }
static double reference_mish(double x) { return x * tanh(reference_softplus(x)); }
static long double reference_sigmoidl(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static long double reference_softplusl(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }

static const case_f32_t cases_f32[] = {
    {"exp", f_exp, exp, 1, 0},
    {"expm1", f_expm1, expm1, 1.5, 0},
    {"log", f_log, log, 1, 0},
    {"log1p", f_log1p, log1p, 1, 0},
    {"sigmoid", f_sigmoid, reference_sigmoid, 2.5, 5e-39},
    {"tanh", f_tanh, tanh, 2, 0},
    {"erf", f_erf, erf, 1.01, 0},
    {"softplus", f_softplus, reference_softplus, 2, 0},
    {"sin", f_sin, sin, 0.501, 0},
    {"cos", f_cos, cos, 0.501, 0},
    {"tan", f_tan, tan, 0.501, 0},
    {"asin", f_asin, asin, 0.501, 0},
    {"acos", f_acos, acos, 0.501, 0},
    {"atan", f_atan, atan, 0.501, 0},
    {"sinh", f_sinh, sinh, 0.501, 0},
    {"cosh", f_cosh, cosh, 0.501, 0},
    {"asinh", f_asinh, asinh, 0.501, 0},
    {"acosh", f_acosh, acosh, 0.501, 0},
    {"atanh", f_atanh, atanh, 0.501, 0},
    {"gelu", f_gelu, reference_gelu, 3, 6e-8},
    {"exp_fall", f_exp_fall, reference_exp_fall, 1, 0},
    {"gelu_tanh", f_gelu_tanh, reference_gelu_tanh, 6, 3e-7},
    {"mish", f_mish, reference_mish, 5, 1e-36},
    {"swish", f_swish, reference_swish, 2.5, 1e-36},
};

static const case_f64_t cases_f64[] = {
    {"exp", d_exp, expl, 1},
    {"expm1", d_expm1, expm1l, 2},
    {"log", d_log, logl, 1},
    {"log1p", d_log1p, log1pl, 1.5},
    {"sigmoid", d_sigmoid, reference_sigmoidl, 2.5},
    {"tanh", d_tanh, tanhl, 3},
    {"erf", d_erf, erfl, 1.5},
    {"sin", d_sin, sinl, 1},
    {"cos", d_cos, cosl, 1},
    {"tan", d_tan, tanl, 2},
    {"asin", d_asin, asinl, 1},
    {"acos", d_acos, acosl, 1},
    {"atan", d_atan, atanl, 1},
    {"sinh", d_sinh, sinhl, 4},
    {"cosh", d_cosh, coshl, 3},
    {"asinh", d_asinh, asinhl, 3},
    {"acosh", d_acosh, acoshl, 3},
    {"atanh", d_atanh, atanhl, 3},
    {"softplus", d_softplus, reference_softplusl, 2.5},
};

static uint64_t stride_of(uint64_t fallback)
{
    const char *text = getenv("RLX_MATH_STRIDE");

    return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

/* One unit in the last place at `reference`, for `digits` bits and the smallest exponent. */
static long double unit_at(long double reference, int digits, int exponent_min)
{
    int exponent;

    frexpl(reference, &exponent);
    if (exponent < exponent_min || reference == 0)
        exponent = exponent_min;
    return ldexpl(1, exponent - digits);
}

static double error_f32(float got, double want)
{
    float rounded = (float)want;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got))
        return rounded == got ? 0 : INFINITY;
    if (got == 0 && rounded == 0 && signbit(got) != signbit(rounded))
        return INFINITY;
    return (double)(fabsl((long double)got - want) / unit_at(want, 24, -125));
}

static double error_f64(double got, long double want)
{
    double rounded = (double)want;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got))
        return rounded == got ? 0 : INFINITY;
    if (got == 0 && rounded == 0 && signbit(got) != signbit(rounded))
        return INFINITY;
    return (double)(fabsl(got - want) / unit_at(want, 53, -1021));
}

static int check_f32(const case_f32_t *test)
{
    uint64_t stride = stride_of(4093);
    double worst = 0;
    float worst_at = 0;

    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += stride) {
        float x = rlx_math_from_bitsf((uint32_t)bits), got = test->fn(x);
        double want = test->reference(x), error = error_f32(got, want);

        if (error > worst && !(fabs(got - want) <= test->absolute_max)) {
            worst = error;
            worst_at = x;
        }
    }
    print_message("f32 %-10s %.4f ulp at %a\n", test->name, worst, worst_at);
    return worst <= test->ulp_max;
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ *state >> 29;
}

static int check_f64(const case_f64_t *test)
{
    static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074, 0x1.fffffffffffffp1023, 0.5,
                                     -0.5, 709.78, -745.1, 1e22};
    double worst = 0, worst_at = 0;
    uint64_t state = 1, count = 400000;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = random_next(&state);
        double x = i < sizeof special / sizeof special[0] ? special[i] : i % 2 ? rlx_math_from_bits(r)
            : ((double)(r >> 11) * 0x1p-52 - 1) * (double)(1 << (i / 2 % 10));
        double error = error_f64(test->fn(x), test->reference(x));

        if (error > worst) {
            worst = error;
            worst_at = x;
        }
    }
    print_message("f64 %-10s %.4f ulp at %a\n", test->name, worst, worst_at);
    return worst <= test->ulp_max;
}

static void float_functions_stay_within_their_bounds(void **state)
{
    int failures = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases_f32 / sizeof cases_f32[0]; i++)
        failures += !check_f32(&cases_f32[i]);
    assert_int_equal(failures, 0);
}

static void double_functions_stay_within_their_bounds(void **state)
{
    int failures = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases_f64 / sizeof cases_f64[0]; i++)
        failures += !check_f64(&cases_f64[i]);
    assert_int_equal(failures, 0);
}

static void pow_stays_within_its_bounds(void **state)
{
    static const double edge[] = {0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, INFINITY, -INFINITY, NAN, 1e300, -1e300, 0x1p-1074, 1e-310,
                                  4, 1.5, 1025, 0x1p53};
    enum { EDGES = sizeof edge / sizeof edge[0] };
    double worst = 0, worst_f = 0;
    uint64_t seed = 7;

    (void)state;
    for (int i = 0; i < EDGES * EDGES; i++) {
        double x = edge[i / EDGES], y = edge[i % EDGES];

        if (!(error_f64(rlx_math_pow(x, y), powl(x, y)) <= 1))
            fail_msg("pow(%a, %a) = %a, not %a", x, y, rlx_math_pow(x, y), pow(x, y));
        if (!(error_f32(rlx_math_powf((float)x, (float)y), pow((float)x, (float)y)) <= 0.501))
            fail_msg("powf(%a, %a) = %a, not %a", x, y, rlx_math_powf((float)x, (float)y), pow((float)x, (float)y));
    }
    for (int i = 0; i < 1000000; i++) {
        double u = (double)(random_next(&seed) >> 11) * 0x1p-53, x = exp((u - 0.5) * 60), v = (double)(random_next(&seed) >> 11) * 0x1p-53;
        double y = (v - 0.5) * 1400 / (fabs(log(x)) + 0.1);

        worst = fmax(worst, error_f64(rlx_math_pow(x, y), powl(x, y)));
        worst_f = fmax(worst_f, error_f32(rlx_math_powf((float)x, (float)y), pow((float)x, (float)y)));
    }
    print_message("pow f64 %.4f ulp, f32 %.4f ulp\n", worst, worst_f);
    assert_true(worst <= 1);
    assert_true(worst_f <= 0.501);
}

static void half_conversions_round_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = rlx_math_f32_from_f16((uint16_t)h), b = rlx_math_f32_from_bf16((uint16_t)h);

        if (f == f)
            assert_int_equal(rlx_math_f16_from_f32(f), h);
        if (b == b)
            assert_int_equal(rlx_math_bf16_from_f32(b), h);
    }
    assert_int_equal(rlx_math_f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(rlx_math_f16_from_f32(65519.0f), 0x7bff);
    assert_int_equal(rlx_math_f16_from_f32(0x1p-25f), 0);
    assert_int_equal(rlx_math_bf16_from_f32(0x1.01p0f), 0x3f80);
    assert_int_equal(rlx_math_bf16_from_f32(0x1.03p0f), 0x3f82);
    assert_int_equal(rlx_math_f16_from_f32(rlx_math_f32_odd_from_f64(0x1.002p0 + 0x1p-40)), 0x3c01);
    assert_int_equal(rlx_math_f16_from_f32(rlx_math_f32_odd_from_f64(0x1.002p0)), 0x3c00);
    assert_int_equal(rlx_math_f16_from_f32(rlx_math_f32_odd_from_f64(0x1.002p0 - 0x1p-40)), 0x3c00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_functions_stay_within_their_bounds),
        cmocka_unit_test(double_functions_stay_within_their_bounds),
        cmocka_unit_test(pow_stays_within_its_bounds),
        cmocka_unit_test(half_conversions_round_to_nearest_even),
    };

    return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
