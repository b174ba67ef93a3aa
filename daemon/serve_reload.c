/* SIGHUP: configuration, TLS files and repository are read again. What is refused changes nothing. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/serve_state.h"

#define TLS_KEYS "server.tls."

typedef enum tls_outcome { TLS_STAYS, TLS_APPLIED, TLS_REFUSED } tls_outcome_t;

static void key_changed(void *context, const char *key, bool live)
{
    const tls_outcome_t *tls = context;
    bool is_tls = strncmp(key, TLS_KEYS, strlen(TLS_KEYS)) == 0;

    if (is_tls && *tls == TLS_REFUSED)
        return; /* the log has the reason */
    if (is_tls && *tls == TLS_STAYS)
        live = false;
    if (live)
        RLX_LOG(RLX_LOG_INFO, "configuration changed", rlx_log_text("key", key));
    else
        RLX_LOG(RLX_LOG_WARNING, "configuration changed, but a restart is needed for it", rlx_log_text("key", key));
}

/* The files are read even when their names are the old ones: certificates are renewed in place. TLS itself cannot be turned on or off. */
static tls_outcome_t tls_reload(rlx_serve_t *serve, const rlx_config_t *fresh)
{
    rlx_config_t *config = serve->options->config;
    rlx_rpc_tls_t tls = {fresh->server.tls.certificate, fresh->server.tls.key, fresh->server.tls.client_ca};
    rlx_diag_t diag = {0};

    if (config->server.tls.certificate == NULL || tls.certificate == NULL)
        return TLS_STAYS;
    if (rlx_rpc_server_tls_reload(serve->rpc, &tls, &diag) != RLX_OK) {
        RLX_LOG_DIAG(RLX_LOG_ERROR, "TLS files refused, new connections get the old ones", &diag);
        serve->loads_failed++;
        return TLS_REFUSED;
    }
    RLX_LOG(RLX_LOG_INFO, "TLS files read again", rlx_log_text("certificate", tls.certificate));
    return TLS_APPLIED;
}

/* The live keys of `fresh` take effect; the others wait for a restart and are told again at the next reload. Moves `fresh`. */
static void config_apply(rlx_serve_t *serve, rlx_config_t *fresh)
{
    rlx_config_t *config = serve->options->config;
    tls_outcome_t tls = tls_reload(serve, fresh);

    rlx_config_compare(config, fresh, key_changed, &tls);
    config->logging.level = fresh->logging.level;
    config->logging.format = fresh->logging.format;
    config->server.drain_timeout_ms = fresh->server.drain_timeout_ms;
    rlx_log_configure((rlx_log_level_t)config->logging.level, (rlx_log_format_t)config->logging.format);
    if (tls == TLS_APPLIED) {
        config->server.tls = fresh->server.tls;
        rlx_config_fini(&serve->reloaded);
        serve->reloaded = *fresh;
    } else
        rlx_config_fini(fresh);
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
    serve->loads_failed = 0;
    config_apply(serve, &fresh);
    serve->reloading = true;
    rlx_serve_loads_begin(serve);
}
