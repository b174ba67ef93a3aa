/* What a start would load, opened and verified and closed again. Bundles are mapped where they are: nothing is written. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "daemon/models/inside.h"

typedef struct check {
    rlx_load_context_t context;
    rlx_models_checked_fn_t *checked;
    void *checked_context;
} check_t;

static void version_check(const check_t *check, const char *name, const rlx_found_t *found)
{
    rlx_served_box_t *box = NULL;
    rlx_diag_t diag = {0};
    char version[RLX_VERSION_TEXT];
    rlx_status_t status = rlx_served_create(&check->context, name, found, &box, &diag);

    snprintf(version, sizeof version, "%llu", (unsigned long long)found->version);
    check->checked(check->checked_context, name, version, found->path, status == RLX_OK ? NULL : &diag);
    rlx_served_destroy(box);
}

static void name_check(const check_t *check, const char *name)
{
    rlx_found_t *found = NULL;
    rlx_diag_t diag = {0};
    int n = 0;

    if (rlx_models_scan_name(check->context.repository, name, &found, &n, &diag) != RLX_OK)
        check->checked(check->checked_context, name, "", check->context.repository, &diag);
    for (int i = 0; i < n; i++)
        version_check(check, name, &found[i]);
    free(found);
}

static void repository_check(const check_t *check)
{
    char **names = NULL;
    rlx_diag_t diag = {0};
    int n = 0;

    if (rlx_models_repository_check(check->context.repository, &diag) != RLX_OK ||
        rlx_models_scan(check->context.repository, &names, &n, &diag) != RLX_OK)
        check->checked(check->checked_context, "", "", check->context.repository, &diag);
    for (int i = 0; i < n; i++) {
        name_check(check, names[i]);
        free(names[i]);
    }
    free(names);
}

/* One that is missing is made at the start. */
static void store_check(const check_t *check, const char *folder)
{
    rlx_store_t *store = NULL;
    rlx_diag_t diag = {0};
    struct stat info;

    if (stat(folder, &info) != 0)
        return;
    if (rlx_store_open(folder, &store, &diag) != RLX_OK)
        check->checked(check->checked_context, "", "", folder, &diag);
    else
        rlx_store_close(store);
}

void rlx_models_check(const rlx_models_options_t *options, const char *name, const char *path, rlx_models_checked_fn_t *checked,
                      void *context)
{
    rlx_trust_t *trust = NULL;
    check_t check = {.context = {.repository = (char *)options->repository, .trusted_keys = (char *)options->trusted_keys,
                                 .verify_signature = options->verify_signature},
                     .checked = checked, .checked_context = context};
    rlx_found_t one = {.version = 1};
    rlx_diag_t diag = {0};

    if (options->verify_signature && rlx_trust_read(options->trusted_keys, &trust, &diag) != RLX_OK) {
        checked(context, path == NULL ? "" : name, "", options->trusted_keys, &diag);
        return;
    }
    check.context.trust = trust;
    if (path == NULL) {
        if (options->store != NULL)
            store_check(&check, options->store);
        if (options->repository != NULL)
            repository_check(&check);
    } else if (rlx_model_name_check(name, &diag) != RLX_OK) {
        checked(context, name, "", path, &diag);
    } else {
        snprintf(one.path, sizeof one.path, "%s", path);
        version_check(&check, name, &one);
    }
    rlx_trust_free(trust);
}
