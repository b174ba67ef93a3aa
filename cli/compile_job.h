/* One compilation: a model, its options and the bundle that comes of it. What `rlx compile` and `rlx run` share. One thread. */
#ifndef RLX_CLI_COMPILE_JOB_H
#define RLX_CLI_COMPILE_JOB_H

#include <stdint.h>

#include "bundle/sign.h"
#include "ir/compile.h"

/* User code of a custom_op: --custom NAME=PATH. */
typedef struct rlx_custom_file {
    char name[64];
    const char *path;
    char record[136]; /* "NAME=digest of the source" */
} rlx_custom_file_t;

typedef struct rlx_compile_job {
    const char *model, *target;
    rlx_compile_options_t options;
    rlx_custom_file_t custom[RLX_CUSTOM_MAX]; /* by name */
    int n_custom;
    /* Texts of options that change the result, as recorded in the bundle; in the order given. */
    rlx_bundle_option_t recorded[RLX_BUNDLE_OPTIONS_MAX];
    int n_recorded;
} rlx_compile_job_t;

/* An option that the bundle records: steps from one checkpoint to the next. */
#define RLX_OPTION_CHECKPOINT "checkpoint-steps"

typedef struct rlx_compile_figures {
    int64_t n_steps, n_reorders, constants_bytes;
    int64_t checkpoint_steps; /* rlx_custom_interval */
    char independent[64]; /* the symbol along which a server may batch requests; "": none */
    bool cached;          /* nothing was compiled: `n_reorders` is not known */
} rlx_compile_figures_t;

void rlx_compile_job_init(rlx_compile_job_t *out_job);
/* One of --target, --opt-level, --accuracy, --shape, --max ("target" ...). `text` must live as long as the job. False: no option of a compilation. */
bool rlx_compile_job_takes(const char *option);
rlx_status_t rlx_compile_job_option(rlx_compile_job_t *job, const char *option, const char *text, rlx_diag_t *diag);
rlx_status_t rlx_cli_accuracy(const char *text, rlx_accuracy_t *out_accuracy, rlx_diag_t *diag);
/* cli/custom_code.c. --custom NAME=FILE; the path must live as long as the job. */
rlx_status_t rlx_compile_job_custom(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag);
/* Records names and the sources' digests; rlx_compile_job_complete calls it. */
rlx_status_t rlx_compile_job_custom_record(rlx_compile_job_t *job, rlx_diag_t *diag);
/* After the last option. */
rlx_status_t rlx_compile_job_complete(rlx_compile_job_t *job, rlx_diag_t *diag);
/* Adds an option to those that the bundle records. Borrowed. */
rlx_status_t rlx_compile_job_record(rlx_compile_job_t *job, const char *key, const char *value, rlx_diag_t *diag);
/* What is said of the source: the digest of its canonical form, and the signatures beside it, which fit. */
typedef struct rlx_compile_source {
    uint8_t digest[RLX_BUNDLE_DIGEST];
    rlx_source_signatures_t signatures;
} rlx_compile_source_t;
/* Compiles, without writing anything. `custom`: user code, or NULL. `out_source` NULL: not asked for, and signatures are not looked at. */
rlx_status_t rlx_compile_job_build(const rlx_compile_job_t *job, const rlx_custom_set_t *custom, rlx_compile_source_t *out_source,
                                   rlx_compiled_t *out_compiled, rlx_diag_t *diag);
/* cli/source_trust.c. The signatures of a source with this digest, from MODEL.sig; none where there is no such file. One that does not fit is
 * refused. */
rlx_status_t rlx_compile_job_signatures(const char *model, const uint8_t digest[RLX_BUNDLE_DIGEST], rlx_source_signatures_t *out_signatures,
                                        rlx_diag_t *diag);
/* Refuses a source that no key of the folder `trusted_keys` has signed. */
rlx_status_t rlx_cli_source_trusted(const char *model, const char *trusted_keys, rlx_diag_t *diag);
/* That refusal. */
struct rlx_trust;
rlx_status_t rlx_cli_source_untrusted(const char *model, const struct rlx_trust *trust, rlx_diag_t *diag);
/* Compiles and writes the bundle to `path`, making its folder. */
rlx_status_t rlx_compile_job_run(const rlx_compile_job_t *job, const char *path, rlx_compile_figures_t *out_figures, rlx_diag_t *diag);

/* Makes the folder that `path` lies in. */
rlx_status_t rlx_cli_parent_make(const char *path, rlx_diag_t *diag);

/* cli/compile_cache.c: the same through the cache (RLX_CACHE_DIR, else ~/.cache/rlx).
 *
 * The key is the content: the model's bytes, those of its external data and of its file of signatures, the options, and the bytes of this very program. Nothing that can
 * change without changing the key decides what is used, so an entry is never stale; a damaged one is compiled again. */

/* RLX_CACHE_DIR/`name`, made. Owned by the caller. */
rlx_status_t rlx_cli_cache_folder(const char *name, char **out_folder, rlx_diag_t *diag);
/* Removes the oldest files of `folder` with this ending until no more than that are left. What cannot be removed stays. */
void rlx_cli_cache_trim(const char *folder, const char *ending, int entries_max, uint64_t bytes_max);

/* The entry itself, for those who only read it. The path is owned by the caller. */
rlx_status_t rlx_compile_cached(const rlx_compile_job_t *job, char **out_path, rlx_diag_t *diag);
/* A copy of the entry at `path`, making its folder. Compiles without the cache where there is no folder for it, or no room. */
rlx_status_t rlx_compile_cached_to(const rlx_compile_job_t *job, const char *path, rlx_compile_figures_t *out_figures, rlx_diag_t *diag);

#endif
