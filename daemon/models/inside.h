/* Inside of the registry of models: records by name, what a load carries to the thread pool and back.
 *
 * On the loop: models.c (names and versions), change.c (load, switch, unload), all.c (the whole repository), stats.c.
 * On the thread pool, without any access to the registry: load.c (from a bundle to a served model), scan.c (what
 * the repository folder holds), check.c (both, for rlxd --check). */
#ifndef RLX_DAEMON_MODELS_INSIDE_H
#define RLX_DAEMON_MODELS_INSIDE_H

#include "bundle/trust.h"
#include "daemon/models/models.h"
#include "daemon/models/store.h"

#define RLX_VERSIONS_MAX 64       /* of one name; more are refused */
#define RLX_VERSION_TEXT 24
#define RLX_MODEL_PATH_MAX 4096
#define RLX_BATCH_ROWS_DEFAULT 16 /* rows of a run where the model declares no maximum */

/* The statistics of a version, counted by references. Loop thread. */
typedef struct rlx_stats_box {
    rlx_model_stats_t stats;
    int refs;
} rlx_stats_box_t;
rlx_stats_box_t *rlx_stats_create(void); /* all zero; NULL: no memory */
rlx_stats_box_t *rlx_stats_retain(rlx_stats_box_t *box);
void rlx_stats_release(rlx_stats_box_t *box); /* NULL is allowed */

/* A served model and what it owns. `served` is what others see. */
typedef struct rlx_served_box {
    rlx_served_t served;
    char name[RLX_MODEL_NAME_MAX], version[RLX_VERSION_TEXT];
    rlx_bundle_t *bundle;
    rlx_served_port_t *ports; /* inputs, then outputs */
    rlx_stats_box_t *stats;   /* shared; NULL until it serves */
    uint64_t number;
    /* Leaving: here, so that it takes no memory that might be missing then. */
    bool dying;               /* removed: waits for rlx_models_forget */
    bool drop;                /* its copy in the store has no other user */
    rlx_models_t *models;
    struct rlx_model_name *unloading; /* whose unload waits for it; NULL: it was replaced */
    uv_work_t work;
} rlx_served_box_t;

/* One bundle file of a name. */
typedef struct rlx_found {
    uint64_t version;
    char path[RLX_MODEL_PATH_MAX];
} rlx_found_t;

/* What a load found and made. */
typedef struct rlx_loaded {
    uint64_t version;
    rlx_served_box_t *box; /* NULL: failed */
    rlx_diag_t diag;
} rlx_loaded_t;

/* What a load on the thread pool needs to know. Constant. */
typedef struct rlx_load_context {
    char *repository, *trusted_keys; /* NULL: none */
    rlx_store_t *store;              /* NULL: files are mapped where they are */
    bool verify_signature;
    const rlx_trust_t *trust;        /* read for this load; NULL unless signatures are verified */
    int warm_up;
} rlx_load_context_t;

/* "3" gives 3; false for anything but a decimal number of 1 to 18 digits without a leading zero. */
bool rlx_version_parse(const char *text, uint64_t *out_version);
rlx_status_t rlx_model_name_check(const char *name, rlx_diag_t *diag);

/* The bundles of `name` in the repository, by ascending version. `*out_found` is owned by the caller (free). */
rlx_status_t rlx_models_scan_name(const char *repository, const char *name, rlx_found_t **out_found, int *out_n, rlx_diag_t *diag);
/* All names of the repository, sorted, unique; owned by the caller (free each, then the array). */
rlx_status_t rlx_models_scan(const char *repository, char ***out_names, int *out_n, rlx_diag_t *diag);
rlx_status_t rlx_models_repository_check(const char *repository, rlx_diag_t *diag); /* it is a folder that can be read */

/* Opens, verifies and prepares one version. */
rlx_status_t rlx_served_create(const rlx_load_context_t *context, const char *name, const rlx_found_t *found, rlx_served_box_t **out_box,
                               rlx_diag_t *diag);
/* Unmaps it, which takes time. Destroy does so too. */
void rlx_served_close(rlx_served_box_t *box);
void rlx_served_destroy(rlx_served_box_t *box);
/* Names its bundle's file: signatures count. */
static inline const uint8_t *rlx_served_digest(const rlx_served_box_t *box) { return rlx_bundle_file_digest(box->bundle); }

#endif
