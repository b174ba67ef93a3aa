/* Element to text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/json/number.h"

static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                               1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35,
                               1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53,
                               1e54};

static double scale(double value, int exponent) { return exponent < 0 ? value / power[-exponent] : value * power[exponent]; }

static int unsigned_write(uint64_t value, char *to)
{
    char reversed[20];
    int n = 0;

    do
        reversed[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (int i = 0; i < n; i++)
        to[i] = reversed[n - 1 - i];
    return n;
}

static int signed_write(int64_t value, char *to)
{
    if (value >= 0)
        return unsigned_write((uint64_t)value, to);
    *to = '-';
    return 1 + unsigned_write(0 - (uint64_t)value, to + 1);
}

/* `n` significant digits of which the first counts 10^exponent: 123, 5 -> 123000.0; 123, -2 -> 0.0123; else with an exponent. */
static int digits_write(uint64_t digits, int n, int exponent, char *to)
{
    char text[20], *at = to;

    unsigned_write(digits, text);
    if (exponent >= -4 && exponent < 0) {
        memcpy(at, "0.000", 5);
        memcpy(at + 1 - exponent, text, (size_t)n);
        return 1 - exponent + n;
    }
    if (exponent < 0 || exponent > 9) {
        *at++ = text[0];
        *at++ = '.';
        memcpy(at, n > 1 ? text + 1 : "0", (size_t)(n > 1 ? n - 1 : 1));
        at += n > 1 ? n - 1 : 1;
        return (int)(at - to) + sprintf(at, "e%d", exponent);
    }
    for (int i = 0; i <= exponent || i < n; i++) {
        if (i == exponent + 1)
            *at++ = '.';
        *at++ = i < n ? text[i] : '0';
    }
    if (n <= exponent + 1) {
        *at++ = '.';
        *at++ = '0';
    }
    return (int)(at - to);
}

/* Half the distance to the nearer neighbour. */
static double half_gap(float value)
{
    uint32_t bits;
    float below;

    memcpy(&bits, &value, sizeof bits);
    bits--;
    memcpy(&below, &bits, sizeof below);
    return ((double)value - below) / 2;
}

/* Nine digits always give a float back, and a double holds them with six digits to spare. Digits are then dropped for as long as the text
 * stays nearer to this float than to its neighbours. */
static int positive_write(float value, char *to)
{
    int exponent = (int)floor((double)ilogbf(value) * 0.30102999566398120), n = 9; /* right, or one too low */
    double scaled = scale(value, 8 - exponent), gap;
    uint64_t digits, unit = 1;

    if (scaled >= 999999999.5)
        scaled = scale(value, 8 - ++exponent);
    else if (scaled < 1e8)
        scaled = scale(value, 8 - --exponent);
    gap = scale(half_gap(value), 8 - exponent) * 0.999999;
    digits = (uint64_t)(scaled + 0.5);
    while (n > 1) {
        uint64_t next = (digits + 5 * unit) / (10 * unit) * (10 * unit);

        if (fabs((double)next - scaled) >= gap)
            break;
        digits = next;
        unit *= 10;
        n--;
    }
    while (n > 1 && digits / unit % 10 == 0) {
        unit *= 10;
        n--;
    }
    if (digits >= 1000000000) {
        exponent++;
        unit *= n > 1 ? 10 : 1;
        return digits_write(1, 1, exponent, to);
    }
    return digits_write(digits / unit, n, exponent, to);
}

static int special_write(double value, char *to)
{
    return sprintf(to, "\"%s\"", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static int float_write(float value, char *to)
{
    char *at = to;

    if (!isfinite(value))
        return special_write(value, to);
    if (signbit(value))
        *at++ = '-';
    value = fabsf(value);
    if (value == 0) {
        memcpy(at, "0.0", 3);
        return (int)(at - to) + 3;
    }
    return (int)(at - to) + positive_write(value, at);
}

static int double_write(double value, char *to)
{
    int n = 0;

    if (!isfinite(value))
        return special_write(value, to);
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(to, RLX_JSON_ELEMENT_MAX, "%.*g", digits, value);
        if (strtod(to, NULL) == value)
            break;
    }
    if (strpbrk(to, ".e") == NULL) {
        memcpy(to + n, ".0", 3);
        n += 2;
    }
    return n;
}

int rlx_json_element_write(rlx_dtype_t dtype, const void *data, int64_t index, char to[RLX_JSON_ELEMENT_MAX])
{
    uint32_t wide;
    float single;

    switch (dtype) {
    case RLX_F32: return float_write(((const float *)data)[index], to);
    case RLX_F64: return double_write(((const double *)data)[index], to);
    case RLX_F16: return float_write(rlx_json_half_to_float(((const uint16_t *)data)[index]), to);
    case RLX_BF16:
        wide = (uint32_t)((const uint16_t *)data)[index] << 16;
        memcpy(&single, &wide, sizeof single);
        return float_write(single, to);
    case RLX_I8: return signed_write(((const int8_t *)data)[index], to);
    case RLX_I16: return signed_write(((const int16_t *)data)[index], to);
    case RLX_I32: return signed_write(((const int32_t *)data)[index], to);
    case RLX_I64: return signed_write(((const int64_t *)data)[index], to);
    case RLX_U8: return unsigned_write(((const uint8_t *)data)[index], to);
    case RLX_U16: return unsigned_write(((const uint16_t *)data)[index], to);
    case RLX_U32: return unsigned_write(((const uint32_t *)data)[index], to);
    case RLX_U64: return unsigned_write(((const uint64_t *)data)[index], to);
    case RLX_BOOL:
        if (((const uint8_t *)data)[index] != 0) {
            memcpy(to, "true", 4);
            return 4;
        }
        memcpy(to, "false", 5);
        return 5;
    default: return 0;
    }
}
