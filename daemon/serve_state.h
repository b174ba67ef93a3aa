/* Inside of the running daemon, shared by daemon/serve*.c. Loop thread only. */
#ifndef RLX_DAEMON_SERVE_STATE_H
#define RLX_DAEMON_SERVE_STATE_H

#include <uv.h>

#include "daemon/memory/handover.h"
#include "daemon/node/node.h"
#include "daemon/notify.h"
#include "daemon/oip/service.h"
#include "daemon/rest/rest.h"
#include "daemon/serve.h"
#include "rpc/http/http.h"
#include "rpc/server/server.h"

typedef enum rlx_serve_phase { RLX_SERVE_STARTING, RLX_SERVE_SERVING, RLX_SERVE_DRAINING, RLX_SERVE_CLOSING, RLX_SERVE_LEAVING,
                               RLX_SERVE_CLOSED } rlx_serve_phase_t;

typedef struct rlx_serve {
    const rlx_serve_options_t *options;
    rlx_serve_phase_t phase;
    int exit_code;
    uv_loop_t loop;
    rlx_node_t *node;
    rlx_oip_t *oip;
    rlx_tracing_t *tracing; /* NULL without --profiling */
    rlx_rpc_server_t *rpc;
    rlx_http_t *http;
    rlx_rest_t *rest;
    rlx_handover_t *handover; /* NULL: no socket for it */
    rlx_notify_t notify;
    uv_signal_t signals[3];
    uv_timer_t pulse;    /* pings and extensions for systemd; not running where nobody listens */
    uv_timer_t retry;    /* while a state for systemd could not be sent */
    uv_timer_t deadline; /* of start, then of the drain */
    uv_timer_t step;     /* while closing: looks whether the next thing may be closed */
    uint64_t closing_ns;
    bool drained;
    char url[320];

    /* Loads that are out: at start, then of a reload. */
    int loads_out, loads_failed; /* failed: and TLS files that a reload refused */
    bool reloading, reload_wanted; /* wanted: asked for while loads were out */
    rlx_config_t reloaded;         /* whose texts the configuration's server.tls are, after a reload */
    bool model_failed;             /* one that --model names */
} rlx_serve_t;

/* daemon/serve_listen.c: all addresses and sockets; `serve->url` is the first. */
rlx_status_t rlx_serve_listen(rlx_serve_t *serve, rlx_diag_t *diag);
/* daemon/serve_models.c: begins the loads of the start. `rlx_serve_started` follows, maybe before this returns. */
void rlx_serve_load(rlx_serve_t *serve);
/* Begins to load everything that configuration and command line name. */
void rlx_serve_loads_begin(rlx_serve_t *serve);
/* daemon/serve_reload.c */
void rlx_serve_reload(rlx_serve_t *serve);
/* daemon/serve.c */
void rlx_serve_started(rlx_serve_t *serve);
/* daemon/serve_stop.c: the node refuses what is new, and goes on running; the first call counts. A restart ends it. */
void rlx_serve_drain(void *serve);
/* Begins the drain; the process ends with `exit_code` unless something worse happens. */
void rlx_serve_stop(rlx_serve_t *serve, int exit_code);
/* daemon/serve_watch.c: signals, and what systemd hears. */
void rlx_serve_watch(rlx_serve_t *serve);
void rlx_serve_watch_phase(rlx_serve_t *serve); /* the phase changed */
void rlx_serve_watch_close(rlx_serve_t *serve);
/* A state for systemd, sent until it arrives. */
void rlx_serve_tell(rlx_serve_t *serve, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process now. */
_Noreturn void rlx_serve_cut(rlx_serve_t *serve, const char *reason);

#endif
