/* The smallest HTTP/1.1 server, to see what rpc/server/server.h hands over: answers any request with its own first line, then closes. */
#ifndef RLX_TESTS_RPC_TEST_HTTP_H
#define RLX_TESTS_RPC_TEST_HTTP_H

#include <stdbool.h>

/* `loop` is a uv_loop_t. Fits rlx_rpc_options.http. */
void test_http_adopt(void *loop, int fd, bool local);

#endif
