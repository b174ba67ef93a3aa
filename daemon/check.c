/* The same functions read the files as at a start, so that the words are the same. */
#include "daemon/check.h"

#include <stdio.h>

#include "daemon/models/models.h"
#include "rpc/tls/tls.h"

typedef struct check {
    int n_good, n_bad;
} check_t;

static void model_checked(void *context, const char *name, const char *version, const char *path, const rlx_diag_t *diag)
{
    check_t *check = context;

    if (diag == NULL) {
        check->n_good++;
        printf("model '%s' version %s is good: %s\n", name, version, path);
        return;
    }
    check->n_bad++;
    fflush(stdout);
    rlx_diag_print(diag, stderr);
}

static bool tls_check(const rlx_config_t *config)
{
    rlx_rpc_tls_t tls = {config->server.tls.certificate, config->server.tls.key, config->server.tls.client_ca};
    rlx_diag_t diag = {0};

    if (tls.certificate == NULL)
        return true;
    if (rlx_rpc_tls_check(&tls, &diag) != RLX_OK) {
        fflush(stdout);
        rlx_diag_print(&diag, stderr);
        return false;
    }
    printf("TLS is good: certificate %s, key %s%s%s\n", tls.certificate, tls.key, tls.client_ca != NULL ? ", client CA " : "",
           tls.client_ca != NULL ? tls.client_ca : "");
    return true;
}

int rlxd_check(const rlx_serve_options_t *options)
{
    const rlx_config_t *config = options->config;
    const rlxd_options_t *words = options->words;
    rlx_models_options_t models = {.repository = config->models.repository, .store = config->models.store,
                                   .verify_signature = config->models.verify_signature, .trusted_keys = config->models.trusted_keys};
    check_t check = {0};
    bool tls;

    printf("configuration is good: node '%s', %s:%d\n", options->node->id, options->node->host, (int)options->node->port);
    tls = tls_check(config);
    rlx_models_check(&models, NULL, NULL, model_checked, &check);
    for (int i = 0; i < words->n_models; i++)
        rlx_models_check(&models, words->models[i].name, words->models[i].path, model_checked, &check);
    if (check.n_good + check.n_bad == 0 && models.repository != NULL)
        printf("no bundle is in %s: neither NAME.rlxb nor NAME/VERSION/FILE.rlxb\n", models.repository);
    else if (check.n_good + check.n_bad == 0)
        printf("no model is configured\n");
    return !tls ? RLXD_EXIT_CONFIG : check.n_bad > 0 ? RLXD_EXIT_FAILED : RLXD_EXIT_DONE;
}
