#!/usr/bin/env python3
"""kernel_image.py: a good image is flat and deterministic; everything that would need a loader is refused by name."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
HEAD = '#include "kernels/abi.h"\nRLX_KERNEL_ENTRY(ONE) { %s }\n'
GOOD = """
__attribute__((noinline)) static void fill(float *out, int64_t n) { for (int64_t i = 0; i < n; i++) out[i] = 0; }
static const float table[4] = {1, 2, 3, 4};
#include "kernels/abi.h"
RLX_KERNEL_ENTRY(ONE)
{
    float *out = args->out[0].base;
    fill(out, tile_end);
    for (int64_t i = tile_begin; i < tile_end; i++)
        out[i] = table[i & 3];
}
"""


class KernelImage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write("kernels/kernel_list.h", "RLX_KERNEL(ONE, 7, 0)\n")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)

    def build(self, source, isa="v3", output="image"):
        self.write("source.c", "#include <stdint.h>\n" + source)
        return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/kernel_image.py"), "--isa", isa, "--include", self.folder.name,
                               "--include", ROOT, "--output", self.path(output + ".bin"), "--index", self.path(output + ".h"),
                               "--sources", self.path("source.c")], capture_output=True, text=True)

    def refused(self, source, words):
        done = self.build(source)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, words)

    def test_good_image_is_flat_and_indexed(self):
        for isa in ("v3", "v4"):
            done = self.build(GOOD, isa)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path("image.h")) as file:
                index = file.read()
            size = os.path.getsize(self.path("image.bin"))
            self.assertIn(f"#define RLX_IMAGE_BYTES {size}", index)
            number, offset = re.search(r"RLX_IMAGE_ENTRY\((\d+), (\d+)\)", index).groups()
            self.assertEqual(number, "7")
            self.assertLess(int(offset), size)

    def test_same_input_same_bytes(self):
        self.build(GOOD, output="a")
        self.build(GOOD, output="b")
        with open(self.path("a.bin"), "rb") as a, open(self.path("b.bin"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_calls_of_memcpy_are_bound_inside(self):
        done = self.build('#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n'
                          + HEAD % "memcpy(args->out[0].base, args->in[0].base, (size_t)(tile_end - tile_begin));")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_writable_global_is_refused(self):
        self.refused("int counter = 3;" + "\n" + HEAD % "counter += (int)(tile_begin + tile_end + (args != 0));", r"\.data.*counter")

    def test_zeroed_global_is_refused(self):
        self.refused("static int count[8];\n" + HEAD % "count[tile_begin & 7] += (int)tile_end + (args != 0);", r"\.bss.*count")

    def test_table_of_pointers_is_refused(self):
        self.refused('__attribute__((used)) static const char *const names[] = {"a", "b"};\n'
                     + HEAD % "*(const char **)args->out[0].base = names[tile_begin & (tile_end > 0)];", r"(\.data|\.rela\.dyn).*names")

    def test_undefined_symbol_is_refused(self):
        self.refused("float sinf(float);\n" + HEAD % "*(float *)args->out[0].base = sinf((float)(tile_begin + tile_end));", "sinf")

    def test_missing_kernel_is_refused(self):
        self.write("kernels/kernel_list.h", "RLX_KERNEL(ONE, 7, 0)\nRLX_KERNEL(TWO, 8, 0)\n")
        self.refused(GOOD, "no source defines kernel TWO")

    def test_double_number_is_refused(self):
        self.write("kernels/kernel_list.h", "RLX_KERNEL(ONE, 7, 0)\nRLX_KERNEL(TWO, 7, 0)\n")
        self.refused(GOOD, "stands twice")


if __name__ == "__main__":
    unittest.main()
