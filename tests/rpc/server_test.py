"""rpc/server.h as clients meet it. Usage: server_test.py [PATTERN ...]; RPC_TEST_SERVER names the server (tests/rpc/test_server.c)."""
import re
import sys
import time
import traceback

import abuse_test  # noqa: F401: importing registers
import honest_test  # noqa: F401
import life_test  # noqa: F401
import port_test  # noqa: F401
from harness import tests


def main():
    patterns = [word for word in sys.argv[1:] if not word.startswith("-")]
    passed = failed = 0
    for function in tests:
        title = function.__name__.replace("_", " ")
        if patterns and not any(re.search(pattern, function.__name__) for pattern in patterns):
            continue
        begin = time.monotonic()
        try:
            function()
            passed += 1
            print("ok    %s (%.1f s)" % (title, time.monotonic() - begin), flush=True)
        except Exception:  # noqa: BLE001: any failure is a failed test
            failed += 1
            print("FAIL  %s" % title)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
