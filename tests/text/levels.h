/* The same module at two levels of optimisation: the same bits. */
#ifndef RLX_TESTS_TEXT_LEVELS_H
#define RLX_TESTS_TEXT_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum levels_end {
    LEVELS_EQUAL,   /* every output has the same bytes */
    LEVELS_REFUSED, /* both levels refuse to compile it */
    LEVELS_FAILED,  /* both refuse the inputs, while planning or running */
    LEVELS_DIFFER,
} levels_end_t;

/* Compiles a text at -O1 and -O3 and runs both on inputs drawn from `seed`, every fourth with NaNs and infinities. Where seed is odd, -O1 runs on
 * the reference kernels. `why` says what differs. */
levels_end_t levels_compare(const char *text, uint64_t seed, char why[512]);

#endif
