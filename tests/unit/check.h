/* cmocka with the headers it needs, and a few words for tests that feed damaged bytes. */
#ifndef RLX_TESTS_UNIT_CHECK_H
#define RLX_TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"

/* Expects a refusal with `code`, and that the message says `word`. */
#define assert_refused(call, expected_code, word)                                 \
    do {                                                                          \
        rlx_diag_t diag = {0};                                                    \
        assert_int_not_equal((call), RLX_OK);                                     \
        assert_int_equal(diag.code, (expected_code));                             \
        if (strstr(diag.message, (word)) == NULL)                                 \
            fail_msg("message '%s' does not say '%s'", diag.message, (word));     \
    } while (0)

#define assert_ok(call)                                                           \
    do {                                                                          \
        rlx_diag_t diag = {0};                                                    \
        if ((call) != RLX_OK)                                                     \
            fail_msg("refused: %s", diag.message);                                \
    } while (0)

/* A path in the build folder's scratch space, unique to the process. Static storage, overwritten by the next call. */
static inline const char *scratch_path(const char *name)
{
    static char path[256];
    const char *folder = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/rlx-test-%ld-%s", folder != NULL ? folder : "/tmp", (long)getpid(), name);
    return path;
}

#endif
