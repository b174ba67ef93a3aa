/* Load, replace, unload: the slow part on libuv's thread pool, the switch on the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "daemon/models/registry.h"

typedef struct load {
    uv_work_t work;
    rlx_models_t *models;
    char name[RLX_MODEL_NAME_MAX];
    char *path; /* NULL: the repository's */
    rlx_status_t status; /* of the scan */
    rlx_trust_t *trust;  /* as the folder is now; NULL unless signatures are verified */
    rlx_diag_t diag;
    rlx_loaded_t *loaded;
    int n_loaded;
    rlx_models_done_fn_t *done;
    void *done_context;
} load_t;

/* ---- Leaving */

static bool digest_in_use(const rlx_models_t *models, const uint8_t *digest)
{
    for (int i = 0; i < models->n_names; i++)
        for (int v = 0; v < models->names[i]->n_versions; v++)
            if (models->names[i]->versions[v].box != NULL &&
                memcmp(rlx_served_digest(models->names[i]->versions[v].box), digest, RLX_BUNDLE_DIGEST) == 0)
                return true;
    return false;
}

static void dispose_work(uv_work_t *work)
{
    rlx_served_box_t *box = work->data;

    if (box->drop)
        rlx_store_drop(box->models->context.store, rlx_served_digest(box));
    rlx_served_close(box);
}

static void unload_end(rlx_models_t *models, rlx_model_name_t *record)
{
    rlx_models_done_fn_t *done = record->unloaded;
    void *context = record->unloaded_context;

    RLX_LOG(RLX_LOG_INFO, "model unloaded", rlx_log_text("model", record->name));
    record->busy = false;
    record->unloaded = NULL;
    models->pending--;
    if (done != NULL)
        done(context, RLX_OK, NULL);
}

static void dispose_end(uv_work_t *work, int status)
{
    rlx_served_box_t *box = work->data;
    rlx_models_t *models = box->models;
    rlx_model_name_t *record = box->unloading;

    (void)status; /* never cancelled */
    rlx_served_destroy(box);
    models->pending--;
    if (record != NULL && --record->unloading == 0)
        unload_end(models, record);
}

void rlx_models_forget(rlx_models_t *models, rlx_served_t *served)
{
    rlx_served_box_t *box = (rlx_served_box_t *)served; /* its first member */
    rlx_model_name_t *record = rlx_registry_find(models, served->name);

    RLX_ASSERT(box->dying);
    for (int v = 0; record != NULL && v < record->n_versions; v++) {
        rlx_model_version_t *version = &record->versions[v];

        if (version->box != box)
            continue;
        version->box = NULL;
        version->state = RLX_MODEL_UNAVAILABLE;
        snprintf(version->reason, sizeof version->reason, RLX_REASON_UNLOADED);
        box->unloading = record;
    }
    box->models = models;
    box->drop = box->unloading == NULL && models->context.store != NULL && !digest_in_use(models, rlx_served_digest(box));
    box->work.data = box;
    models->pending++;
    RLX_ASSERT(uv_queue_work(models->loop, &box->work, dispose_work, dispose_end) == 0);
}

static void version_retire(rlx_models_t *models, rlx_served_box_t *box)
{
    box->dying = true;
    models->hooks.remove(models->hooks.context, &box->served); /* may forget it at once */
}

rlx_status_t rlx_models_unload(rlx_models_t *models, const char *name, rlx_models_done_fn_t *done, void *context, rlx_diag_t *diag)
{
    rlx_model_name_t *record = rlx_registry_find(models, name);
    int n = 0;

    for (int v = 0; record != NULL && v < record->n_versions; v++)
        n += record->versions[v].state == RLX_MODEL_READY;
    if (record != NULL && record->busy)
        return rlx_fail(diag, RLX_E_MODEL_BUSY, "model '%s' is being loaded or unloaded", record->name);
    if (n == 0)
        return rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "no model '%.128s' is served", name);
    record->busy = true;
    record->unloading = n;
    record->unloaded = done;
    record->unloaded_context = context;
    models->pending++;
    for (int v = 0; v < record->n_versions; v++) {
        if (record->versions[v].state != RLX_MODEL_READY)
            continue;
        record->versions[v].state = RLX_MODEL_UNLOADING;
        version_retire(models, record->versions[v].box);
    }
    return RLX_OK;
}

/* ---- Coming */

static void load_work(uv_work_t *work)
{
    load_t *load = work->data;
    rlx_load_context_t context = load->models->context;
    rlx_found_t one = {.version = 1}, *found = &one;
    int n = 1;

    if (context.verify_signature)
        load->status = rlx_trust_read(context.trusted_keys, &load->trust, &load->diag);
    if (load->status != RLX_OK)
        return;
    context.trust = load->trust;
    if (load->path != NULL) {
        snprintf(one.path, sizeof one.path, "%s", load->path);
    } else {
        load->status = rlx_models_scan_name(load->models->context.repository, load->name, &found, &n, &load->diag);
        if (load->status != RLX_OK)
            return;
    }
    load->loaded = calloc((size_t)n, sizeof *load->loaded);
    load->n_loaded = load->loaded != NULL ? n : 0;
    if (load->loaded == NULL)
        load->status = rlx_fail(&load->diag, RLX_E_NO_MEMORY, "no memory for the versions of a model");
    for (int i = 0; i < load->n_loaded; i++) {
        load->loaded[i].version = found[i].version;
        (void)rlx_served_create(&context, load->name, &found[i], &load->loaded[i].box, &load->loaded[i].diag);
    }
    if (found != &one)
        free(found);
}

/* The new one takes over; the old one finishes what it has. The only place that changes what serves. */
static rlx_status_t version_switch(rlx_models_t *models, rlx_model_version_t *version, rlx_served_box_t *box, rlx_diag_t *diag)
{
    rlx_served_box_t *old = version->box;

    if (version->stats == NULL && (version->stats = rlx_stats_create()) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the statistics of a model");
    box->stats = rlx_stats_retain(version->stats);
    box->served.stats = &box->stats->stats;
    RLX_TRY(models->hooks.add(models->hooks.context, &box->served, diag));
    version->box = box;
    version->state = RLX_MODEL_READY;
    version->reason[0] = '\0';
    if (old != NULL)
        version_retire(models, old);
    RLX_LOG(RLX_LOG_INFO, old != NULL ? "model replaced" : "model loaded", rlx_log_text("model", box->name),
            rlx_log_text("version", box->version));
    return RLX_OK;
}

/* One version that was loaded, or not. On failure what serves goes on serving, and the index says why. */
static rlx_status_t version_take(rlx_models_t *models, rlx_model_name_t *record, rlx_loaded_t *loaded)
{
    rlx_model_version_t *version = rlx_registry_version(record, loaded->version);
    rlx_status_t status = loaded->box != NULL ? RLX_OK : loaded->diag.status;

    if (version == NULL) {
        rlx_served_destroy(loaded->box);
        return rlx_fail(&loaded->diag, RLX_E_MODEL_LIMIT, "model '%s' has more than %d versions", record->name, RLX_VERSIONS_MAX);
    }
    if (status == RLX_OK && version->box != NULL &&
        memcmp(rlx_served_digest(version->box), rlx_served_digest(loaded->box), RLX_BUNDLE_DIGEST) == 0) {
        rlx_served_destroy(loaded->box); /* nothing changed; only its own mapping goes */
        version->reason[0] = '\0';
        return RLX_OK;
    }
    if (status == RLX_OK) {
        status = version_switch(models, version, loaded->box, &loaded->diag);
        if (status != RLX_OK)
            rlx_served_destroy(loaded->box);
    }
    if (status != RLX_OK) {
        version->state = version->box != NULL ? RLX_MODEL_READY : RLX_MODEL_UNAVAILABLE;
        snprintf(version->reason, sizeof version->reason, "%.400s", loaded->diag.message);
    }
    return status;
}

/* Taking a key away ends what it alone had signed, however sound the bundle is. */
void rlx_registry_distrust(rlx_models_t *models, rlx_model_name_t *record, const rlx_trust_t *trust)
{
    for (int v = 0; v < record->n_versions; v++) {
        rlx_model_version_t *version = &record->versions[v];
        rlx_served_box_t *box = version->state == RLX_MODEL_READY ? version->box : NULL;
        rlx_diag_t diag = {0};

        if (box == NULL || rlx_bundle_trusted(box->bundle, trust, &diag) == RLX_OK)
            continue;
        RLX_LOG(RLX_LOG_WARNING, "model is no longer trusted and is taken away", rlx_log_text("model", box->name),
                rlx_log_text("version", box->version), rlx_log_text("why", diag.message));
        version->box = NULL;
        version->state = RLX_MODEL_UNAVAILABLE;
        snprintf(version->reason, sizeof version->reason, "%.400s", diag.message);
        version_retire(models, box);
    }
}

/* Versions whose bundles left the repository. */
static void versions_prune(rlx_models_t *models, rlx_model_name_t *record, const load_t *load)
{
    for (int v = record->n_versions; v-- > 0;) {
        rlx_served_box_t *box = record->versions[v].box;
        bool there = false;

        for (int i = 0; i < load->n_loaded; i++)
            there |= load->loaded[i].version == record->versions[v].number;
        if (there)
            continue;
        rlx_stats_release(record->versions[v].stats);
        record->n_versions--;
        memmove(&record->versions[v], &record->versions[v + 1], (size_t)(record->n_versions - v) * sizeof *record->versions);
        if (box != NULL)
            version_retire(models, box);
    }
}

static void load_end(uv_work_t *work, int status)
{
    load_t *load = work->data;
    rlx_models_t *models = load->models;
    rlx_model_name_t *record = rlx_registry_find(models, load->name);
    rlx_diag_t *diag = &load->diag;
    rlx_status_t outcome = load->status;

    (void)status; /* never cancelled */
    RLX_ASSERT(record != NULL);
    for (int i = 0; i < load->n_loaded; i++) {
        rlx_status_t one = version_take(models, record, &load->loaded[i]);

        if (outcome == RLX_OK && one != RLX_OK) {
            outcome = one;
            diag = &load->loaded[i].diag;
        }
    }
    if (load->n_loaded > 0 && load->path == NULL)
        versions_prune(models, record, load);
    if (load->trust != NULL)
        rlx_registry_distrust(models, record, load->trust);
    rlx_trust_free(load->trust);
    record->busy = false;
    if (record->n_versions == 0)
        rlx_registry_remove(models, record);
    models->pending--;
    load->done(load->done_context, outcome, outcome == RLX_OK ? NULL : diag);
    free(load->loaded);
    free(load->path);
    free(load);
}

static rlx_status_t load_start(rlx_models_t *models, const char *name, const char *path, rlx_models_done_fn_t *done, void *context,
                               rlx_diag_t *diag)
{
    rlx_model_name_t *record;
    load_t *load;

    RLX_TRY(rlx_model_name_check(name, diag));
    record = rlx_registry_add(models, name, diag);
    if (record == NULL)
        return diag->status;
    if (record->busy)
        return rlx_fail(diag, RLX_E_MODEL_BUSY, "model '%s' is being loaded or unloaded", name);
    load = calloc(1, sizeof *load);
    if (load == NULL || (path != NULL && (load->path = strdup(path)) == NULL)) {
        free(load);
        if (record->n_versions == 0)
            rlx_registry_remove(models, record);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory to load a model");
    }
    load->work.data = load;
    load->models = models;
    snprintf(load->name, sizeof load->name, "%s", name);
    load->done = done;
    load->done_context = context;
    record->busy = true;
    models->pending++;
    RLX_ASSERT(uv_queue_work(models->loop, &load->work, load_work, load_end) == 0);
    return RLX_OK;
}

void rlx_models_load(rlx_models_t *models, const char *name, const char *path, rlx_models_done_fn_t *done, void *context)
{
    rlx_diag_t diag = {0};
    rlx_status_t status = load_start(models, name, path, done, context, &diag);

    if (status != RLX_OK)
        done(context, status, &diag);
}
