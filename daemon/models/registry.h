/* Inside of the registry: records of names and versions. models.c keeps them, change.c changes what they serve. Loop
 * thread only. */
#ifndef RLX_DAEMON_MODELS_REGISTRY_H
#define RLX_DAEMON_MODELS_REGISTRY_H

#include "daemon/models/inside.h"

#define RLX_MODEL_NAMES_MAX 4096

typedef struct rlx_model_version {
    uint64_t number;
    char text[RLX_VERSION_TEXT];
    rlx_model_state_t state;
    char reason[512];
    rlx_served_box_t *box; /* READY, UNLOADING */
    rlx_stats_box_t *stats; /* shared with what serves it; NULL before the first */
} rlx_model_version_t;

typedef struct rlx_model_name {
    char name[RLX_MODEL_NAME_MAX];
    rlx_model_version_t *versions; /* ascending */
    int n_versions;
    bool busy;
    /* An unload under way: versions not unmapped yet, and who waits. */
    int unloading;
    rlx_models_done_fn_t *unloaded;
    void *unloaded_context;
} rlx_model_name_t;

struct rlx_models {
    uv_loop_t *loop;
    rlx_models_hooks_t hooks;
    rlx_load_context_t context;
    rlx_model_name_t **names; /* sorted */
    int n_names;
    int pending; /* work on the thread pool, and unloads that wait */
};

rlx_model_name_t *rlx_registry_find(const rlx_models_t *models, const char *name);
/* Found or made; NULL: no room. */
rlx_model_name_t *rlx_registry_add(rlx_models_t *models, const char *name, rlx_diag_t *diag);
void rlx_registry_remove(rlx_models_t *models, rlx_model_name_t *record); /* it has no versions */
/* Found or made, LOADING; NULL: no room. Pointers to other versions of the name end. */
rlx_model_version_t *rlx_registry_version(rlx_model_name_t *record, uint64_t number);

/* change.c: takes away versions that serve and that no key signed which is in `trust`. */
void rlx_registry_distrust(rlx_models_t *models, rlx_model_name_t *record, const rlx_trust_t *trust);

#endif
