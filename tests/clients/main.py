#!/usr/bin/env python3
"""All client tests against one shared rlxd; tests that stop or overload a server start their own."""
import importlib
import pathlib
import sys

import harness
from rlxd import Rlxd

for path in sorted(pathlib.Path(__file__).parent.glob("*_test.py")):
    importlib.import_module(path.stem)


def main():
    names = sorted(path.stem for path in harness.MODELS.glob("*.rlxb") if path.stem != "sum2")
    failed_stop = 0
    try:
        with Rlxd(harness.bundles(*names)) as server:
            passed, failed = harness.run(server)
    except RuntimeError as error:
        print(f"FAIL the shared server: {error}")
        failed_stop = 1
        passed, failed = locals().get("passed", 0), locals().get("failed", 0)
    print(f"{passed} passed, {failed + failed_stop} failed, 0 skipped")
    return 1 if failed + failed_stop else 0


if __name__ == "__main__":
    sys.exit(main())
