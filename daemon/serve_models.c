/* Loading at start and at reload. The start is over when every load has ended; a reload likewise. */
#include "base/log.h"
#include "daemon/serve_state.h"

static void loads_end(rlx_serve_t *serve)
{
    if (!serve->reloading) {
        rlx_serve_started(serve);
        return;
    }
    serve->reloading = false;
    if (serve->phase == RLX_SERVE_SERVING)
        rlx_serve_tell(serve, "READY=1\nSTATUS=Serving on %s%s", serve->url,
                       serve->loads_failed > 0 ? "; the last reload had failures" : "");
    RLX_LOG(RLX_LOG_INFO, "reloaded", rlx_log_int("failures", serve->loads_failed));
    if (serve->reload_wanted)
        rlx_serve_reload(serve);
}

static void load_end(rlx_serve_t *serve, rlx_status_t status)
{
    serve->loads_failed += status != RLX_OK;
    if (--serve->loads_out == 0)
        loads_end(serve);
}

static void repository_loaded(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    (void)diag; /* the log has it, and those of other models */
    load_end(context, status);
}

static void model_loaded(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    rlx_serve_t *serve = context;

    if (status != RLX_OK) {
        RLX_LOG_DIAG(RLX_LOG_ERROR, "model not loaded", diag);
        serve->model_failed = true;
    }
    load_end(serve, status);
}

void rlx_serve_loads_begin(rlx_serve_t *serve)
{
    const rlxd_options_t *words = serve->options->words;
    rlx_models_t *models = rlx_node_models(serve->node);

    serve->loads_out = 1; /* this function itself, so that the end comes once */
    if (serve->options->config->models.repository != NULL) {
        serve->loads_out++;
        rlx_models_load_all(models, repository_loaded, serve);
    }
    for (int i = 0; i < words->n_models; i++) {
        serve->loads_out++;
        rlx_models_load(models, words->models[i].name, words->models[i].path, model_loaded, serve);
    }
    if (--serve->loads_out == 0)
        loads_end(serve);
}

static void start_deadline_pass(uv_timer_t *timer)
{
    rlx_serve_t *serve = timer->data;

    RLX_LOG(RLX_LOG_ERROR, "models are not loaded in time", rlx_log_int("to_go", serve->loads_out),
            rlx_log_int("start_timeout_ms", serve->options->config->server.start_timeout_ms));
    rlx_serve_cut(serve, "the start deadline passed");
}

void rlx_serve_load(rlx_serve_t *serve)
{
    uv_timer_start(&serve->deadline, start_deadline_pass, (uint64_t)serve->options->config->server.start_timeout_ms, 0);
    rlx_serve_loads_begin(serve);
}
