"""What the ONNX tests share: running models through rlx_case, one process for many, and comparing arrays."""
import os
import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("RLX_BUILD", ROOT / "build"))
TOOL = pathlib.Path(os.environ.get("RLX_CASE", BUILD / "tests" / "onnx" / "rlx_case"))
DTYPES = {numpy.dtype(name) for name in ("f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")} | {numpy.dtype(ml_dtypes.bfloat16)}


class Case:
    """A model with one set of inputs. `result` is None (not run), "ok", or what went wrong: "refused ..." or "crashed ..."."""

    def __init__(self, name, model, inputs, level=3, kernels="image", threads=1):
        self.name, self.model, self.inputs = name, str(model), inputs
        self.level, self.kernels, self.threads = level, kernels, threads
        self.result, self.phase, self.outputs = None, None, None


def array_write(array):
    """bfloat16 travels as two opaque bytes."""
    array = numpy.asarray(array, order="C")
    return array.view("V2") if array.dtype == ml_dtypes.bfloat16 else array


def array_read(array):
    return array.view(ml_dtypes.bfloat16) if array.dtype == numpy.dtype("V2") else array


def run(cases, jobs=2, tool=TOOL):
    """Runs all cases; fills in result and outputs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines = [[] for _ in range(jobs)]
        for i, case in enumerate(cases):
            inputs = "-"
            if case.inputs is not None:
                inputs = folder / f"{i}.in.npz"
                numpy.savez(inputs, **{name: array_write(array) for name, array in case.inputs.items()})
            fields = [str(i), case.model, str(inputs), str(folder / f"{i}.out.npz"), str(case.level), case.kernels, str(case.threads)]
            lines[i % jobs].append("\t".join(fields))
        tools = [subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=open(folder / f"tool{job}", "w"), text=True) for job in range(jobs)]
        for job, process in enumerate(tools):
            process.stdin.write("".join(line + "\n" for line in lines[job]))
            process.stdin.close()
        for process in tools:
            process.wait()
        for job in range(jobs):
            for line in open(folder / f"tool{job}"):
                result_take(cases, folder, line.rstrip("\n").split("\t"))


def result_take(cases, folder, fields):
    case = cases[int(fields[0])]
    case.result = " ".join(fields[1:])
    case.phase = fields[2] if fields[1] == "refused" else None
    if fields[1] == "ok" and case.inputs is not None:
        with numpy.load(folder / f"{fields[0]}.out.npz") as arrays:
            case.outputs = {name: array_read(arrays[name]) for name in arrays.files}


def widened(array):
    return array.astype(numpy.float64) if array.dtype.kind in "fV" or array.dtype == ml_dtypes.bfloat16 else array


def difference(got, want, rtol, atol):
    """None when equal within tolerance (dtype and shape exactly), else a sentence. Without tolerances only dtype and shape count."""
    want = numpy.asarray(want)
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if rtol is None:
        return None
    a, b = widened(got), widened(want)
    if a.dtype.kind != "f":
        n = int(numpy.sum(a != b))
        return None if n == 0 else f"{n} of {a.size} elements differ"
    with numpy.errstate(all="ignore"):
        close = numpy.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    worst = numpy.nanmax(numpy.where(close, 0, numpy.abs(a - b)))
    return f"{int((~close).sum())} of {a.size} elements differ, by up to {worst:g}"


class Tally:
    """Counts, and prints each failure as it is known."""

    def __init__(self, area):
        self.area, self.passed, self.failed, self.skipped = area, 0, 0, 0

    def add(self, name, fault):
        if fault is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{self.area}: {name}: {fault}")

    def finish(self):
        print(f"{self.area}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return self.passed, self.failed, self.skipped
