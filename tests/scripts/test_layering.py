#!/usr/bin/env python3
"""layering.py: what may be included and what may not."""
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "layering.py"
spec = importlib.util.spec_from_file_location("layering", SCRIPT)
layering = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layering)


class Layering(unittest.TestCase):
    def test_down_is_allowed(self):
        self.assertIsNone(layering.breach("ir", False, '"', "base/diag.h"))
        self.assertIsNone(layering.breach("exec", False, '"', "kernels/abi.h"))
        self.assertIsNone(layering.breach("ir", False, '"', "ir/graph.h"))
        self.assertIsNone(layering.breach("base", False, "<", "zlib.h"))

    def test_up_and_sideways_are_refused(self):
        self.assertIsNotNone(layering.breach("base", False, '"', "ir/graph.h"))
        self.assertIsNotNone(layering.breach("exec", False, '"', "ir/graph.h"))
        self.assertIsNotNone(layering.breach("exec", False, '"', "kernels/reference.h"))
        self.assertIsNotNone(layering.breach("bundle", False, '"', "exec/executor.h"))

    def test_kernels_are_freestanding(self):
        self.assertIsNone(layering.breach("kernels", True, "<", "stdint.h"))
        self.assertIsNotNone(layering.breach("kernels", True, "<", "math.h"))
        self.assertIsNotNone(layering.breach("kernels", True, '"', "base/diag.h"))

    def test_libraries_stay_where_they_belong(self):
        self.assertIsNotNone(layering.breach("exec", False, "<", "sodium.h"))
        self.assertIsNotNone(layering.breach("base", False, '"', "diag.h"))


if __name__ == "__main__":
    unittest.main()
