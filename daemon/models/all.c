/* Loading all that the repository has, and afterwards sweeping the store of what is not served any more. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/log.h"
#include "daemon/models/registry.h"

/* Several loads that report as one. */
typedef struct load_all {
    int left;
    rlx_status_t status;
    rlx_diag_t diag;
    rlx_models_done_fn_t *done;
    void *done_context;
} load_all_t;

typedef struct scan {
    uv_work_t work;
    rlx_models_t *models;
    char **names;
    int n_names;
    rlx_trust_t *trust; /* for what serves and has no bundle in the repository any more; NULL unless signatures are verified */
    rlx_status_t status;
    load_all_t all;
} scan_t;

/* The store keeps what is served now. */
typedef struct sweep {
    uv_work_t work;
    rlx_models_t *models;
    char (*keep)[2 * RLX_BUNDLE_DIGEST + 1];
    int n_keep;
} sweep_t;

static bool sweep_keeps(void *context, const char *digest_hex)
{
    const sweep_t *sweep = context;

    for (int i = 0; i < sweep->n_keep; i++)
        if (strcmp(sweep->keep[i], digest_hex) == 0)
            return true;
    return false;
}

static void sweep_work(uv_work_t *work)
{
    sweep_t *sweep = work->data;

    rlx_store_sweep(sweep->models->context.store, sweep_keeps, sweep);
}

static void sweep_end(uv_work_t *work, int status)
{
    sweep_t *sweep = work->data;

    (void)status;
    sweep->models->pending--;
    free(sweep->keep);
    free(sweep);
}

/* Best effort: what is not swept now is swept at the next start. */
static void sweep_start(rlx_models_t *models)
{
    sweep_t *sweep = models->context.store != NULL ? calloc(1, sizeof *sweep) : NULL;
    int room = 0;

    if (sweep == NULL)
        return;
    for (int i = 0; i < models->n_names; i++)
        room += models->names[i]->n_versions;
    *sweep = (sweep_t){.work.data = sweep, .models = models, .keep = calloc((size_t)room + 1, sizeof *sweep->keep)};
    if (sweep->keep == NULL) {
        free(sweep);
        return;
    }
    for (int i = 0; i < models->n_names; i++)
        for (int v = 0; v < models->names[i]->n_versions; v++)
            if (models->names[i]->versions[v].box != NULL)
                rlx_digest_hex(rlx_served_digest(models->names[i]->versions[v].box), RLX_BUNDLE_DIGEST, sweep->keep[sweep->n_keep++]);
    models->pending++;
    RLX_ASSERT(uv_queue_work(models->loop, &sweep->work, sweep_work, sweep_end) == 0);
}

static void all_end(scan_t *scan)
{
    scan->all.done(scan->all.done_context, scan->all.status, scan->all.status == RLX_OK ? NULL : &scan->all.diag);
    sweep_start(scan->models);
    free(scan);
}

static void all_one(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    scan_t *scan = context;

    if (status != RLX_OK)
        RLX_LOG_DIAG(RLX_LOG_ERROR, "model not loaded", diag);
    if (status != RLX_OK && scan->all.status == RLX_OK) {
        scan->all.status = status;
        scan->all.diag = *diag;
    }
    if (--scan->all.left == 0)
        all_end(scan);
}

static void scan_work(uv_work_t *work)
{
    scan_t *scan = work->data;

    const rlx_load_context_t *context = &scan->models->context;

    scan->status = context->verify_signature ? rlx_trust_read(context->trusted_keys, &scan->trust, &scan->all.diag) : RLX_OK;
    if (scan->status == RLX_OK)
        scan->status = rlx_models_scan(context->repository, &scan->names, &scan->n_names, &scan->all.diag);
}

static void scan_end(uv_work_t *work, int status)
{
    scan_t *scan = work->data;
    char **names = scan->names;
    int n = scan->n_names;

    (void)status;
    scan->models->pending--;
    if (scan->status != RLX_OK)
        RLX_LOG_DIAG(RLX_LOG_ERROR, "model repository not read", &scan->all.diag);
    scan->all.status = scan->status;
    scan->all.left = n + 1;
    for (int i = 0; scan->trust != NULL && i < scan->models->n_names; i++)
        if (!scan->models->names[i]->busy)
            rlx_registry_distrust(scan->models, scan->models->names[i], scan->trust);
    rlx_trust_free(scan->trust);
    for (int i = 0; i < n; i++) {
        rlx_models_load(scan->models, names[i], NULL, all_one, scan);
        free(names[i]);
    }
    free(names);
    all_one(scan, RLX_OK, NULL);
}

void rlx_models_load_all(rlx_models_t *models, rlx_models_done_fn_t *done, void *context)
{
    scan_t *scan = models->context.repository != NULL ? calloc(1, sizeof *scan) : NULL;

    if (scan == NULL) {
        rlx_diag_t diag = {0};
        rlx_status_t status = models->context.repository != NULL ? rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory to load models") : RLX_OK;

        done(context, status, &diag);
        return;
    }
    scan->work.data = scan;
    scan->models = models;
    scan->all.done = done;
    scan->all.done_context = context;
    models->pending++;
    RLX_ASSERT(uv_queue_work(models->loop, &scan->work, scan_work, scan_end) == 0);
}
