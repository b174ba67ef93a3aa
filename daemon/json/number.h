/* Numbers between JSON text and tensor elements, fast enough for tensors of millions.
 *
 * Reading rounds correctly (as strtof and strtod do): most numbers take one multiplication in a wider type, and only what lies within its
 * error of the middle between two results takes the library's way. Writing gives the shortest text, or nearly, that reads back as the same
 * bits. Pure; any thread. */
#ifndef RLX_DAEMON_JSON_NUMBER_H
#define RLX_DAEMON_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"

typedef struct rlx_json_number {
    const char *text, *end;
    uint64_t digits; /* the leading significant ones that fit */
    int64_t exponent; /* value = digits * 10^exponent, but for `cut` */
    bool negative, cut, whole; /* cut: more digits follow; whole: no fraction but zeros, no exponent */
} rlx_json_number_t;

#define RLX_JSON_NUMBER_TEXT_MAX 1024 /* characters of one number; longer ones are refused */

/* Reads a number of JSON's grammar at `text`, not past `end`. NULL, or what is wrong. What follows it is the caller's to check; there is
 * at least one byte after it in the buffer that is no part of a number. */
const char *rlx_json_number_read(const char *text, const char *end, rlx_json_number_t *out_number);
/* Stores it as an element of `dtype`. NULL, or what is wrong (static text): out of range, no integer. BOOL takes 0 and 1. */
const char *rlx_json_number_store(const rlx_json_number_t *number, rlx_dtype_t dtype, void *to);

#define RLX_JSON_ELEMENT_MAX 32 /* characters of one element */
/* Writes element `index` of `data`; returns the characters. Floats have a point or an exponent; what is not finite becomes the strings
 * "NaN", "Infinity" and "-Infinity" (as in protobuf's JSON), since JSON has no numbers for them. */
int rlx_json_element_write(rlx_dtype_t dtype, const void *data, int64_t index, char to[RLX_JSON_ELEMENT_MAX]);

float rlx_json_half_to_float(uint16_t bits);
/* Nearest, ties to even; infinity where it overflows. */
uint16_t rlx_json_half_from_double(double value);

#endif
