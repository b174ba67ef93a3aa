"""All ONNX tests, summed up."""
import sys

import cases
import flow
import models
import mutate
import nodes

totals = [nodes.main(), flow.main(), cases.main(), mutate.main(20000 if "--all" in sys.argv else 2000), models.main("--offline" not in sys.argv)]
passed, failed, skipped = (sum(column) for column in zip(*totals))
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
