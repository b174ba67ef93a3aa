/* Inside of the executor: a plan, one region of a model under given symbol values. Immutable once built. One allocation holds it all.
 *
 * Checked when built, so that running needs no checks: every arena value lies inside the arena at a 64-byte boundary, every input's and
 * output's size is the product of its extents, tile counts and scratch sizes are in range. */
#ifndef RLX_EXEC_PLAN_H
#define RLX_EXEC_PLAN_H

#include "exec/executor.h"

#define RLX_SCRATCH_MAX ((int64_t)1 << 30)

typedef struct rlx_plan_step {
    rlx_kernel_fn_t *fn;
    const int64_t *params;
    int64_t tiles;
    int64_t scratch_bytes;
    uint64_t cost_ns; /* on one thread, estimated */
    const struct rlx_plan_step *row; /* the same step of a batch of one, where this one may run row by row; else NULL */
} rlx_plan_step_t;

/* Where a value of this region lies and what it is. */
typedef struct rlx_plan_value {
    int64_t offset, bytes, row_bytes;
} rlx_plan_value_t;

struct rlx_plan {
    atomic_int refs;
    rlx_model_t *model; /* borrowed by the cache's reference; rlx_plan_get retains it for its caller */
    uint32_t region;
    uint64_t cost_ns;                   /* of all steps, saturating */
    int64_t arena_bytes, scratch_bytes; /* scratch: largest of the steps, per worker, rounded to 64 */
    int64_t *slots;                     /* n_slots; the symbols first */
    rlx_plan_value_t *values;           /* by value id; filled for values of this region */
    rlx_plan_step_t *steps;             /* of the region; then those of a batch of one */
    int64_t *params;
};

rlx_status_t rlx_plan_build(rlx_model_t *model, uint32_t region, const rlx_plan_t *before, const int64_t *symbols, rlx_plan_t **out_plan,
                            rlx_diag_t *diag);
rlx_plan_t *rlx_plan_retain_internal(rlx_plan_t *plan);
void rlx_plan_release_internal(rlx_plan_t *plan);

static inline int64_t rlx_plan_ref(const rlx_plan_t *plan, const rlx_ref_t *ref)
{
    return ref->slot == RLX_NO_INDEX ? ref->value : plan->slots[ref->slot];
}

/* Extents of a value of this region. */
void rlx_plan_dims(const rlx_plan_t *plan, uint32_t value, rlx_tensor_t *out_shape);

#endif
