/* Loading at start and at reload. The start is over when every load has ended; a reload likewise. */
#include "base/clock.h"
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

/* Everything that configuration and command line name. */
static void loads_begin(rlx_serve_t *serve)
{
    const rlxd_options_t *words = serve->options->words;
    rlx_models_t *models = rlx_node_models(serve->node);

    serve->loads_failed = 0;
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
    loads_begin(serve);
}

static void key_changed(void *context, const char *key, bool live)
{
    (void)context;
    if (live)
        RLX_LOG(RLX_LOG_INFO, "configuration changed", rlx_log_text("key", key));
    else
        RLX_LOG(RLX_LOG_WARNING, "configuration changed, but a restart is needed for it", rlx_log_text("key", key));
}

/* The live keys of `fresh` take effect; the others wait for a restart and are told again at the next reload. */
static void config_apply(rlx_config_t *config, const rlx_config_t *fresh)
{
    rlx_config_compare(config, fresh, key_changed, NULL);
    config->logging.level = fresh->logging.level;
    config->logging.format = fresh->logging.format;
    config->server.drain_timeout_ms = fresh->server.drain_timeout_ms;
    rlx_log_configure((rlx_log_level_t)config->logging.level, (rlx_log_format_t)config->logging.format);
}

void rlx_serve_reload(rlx_serve_t *serve)
{
    rlx_diag_t diag = {0};
    rlx_config_t fresh;

    if (serve->phase > RLX_SERVE_SERVING)
        return; /* stopping: nothing is worth reading any more */
    serve->reload_wanted = serve->phase != RLX_SERVE_SERVING || serve->reloading;
    if (serve->reload_wanted)
        return; /* what is read now may be older than what was written: once more when the loads have ended */
    rlx_serve_tell(serve, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(rlx_clock_ns() / 1000));
    if (rlxd_options_config(serve->options->words, &fresh, &diag) != RLX_OK) {
        RLX_LOG_DIAG(RLX_LOG_ERROR, "reload refused, the old configuration stays", &diag);
        rlx_serve_tell(serve, "READY=1\nSTATUS=Serving on %s; reload refused: RLX-%04d", serve->url, (int)diag.code);
        return;
    }
    config_apply(serve->options->config, &fresh);
    rlx_config_fini(&fresh);
    serve->reloading = true;
    loads_begin(serve);
}
