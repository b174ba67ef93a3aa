/* The registry: names in sorted order, versions of each in ascending order. One place switches what serves (version_switch).
 *
 * A name is busy while one load or unload of it runs; a second one is refused. What a load makes is built on the thread pool and appears
 * here when it is whole; a failed load changes nothing but the reason shown in the index. Served models leave through hooks.remove,
 * rlx_models_forget, and are unmapped on the thread pool. */
#include "daemon/models/models.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "daemon/models/registry.h"

const char *rlx_fail_reason_name(rlx_fail_reason_t reason)
{
    static const char *const names[] = {
        [RLX_FAIL_MALFORMED] = "malformed",    [RLX_FAIL_REJECTED] = "rejected", [RLX_FAIL_CANCELLED] = "cancelled",
        [RLX_FAIL_DEADLINE] = "deadline",      [RLX_FAIL_INPUT] = "input",       [RLX_FAIL_RUN] = "run",
        [RLX_FAIL_UNAVAILABLE] = "unavailable"};

    return (unsigned)reason < sizeof names / sizeof *names ? names[reason] : "unknown";
}

const char *rlx_model_state_name(rlx_model_state_t state)
{
    static const char *const names[] = {[RLX_MODEL_LOADING] = "LOADING", [RLX_MODEL_READY] = "READY", [RLX_MODEL_UNLOADING] = "UNLOADING",
                                        [RLX_MODEL_UNAVAILABLE] = "UNAVAILABLE"};

    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "UNKNOWN";
}

static bool text_copy(const char *text, char **out_copy)
{
    *out_copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *out_copy != NULL;
}

/* Every load reads the folder anew; a start says what it finds. */
static rlx_status_t trust_look(const char *folder, rlx_diag_t *diag)
{
    rlx_trust_t *trust;

    RLX_TRY(rlx_trust_read(folder != NULL ? folder : "", &trust, diag));
    RLX_LOG(rlx_trust_count(trust) > 0 ? RLX_LOG_INFO : RLX_LOG_WARNING, "bundles need the signature of a trusted key",
            rlx_log_text("folder", folder), rlx_log_int("keys", rlx_trust_count(trust)));
    if (rlx_trust_left_out(trust)[0] != '\0')
        RLX_LOG(RLX_LOG_WARNING, "a file in the folder of trusted keys was left out", rlx_log_text("why", rlx_trust_left_out(trust)));
    rlx_trust_free(trust);
    return RLX_OK;
}

rlx_status_t rlx_models_create(const rlx_models_options_t *options, rlx_models_t **out_models, rlx_diag_t *diag)
{
    rlx_models_t *models = calloc(1, sizeof *models);
    rlx_status_t status = RLX_OK;

    if (models == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the registry of models");
    models->loop = options->loop;
    models->hooks = options->hooks;
    models->context = (rlx_load_context_t){.verify_signature = options->verify_signature, .warm_up = options->warm_up};
    if (!text_copy(options->repository, &models->context.repository) || !text_copy(options->trusted_keys, &models->context.trusted_keys))
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the registry of models");
    if (status == RLX_OK && options->repository != NULL)
        status = rlx_models_repository_check(options->repository, diag);
    if (status == RLX_OK && options->verify_signature)
        status = trust_look(options->trusted_keys, diag);
    if (status == RLX_OK && options->store != NULL)
        status = rlx_store_open(options->store, &models->context.store, diag);
    if (status != RLX_OK) {
        rlx_models_destroy(models);
        return status;
    }
    *out_models = models;
    return RLX_OK;
}

static void version_drop(rlx_model_version_t *version)
{
    rlx_served_destroy(version->box);
    rlx_stats_release(version->stats);
}

void rlx_models_destroy(rlx_models_t *models)
{
    RLX_ASSERT(models->pending == 0);
    for (int i = 0; i < models->n_names; i++) {
        for (int v = 0; v < models->names[i]->n_versions; v++)
            version_drop(&models->names[i]->versions[v]);
        free(models->names[i]->versions);
        free(models->names[i]);
    }
    free(models->names);
    rlx_store_close(models->context.store);
    free(models->context.repository);
    free(models->context.trusted_keys);
    free(models);
}

/* Where `name` is, or would be. */
static int name_place(const rlx_models_t *models, const char *name, bool *out_found)
{
    int low = 0, high = models->n_names;

    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(models->names[middle]->name, name);

        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_found = false;
    return low;
}

rlx_model_name_t *rlx_registry_find(const rlx_models_t *models, const char *name)
{
    bool found;
    int place = name_place(models, name, &found);

    return found ? models->names[place] : NULL;
}

rlx_model_name_t *rlx_registry_add(rlx_models_t *models, const char *name, rlx_diag_t *diag)
{
    rlx_model_name_t **grown, *record;
    bool found;
    int place = name_place(models, name, &found);

    if (found)
        return models->names[place];
    if (models->n_names == RLX_MODEL_NAMES_MAX) {
        rlx_fail(diag, RLX_E_MODEL_LIMIT, "%d models are known, no more can be", RLX_MODEL_NAMES_MAX);
        return NULL;
    }
    grown = realloc(models->names, (size_t)(models->n_names + 1) * sizeof *grown);
    if (grown != NULL)
        models->names = grown;
    record = grown != NULL ? calloc(1, sizeof *record) : NULL;
    if (record == NULL) {
        rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
        return NULL;
    }
    snprintf(record->name, sizeof record->name, "%s", name);
    memmove(grown + place + 1, grown + place, (size_t)(models->n_names - place) * sizeof *grown);
    grown[place] = record;
    models->n_names++;
    return record;
}

void rlx_registry_remove(rlx_models_t *models, rlx_model_name_t *record)
{
    bool found;
    int place = name_place(models, record->name, &found);

    RLX_ASSERT(found);
    RLX_ASSERT(record->n_versions == 0);
    models->n_names--;
    memmove(models->names + place, models->names + place + 1, (size_t)(models->n_names - place) * sizeof *models->names);
    free(record->versions);
    free(record);
}

rlx_model_version_t *rlx_registry_version(rlx_model_name_t *record, uint64_t number)
{
    rlx_model_version_t *grown;
    int place = 0;

    while (place < record->n_versions && record->versions[place].number < number)
        place++;
    if (place < record->n_versions && record->versions[place].number == number)
        return &record->versions[place];
    if (record->n_versions == RLX_VERSIONS_MAX)
        return NULL;
    grown = realloc(record->versions, (size_t)(record->n_versions + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    record->versions = grown;
    memmove(grown + place + 1, grown + place, (size_t)(record->n_versions - place) * sizeof *grown);
    record->n_versions++;
    grown[place] = (rlx_model_version_t){.number = number, .state = RLX_MODEL_LOADING};
    snprintf(grown[place].text, sizeof grown[place].text, "%" PRIu64, number);
    return &grown[place];
}

bool rlx_models_busy(const rlx_models_t *models) { return models->pending > 0; }

/* "a, b, c": what is served, as far as it fits. */
static const char *names_list(const rlx_models_t *models, char *buffer, size_t bytes)
{
    size_t at = 0;

    snprintf(buffer, bytes, "nothing");
    for (int i = 0; i < models->n_names && at + 1 < bytes; i++) {
        bool serves = false;

        for (int v = 0; v < models->names[i]->n_versions; v++)
            serves |= models->names[i]->versions[v].state == RLX_MODEL_READY;
        if (serves)
            at += (size_t)snprintf(buffer + at, bytes - at, "%s%s", at > 0 ? ", " : "", models->names[i]->name);
    }
    return buffer;
}

/* The version asked for, or the highest that serves, or the highest. NULL: there is none. */
static const rlx_model_version_t *version_choose(const rlx_model_name_t *record, const char *version)
{
    if (version != NULL && version[0] != '\0') {
        for (int i = 0; i < record->n_versions; i++)
            if (strcmp(record->versions[i].text, version) == 0)
                return &record->versions[i];
        return NULL;
    }
    for (int i = record->n_versions; i-- > 0;)
        if (record->versions[i].state == RLX_MODEL_READY)
            return &record->versions[i];
    return record->n_versions > 0 ? &record->versions[record->n_versions - 1] : NULL;
}

static rlx_status_t find_fail(const rlx_models_t *models, const rlx_model_name_t *record, const rlx_model_version_t *found,
                              const char *name, const char *version, rlx_diag_t *diag)
{
    bool any = version == NULL || version[0] == '\0';
    char names[512];

    if (record != NULL && (found != NULL ? found->state == RLX_MODEL_LOADING : record->busy && record->n_versions == 0))
        return rlx_fail(diag, RLX_E_MODEL_LOADING, "model '%.128s' is loading", name);
    if (found != NULL && found->state == RLX_MODEL_UNAVAILABLE && strcmp(found->reason, RLX_REASON_UNLOADED) != 0)
        return rlx_fail(diag, RLX_E_MODEL_LOADING, "model '%.128s' version %s could not be loaded: %.400s", name, found->text,
                        found->reason);
    return rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "no model '%.128s'%s%.32s is served; served are: %s", name, any ? "" : " version ",
                    any ? "" : version, names_list(models, names, sizeof names));
}

rlx_status_t rlx_models_find(rlx_models_t *models, const char *name, const char *version, rlx_served_t **out_served, rlx_diag_t *diag)
{
    const rlx_model_name_t *record = rlx_registry_find(models, name);
    const rlx_model_version_t *found = record != NULL ? version_choose(record, version) : NULL;

    if (found == NULL || found->state != RLX_MODEL_READY)
        return find_fail(models, record, found, name, version, diag);
    *out_served = &found->box->served;
    return RLX_OK;
}

bool rlx_models_next(const rlx_models_t *models, int *cursor, rlx_model_entry_t *out_entry)
{
    int name = *cursor / (RLX_VERSIONS_MAX + 1), at = *cursor % (RLX_VERSIONS_MAX + 1);
    const rlx_model_name_t *record;
    const rlx_model_version_t *version;

    if (name >= models->n_names)
        return false;
    record = models->names[name];
    *cursor = at + 1 < record->n_versions ? *cursor + 1 : (name + 1) * (RLX_VERSIONS_MAX + 1);
    *out_entry = (rlx_model_entry_t){.name = record->name, .version = "", .state = RLX_MODEL_LOADING, .reason = ""};
    if (at >= record->n_versions)
        return true; /* its first load runs: no version is known yet */
    version = &record->versions[at];
    out_entry->version = version->text;
    out_entry->state = version->state;
    out_entry->reason = version->reason;
    out_entry->served = version->box != NULL ? &version->box->served : NULL;
    return true;
}
