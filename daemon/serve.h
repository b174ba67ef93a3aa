/* The running daemon: loop, node, front ends and models put together, from start to exit. Used by daemon/main.c only; once per process.
 *
 *   STARTING   listening; configured models load; ready is false
 *   SERVING    systemd knows; signals are handled; a watchdog ping goes out only while runs make progress
 *   DRAINING   SIGTERM or SIGINT came: ready is false, new requests are refused as UNAVAILABLE, accepted ones are answered
 *   CLOSING    connections get GOAWAY and a moment to leave
 *   LEAVING    everything is closed in reverse order; CLOSED: nothing is left
 *
 * A second signal, or the drain deadline, ends the process at once (exit code RLXD_EXIT_CUT). */
#ifndef RLX_DAEMON_SERVE_H
#define RLX_DAEMON_SERVE_H

#include "daemon/config/config.h"
#include "daemon/config/options.h"

typedef struct rlx_serve_options {
    const rlxd_options_t *words;     /* models of the command line; what a reload reads again */
    rlx_config_t *config;            /* borrowed; a reload changes its live keys */
    const rlx_config_node_t *node;
    int workers;                     /* 0: one per CPU */
} rlx_serve_options_t;

/* Serves until it is told to stop. Returns the exit code; a failure to start has been printed. */
int rlx_serve(const rlx_serve_options_t *options);

#endif
