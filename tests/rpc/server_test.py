"""rpc/server/server.h as clients meet it. Usage: server_test.py [WORD ...]; RPC_TEST_SERVER names the server (tests/rpc/test_server.c)."""
import sys

import abuse_test  # noqa: F401: importing registers
import cases
import honest_test  # noqa: F401
import life_test  # noqa: F401
import port_test  # noqa: F401

if __name__ == "__main__":
    sys.exit(cases.finish(*cases.run()))
