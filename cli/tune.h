/* Tuning: which way of cutting each op's work is fastest on this machine. Measured once (`rlx compile --tune`), kept in the bundle and in a
 * log, and taken from the log again (`--tune-from`): the same table gives the same bundle, byte for byte. One thread besides the team. */
#ifndef RLX_CLI_TUNE_H
#define RLX_CLI_TUNE_H

#include <stdio.h>

#include "base/text.h"
#include "cli/compile_job.h"

#define RLX_TUNE_LOG_MAX ((size_t)64 << 20)

/* What was measured: of the whole model, milliseconds, by the cuts that the models choose and by those chosen here. */
typedef struct rlx_tune_figures {
    int n_candidates, n_rounds, n_threads;
    int n_keys, n_changed; /* kinds of op; those that are cut another way now */
    double alone_ms[2], team_ms[2];
} rlx_tune_figures_t;

/* Measures for about `budget_s` seconds (and at least two rounds). Open extents are as in `shapes`, else 1 or the symbol's minimum. What
 * comes of it is owned by the caller; `log` gets a line for every key. */
rlx_status_t rlx_tune_measure(const rlx_compile_job_t *job, const rlx_compile_options_t *shapes, double budget_s, rlx_tuning_t *out_tuning,
                              rlx_tune_figures_t *out_figures, rlx_text_t *log, rlx_diag_t *diag);
void rlx_tuning_fini(rlx_tuning_t *tuning);

/* cli/tune_log.c. JSON lines: a head, then one object a key. The reader refuses what is out of range; keys that the model does not have
 * are allowed, and those that are missing keep what the models say. */
void rlx_tune_log_head(rlx_text_t *log, const char *isa, int n_threads);
/* `ns`: measured by candidate, alone and with the team; 0 where it was not. */
void rlx_tune_log_entry(rlx_text_t *log, const rlx_tuning_entry_t *entry, rlx_op_kind_t kind, const uint64_t (*ns)[2]);
rlx_status_t rlx_tune_log_read(const char *path, rlx_tuning_t *out_tuning, rlx_diag_t *diag);
/* Names the table's content, as the bundle records it: BLAKE2b-256 in hexadecimal. */
rlx_status_t rlx_tuning_digest(const rlx_tuning_t *tuning, char out_hex[65], rlx_diag_t *diag);

#endif
