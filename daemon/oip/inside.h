/* The inside of the service: what its calls share. Each member belongs to the file that is named beside it. Loop thread only. */
#ifndef RLX_DAEMON_OIP_INSIDE_H
#define RLX_DAEMON_OIP_INSIDE_H

#include "daemon/node/node.h"
#include "daemon/oip/service.h"

struct rlx_oip {
    rlx_node_t *node;                       /* borrowed */
    size_t staged;                          /* stage.c: capacities of all stages */
    struct rlx_oip_request *free_requests;  /* request.c: idle ones, with their memory */
    int n_free_requests;
    struct rlx_oip_watcher *watchers;       /* health.c */
    uv_timer_t *watch_timer;                /* health.c: runs while there are watchers */
    int n_methods;
    rlx_rpc_method_t methods[];
};

#endif
