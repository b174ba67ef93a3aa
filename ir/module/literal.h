/* Python's strings and numbers: where they end, and what they are worth. Pure. */
#ifndef RLX_IR_MODULE_LITERAL_H
#define RLX_IR_MODULE_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A quote, or up to two prefix letters and a quote. */
bool rlx_string_begins(const char *at);

typedef enum rlx_string_scan { RLX_STRING_CLOSED, RLX_STRING_OPEN_LINE, RLX_STRING_OPEN_BLOCK } rlx_string_scan_t;
/* The end of the string that begins at `at`. OPEN: its line (or, in three quotes, the file) ends first. */
rlx_string_scan_t rlx_string_scan(const char *at, const char *end, const char **out_end);

typedef enum rlx_string_read {
    RLX_STRING_OK,
    RLX_STRING_FORMAT, /* f"..." */
    RLX_STRING_BYTES,  /* b"..." */
    RLX_STRING_ESCAPE, /* an escape that does not exist, or makes a NUL */
    RLX_STRING_PREFIX, /* no such prefix */
} rlx_string_read_t;
/* The characters of a closed string (with prefix and quotes) into `out`, which holds `bytes`; for ESCAPE `out_length` is where it stands. */
rlx_string_read_t rlx_string_read(const char *at, size_t bytes, char *out, size_t *out_length);

/* The end of what begins like a number: letters that hang on belong to it. */
const char *rlx_number_scan(const char *at);
typedef enum rlx_number_read { RLX_NUMBER_INT, RLX_NUMBER_FLOAT, RLX_NUMBER_RANGE, RLX_NUMBER_COMPLEX, RLX_NUMBER_BAD } rlx_number_read_t;
/* RANGE: an integer above 2^63 - 1, or a float beyond the largest. */
rlx_number_read_t rlx_number_read(const char *at, size_t bytes, int64_t *out_int, double *out_float);

#endif
