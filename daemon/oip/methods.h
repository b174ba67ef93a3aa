/* Methods whose messages are not small or not single: each has its own file. */
#ifndef RLX_DAEMON_OIP_METHODS_H
#define RLX_DAEMON_OIP_METHODS_H

#include "rpc/server/server.h"

extern const rlx_rpc_method_t rlx_oip_model_infer;
extern const rlx_rpc_method_t rlx_oip_model_stream_infer;

#endif
