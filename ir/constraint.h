/* What a target's code may not exceed. The passes are the same for all targets; a fusion that breaks a constraint is undone for that target,
 * and the report says so. Bits do not change: fusion keeps them. */
#ifndef RLX_IR_CONSTRAINT_H
#define RLX_IR_CONSTRAINT_H

#include <stdint.h>

#include "base/text.h"

typedef struct rlx_constraint {
    const char *target;
    int64_t chain_scratch_max; /* bytes that a fused chain of element-wise ops may need besides its operands */
    rlx_text_t *report;        /* a line per fusion undone */
} rlx_constraint_t;

#endif
