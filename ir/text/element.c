/* Elements of tensors as text (ir/text/element.h). */
#include "ir/text/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A float format: exponent and mantissa bits. */
typedef struct format {
    int exponent, mantissa;
} format_t;

static bool format_of(rlx_dtype_t dtype, format_t *out)
{
    switch (dtype) {
    case RLX_F64: *out = (format_t){11, 52}; return true;
    case RLX_F32: *out = (format_t){8, 23}; return true;
    case RLX_F16: *out = (format_t){5, 10}; return true;
    case RLX_BF16: *out = (format_t){8, 7}; return true;
    default: return false;
    }
}

static uint64_t sign_bit(format_t format) { return (uint64_t)1 << (format.exponent + format.mantissa); }
static uint64_t infinity(format_t format) { return (((uint64_t)1 << format.exponent) - 1) << format.mantissa; }
static uint64_t usual_nan(format_t format) { return infinity(format) | (uint64_t)1 << (format.mantissa - 1); }

/* Rounded to nearest, ties to even; subnormals included. */
static uint64_t float_bits(format_t format, double value)
{
    uint64_t sign = signbit(value) ? sign_bit(format) : 0;
    int bias = (1 << (format.exponent - 1)) - 1, exponent;
    double magnitude = fabs(value), scaled;

    if (isnan(value))
        return usual_nan(format);
    if (isinf(value))
        return sign | infinity(format);
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* magnitude is in [2^(exponent-1), 2^exponent) */
    exponent -= 1;
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    scaled = nearbyint(ldexp(magnitude, format.mantissa - exponent)); /* may carry into the exponent, which is right */
    if (exponent > bias)
        return sign | infinity(format);
    return sign | (((uint64_t)(exponent + bias - 1) << format.mantissa) + (uint64_t)scaled);
}

static double float_value(format_t format, uint64_t bits)
{
    int bias = (1 << (format.exponent - 1)) - 1, exponent = (int)(bits >> format.mantissa & (((uint64_t)1 << format.exponent) - 1));
    double mantissa = (double)(bits & (((uint64_t)1 << format.mantissa) - 1)), value;

    if (exponent == (1 << format.exponent) - 1)
        value = mantissa != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - format.mantissa);
    else
        value = ldexp(mantissa + ldexp(1, format.mantissa), exponent - bias - format.mantissa);
    return bits & sign_bit(format) ? -value : value;
}

static bool real_encode(format_t format, const rlx_element_t *element, size_t bytes, void *out)
{
    double value = element->real ? element->number : element->negative ? -(double)element->magnitude : (double)element->magnitude;
    uint64_t bits = element->has_bits ? element->bits : float_bits(format, value);

    if (element->has_bits && bytes < 8 && bits >> (8 * bytes) != 0)
        return false;
    memcpy(out, &bits, bytes);
    return true;
}

bool rlx_element_encode(rlx_dtype_t dtype, const rlx_element_t *element, void *out)
{
    size_t bytes = rlx_dtype_size(dtype);
    bool is_signed = dtype >= RLX_I8 && dtype <= RLX_I64;
    uint64_t limit, word;
    format_t format;

    if (format_of(dtype, &format))
        return real_encode(format, element, bytes, out);
    if (element->real || element->has_bits)
        return false;
    limit = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
    if (is_signed)
        limit >>= 1;
    if (dtype == RLX_BOOL)
        limit = 1;
    if (element->negative && element->magnitude != 0 && !is_signed)
        return false;
    if (element->magnitude > limit + (is_signed && element->negative))
        return false;
    word = element->negative ? 0 - element->magnitude : element->magnitude;
    memcpy(out, &word, bytes);
    return true;
}

/* Decimal digits that make the difference of at most one in the last place of any format: f64 17, f32 9. */
static void real_print(format_t format, uint64_t bits, char *out)
{
    double value = float_value(format, bits);

    if (isnan(value) && bits != usual_nan(format)) {
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "nan:0x%" PRIx64, bits);
        return;
    }
    if (isnan(value) || isinf(value)) {
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "%.*g", digits, value);
        if (float_bits(format, strtod(out, NULL)) == bits)
            return;
    }
}

void rlx_element_print(rlx_dtype_t dtype, const void *data, char out[RLX_ELEMENT_TEXT_MAX])
{
    size_t bytes = rlx_dtype_size(dtype);
    uint64_t word = 0;
    format_t format;

    memcpy(&word, data, bytes);
    if (format_of(dtype, &format))
        real_print(format, word, out);
    else if (dtype == RLX_BOOL && word <= 1)
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "%s", word != 0 ? "true" : "false");
    else if (dtype >= RLX_I8 && dtype <= RLX_I64 && word >> (8 * bytes - 1) != 0)
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "%" PRId64, (int64_t)(bytes == 8 ? word : word | UINT64_MAX << (8 * bytes)));
    else
        snprintf(out, RLX_ELEMENT_TEXT_MAX, "%" PRIu64, word);
}

static void pointed(char *out)
{
    if (strpbrk(out, ".en") == NULL) /* neither a point, an exponent, inf nor nan */
        strcat(out, ".0");
}

void rlx_double_print(double value, char out[RLX_ELEMENT_TEXT_MAX])
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    real_print((format_t){11, 52}, isnan(value) ? usual_nan((format_t){11, 52}) : bits, out);
    pointed(out);
}

void rlx_float_print(float value, char out[RLX_ELEMENT_TEXT_MAX])
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    real_print((format_t){8, 23}, isnan(value) ? usual_nan((format_t){8, 23}) : bits, out);
    pointed(out);
}
