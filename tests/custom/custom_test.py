#!/usr/bin/env python3
"""User code of custom_op compiled and run as a user does it, compared with numpy. Prints "N passed, N failed, N skipped" last."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import cases
from cases import Skip, test
from command import RLX, expect, rlx, said

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "climate"
HEADERS = ROOT / "target" / "template"
SMALL = """@rlx.module(version=2)
def small():
    T = rlx.tensor(shape=[40, 30], dtype="float64")
    dt = rlx.scalar(dtype="float64")
    dT = rlx.custom_op(name="physics_update", inputs=[T, dt], stability_requirement={"max_step_size": 0.01, "error_tolerance": 1e-6})
    return T + dT
"""


class Project:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.n = 0

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def new(self, ending):
        self.n += 1
        return self.folder / f"{self.n}{ending}"

    def compile(self, model, *custom):
        bundle = self.new(".rlxb")
        words = [word for item in custom for word in ("--custom", item)]
        expect(rlx("compile", model, *words, "--output", bundle), 0)
        return bundle

    def small(self, *custom):
        return self.compile(self.file("small.rlx", SMALL), *custom)


def fortran():
    if shutil.which("gfortran") is None:
        raise Skip("gfortran is not installed")


def plate(n, m):
    return np.random.default_rng(7).standard_normal((n, m)) * 20 + 280


def step(t, dt):
    change, factor = np.zeros_like(t), np.float64(dt) * 10.0
    change[1:-1, 1:-1] = factor * (((t[:-2, 1:-1] + t[2:, 1:-1]) + (t[1:-1, :-2] + t[1:-1, 2:])) - 4.0 * t[1:-1, 1:-1])
    return t + change


def infer(project, bundle, inputs, *words, code=0, texts=(), **options):
    path, out = project.new(".npz"), project.new(".npz")
    np.savez(path, **inputs)
    done = expect(rlx("infer", bundle, "--input", path, "--output", out, *words, **options), code, *texts)
    return (np.load(out) if code == 0 else None), said(done)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), "the bits differ"


C = f"physics_update={EXAMPLE / 'physics_update.c'}"
F90 = f"physics_update={EXAMPLE / 'physics_update.f90'}"


def example_bits(project, custom):
    bundle, t = project.compile(ROOT / "examples" / "climate.rlx", custom), plate(1000, 1000)
    for words, isa in ((("--threads", "1"), "x86-64-v3"), (("--threads", "2"), "x86-64-v4")):
        out, _ = infer(project, bundle, {"T": t, "dt": np.float64(0.01)}, *words, env={**os.environ, "RLX_ISA": isa})
        same(out["output"], step(t, 0.01))


@test
def the_example_in_C_has_the_bits_of_numpy_on_both_ISAs(project):
    example_bits(project, C)


@test
def the_example_in_Fortran_has_the_bits_of_numpy_on_both_ISAs(project):
    fortran()
    example_bits(project, F90)


@test
def the_same_sources_give_the_same_bytes_wherever_they_lie(project):
    first = project.small(C)
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    copy = shutil.copy(EXAMPLE / "physics_update.c", elsewhere / "physics_update.c")
    assert first.read_bytes() == project.small(f"physics_update={copy}").read_bytes()


@test
def several_functions_are_named_in_any_order(project):
    text = """@rlx.module(version=2)
def two():
    x = rlx.tensor(shape=[5], dtype="float64")
    return rlx.custom_op(name="minus_one", inputs=[rlx.custom_op(name="twice", inputs=[x])])
"""
    source = """#include "rlx_custom.h"
void twice(const rlx_custom_tensor_t *in, int n_in, const rlx_custom_tensor_t *out, int n_out, const rlx_custom_info_t *info)
{
    for (int64_t i = 0; i < in[0].dims[0]; i++) ((double *)out[0].data)[i] = 2 * ((double *)in[0].data)[i];
}
void minus_one(const rlx_custom_tensor_t *in, int n_in, const rlx_custom_tensor_t *out, int n_out, const rlx_custom_info_t *info)
{
    for (int64_t i = 0; i < in[0].dims[0]; i++) ((double *)out[0].data)[i] = ((double *)in[0].data)[i] - 1;
}
"""
    model, path = project.file("two.rlx", text), project.file("two.c", source)
    one, other = f"twice={path}", f"minus_one={path}"
    bundle = project.compile(model, one, other)
    assert bundle.read_bytes() == project.compile(model, other, one).read_bytes()
    x = np.arange(5.0)
    out, _ = infer(project, bundle, {"x": x})
    same(out["output"], 2 * x - 1)


@test
def a_step_above_the_largest_fails_and_names_both(project):
    bundle, t = project.small(C), plate(40, 30)
    for dt, shown in ((0.0101, "0.0101"), (-0.5, "-0.5"), (np.nan, "nan")):
        infer(project, bundle, {"T": t, "dt": np.float64(dt)}, code=1, texts=("RLX-1405", "max_step_size is 0.01", shown))


@test
def float32_is_refused_with_its_line(project):
    model = project.file("f32.rlx", SMALL.replace("float64", "float32"))
    done = expect(rlx("compile", model, "--custom", C, "--output", project.new(".rlxb")), 1, "RLX-2032", "f32.rlx:5:10", "float64")
    assert "float32" in said(done) or "f32" in said(done)


@test
def a_largest_step_needs_one_step(project):
    model = project.file("none.rlx", SMALL.replace("inputs=[T, dt]", "inputs=[T]"))
    expect(rlx("compile", model, "--custom", C, "--output", project.new(".rlxb")), 1, "RLX-2032", "scalar")


@test
def without_its_code_the_op_is_refused_and_the_option_named(project):
    model = project.file("small.rlx", SMALL)
    expect(rlx("compile", model, "--output", project.new(".rlxb")), 1, "RLX-2030", "small.rlx:5:10", "--custom physics_update=")


@test
def code_that_no_op_calls_is_refused(project):
    model = project.file("small.rlx", SMALL)
    other = project.file("other.c", "void other(void) {}\n")
    expect(rlx("compile", model, "--custom", C, "--custom", f"other={other}", "--output", project.new(".rlxb")), 1, "RLX-2030", "'other'")


@test
def what_is_not_in_the_source_is_refused_by_name(project):
    model = project.file("small.rlx", SMALL)
    for text, names in (("#include <stdio.h>\n#include <math.h>\nvoid physics_update(void) { printf(\"%f\", sin(1.0)); }\n", ("printf", "sin")),
                        ("#include <stdlib.h>\nvoid *physics_update(void) { return malloc(8); }\n", ("malloc",)),
                        ("static int calls;\nint physics_update(void) { return ++calls; }\n", ("calls",)),
                        ("void another(void) {}\n", ("does not define", "physics_update"))):
        source = project.file("bad.c", text)
        expect(rlx("compile", model, "--custom", f"physics_update={source}", "--output", project.new(".rlxb")), 1, "RLX-2031", *names)


@test
def what_Fortran_leaves_to_its_library_is_refused_by_name(project):
    fortran()
    model = project.file("small.rlx", SMALL)
    source = project.file("bad.f90", "subroutine physics_update() bind(C)\nprint *, 'x'\nend subroutine\n")
    expect(rlx("compile", model, "--custom", f"physics_update={source}", "--output", project.new(".rlxb")), 1, "RLX-2031", "_gfortran_st_write")


@test
def sources_that_cannot_be_taken_are_refused(project):
    model, bundle = project.file("small.rlx", SMALL), project.new(".rlxb")
    for name in ("x.so", "libx.so.2"):
        expect(rlx("compile", model, "--custom", f"physics_update={name}", "--output", bundle), 2, "shared object", "source", "with --key")
    expect(rlx("compile", model, "--custom", "physics_update", "--output", bundle), 2, "NAME=FILE")
    fortran = f"physics_update={EXAMPLE / 'physics_update.f90'}"
    expect(rlx("compile", model, "--custom", fortran, "--target", "c", "--output", project.folder / "d"), 1, "RLX-1902", "is Fortran")
    expect(rlx("compile", model, "--custom", "physics_update=absent.c", "--output", bundle), 1, "absent.c")
    broken = project.file("broken.c", "void physics_update(void) { this is no C }\n")
    expect(rlx("compile", model, "--custom", f"physics_update={broken}", "--output", bundle), 1, "broken.c")
    assert not bundle.exists()


@test
def an_object_goes_into_signed_bundles_only(project):
    model, object, key = project.file("small.rlx", SMALL), project.folder / "physics.o", project.folder / "signer"
    subprocess.run(["cc", "-c", "-O2", "-fPIC", "-march=x86-64-v3", "-ffp-contract=off", "-fno-stack-protector", "-ffreestanding", "-I", HEADERS, "-o", object,
                    EXAMPLE / "physics_update.c"], check=True)
    custom, bundle = f"physics_update={object}", project.new(".rlxb")
    expect(rlx("compile", model, "--custom", custom, "--output", bundle), 2, "signed bundles only", "--key")
    expect(rlx("keygen", "-o", key), 0)
    expect(rlx("compile", model, "--custom", custom, "--key", f"{key}.key", "--output", bundle), 0)
    t = plate(40, 30)
    for isa in ("x86-64-v3", "x86-64-v4"):
        out, _ = infer(project, bundle, {"T": t, "dt": np.float64(0.01)}, "--verify-signature", "--trusted-keys", project.folder,
                       env={**os.environ, "RLX_ISA": isa})
        same(out["output"], step(t, 0.01))
    (project.folder / "text.o").write_text("no object\n")
    expect(rlx("compile", model, "--custom", f"physics_update={project.folder / 'text.o'}", "--key", f"{key}.key", "--output", bundle), 1, "RLX-2031", "cc -c")


@test
def reference_kernels_have_no_user_code_and_say_so(project):
    infer(project, project.small(C), {"T": plate(40, 30), "dt": np.float64(0.01)}, "--kernels", "reference", code=1, texts=("user code",))


@test
def compile_prints_the_checkpoint_interval(project):
    model = project.file("small.rlx", SMALL)
    expect(rlx("compile", model, "--custom", C, "--output", project.new(".rlxb")), 0, "checkpoints every 100 steps")
    tight = project.file("tight.rlx", SMALL.replace("1e-6", "2e-14"))
    expect(rlx("compile", tight, "--custom", C, "--output", project.new(".rlxb")), 0, "checkpoints every 11 steps")
    absurd = project.file("absurd.rlx", SMALL.replace("1e-6", "1e-16"))
    expect(rlx("compile", absurd, "--custom", C, "--output", project.new(".rlxb")), 1, "RLX-2032", "rounding")


@test
def steps_feed_the_output_back(project):
    t = want = plate(40, 30)
    for _ in range(25):
        want = step(want, 0.01)
    bundle = project.small(C)
    for words in ((), ("--carry", "output=T")):
        out, _ = infer(project, bundle, {"T": t, "dt": np.float64(0.01)}, "--steps", "25", *words)
        same(out["output"], want)


@test
def a_checkpoint_is_due_as_often_as_the_bundle_says(project):
    bundle, file = project.small(C), project.new(".ckpt")
    inputs = {"T": plate(40, 30), "dt": np.float64(0.01)}
    infer(project, bundle, inputs, "--steps", "100", "--checkpoint", file)
    assert not file.exists()
    whole, _ = infer(project, bundle, inputs, "--steps", "250", "--checkpoint", file)
    assert int(np.load(file)["rlx:step"]) == 200
    again, text = infer(project, bundle, inputs, "--steps", "250", "--checkpoint", file)
    assert "continued after step 200" in text
    same(whole["output"], again["output"])


@test
def a_checkpoint_of_another_run_is_refused(project):
    bundle, file = project.small(C), project.new(".ckpt")
    inputs = {"T": plate(40, 30), "dt": np.float64(0.01)}
    words = ("--checkpoint", file, "--checkpoint-every", "2")
    infer(project, bundle, inputs, "--steps", "5", *words)
    infer(project, bundle, {**inputs, "dt": np.float64(0.005)}, "--steps", "5", *words, code=1, texts=("RLX-1411", "other inputs"))
    infer(project, bundle, inputs, "--steps", "4", *words, code=1, texts=("RLX-1411", "after step 4"))
    file.write_bytes(file.read_bytes()[:-100])
    infer(project, bundle, inputs, "--steps", "5", *words, code=1)
    np.savez(project.folder / "x.npz", T=inputs["T"])
    (project.folder / "x.npz").rename(file)
    infer(project, bundle, inputs, "--steps", "5", *words, code=1, texts=("RLX-1411", "no checkpoint"))


@test
def killed_at_any_time_it_continues_to_the_same_bits(project):
    bundle, inputs = project.compile(ROOT / "examples" / "climate.rlx", C), {"T": plate(1000, 1000), "dt": np.float64(0.01)}
    steps = ("--steps", "200")
    whole, _ = infer(project, bundle, inputs, *steps)
    path, out, file = project.new(".npz"), project.new(".npz"), project.new(".ckpt")
    np.savez(path, **inputs)
    command = [RLX, "infer", str(bundle), "--input", str(path), "--output", str(out), *steps, "--checkpoint", str(file), "--checkpoint-every", "10"]
    kills = 0
    for pause in (0.0, 0.03, 0.11):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        before = file.stat().st_mtime_ns if file.exists() else 0
        while process.poll() is None and not (file.exists() and file.stat().st_mtime_ns != before):
            time.sleep(0.001)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills > 0, "it ended before it could be killed"
    assert int(np.load(file)["rlx:step"]) % 10 == 0
    expect(rlx(*command[1:]), 0, "continued after step")
    same(np.load(out)["output"], whole["output"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(cases.finish(*cases.run(Project(folder))))
