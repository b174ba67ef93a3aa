/* Inside of the executor: one run. Owned by the calling thread; lives on its stack. */
#ifndef RLX_EXEC_RUN_H
#define RLX_EXEC_RUN_H

#include "exec/arena.h"
#include "exec/model.h"
#include "exec/plan.h"
#include "exec/team.h"

#define RLX_RUN_REGIONS_MAX 256

typedef struct rlx_run_state {
    rlx_model_t *model;
    rlx_team_t *team; /* NULL: the caller alone */
    const rlx_io_t *inputs;
    rlx_io_t *outputs;
    const atomic_bool *cancel;
    rlx_run_stats_t *stats;
    rlx_diag_t *diag;
    uint64_t copies;
    uint32_t error;          /* the kernels' sticky word */
    rlx_operand_t *operands; /* by value id; in region 0's arena */
    rlx_plan_t *plans[RLX_RUN_REGIONS_MAX];
    rlx_arena_t arenas[RLX_RUN_REGIONS_MAX];
    bool *allocated; /* by output; beside operands */
    char *scratch;   /* of the region that runs */
    char *staging;   /* next free byte for copies of ports */
} rlx_run_state_t;

/* exec/bind.c. Bytes of copies that the region's inputs and outputs need; 0 in the usual case. */
rlx_status_t rlx_bind_measure(rlx_run_state_t *run, uint32_t region, int64_t *out_staging_bytes);
/* Gives every value of the region its memory: run->operands. Staging follows run->staging. */
rlx_status_t rlx_bind_region(rlx_run_state_t *run, uint32_t region);
/* Copies what was not written in place to the outputs. */
void rlx_bind_finish(rlx_run_state_t *run);
/* Frees the outputs that this run allocated. */
void rlx_bind_undo(rlx_run_state_t *run);

#endif
