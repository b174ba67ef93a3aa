/* The end of a process that found one of its own invariants broken. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void rlx_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "rlx: invariant broken at %s:%d: %s\n", file, line, expr);
    fflush(stderr);
    abort();
}
