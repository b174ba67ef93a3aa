#!/usr/bin/env python3
"""RLX-IR text: random modules from the op list, and texts by hand. A module that fails is reduced: statements are taken out while it still fails.

Prints "N passed, N failed, N skipped" last."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import cases
from cases import test

RLX = os.environ["RLX"]
TOOL = pathlib.Path(os.environ["RLX_BUILD"]) / "tests/text/round_trip"
ALL = "--all" in sys.argv
def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)


def statements(text):
    """The statements of a text, each with its lines."""
    return re.findall(r"^(?:%|symbol::|return)(?:.|\n)*?;$", text, re.MULTILINE)


def outputs_at(text, level, folder, arrays):
    """Bytes of the outputs at an optimisation level."""
    bundle, given, taken = (folder / name for name in ("m.rlxb", "in.npz", "out.npz"))
    numpy.savez(given, **arrays)
    made = run(RLX, "compile", "--no-cache", "--opt-level", level, "--model", text, "--output", bundle)
    assert made.returncode == 0, f"compile at -O{level}: {made.returncode} {made.stderr}"
    done = run(RLX, "infer", bundle, "--input", given, "--output", taken)
    assert done.returncode == 0, f"infer at -O{level}: {done.returncode} {done.stderr}"
    with numpy.load(taken) as out:
        return {name: (out[name].shape, out[name].tobytes()) for name in out.files}


def failure(path, seed):
    """Why a text fails: another text after a round, other bits at -O3, a crash. None: it does not."""
    done = run(TOOL, "--check", path, seed)
    return None if done.returncode in (0, 2) else done.stdout[-2000:] or f"ends with {done.returncode}"


def reduced(seed):
    """The smallest module that fails as that of the seed: statements are taken out as long as it still does."""
    with tempfile.TemporaryDirectory() as name:
        path, smaller = (pathlib.Path(name) / file for file in ("m.rlxir", "smaller.rlxir"))
        assert run(TOOL, "--print", seed, path).returncode == 0
        reason = failure(path, seed)
        if reason is None:
            return "does not fail when it is read from a file"
        kept, changed = [statement for statement in statements(path.read_text()) if not statement.startswith("return")], True
        while changed:
            changed = False
            for i in range(len(kept) - 1, -1, -1):
                smaller.write_text("rlx.ir 2;\nmodule random;\n\n" + "\n".join(kept[:i] + kept[i + 1 :]) + "\n")
                if (found := failure(smaller, seed)) is not None:
                    kept, reason, changed = kept[:i] + kept[i + 1 :], found, True
        return f"{reason}reduced:\n" + "\n".join(kept)


def random_modules(count, *words):
    """Runs the tool on seeds 1 to count; what fails is shown as small as it gets."""
    done = subprocess.run([TOOL, *words, "1", str(count)], capture_output=True, text=True, timeout=3600)
    print("   ", done.stdout.splitlines()[-1])
    seeds = [int(seed) for seed in re.findall(r"^seed (\d+):", done.stdout, re.M)]
    assert done.returncode == 0, done.stdout + "\n\n".join(f"seed {seed}: {reduced(seed)}" for seed in seeds[:3])
    return done.stdout.splitlines()[-1]


@test
def random_modules_are_read_back_as_they_were_printed():
    random_modules(10000)


@test
def random_modules_give_the_same_bits_at_every_level():
    count = 10000 if ALL else 1500
    last = random_modules(count, "--levels")
    assert int(last.split()[0]) > 0.8 * count, f"most modules do not run: {last}"


# Made by the compiler only; code of users.
NOT_WRITTEN = {"fused", "attention", "reorder", "store_elements", "custom_op", "remote_call"}


@test
def every_operator_stands_in_random_modules():
    counts = dict(line.split() for line in run(TOOL, "--ops", 1, 3000).stdout.splitlines())
    missing = {name for name, count in counts.items() if int(count) < 3}
    assert len(counts) > 150 and missing == NOT_WRITTEN, missing ^ NOT_WRITTEN


@test
def modules_that_failed_once_do_not():
    paths = sorted((pathlib.Path(__file__).parent / "cases").glob("*.rlxir"))
    assert len(paths) >= 6
    for path in paths:
        for seed in (2, 3, 4):
            done = run(TOOL, "--check", path, seed)
            assert done.returncode == 0, f"{path.name}, inputs of seed {seed}: {done.returncode} {done.stdout}"


WRONG = [
    ("%x = tensor::alloc(shape=[1,2]) %y = rlxc::relu(%x);", "1:32", "RLX-2001", "';'"),
    ("%x = tensor::alloc(shape=[1,2);", "1:30", "RLX-2001", "']'"),
    ("%x = tensor::alloc(shape=[1,2], dtype=f33);", "1:39", "RLX-2012", "f33"),
    ("%x = tensor::alloc(dtype=f32);", "1:6", "RLX-2010", "shape"),
    ("%x = tensor::alloc(shape=[1,-2]);", "1:29", "RLX-2014", "negative"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::rellu(%x);", "2:6", "RLX-2008", "Did you mean 'relu'?"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::relu(%z);", "2:17", "RLX-2006", "'z' is not defined"),
    ("%x = tensor::alloc(shape=[1,2]);\n%x = rlxc::relu(%x);", "2:1", "RLX-2007", "defined here"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::add(%x, %x, %x);", "2:6", "RLX-2009", "at most 2"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::add(%x);", "2:6", "RLX-2010", "operand 'b'"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::leaky_relu(%x) { alfa = 0.1 };", "2:29", "RLX-2009", "Did you mean 'alpha'?"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::leaky_relu(%x) { alpha = [1] };", "2:37", "RLX-2011", "a list"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y: f32[1,3] = rlxc::relu(%x);", "2:11", "RLX-2014", "expected: 2"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y: f64[1,2] = rlxc::relu(%x);", "2:5", "RLX-2013", "f32 of rank 2"),
    ("%x = tensor::alloc(shape=[1,2]);\n%y = rlx_c::relu(%x);", "2:6", "RLX-2008", "rlx_c"),
    ("%x = tensor::alloc(shape=[2], dtype=f32);\n%w = tensor::constant(f32[3]{1, 2});", "2:34", "RLX-2014", "3 elements, not 2"),
    ("%x = tensor::alloc(shape=[2]);\n%w = tensor::constant(u8[2]{1, 256});", "2:32", "RLX-2012", "u8"),
    ('%x = tensor::alloc(shape=[2]);\n%w = tensor::constant(f32[2]{file="no.npy"});', "2:23", "RLX-2022", "no.npy"),
    ('%x = tensor::alloc(shape=[2]);\n%w = tensor::constant(f32[2]{file="../no.npy"});', "2:23", "RLX-2022", "leaves"),
    ('%x = tensor::alloc(shape=[1,3,8,8], layout="NHCC");', "1:44", "RLX-2015", "NHCC"),
    ('%x = tensor::alloc(shape=[2], memory_affinity={bandwidth="32GB"});', "1:58", "RLX-2016", "32GB/s"),
    ('%x = tensor::alloc(shape=[2], memory_affinity={bandwith="32GB/s"});', "1:48", "RLX-2016", "bandwith"),
    ('%x = tensor::alloc(shape=[2], device="gpu");', "1:38", "RLX-2017", "KIND:NUMBER"),
    ("%x = tensor::alloc(shape=[n,2]);\n%y = rlxc::reshape(%x, [m, 2]);", "2:25", "RLX-2006", "no symbol 'm'"),
    ("%x = tensor::alloc(shape=[1,3,8,8]);\n%w = tensor::constant(f32[4,3,3,3]{fill=1});\n%y = rlxc::conv2d(%x, %w) { padding = [1,1,1] };",
     "3:39",
     "RLX-2012", "begins, then ends"),
    ("%x = tensor::alloc(shape=[1,4,8,8]);\n%w = tensor::constant(f32[4,3,3,3]{fill=1});\n%y = rlxc::conv2d(%x, %w);", "3:1", "RLX-2014", ""),
    ("rlx.ir 7;\n%x = tensor::alloc(shape=[1]);", "1:8", "RLX-2020", "1 to 2"),
    ("%x = tensor::alloc(shape=[1]);\nreturn %x, %y;", "2:12", "RLX-2006", "'y'"),
    ('%x = tensor::alloc(shape=["a', "1:27", "RLX-2002", "never closed"),
    ("%x = tensor::alloc(shape=[99999999999999999999]);", "1:27", "RLX-2002", "64 bits"),
    ("/* %x = tensor::alloc(shape=[1]);", "1:1", "RLX-2002", "never closed"),
    ('%x = tensor::alloc(shape=[1]);\n%y = rlxc::custom_op(%x) { function = "f", stability_requirement = {max_step_size = -1.0} };', "2:85", "RLX-2012", "positive"),
]


@test
def wrong_texts_are_refused_at_their_place():
    with tempfile.TemporaryDirectory() as name:
        path, failures = pathlib.Path(name) / "wrong.rlxir", []
        for text, place, code, words in WRONG:
            path.write_text(text)
            done = run(RLX, "validate", path)
            if done.returncode != 1 or f"wrong.rlxir:{place}: error {code}" not in done.stderr or words not in done.stderr:
                failures.append(f"{text}\n{done.stderr}expected {place} {code} {words}")
        assert not failures, "\n\n".join(failures)


@test
def several_errors_come_in_one_run():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "wrong.rlxir"
        path.write_text("%x = tensor::alloc(shape=[1,2]);\n%y = rlxc::rellu(%x);\n%z = rlxc::add(%y, %x);\n%q = rlxc::relu(%r);\n%s = = ;\n"
                        "%t = rlxc::relu(%x) { a = 1 };\n")
        done = run(RLX, "validate", path)
        places = re.findall(r"wrong.rlxir:(\d+):\d+: error", done.stderr)
        assert places == ["2", "4", "5", "6"], done.stderr  # line 3 only follows from line 2


@test
def a_symbol_a_list_and_a_number_stand_where_operands_do():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "m.rlxir"
        path.write_text("rlx.ir 2;\n%x = tensor::alloc(shape=[batch,2,3], dtype=f32);\n%y = rlxc::reshape(%x, [batch, 6]);\n"
                        "%z = rlxc::mul(0.5, %y);\n%out = rlxc::clip(%z, 0, none);\n")
        assert run(RLX, "compile", "--no-cache", "--model", path, "--output", folder / "m.rlxb").returncode == 0
        given = numpy.random.default_rng(0).standard_normal((4, 2, 3)).astype("f4")
        numpy.savez(folder / "in.npz", x=given)
        assert run(RLX, "infer", folder / "m.rlxb", "--input", folder / "in.npz", "--output", folder / "out.npz").returncode == 0
        with numpy.load(folder / "out.npz") as out:
            assert (out["out"] == numpy.maximum(given.reshape(4, 6) * numpy.float32(0.5), 0)).all()


FLOW = """rlx.ir 2;
module flow;

%x = tensor::alloc(shape=[batch, 3], dtype=f32);
%n = tensor::alloc(shape=[], dtype=i64);
%c = tensor::alloc(shape=[], dtype=bool);
%half = rlxc::if(%c, %x, %x) body {
    %a = tensor::alloc(shape=[batch, 3], dtype=f32);
    %b = rlxc::mul(%a, 0.5);
    return %b;
} body {
    %a = tensor::alloc(shape=[batch, 3], dtype=f32);
    %b = rlxc::add(%a, 1.0);
    return %b;
};
%sum, %all = rlxc::loop(%n, _, %half, %x) { carried = 1 } body {
    %i = tensor::alloc(shape=[], dtype=i64);
    %on = tensor::alloc(shape=[], dtype=bool);
    %s = tensor::alloc(shape=[batch, 3], dtype=f32);
    %step = tensor::alloc(shape=[batch, 3], dtype=f32);
    %next = rlxc::add(%s, %step);
    return %on, %next, %next;
};
return %sum, %all;
"""


@test
def bodies_of_if_and_loop_are_printed_read_and_run():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, first, second = (folder / file for file in ("m.rlxir", "first.rlxir", "second.rlxir"))
        text.write_text(FLOW)
        assert run(RLX, "dump", text, "--output", first).returncode == 0
        assert run(RLX, "dump", first, "--output", second).returncode == 0
        assert first.read_text() == second.read_text()
        x = numpy.random.default_rng(0).standard_normal((2, 3)).astype("f4")
        for chosen, times in ((True, 3), (False, 1), (True, 0)):
            wanted = [x * numpy.float32(0.5) if chosen else x + numpy.float32(1)]
            for _ in range(times):
                wanted.append(wanted[-1] + x)
            arrays = {"x": x, "n": numpy.int64(times), "c": numpy.bool_(chosen)}
            expected = {"sum": (x.shape, wanted[-1].tobytes()),
                        "all": ((times, 2, 3), b"".join(step.tobytes() for step in wanted[1:]))}
            for level in (1, 3):
                assert outputs_at(first, level, folder, arrays) == expected, (chosen, times, level)


if __name__ == "__main__":
    sys.exit(cases.finish(*cases.run()))
