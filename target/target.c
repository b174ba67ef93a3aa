/* The table of targets: one line each. */
#include "target/target.h"

static const rlx_target_t *const targets[] = {&rlx_target_c, &rlx_target_llvm, &rlx_target_wasm, &rlx_target_aarch64, &rlx_target_riscv64};

const rlx_target_t *const *rlx_target_list(int *out_count)
{
    *out_count = (int)(sizeof targets / sizeof *targets);
    return targets;
}
