/* Inside of the executor: a team runs the tiles of one step together. The caller takes part; workers join a job if they come in time, so a
 * sleeping worker never delays a step. One run holds the team at a time (rlx_team_lock). */
#ifndef RLX_EXEC_TEAM_H
#define RLX_EXEC_TEAM_H

#include "exec/executor.h"

typedef struct rlx_team_job {
    rlx_kernel_fn_t *fn;
    rlx_kernel_args_t args; /* scratch: of the caller; worker i uses scratch + i * scratch_stride */
    int64_t tiles;
    size_t scratch_stride;
    rlx_step_part_t *parts; /* NULL, or by member: filled by those that take tiles */
} rlx_team_job_t;

/* A team serves one run at a time; others wait here. */
void rlx_team_lock(rlx_team_t *team);
void rlx_team_unlock(rlx_team_t *team);
int rlx_team_threads(const rlx_team_t *team);
/* Workers were seen awake: handing them tiles costs well under a microsecond. */
bool rlx_team_awake(const rlx_team_t *team);
/* Runs all tiles; returns when every tile is done and its writes are visible to the caller. Team locked by the caller. */
void rlx_team_run(rlx_team_t *team, const rlx_team_job_t *job);

/* Sets the float environment that kernels are defined under (round to nearest, denormals kept); returns the old one. */
unsigned rlx_float_env_enter(void);
void rlx_float_env_leave(unsigned saved);

#endif
