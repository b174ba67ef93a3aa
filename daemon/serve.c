/* Puts the parts together, turns the loop, and takes them apart. */
#include "daemon/serve.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/version.h"
#include "daemon/serve_state.h"

/* One per process; not on the stack, since everything points into it until the process ends. */
static rlx_serve_t the_serve;

static void http_adopt(void *context, int fd, bool local)
{
    rlx_serve_t *serve = context;

    rlx_http_adopt(serve->http, fd, local);
}

static rlx_status_t tracing_make(rlx_serve_t *serve, rlx_diag_t *diag)
{
    const rlx_config_t *config = serve->options->config;
    rlx_tracing_options_t options = {.loop = &serve->loop, .path = config->profiling.file, .node = serve->options->node->id,
                                     .version = RLX_VERSION, .workers = serve->options->workers,
                                     .bytes_max = (uint64_t)config->profiling.size};

    return options.path != NULL ? rlx_tracing_create(&options, &serve->tracing, diag) : RLX_OK;
}

static rlx_status_t node_make(rlx_serve_t *serve, rlx_diag_t *diag)
{
    const rlx_config_t *config = serve->options->config;
    rlx_node_options_t options = {
        .loop = &serve->loop,
        .id = serve->options->node->id,
        .workers = serve->options->workers,
        .requests_max = (uint32_t)config->scheduling.requests,
        .queue_max = (uint32_t)config->scheduling.queue,
        .batch_delay_us = (uint64_t)config->scheduling.batch_delay_us,
        .progress_ns = (uint64_t)config->scheduling.progress_timeout_ms * 1000000,
        .receive_bytes_max = (uint64_t)config->scheduling.request_memory,
        .tracing = serve->tracing,
        .models = {.repository = config->models.repository,
                   .store = config->models.store,
                   .verify_signature = config->models.verify_signature,
                   .trusted_keys = config->models.trusted_keys,
                   .warm_up = (int)config->models.warm_up},
    };

    return rlx_node_create(&options, &serve->node, diag);
}

static rlx_rpc_limits_t limits_make(const rlx_config_t *config)
{
    return (rlx_rpc_limits_t){
        .connections_max = (uint32_t)config->server.limits.connections,
        .streams_max = (uint32_t)config->server.limits.streams,
        .header_bytes_max = (uint32_t)config->server.limits.header_bytes,
        .message_bytes_max = (uint64_t)config->server.limits.message_bytes,
        .output_bytes_max = (uint64_t)config->server.limits.output_bytes,
        .window_bytes = (uint32_t)config->server.limits.window_bytes,
        .handshake_ms = (uint32_t)config->server.limits.handshake_ms,
        .idle_ms = (uint32_t)config->server.limits.idle_ms,
        .stall_ms = (uint32_t)config->server.limits.stall_ms,
        .keepalive_ms = (uint32_t)config->server.limits.keepalive_ms,
    };
}

static rlx_status_t front_ends_make(rlx_serve_t *serve, rlx_diag_t *diag)
{
    const rlx_config_t *config = serve->options->config;
    rlx_rpc_tls_t tls = {config->server.tls.certificate, config->server.tls.key, config->server.tls.client_ca};
    rlx_rest_options_t rest = {.node = serve->node, .version = RLX_VERSION, .commit = RLX_COMMIT,
                               .admin_remote = config->server.admin_remote,
                               .drain = rlx_serve_drain, .drain_context = serve};
    rlx_http_options_t http = {.loop = &serve->loop,
                               .handler = rlx_rest_handle,
                               .gone = rlx_rest_gone,
                               .body_bytes_max = (uint64_t)config->server.limits.message_bytes,
                               .bodies_bytes_max = (uint64_t)config->scheduling.request_memory,
                               .connections_max = (uint32_t)config->server.limits.connections,
                               .timeout_s = (uint32_t)(config->server.limits.stall_ms + 999) / 1000};
    rlx_rpc_options_t rpc = {.loop = &serve->loop, .limits = limits_make(config), .tls = tls.certificate != NULL ? &tls : NULL,
                             .http = http_adopt, .http_context = serve};

    RLX_TRY(rlx_oip_create(serve->node, &serve->oip, diag));
    rpc.service = serve->oip;
    rpc.methods = rlx_oip_methods(serve->oip, &rpc.n_methods);
    RLX_TRY(rlx_rest_create(&rest, &serve->rest, diag));
    http.service = serve->rest;
    RLX_TRY(rlx_http_create(&http, &serve->http, diag));
    RLX_TRY(rlx_rpc_server_create(&rpc, &serve->rpc, diag));
    rlx_rest_attach(serve->rest, serve->rpc, serve->http);
    return RLX_OK;
}

static rlx_status_t serve_make(rlx_serve_t *serve, rlx_diag_t *diag)
{
    if (uv_loop_init(&serve->loop) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot make an event loop");
    rlx_notify_init(&serve->notify);
    RLX_TRY(tracing_make(serve, diag));
    RLX_TRY(node_make(serve, diag));
    RLX_TRY(front_ends_make(serve, diag));
    return rlx_serve_listen(serve, diag);
}

static bool models_any(const rlx_serve_t *serve)
{
    rlx_model_entry_t entry;
    int cursor = 0;

    return rlx_models_next(rlx_node_models(serve->node), &cursor, &entry);
}

void rlx_serve_started(rlx_serve_t *serve)
{
    if (serve->phase != RLX_SERVE_STARTING) /* told to stop while models were loading */
        return;
    uv_timer_stop(&serve->deadline);
    if (serve->model_failed) {
        RLX_LOG(RLX_LOG_ERROR, "not started: a model that --model names could not be loaded");
        rlx_serve_stop(serve, RLXD_EXIT_FAILED);
        return;
    }
    if (serve->options->config->models.repository == NULL && serve->options->words->n_models == 0)
        RLX_LOG(RLX_LOG_WARNING, "no model is configured: there is neither --model nor --models (models.repository)");
    else if (!models_any(serve))
        RLX_LOG(RLX_LOG_WARNING, "the model repository holds no bundle: neither NAME.rlxb nor NAME/VERSION/FILE.rlxb",
                rlx_log_text("folder", serve->options->config->models.repository));
    rlx_node_started(serve->node, serve->loads_failed == 0);
    serve->phase = RLX_SERVE_SERVING;
    rlx_serve_watch_phase(serve);
    rlx_serve_tell(serve, "READY=1\nSTATUS=Serving on %s%s", serve->url,
                   serve->loads_failed > 0 ? "; some models could not be loaded" : "");
    printf("RLX Runtime started on %s\n", serve->url);
    fflush(stdout);
    if (serve->reload_wanted)
        rlx_serve_reload(serve);
}

/* What the sockets brought since the last look: reads and new connections. */
static uint64_t arrivals(const rlx_serve_t *serve)
{
    const rlx_rpc_counters_t *counters = rlx_rpc_server_counters(serve->rpc);

    return counters->reads + counters->connections_accepted;
}

static bool sockets_poll(void *context)
{
    rlx_serve_t *serve = context;
    uint64_t before = arrivals(serve);

    uv_run(&serve->loop, UV_RUN_NOWAIT);
    return serve->phase >= RLX_SERVE_LEAVING || arrivals(serve) != before;
}

static bool sockets_serve(void *context)
{
    rlx_serve_t *serve = context;

    uv_run(&serve->loop, UV_RUN_NOWAIT);
    return serve->phase >= RLX_SERVE_LEAVING;
}

/* Sleeps in the loop unless exactly one request is in flight: then waiting for its run by spinning, bounded, is faster than being woken. */
static void loop_turn(rlx_serve_t *serve)
{
    while (serve->phase != RLX_SERVE_CLOSED && uv_run(&serve->loop, UV_RUN_ONCE) != 0) {
        if (serve->phase >= RLX_SERVE_LEAVING)
            continue; /* the server may be gone */
        rlx_node_spin(serve->node, sockets_poll, serve);
        if (serve->phase >= RLX_SERVE_LEAVING)
            continue;
        rlx_rpc_server_flush(serve->rpc);
        rlx_node_linger(serve->node, sockets_serve, serve);
    }
}

static void loop_close(rlx_serve_t *serve)
{
    int rc;

    uv_run(&serve->loop, UV_RUN_DEFAULT); /* close callbacks */
    rc = uv_loop_close(&serve->loop);
    if (rc != 0)
        uv_print_all_handles(&serve->loop, stderr);
    RLX_ASSERT(rc == 0); /* every handle has an owner that closed it */
    rlx_notify_fini(&serve->notify);
}

int rlx_serve(const rlx_serve_options_t *options)
{
    rlx_serve_t *serve = &the_serve;
    rlx_diag_t diag = {0};

    serve->options = options;
    if (serve_make(serve, &diag) != RLX_OK) {
        rlx_diag_print(&diag, stderr);
        return rlxd_exit_code(&diag);
    }
    rlx_serve_watch(serve);
    rlx_serve_load(serve);
    loop_turn(serve);
    loop_close(serve);
    if (rlx_tracing_destroy(serve->tracing, &diag) != RLX_OK)
        rlx_diag_print(&diag, stderr);
    rlx_config_fini(&serve->reloaded);
    RLX_LOG(RLX_LOG_INFO, "stopped");
    return serve->exit_code;
}
