/* The gRPC services of a node: Open Inference Protocol v2, health checking v1, server reflection v1 and v1alpha. For rlx_rpc_options_t:
 * `service` is this object. Loop thread only. */
#ifndef RLX_DAEMON_OIP_SERVICE_H
#define RLX_DAEMON_OIP_SERVICE_H

#include "daemon/node/node.h"
#include "rpc/server/server.h"

typedef struct rlx_oip rlx_oip_t;

/* `node` is borrowed. */
rlx_status_t rlx_oip_create(rlx_node_t *node, rlx_oip_t **out_oip, rlx_diag_t *diag);
/* Valid as long as `oip`. */
const rlx_rpc_method_t *rlx_oip_methods(const rlx_oip_t *oip, int *out_count);
/* The server is closed, and so is the node: no call is open and no load under way. */
void rlx_oip_destroy(rlx_oip_t *oip);

#endif
