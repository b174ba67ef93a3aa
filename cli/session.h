/* A bundle made ready to run: opened, verified, its kernels found, a team of threads started. What infer and bench share. One thread. */
#ifndef RLX_CLI_SESSION_H
#define RLX_CLI_SESSION_H

#include "base/npz.h"
#include "bundle/bundle.h"
#include "exec/executor.h"

#define RLX_CLI_THREADS_MAX 256

typedef struct rlx_session {
    rlx_bundle_t *bundle;
    rlx_model_t *model;
    rlx_team_t *team;
    int n_threads;
    const rlx_program_header_t *program; /* the bundle's */
    const char *isa;                     /* of the kernels that run: "x86-64-v4", or "reference" */
} rlx_session_t;

typedef struct rlx_session_options {
    int n_threads;  /* 0: one per CPU that this process may use */
    const char *trusted_keys; /* folder: a bundle without a signature of one of its keys is refused, every byte is hashed; NULL: any bundle */
    bool reference; /* the host-compiled reference kernels instead of the bundle's code */
} rlx_session_options_t;

rlx_status_t rlx_session_open(const char *path, const rlx_session_options_t *options, rlx_session_t *out_session, rlx_diag_t *diag);
void rlx_session_close(rlx_session_t *session);

/* The values of --threads and --kernels. */
rlx_status_t rlx_session_threads_parse(const char *text, rlx_session_options_t *options, rlx_diag_t *diag);
rlx_status_t rlx_session_kernels_parse(const char *text, rlx_session_options_t *options, rlx_diag_t *diag);

int rlx_session_n_inputs(const rlx_session_t *session);
int rlx_session_n_outputs(const rlx_session_t *session);
const rlx_program_value_t *rlx_session_input(const rlx_session_t *session, int index, const char **out_name);
const rlx_program_value_t *rlx_session_output(const rlx_session_t *session, int index, const char **out_name);

/* The arrays of `npz` in the model's order: every input there, none besides. A bare .npy serves a model of one input. Tensors are
 * borrowed from `npz`; the array (one per input, at least one) is owned by the caller. */
rlx_status_t rlx_session_bind(const rlx_session_t *session, const rlx_npz_t *npz, rlx_io_t **out_inputs, rlx_diag_t *diag);

#endif
