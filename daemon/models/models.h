/* The models of a node: which bundles are served, under which names and versions.
 *
 * A *served model* is one version of one name: a mapped bundle and its executor model, immutable, refcounted. Names are looked up for every
 * request; a served model lives until its last request let go of it, so replacing and unloading never hurt a request. Loading runs on
 * libuv's thread pool (open, verify, map, warm up), the switch on the loop: a bundle that fails never takes the serving one down.
 * rlxd copies bundles into its own read-only store (by digest) and maps those, so a file that changes or shrinks cannot hurt.
 *
 * Repository folder (--models DIR): DIR/NAME.rlxb is name NAME, version 1; DIR/NAME/VERSION/FILE.rlxb gives numbered versions, the highest
 * serves by default, all can be asked for by version. Loop thread only, except where said. */
#ifndef RLX_DAEMON_MODELS_MODELS_H
#define RLX_DAEMON_MODELS_MODELS_H

#include <stdatomic.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "base/metric.h"
#include "bundle/bundle.h"
#include "exec/executor.h"

#define RLX_MODEL_NAME_MAX 128 /* bytes with the NUL; letters, digits, "._-" and '/' inside; else refused */
#define RLX_MODEL_PORTS_MAX 256 /* inputs; outputs. Else refused */
#define RLX_BATCH_ROWS_MAX 64     /* of one run, whatever the model declares */
#define RLX_MODELS_SERVED_MAX 1024 /* versions that serve at once, of all models. One more is refused: RLX-1620 */

/* Nanosecond durations and how many. */
typedef struct rlx_duration {
    uint64_t count, ns;
} rlx_duration_t;

/* Why a request was not answered. */
typedef enum rlx_fail_reason {
    RLX_FAIL_MALFORMED, RLX_FAIL_REJECTED, RLX_FAIL_CANCELLED, RLX_FAIL_DEADLINE, RLX_FAIL_INPUT, RLX_FAIL_RUN, RLX_FAIL_UNAVAILABLE,
    RLX_FAIL_REASONS
} rlx_fail_reason_t;
const char *rlx_fail_reason_name(rlx_fail_reason_t reason);

/* Of one version of a name, as long as the registry knows it: replaced, or unloaded and loaded again, it goes on counting.
 * Counted once per finished request: success + fail of all reasons together are the requests received. */
typedef struct rlx_model_stats {
    rlx_duration_t success, queue, input, infer, output;
    /* Of answered requests: waiting (submit to start), computing, and all of it (first bytes read to answer made). */
    rlx_metric_histogram_t queue_time, compute_time, total_time;
    uint64_t fail[RLX_FAIL_REASONS];
    rlx_duration_t fail_all;
    uint64_t inferences, executions; /* rows; runs */
    uint64_t last_ms;                /* wall clock of the last inference, ms since 1970 */
    rlx_duration_t batch[RLX_BATCH_ROWS_MAX + 1]; /* by rows of a run (the last: that or more): runs and their kernel time */
    uint64_t input_copies;
} rlx_model_stats_t;

typedef struct rlx_served rlx_served_t;

/* What a port looks like to clients. */
typedef struct rlx_served_port {
    const char *name;
    rlx_dtype_t dtype;
    int rank;
    int64_t dims[RLX_RANK_MAX]; /* -1: open */
    bool integers; /* its data are symbols or indices: copied before they are checked, never used in client memory */
} rlx_served_port_t;

/* Public and constant once served, but for what `stats` points to (loop thread). */
struct rlx_served {
    const char *name, *version; /* version: decimal */
    uint32_t number;            /* its place in the actor's model table */
    rlx_model_t *model;
    const rlx_bundle_t *bundle;
    const rlx_served_port_t *inputs, *outputs;
    int n_inputs, n_outputs;
    int64_t batch_max;     /* rows that may run together; 1: not batched */
    int batch_symbol;      /* the symbol of axis 0, or -1 */
    uint64_t resident_bytes;
    rlx_model_stats_t *stats; /* of the version: a bundle that replaces this one goes on counting in it */
};

typedef enum rlx_model_state { RLX_MODEL_LOADING, RLX_MODEL_READY, RLX_MODEL_UNLOADING, RLX_MODEL_UNAVAILABLE } rlx_model_state_t;
const char *rlx_model_state_name(rlx_model_state_t state); /* the protocol's word: "READY" */

typedef struct rlx_models rlx_models_t;

typedef struct rlx_models_hooks {
    /* A version is about to serve: gives it a number (tells the actor). Fails when the table is full. */
    rlx_status_t (*add)(void *context, rlx_served_t *served, rlx_diag_t *diag);
    /* A version takes no new requests any more; call rlx_models_forget when nothing uses it. */
    void (*remove)(void *context, rlx_served_t *served);
    void *context;
} rlx_models_hooks_t;

typedef struct rlx_models_options {
    uv_loop_t *loop;
    const char *repository; /* folder, or NULL */
    const char *store;      /* folder of rlxd's own copies; NULL: map the given files themselves */
    bool verify_signature;  /* bundles without a signature of a trusted key are refused, and what serves stops when its keys are taken away */
    const char *trusted_keys; /* folder, read at every load */
    int warm_up;            /* runs of each fixed-shape model before it serves */
    rlx_models_hooks_t hooks;
} rlx_models_options_t;

rlx_status_t rlx_models_create(const rlx_models_options_t *options, rlx_models_t **out_models, rlx_diag_t *diag);
void rlx_models_destroy(rlx_models_t *models); /* nothing may be loading or in use */

/* Loads or replaces. `done` runs on the loop with the outcome. `path` NULL: name's bundles of the repository. */
typedef void rlx_models_done_fn_t(void *context, rlx_status_t status, const rlx_diag_t *diag);
void rlx_models_load(rlx_models_t *models, const char *name, const char *path, rlx_models_done_fn_t *done, void *context);
/* Loads everything the repository has. `done` after the last; the first failure is reported, all are in the log and in the index. */
void rlx_models_load_all(rlx_models_t *models, rlx_models_done_fn_t *done, void *context);
rlx_status_t rlx_models_unload(rlx_models_t *models, const char *name, rlx_models_done_fn_t *done, void *context, rlx_diag_t *diag);
/* The hook's owner says that nothing uses `served` any more: it is unmapped. */
void rlx_models_forget(rlx_models_t *models, rlx_served_t *served);
bool rlx_models_busy(const rlx_models_t *models); /* something is loading or unloading */

/* What a start would load, opened and verified, and closed again: the bundle `path` as `name`, or (NULL, NULL) the whole repository, with
 * the store's folder. `checked` runs for each bundle, and for what keeps bundles from being found; `diag` NULL: it is good, else borrowed.
 * Names and paths are borrowed. Blocking, any thread; serves and writes nothing, and needs no registry. */
typedef void rlx_models_checked_fn_t(void *context, const char *name, const char *version, const char *path, const rlx_diag_t *diag);
void rlx_models_check(const rlx_models_options_t *options, const char *name, const char *path, rlx_models_checked_fn_t *checked,
                      void *context);

/* `version` NULL or "": the one that serves. NOT_FOUND (with the names there are), or UNAVAILABLE while its first load runs. */
rlx_status_t rlx_models_find(rlx_models_t *models, const char *name, const char *version, rlx_served_t **out_served, rlx_diag_t *diag);

#define RLX_REASON_UNLOADED "unloaded" /* as somebody wanted: no failure */
typedef struct rlx_model_entry {
    const char *name, *version;
    rlx_model_state_t state;
    const char *reason; /* "", or why it is unavailable: RLX_REASON_UNLOADED or what went wrong */
    const rlx_served_t *served; /* NULL unless READY or UNLOADING */
} rlx_model_entry_t;
/* Every version known, in order of name and version; false at the end. `*cursor` starts at 0. */
bool rlx_models_next(const rlx_models_t *models, int *cursor, rlx_model_entry_t *out_entry);

#endif
