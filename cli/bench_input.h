/* Made-up inputs for benchmarks: seeded, so that two runs measure the same work. */
#ifndef RLX_CLI_BENCH_INPUT_H
#define RLX_CLI_BENCH_INPUT_H

#include "cli/bench_tensor.h"
#include "cli/cli.h"
#include "cli/session.h"

/* One tensor per input: floats are roughly normal, integers 1, booleans true. Open extents come from `options->shapes`; those not
 * given are 1, or the symbol's minimum where that is larger. */
rlx_status_t rlx_bench_inputs_make(const rlx_session_t *session, const rlx_compile_options_t *options, rlx_io_t **out_inputs,
                                   rlx_diag_t *diag);
void rlx_bench_inputs_free(const rlx_session_t *session, rlx_io_t *inputs);

#endif
