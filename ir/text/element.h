/* One element of a tensor as text, and back. Exact: what is printed reads back to the same bits. Pure. */
#ifndef RLX_IR_TEXT_ELEMENT_H
#define RLX_IR_TEXT_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"

#define RLX_ELEMENT_TEXT_MAX 40

/* A number as written. Not a number with other than the usual bits (quiet, nothing else set) is written nan:0xBITS. */
typedef struct rlx_element {
    bool real;          /* `number` counts; else sign and magnitude */
    bool negative;
    uint64_t magnitude;
    double number;      /* with its sign */
    bool has_bits;
    uint64_t bits;
} rlx_element_t;

/* Bytes of `element` in `dtype`, little-endian. False: the type cannot hold it (a fraction, too large, negative where there is no sign). Decimal
 * numbers are rounded to nearest even; float types take integers that they hold exactly, or round them. */
bool rlx_element_encode(rlx_dtype_t dtype, const rlx_element_t *element, void *out);
/* The shortest decimal that reads back to the same bits; true and false for bool. */
void rlx_element_print(rlx_dtype_t dtype, const void *data, char out[RLX_ELEMENT_TEXT_MAX]);
/* The same for a number that is no tensor's: with a point or an exponent, so that it stays a float. */
void rlx_double_print(double value, char out[RLX_ELEMENT_TEXT_MAX]);
void rlx_float_print(float value, char out[RLX_ELEMENT_TEXT_MAX]);

#endif
