/* The public reader of a plan's slots. */
#include "exec/plan.h"

int64_t rlx_plan_number(const rlx_plan_t *plan, const rlx_ref_t *ref) { return rlx_plan_ref(plan, ref); }
