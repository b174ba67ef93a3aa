#!/usr/bin/env python3
"""All client tests against one shared rlxd; tests that stop or overload a server start their own."""
import importlib
import pathlib
import sys
import traceback

import cases
import harness
from rlxd import Rlxd


def load():
    """Imports every *_test.py; how many could not be imported."""
    broken = 0
    for path in sorted(pathlib.Path(__file__).parent.glob("*_test.py")):
        try:
            importlib.import_module(path.stem)
        except Exception:  # the others still run
            broken += 1
            print(f"FAIL {path.name} cannot be imported")
            traceback.print_exc(file=sys.stdout)
    return broken


def main():
    names = sorted(path.stem for path in harness.MODELS.glob("*.rlxb") if path.stem != "sum2")
    passed, failed, skipped = 0, 0, 0
    broken = load()
    try:
        with Rlxd(harness.bundles(*names)) as server:
            passed, failed, skipped = cases.run(server)
    except RuntimeError as error:
        broken += 1
        print(f"FAIL the shared server: {error}")
    return cases.finish(passed, failed + broken, skipped)


if __name__ == "__main__":
    sys.exit(main())
