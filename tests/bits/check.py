"""The promise of `strict`, on whole networks: the same bits whatever the optimisation level, threads, ISA, kernels, batch or run; and the
same bundle bytes from another folder, user, time zone or job count. Prints one line a property, and the sum at the end."""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

import numpy
import onnx

import models

passed = failed = skipped = 0


def report(title, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {title}{'' if good else ': ' + detail}", flush=True)


class Tool:
    def __init__(self, rlx, folder):
        self.rlx, self.folder, self.count = rlx, pathlib.Path(folder), 0

    def call(self, *words, environment=None, cwd=None):
        done = subprocess.run([self.rlx, *map(str, words)], capture_output=True, text=True, cwd=cwd, env={**os.environ, **(environment or {})})
        if done.returncode != 0:
            raise RuntimeError(f"rlx {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def compile(self, model, *options, environment=None):
        self.count += 1
        out = self.folder / f"{self.count}.rlxb"
        self.call("compile", "--no-cache", "--model", model, "--target", "x86_64", "--output", out, *options, environment=environment)
        return out

    def infer(self, bundle, arrays, *options, isa=None):
        numpy.savez(self.folder / "in.npz", **arrays)
        self.call("infer", bundle, "--input", self.folder / "in.npz", "--output", self.folder / "out.npz", *options,
                  environment={"RLX_ISA": isa} if isa else None)
        with numpy.load(self.folder / "out.npz") as out:
            return {name: out[name] for name in out.files}


def same(a, b):
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() and a[name].shape == b[name].shape for name in a)


def has_avx512():
    return "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


def check_bits(tool, name, path, feed):
    bundle = tool.compile(path)
    arrays = feed(1, 5)
    first = tool.infer(bundle, arrays, "--threads", 1)
    report(f"{name}: two runs", same(first, tool.infer(bundle, arrays, "--threads", 1)), "bits differ")
    for threads in (2, 3):
        report(f"{name}: {threads} threads", same(first, tool.infer(bundle, arrays, "--threads", threads)), "bits differ")
    for level in (1, 2):
        report(f"{name}: --opt-level {level}", same(first, tool.infer(tool.compile(path, "--opt-level", level), arrays)), "bits differ")
    report(f"{name}: reference evaluator", same(first, tool.infer(bundle, arrays, "--kernels", "reference")), "bits differ")
    report(f"{name}: reference evaluator of the plain program",
           same(first, tool.infer(tool.compile(path, "--opt-level", 1), arrays, "--kernels", "reference")), "bits differ")
    for accuracy in ("careful", "direct"):
        chosen = tool.infer(tool.compile(path, "--accuracy", accuracy), arrays)
        report(f"{name}: --accuracy {accuracy} at --opt-level 1",
               same(chosen, tool.infer(tool.compile(path, "--accuracy", accuracy, "--opt-level", 1), arrays)), "bits differ")
    report(f"{name}: x86-64-v3", same(first, tool.infer(bundle, arrays, isa="x86-64-v3")), "bits differ")
    if has_avx512():
        report(f"{name}: x86-64-v4", same(first, tool.infer(bundle, arrays, isa="x86-64-v4")), "bits differ")
    four = feed(4, 6)
    alone = tool.infer(bundle, {key: value[:1] for key, value in four.items()})
    batched = tool.infer(bundle, four)
    report(f"{name}: batch 1 is row 0 of batch 4", same(alone, {key: value[:1] for key, value in batched.items()}), "bits differ")
    sizes = ",".join("x".join(map(str, value.shape)) for value in arrays.values())
    bound = tool.compile(path, *[word for key, value in arrays.items() for word in ("--shape", f"{key}=" + "x".join(map(str, value.shape)))])
    report(f"{name}: fixed shape {sizes}", same(first, tool.infer(bound, arrays)), "bits differ")


def check_other_build(tool, name, path, feed, other):
    """Executor and compiler built by another compiler: same answers, same bundles."""
    bundle, arrays = tool.compile(path), feed(2, 7)
    report(f"{name}: executor built by clang", same(tool.infer(bundle, arrays), other.infer(bundle, arrays)), "bits differ")
    report(f"{name}: bundle from a compiler built by clang", bundle.read_bytes() == other.compile(path).read_bytes(), "bytes differ")


def check_rows_apart(tool, path):
    """Of the two inner widths, rows of 1024 floats would share one set of the first-level cache; those of 70 do not."""
    text = tool.call("dump", path, "--after", "layout")
    apart = [line for line in text.splitlines() if "rows-apart" in line]
    report("transformer: rows of 4096 bytes between two products lie apart, others do not",
           len(apart) == 1 and '1024]{"rows-apart"} = ' in apart[0], "\n".join(apart))


def check_bytes(tool, name, path):
    digest = hashlib.sha256(tool.compile(path).read_bytes()).hexdigest()
    elsewhere = tool.folder / "else where"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / path.name).write_bytes(path.read_bytes())
    moved = tool.compile(elsewhere / path.name, environment={"TZ": "Pacific/Auckland", "USER": "someone", "HOME": "/nonexistent", "LC_ALL": "C"})
    report(f"{name}: same bundle from another folder, user, time zone", digest == hashlib.sha256(moved.read_bytes()).hexdigest(), "bytes differ")


def check_tuned(tool, name, path, feed):
    """Whatever tuning chooses, measured or written by hand, bits stay; its log alone gives the bundle again."""
    log = tool.folder / "tune.log"
    arrays = feed(1, 5)
    shapes = [word for key, value in arrays.items() for word in ("--tune-shape", f"{key}=" + "x".join(map(str, value.shape)))]
    first = tool.infer(tool.compile(path), arrays, "--threads", 1)
    tuned = tool.compile(path, "--tune", "--tune-budget", 1, "--tune-log", log, *shapes)
    report(f"{name}: tuned", same(first, tool.infer(tuned, arrays)), "bits differ")
    report(f"{name}: the tuned bundle from its log", tuned.read_bytes() == tool.compile(path, "--tune-from", log).read_bytes(), "bytes differ")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for cut in ({"cache_kib": 1, "pieces": 1, "range": 3, "gather": 1, "rows": 7, "columns": 3},
                {"cache_kib": 4096, "pieces": 1024, "range": 4096, "gather": 2, "rows": 192, "columns": 4096}):
        for line in lines[1:]:
            line["cut"] = cut
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        forced = tool.compile(path, "--tune-from", log)
        for threads in (1, 3):
            report(f"{name}: cut by {cut}, {threads} threads", same(first, tool.infer(forced, arrays, "--threads", threads)), "bits differ")
        report(f"{name}: cut by {cut}, x86-64-v3", same(first, tool.infer(forced, arrays, isa="x86-64-v3")), "bits differ")


def clang_tool(folder):
    """The tool of the clang build, when scripts/test made one."""
    build = os.environ.get("RLX_BUILD_CLANG")
    return Tool(str(pathlib.Path(build) / "cli" / "rlx"), folder) if build else None


def main():
    global skipped
    parser = argparse.ArgumentParser()
    parser.add_argument("--rlx", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(arguments.rlx, folder)
        (pathlib.Path(folder) / "clang").mkdir()
        other = clang_tool(pathlib.Path(folder) / "clang")
        for name, build in models.ALL.items():
            model, feed, _ = build()
            path = pathlib.Path(folder) / f"{name}.onnx"
            onnx.save(model, path)
            try:
                check_bits(tool, name, path, feed)
                if name == "transformer":
                    check_rows_apart(tool, path)
                check_bytes(tool, name, path)
                check_tuned(tool, name, path, feed)
                if other:
                    check_other_build(tool, name, path, feed, other)
                else:
                    print(f"skip {name}: executor built by clang (no clang build in this run)")
                    skipped += 1
            except RuntimeError as error:
                report(name, False, str(error))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
