/* The file of a checkpoint (cli/steps.h). One thread. */
#ifndef RLX_CLI_CHECKPOINT_H
#define RLX_CLI_CHECKPOINT_H

#include "base/digest.h"
#include "cli/session.h"

/* An output that becomes an input of the next step. */
typedef struct rlx_carry {
    int output, input;
    const char *name; /* of the input */
    bool owned;
} rlx_carry_t;

/* Digest of what a run is: bundle, feedback, and all inputs at its start. */
rlx_status_t rlx_checkpoint_key(const rlx_session_t *session, const rlx_io_t *inputs, const rlx_carry_t *carries, int n_carries,
                                uint8_t out_key[RLX_BLAKE2B_BYTES], rlx_diag_t *diag);
/* `inputs`: as they go into the step after `done`. */
rlx_status_t rlx_checkpoint_write(const char *path, const uint8_t key[RLX_BLAKE2B_BYTES], const rlx_carry_t *carries, int n_carries,
                                  const rlx_io_t *inputs, int64_t done, rlx_diag_t *diag);
/* Into the memory of `inputs`, whose types and shapes it must have. A file of another run is refused. */
rlx_status_t rlx_checkpoint_read(const char *path, const uint8_t key[RLX_BLAKE2B_BYTES], const rlx_carry_t *carries, int n_carries,
                                 rlx_io_t *inputs, int64_t *out_done, rlx_diag_t *diag);

#endif
