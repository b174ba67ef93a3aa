/* The gRPC services of a node: Open Inference Protocol v2, health checking v1, server reflection v1 and v1alpha. For rlx_rpc_options_t,
 * with the node as `service`. */
#ifndef RLX_DAEMON_OIP_SERVICE_H
#define RLX_DAEMON_OIP_SERVICE_H

#include "rpc/server/server.h"

const rlx_rpc_method_t *rlx_oip_methods(int *out_count);

#endif
