/* Shape code: the straight-line int64 programs that turn symbols into extents, offsets and tile counts (bundle/program.h). Checked
 * beforehand by rlx_program_check; here only what depends on the numbers can fail: overflow, division by zero, a condition that does not
 * hold. */
#ifndef RLX_EXEC_SHAPE_CODE_H
#define RLX_EXEC_SHAPE_CODE_H

#include <stdint.h>

#include "base/diag.h"

/* Runs `n_words` of code; reads and writes `slots`. `strings` holds the messages of CHECK. */
rlx_status_t rlx_shape_code_run(const int64_t *code, uint32_t n_words, const char *strings, int64_t *slots, rlx_diag_t *diag);

#endif
