/* The public readers of a plan's numbers. */
#include "exec/model.h"
#include "exec/plan.h"

int64_t rlx_plan_number(const rlx_plan_t *plan, const rlx_ref_t *ref) { return rlx_plan_ref(plan, ref); }

uint64_t rlx_plan_cost_ns(const rlx_plan_t *plan) { return plan->cost_ns; }

const rlx_program_header_t *rlx_plan_program(const rlx_plan_t *plan) { return plan->model->header; }
