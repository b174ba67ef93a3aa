"""Damaged models, end to end: small models of the onnx package and of tests/onnx/cases with a few bits, bytes, words or lengths changed are
imported, compiled and lowered, with the sanitized build when there is one. Each must be accepted or refused; none may crash. The same
mutations on every machine."""
import os
import pathlib
import random
import sys
import tempfile

import onnx

import harness

MODEL_BYTES_MAX = 20000
WORDS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2 ** 63 - 1, 2 ** 63, 64, 4096)


def models_small():
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    found = [*data.glob("node/*/model.onnx"), *data.glob("light/*.onnx"), *(harness.HERE / "cases").glob("*/model.onnx")]
    return sorted(path for path in found if path.stat().st_size < MODEL_BYTES_MAX)


def mutate(data, draw):
    """One to four changes: a bit, a byte, a word of an interesting value, a cut, a copied run."""
    for _ in range(draw.randint(1, 4)):
        if len(data) < 9:
            return data
        kind, at = draw.randrange(5), draw.randrange(len(data) - 8)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at] = draw.randrange(256)
        elif kind == 2:
            data[at:at + 4] = draw.choice(WORDS).to_bytes(8, "little")[:4]
        elif kind == 3 and draw.random() < 0.2:
            data = data[:at]
        else:
            source = draw.randrange(len(data) - 8)
            data[at:at + 8] = data[source:source + 8]
    return data


def main(count=2000):
    sanitized = os.environ.get("RLX_BUILD_SANITIZE")
    tool = pathlib.Path(sanitized) / "tests" / "onnx" / "rlx_case" if sanitized else harness.TOOL
    draw, sources = random.Random(1), models_small()
    tally = harness.Tally("onnx mutations" + (" (sanitized)" if sanitized else ""))
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for i in range(count):
            path = pathlib.Path(folder) / f"{i}.onnx"
            path.write_bytes(mutate(bytearray(draw.choice(sources).read_bytes()), draw))
            cases.append(harness.Case(f"mutation {i}", path, None))
        harness.run(cases, tool=tool)
        crashes = [case for case in cases if case.result is None or case.result.startswith("crashed")]
        for case in crashes:
            tally.add(case.name, case.result or "no answer")
        if not crashes:
            tally.add(f"{count} damaged models", None)
    return tally.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
