/* Inside of the executor: one run. Owned by the calling thread; lives on its stack. */
#ifndef RLX_EXEC_RUN_H
#define RLX_EXEC_RUN_H

#include "exec/arena.h"
#include "exec/model.h"
#include "exec/plan.h"
#include "exec/team.h"

#define RLX_RUN_REGIONS_MAX 256

/* A value whose extents a call found. */
typedef struct rlx_dynamic {
    bool there;
    rlx_arena_t memory; /* owned by the run */
    int64_t dims[RLX_RANK_MAX]; /* -1: nothing was appended, so that nobody knows it */
} rlx_dynamic_t;

typedef struct rlx_run_state {
    rlx_model_t *model;
    rlx_team_t *team; /* NULL: the caller alone */
    const rlx_io_t *inputs;
    rlx_io_t *outputs;
    const atomic_bool *cancel;
    rlx_run_stats_t *stats;
    rlx_diag_t *diag;
    uint64_t copies;
    uint64_t own_ns, called_ns; /* with stats->step_ns: what steps took, and those of bodies */
    uint32_t error;          /* the kernels' sticky word */
    rlx_operand_t *operands; /* by value id; in region 0's arena */
    rlx_plan_t *plans[RLX_RUN_REGIONS_MAX];
    rlx_arena_t arenas[RLX_RUN_REGIONS_MAX];
    bool *allocated; /* by output; beside operands */
    rlx_dynamic_t *dynamics; /* by number of the dynamic value; beside operands */
    char *calls;     /* model->call_bytes for the ports of a call; beside operands */
    /* Of a body's run: outputs that the caller leaves open get memory from `pool` and are owned through `out_memory`, by output. */
    rlx_arena_pool_t *pool;
    rlx_arena_t *out_memory;
    char *scratch;   /* of the region that runs */
    char *staging;   /* next free byte for copies of ports */
} rlx_run_state_t;

/* A body under `plan` (rlx_symbols_plan of these inputs), run once for `caller`: with its team, cancel word and watch. An output with data
 * == NULL gets memory: out_memory[i], of the caller's pool, owned by the caller on success. */
rlx_status_t rlx_run_body(rlx_run_state_t *caller, rlx_plan_t *plan, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_arena_t *out_memory);
/* exec/region.c. A region's symbols from data and extents that earlier regions made, then its plan. */
rlx_status_t rlx_region_plan(rlx_run_state_t *run, uint32_t region);
/* Gets the region's arena and cuts it. */
rlx_status_t rlx_region_memory(rlx_run_state_t *run, uint32_t region);
static inline int rlx_run_threads(const rlx_run_state_t *run) { return run->team != NULL ? rlx_team_threads(run->team) : 1; }

/* exec/bind.c. Bytes of copies that the region's inputs and outputs need; 0 in the usual case. */
rlx_status_t rlx_bind_measure(rlx_run_state_t *run, uint32_t region, int64_t *out_staging_bytes);
/* Gives every value of the region its memory: run->operands. Staging follows run->staging. */
rlx_status_t rlx_bind_region(rlx_run_state_t *run, uint32_t region);
/* Copies what was not written in place to the outputs. */
void rlx_bind_finish(rlx_run_state_t *run);
/* Frees the outputs that this run allocated. */
void rlx_bind_undo(rlx_run_state_t *run);

#endif
