/* rlx infer --steps: a model run again and again, outputs fed back to inputs, with checkpoints to continue from. One thread.
 *
 * A checkpoint is a .npz file: the inputs that are fed back, as they go into the next step; `rlx:step`, how many steps were done; `rlx:key`, a
 * digest of the bundle, the feedback and all inputs at the start. It is synced before it takes its name, so whatever kills this process, or the
 * machine, leaves the one before or the new one. */
#ifndef RLX_CLI_STEPS_H
#define RLX_CLI_STEPS_H

#include "cli/session.h"

#define RLX_STEPS_CARRIES_MAX 32

typedef struct rlx_steps {
    int64_t n; /* 0: a plain request */
    const char *checkpoint; /* file, or NULL */
    int64_t every; /* steps from one checkpoint to the next; 0: as the bundle says */
    const char *carries[RLX_STEPS_CARRIES_MAX]; /* OUTPUT=INPUT */
    int n_carries; /* 0: the first output feeds the first input of its type and rank */
    bool quiet;
} rlx_steps_t;

rlx_status_t rlx_steps_carry(rlx_steps_t *steps, const char *text, rlx_diag_t *diag);
/* Do the options belong together? */
rlx_status_t rlx_steps_check(const rlx_steps_t *steps, rlx_diag_t *diag);
/* `inputs` as bound, unchanged afterwards; `outputs` zeroed, one per output: those of the last step, owned by the caller (free). */
rlx_status_t rlx_steps_run(rlx_session_t *session, const rlx_steps_t *steps, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_diag_t *diag);

#endif
