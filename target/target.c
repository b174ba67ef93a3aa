/* The table of targets: one line each. */
#include "target/target.h"

static const rlx_target_t *const targets[] = {&rlx_target_c};

const rlx_target_t *const *rlx_target_list(int *out_count)
{
    *out_count = (int)(sizeof targets / sizeof *targets);
    return targets;
}
