/* Text to element. */
#include "daemon/json/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(tens) \
    1e##tens##0, 1e##tens##1, 1e##tens##2, 1e##tens##3, 1e##tens##4, 1e##tens##5, 1e##tens##6, 1e##tens##7, 1e##tens##8, 1e##tens##9
static const double power[] = {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)};
#undef ROW
#define POWER_MAX 79

/* Exact in 64 bits of mantissa. */
static const long double long_power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#define LONG_POWER_MAX 27

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Appends the digits at `at`; returns their end. Digits that no longer fit raise `dropped`. */
static const char *digits_read(const char *at, const char *end, rlx_json_number_t *number, int64_t *dropped)
{
    uint64_t digits = number->digits;

    for (; at < end && is_digit(*at) && digits < UINT64_MAX / 10 && !number->cut; at++)
        digits = 10 * digits + (uint64_t)(*at - '0');
    for (; at < end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (!number->cut && (digits < UINT64_MAX / 10 || (digits == UINT64_MAX / 10 && digit <= UINT64_MAX % 10))) {
            digits = 10 * digits + digit;
        } else {
            number->cut = true;
            ++*dropped;
        }
    }
    number->digits = digits;
    return at;
}

static const char *exponent_read(const char *at, const char *end, int64_t *out_exponent)
{
    int64_t exponent = 0;
    bool negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return NULL;
    for (; at < end && is_digit(*at); at++)
        exponent = exponent < 100000 ? 10 * exponent + (*at - '0') : exponent;
    *out_exponent = negative ? -exponent : exponent;
    return at;
}

const char *rlx_json_number_read(const char *text, const char *end, rlx_json_number_t *out_number)
{
    rlx_json_number_t number = {.text = text, .whole = true};
    const char *at = text, *first;
    int64_t dropped = 0, exponent = 0;

    if (end - text > RLX_JSON_NUMBER_TEXT_MAX)
        end = text + RLX_JSON_NUMBER_TEXT_MAX;
    if (at < end && *at == '-') {
        number.negative = true;
        at++;
    }
    first = at;
    at = digits_read(at, end, &number, &dropped);
    if (at == first)
        return "no number";
    if (*first == '0' && at - first > 1)
        return "a number with leading zeros";
    if (at < end && *at == '.') {
        const char *point = ++at;
        int64_t before = dropped;

        for (; at < end && *at == '0'; at++) /* zeros that other digits follow count, but do not take room yet */
            ;
        number.whole = at == end || !is_digit(*at);
        at = digits_read(number.whole && at > point ? at : point, end, &number, &dropped);
        if (at == point)
            return "a number without digits after its point";
        exponent = number.whole ? 0 : -(at - point - (dropped - before));
        dropped = before;
    }
    number.exponent = exponent + dropped;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = exponent_read(at + 1, end, &exponent);
        if (at == NULL)
            return "a number with an empty exponent";
        number.exponent += exponent;
        number.whole = number.whole && exponent == 0;
    }
    if (at - text == RLX_JSON_NUMBER_TEXT_MAX)
        return "a number of more than 1023 characters";
    number.end = at;
    *out_number = number;
    return NULL;
}

/* The value within 4 units of the last place of a double; false where this way does not serve. */
static bool double_near(const rlx_json_number_t *number, double *out_value)
{
    double digits = (double)number->digits;

    if (number->exponent > POWER_MAX || number->exponent < -POWER_MAX)
        return false;
    *out_value = number->exponent < 0 ? digits / power[-number->exponent] : digits * power[number->exponent];
    return true;
}

static float number_float(const rlx_json_number_t *number)
{
    double value;
    uint64_t bits, rest;

    if (number->digits == 0)
        return number->negative ? -0.0f : 0.0f;
    if (!double_near(number, &value) || value < FLT_MIN || value > FLT_MAX / 2)
        return strtof(number->text, NULL);
    memcpy(&bits, &value, sizeof bits);
    rest = bits & 0x1fffffff; /* what a float drops; its middle decides */
    if (rest > 0x10000000 - 8 && rest < 0x10000000 + 8)
        return strtof(number->text, NULL);
    return (float)(number->negative ? -value : value);
}

static double number_double(const rlx_json_number_t *number)
{
    int64_t exponent = number->exponent;
    long double value;
    uint64_t mantissa, rest;

    if (number->digits == 0)
        return number->negative ? -0.0 : 0.0;
    if (LDBL_MANT_DIG != 64 || number->cut || exponent > LONG_POWER_MAX || exponent < -LONG_POWER_MAX)
        return strtod(number->text, NULL);
    value = exponent < 0 ? number->digits / long_power[-exponent] : number->digits * long_power[exponent];
    memcpy(&mantissa, &value, sizeof mantissa);
    rest = mantissa & 0x7ff;
    if (rest >= 0x3ff && rest <= 0x401)
        return strtod(number->text, NULL);
    return (double)(number->negative ? -value : value);
}

uint16_t rlx_json_half_from_double(double value)
{
    double magnitude = fabs(value), scaled;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;

    if (magnitude == 0)
        return sign;
    if (magnitude >= 65520) /* the middle between the largest half and the next, which would be infinity */
        return sign | 0x7c00;
    exponent = ilogb(magnitude) < -14 ? -14 : ilogb(magnitude);
    scaled = nearbyint(ldexp(magnitude, 10 - exponent)); /* 1024..2048, below 1024 where subnormal */
    return (uint16_t)(sign + ((exponent + 14) << 10) + (int)scaled);
}

float rlx_json_half_to_float(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float magnitude = exponent == 31 ? (mantissa != 0 ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)mantissa, -24)
                                      : ldexpf((float)(1024 + mantissa), exponent - 25);

    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Nearest bfloat16 of a double, ties to even, by way of the bits: no double rounding, since 53 bits hold what decides. */
static uint16_t bfloat_from_double(double value)
{
    double magnitude = fabs(value), scaled;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;

    if (magnitude == 0)
        return sign;
    exponent = ilogb(magnitude) < -126 ? -126 : ilogb(magnitude);
    if (exponent > 127)
        return sign | 0x7f80;
    scaled = nearbyint(ldexp(magnitude, 7 - exponent));
    return (uint16_t)(sign + ((exponent + 126) << 7) + (int)scaled);
}

static const char *float_store(const rlx_json_number_t *number, rlx_dtype_t dtype, void *to)
{
    float single;
    double value;
    uint16_t bits;

    if (dtype == RLX_F32) {
        single = number_float(number);
        memcpy(to, &single, sizeof single);
        return isinf(single) ? "above FP32's largest 3.4028235e38" : NULL;
    }
    value = number_double(number);
    if (dtype == RLX_F64) {
        memcpy(to, &value, sizeof value);
        return isinf(value) ? "above FP64's largest 1.7976931348623157e308" : NULL;
    }
    bits = dtype == RLX_F16 ? rlx_json_half_from_double(value) : bfloat_from_double(value);
    memcpy(to, &bits, sizeof bits);
    if (dtype == RLX_F16)
        return (bits & 0x7fff) == 0x7c00 ? "above FP16's largest 65504" : NULL;
    return (bits & 0x7fff) == 0x7f80 ? "above BF16's largest 3.3895e38" : NULL;
}

static const struct {
    int64_t low;
    uint64_t high;
    const char *wrong;
} ranges[RLX_DTYPE_COUNT] = {
    [RLX_I8] = {INT8_MIN, INT8_MAX, "outside INT8's -128 to 127"},
    [RLX_I16] = {INT16_MIN, INT16_MAX, "outside INT16's -32768 to 32767"},
    [RLX_I32] = {INT32_MIN, INT32_MAX, "outside INT32's -2147483648 to 2147483647"},
    [RLX_I64] = {INT64_MIN, INT64_MAX, "outside INT64's -9223372036854775808 to 9223372036854775807"},
    [RLX_U8] = {0, UINT8_MAX, "outside UINT8's 0 to 255"},
    [RLX_U16] = {0, UINT16_MAX, "outside UINT16's 0 to 65535"},
    [RLX_U32] = {0, UINT32_MAX, "outside UINT32's 0 to 4294967295"},
    [RLX_U64] = {0, UINT64_MAX, "outside UINT64's 0 to 18446744073709551615"},
    [RLX_BOOL] = {0, 1, "no BOOL: write true, false, 1 or 0"},
};

static const char *integer_store(const rlx_json_number_t *number, rlx_dtype_t dtype, void *to)
{
    uint64_t magnitude = number->digits;
    int64_t value;

    if (!number->whole)
        return "no integer";
    if (number->cut)
        return ranges[dtype].wrong;
    if (number->negative ? magnitude > (uint64_t)0 - (uint64_t)ranges[dtype].low : magnitude > ranges[dtype].high)
        return ranges[dtype].wrong;
    value = (int64_t)(number->negative ? 0 - magnitude : magnitude);
    memcpy(to, &value, rlx_dtype_size(dtype)); /* little-endian: the low bytes */
    return NULL;
}

const char *rlx_json_number_store(const rlx_json_number_t *number, rlx_dtype_t dtype, void *to)
{
    bool floating = dtype == RLX_F32 || dtype == RLX_F64 || dtype == RLX_F16 || dtype == RLX_BF16;

    return floating ? float_store(number, dtype, to) : integer_store(number, dtype, to);
}
