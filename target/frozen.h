/* A program under fixed sizes: what targets that have no executor are made from. It is the very plan that the executor would run, so an
 * emitted step has the offsets, parameters and tiles of one that is run here.
 *
 * Owner: the caller, by value. One thread. */
#ifndef RLX_TARGET_FROZEN_H
#define RLX_TARGET_FROZEN_H

#include "exec/model.h"
#include "exec/plan.h"

typedef struct rlx_frozen {
    rlx_model_t *model;
    rlx_plan_t *plan;
    const void *constants;
    size_t constants_bytes;
    int64_t scratch_offset; /* of the steps' scratch, behind the values of the arena */
    int64_t arena_bytes;    /* values and scratch; a multiple of 64, never 0 */
} rlx_frozen_t;

/* `program` was checked; it and `constants` are borrowed while the result lives. Fails where a size is open, where it depends on computed
 * data, and where branches or loops are run: each with what the model has and what to do. */
rlx_status_t rlx_frozen_make(const void *program, const void *constants, size_t constants_bytes, rlx_frozen_t *out_frozen, rlx_diag_t *diag);
void rlx_frozen_fini(rlx_frozen_t *frozen);

#endif
