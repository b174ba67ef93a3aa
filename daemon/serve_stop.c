/* The way down: drain, goodbye, close, in reverse order of the start.
 *
 * While the node drains the listeners stay: probes see that ready is false, and new requests hear UNAVAILABLE, which clients try elsewhere.
 * When the last accepted request is answered, connections get GOAWAY and a moment to leave. */
#include "base/clock.h"
#include "base/log.h"
#include "daemon/serve_state.h"

#define STEP_MS 5
#define GOODBYE_NS UINT64_C(1000000000) /* for clients to leave after GOAWAY */

static void node_closed(void *context)
{
    rlx_serve_t *serve = context;

    serve->node = NULL;
    rlx_oip_destroy(serve->oip);
    serve->oip = NULL;
    rlx_tracing_stop(serve->tracing);
    serve->phase = RLX_SERVE_CLOSED;
    rlx_serve_watch_close(serve);
}

static void handover_closed(void *context)
{
    rlx_serve_t *serve = context;

    rlx_node_close(serve->node, node_closed, serve);
}

static void rest_closed(void *context)
{
    rlx_serve_t *serve = context;

    if (serve->handover != NULL)
        rlx_handover_close(serve->handover, handover_closed, serve);
    else
        handover_closed(serve);
}

static void http_closed(void *context)
{
    rlx_serve_t *serve = context;

    rlx_rest_close(serve->rest, rest_closed, serve);
}

static void rpc_closed(void *context)
{
    rlx_serve_t *serve = context;

    rlx_http_close(serve->http, http_closed, serve);
}

static bool everyone_left(const rlx_serve_t *serve)
{
    return rlx_rpc_server_connections(serve->rpc) == 0 && rlx_http_connections(serve->http) == 0;
}

static void step_take(uv_timer_t *timer)
{
    rlx_serve_t *serve = timer->data;

    if (serve->phase == RLX_SERVE_DRAINING && serve->drained && !rlx_models_busy(rlx_node_models(serve->node))) {
        serve->phase = RLX_SERVE_CLOSING;
        serve->closing_ns = rlx_clock_ns();
        rlx_rpc_server_drain(serve->rpc);
        rlx_http_drain(serve->http);
        rlx_serve_watch_phase(serve);
    }
    if (serve->phase != RLX_SERVE_CLOSING || (!everyone_left(serve) && rlx_clock_ns() - serve->closing_ns < GOODBYE_NS))
        return;
    uv_timer_stop(timer);
    serve->phase = RLX_SERVE_LEAVING;
    rlx_rest_attach(serve->rest, NULL, NULL);
    rlx_rpc_server_close(serve->rpc, rpc_closed, serve);
}

static void drain_done(void *context)
{
    rlx_serve_t *serve = context;

    serve->drained = true;
}

static void deadline_pass(uv_timer_t *timer) { rlx_serve_cut(timer->data, "the drain deadline passed"); }

void rlx_serve_drain(void *context)
{
    rlx_serve_t *serve = context;

    if (rlx_node_draining(serve->node))
        return;
    RLX_LOG(RLX_LOG_INFO, "draining");
    rlx_notify_hint(&serve->notify, "STATUS=Draining");
    rlx_node_drain(serve->node, drain_done, serve);
}

void rlx_serve_stop(rlx_serve_t *serve, int exit_code)
{
    if (serve->phase >= RLX_SERVE_DRAINING)
        return;
    serve->phase = RLX_SERVE_DRAINING;
    serve->exit_code = exit_code;
    rlx_serve_tell(serve, "STOPPING=1");
    uv_timer_start(&serve->deadline, deadline_pass, (uint64_t)serve->options->config->server.drain_timeout_ms, 0);
    uv_timer_start(&serve->step, step_take, 0, STEP_MS);
    rlx_serve_watch_phase(serve);
    rlx_serve_drain(serve);
}
