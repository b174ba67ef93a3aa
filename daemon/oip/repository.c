/* The repository: what there is, load, unload. Models come from the server's own folder only: what a client sends is a name. */
#include <string.h>

#include "daemon/oip/handlers.h"
#include "proto/oip.pb-c.h"
#include "proto/wire.h"

static bool repository_refused(rlx_oip_unary_t *unary, const char *repository)
{
    if (repository[0] != '\0')
        rlx_oip_unary_lacks(unary, "there is one repository, and it has no name", "Leave repository_name empty.");
    return repository[0] != '\0';
}

void rlx_oip_repository_index(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__RepositoryIndexRequest *request = (const void *)message;
    rlx_models_t *models = rlx_node_models(unary->node);
    rlx_model_entry_t entry;
    int cursor = 0;

    if (repository_refused(unary, request->repository_name))
        return;
    while (rlx_models_next(models, &cursor, &entry)) {
        size_t at;

        if (request->ready && entry.state != RLX_MODEL_READY)
            continue;
        at = rlx_wire_open(&unary->out, 1);
        rlx_wire_string(&unary->out, 1, entry.name);
        rlx_wire_string(&unary->out, 2, entry.version);
        rlx_wire_string(&unary->out, 3, rlx_model_state_name(entry.state));
        rlx_wire_string(&unary->out, 4, entry.reason);
        rlx_wire_close(&unary->out, at);
    }
    rlx_oip_unary_reply(unary);
}

static void change_done(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    rlx_oip_unary_t *unary = context;

    if (status == RLX_OK)
        rlx_oip_unary_reply(unary);
    else
        rlx_oip_unary_fail(unary, diag);
}

/* A load with parameters would serve something else than what the repository holds. */
static bool parameters_refused(rlx_oip_unary_t *unary, const Inference__RepositoryModelLoadRequest *request)
{
    for (size_t i = 0; i < request->n_parameters; i++) {
        const char *key = request->parameters[i]->key;

        if (strcmp(key, "config") == 0) {
            rlx_oip_unary_lacks(unary, "parameter `config` is not supported",
                                "A bundle brings its own configuration: compile it with other options.");
            return true;
        }
        if (strncmp(key, "file:", 5) == 0) {
            rlx_oip_unary_lacks(unary, "parameter `file:` is not supported: models are not sent over the wire",
                                "Put the bundle into the server's repository folder and load it by name.");
            return true;
        }
    }
    return false;
}

void rlx_oip_model_load(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__RepositoryModelLoadRequest *request = (const void *)message;

    if (repository_refused(unary, request->repository_name) || parameters_refused(unary, request))
        return;
    rlx_oip_unary_wait(unary);
    rlx_models_load(rlx_node_models(unary->node), request->model_name, NULL, change_done, unary);
}

/* No model depends on another: `unload_dependents` asks for nothing more. */
void rlx_oip_model_unload(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__RepositoryModelUnloadRequest *request = (const void *)message;
    rlx_diag_t diag = {0};

    if (repository_refused(unary, request->repository_name))
        return;
    rlx_oip_unary_wait(unary);
    if (rlx_models_unload(rlx_node_models(unary->node), request->model_name, change_done, unary, &diag) != RLX_OK)
        rlx_oip_unary_fail(unary, &diag);
}
