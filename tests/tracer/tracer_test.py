#!/usr/bin/env python3
"""The tracer against the native reader, and as a compiler of numpy functions. Prints "N passed, N failed, N skipped" last."""
import difflib
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import warnings

import numpy as np

import cases
import generate
from cases import test

import rlx

RLX = os.environ["RLX"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONG = "--all" in sys.argv[1:]
MODULES = 2000 if LONG else 200


def native(path):
    """The native reader's text, or None where it refuses."""
    run = subprocess.run([RLX, "dump", str(path)], capture_output=True, text=True, timeout=60)
    return (run.stdout, "") if run.returncode == 0 else (None, run.stderr)


def traced(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rlx.read(path).dump()


def same(path):
    wanted, refused = native(path)
    assert wanted is not None, f"the native reader refuses:\n{refused}\n{path.read_text()}"
    found = traced(path)
    assert wanted == found, "\n".join([path.read_text(), *difflib.unified_diff(wanted.splitlines(), found.splitlines(), "native", "traced", lineterm="")])


def refusal(function, *words, kind=rlx.Error):
    """The message with which it is refused; all words stand in it."""
    try:
        function()
    except kind as error:
        for word in words:
            assert word in str(error), f"'{word}' is not in: {error}"
        return error
    raise AssertionError(f"it is taken; expected: {' ... '.join(words)}")


@test
def the_table_of_operators_is_that_of_the_compiler(folder):
    subprocess.run([sys.executable, ROOT / "scripts/gen_operators.py", "--check"], check=True)
    names = [name for name in rlx._tracing.OPERATORS if name not in ("if", "loop", "and", "or", "not")]
    assert len(names) > 140
    for name in [*names, *rlx._tracing.WORDS, *rlx._tracing.COMPOUNDS]:
        assert callable(getattr(rlx, name)), name


@test
def examples_are_the_native_readers_byte_for_byte(folder):
    found = sorted({path.name: path for place in (ROOT / "examples", ROOT / "shared/examples") for path in place.glob("*.rlx")}.values())
    assert len(found) >= 3
    for path in found:
        same(path)


@test
def generated_modules_are_the_native_readers_byte_for_byte(folder):
    for seed in range(MODULES):
        path = folder / f"m{seed}.rlx"
        path.write_text(generate.program(seed))
        same(path)


@test
def a_traced_text_is_a_model_of_its_own(folder):
    path = rlx.read(ROOT / "examples/resnet18_stem.rlx").save(folder / "stem.rlxir")
    wanted, _ = native(ROOT / "examples/resnet18_stem.rlx")
    found, refused = native(path)
    assert found == wanted, refused


NAMES = """
x = rlx.tensor(shape=[2, 3])
a, b = x + 1, x * 2
c = rlx.relu(rlx.relu(x))
v, i = rlx.top_k(x, 2)
_, j = rlx.top_k(x, 1)
d = a if len([1]) > 0 else b
e = rlx.concat([rlx.neg(x), np.ones((2, 3), np.float32)],
               axis=0)
e = e.T
x += np.ones(3, np.float32)
add = x + np.ones(3, np.float32)
f = 0.5 == x
g = 0.5 >= x
return a, b + 1, c, {'v'!r} and v, j, d * 1, e, x, add, f, g
"""


@test
def names_are_those_of_variables(folder):
    path = folder / "names.rlx"
    path.write_text("@rlx.module(version=2)\ndef names():\n" + "".join(f"    {line}\n" for line in NAMES.replace("{'v'!r} and v", "v").strip().splitlines()))
    same(path)


@test
def files_beside_the_program_are_constants(folder):
    header = b'{"bias":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"half":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]}}'
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + np.array([1, 2, 3], np.float32).tobytes() + b"\x80\x3f\x00\xc0")
    np.save(folder / "scale.npy", np.array([2, 4, 8], np.float32))
    np.savez(folder / "two.npz", a=np.arange(3, dtype=np.float32), b=np.array([np.nan, np.inf, -0.0], np.float32))
    path = folder / "files.rlx"
    path.write_text("@rlx.module(version=2)\ndef files():\n    x = rlx.tensor(shape=[3])\n    h = rlx.constant(value=rlx.load(\"w.safetensors\", \"half\"))\n"
                    "    y = x * np.load(\"scale.npy\") + rlx.load(\"w.safetensors\", \"bias\")\n    y = y + rlx.load(\"two.npz\", \"b\") - rlx.load(\"two.npz\", \"b\")\n"
                    "    return {\"y\": y, \"h\": h}\n")
    same(path)


@test
def modules_call_modules(folder):
    path = folder / "two.rlx"
    path.write_text("@rlx.module(version=2)\ndef light():\n    x = rlx.tensor(shape=[1, 4])\n    y = x @ np.random.randn(4, 300).astype(np.float32)\n    return y\n\n\n"
                    "@rlx.module(version=2)\ndef whole():\n    x = rlx.tensor(shape=[1, 4])\n"
                    "    y = rlx.remote_call(target=\"cloud\", function=\"light\", args={\"x\": x}) + np.ones(300, np.float32)\n    return y\n")
    same(path)


def block(x, width):
    w = np.full((x_width(x), width), 0.5, np.float32)
    return rlx.relu(x @ w)


def x_width(_):
    return 4


@rlx.module(seed=3, accuracy="careful")
def classifier():
    """A small one."""
    image = rlx.tensor(shape=["batch", 4])
    scale = rlx.scalar(dtype="float32")
    hidden = block(image, 8)
    return {"scores": hidden * scale, "k": np.arange(2)}


@test
def a_module_computes_on_arrays(folder):
    x = np.random.RandomState(0).randn(5, 4).astype(np.float32)
    found = classifier(x, scale=np.float32(2))
    assert np.allclose(found["scores"], np.maximum(x @ np.full((4, 8), 0.5, np.float32), 0) * 2, atol=1e-5) and found["k"].tolist() == [0, 1]
    assert classifier(image=x[:2].tolist(), scale=1.0)["scores"].shape == (2, 8)
    assert "%block.matmul.1 = rlxc::matmul(%image, " in classifier.text and 'accuracy = "careful"' in classifier.dump()
    refusal(lambda: classifier(x), "needs the input 'scale'", kind=TypeError)
    refusal(lambda: classifier(x, 1.0, sclae=2), "sclae", kind=TypeError)
    refusal(lambda: classifier(x[:, :3], 1.0), "image", kind=rlx.CompileError)


@test
def tracing_leaves_numpys_generator_alone(folder):
    np.random.seed(7)
    before = np.random.get_state()[1].tolist()
    rlx.read(ROOT / "examples/resnet18_stem.rlx").text
    assert np.random.get_state()[1].tolist() == before


RUNS = []


@rlx.jit
def affine(x, w, b=None, *, steps=1):
    RUNS.append(x)
    for _ in range(steps):
        x = x @ w
    if b is not None:
        x = x + b
    return x, {"a": 1}["a"] * rlx.reduce_sum(x, axes=[-1], keepdims=0)


@test
def jit_is_traced_once_for_each_shape_and_constant(folder):
    RUNS.clear()
    x, w = np.ones((2, 3), np.float32), np.eye(3, dtype=np.float32) * 2
    y, total = affine(x, w)
    assert np.array_equal(y, x * 2) and total.tolist() == [6, 6] and len(RUNS) == 1
    assert np.array_equal(affine(x * 3, w)[0], x * 6) and len(RUNS) == 1
    assert np.array_equal(affine(x, w, steps=2)[0], x * 4) and len(RUNS) == 2
    assert np.array_equal(affine(x[:1], w, np.ones(3, np.float32))[0], x[:1] * 2 + 1) and len(RUNS) == 3
    assert affine(x, w, None)[0].shape == (2, 3) and len(RUNS) == 3


@rlx.jit
def network(x, parameters):
    for layer in parameters["layers"]:
        x = rlx.tanh(x @ layer["w"] + layer["b"])
    return {"out": x}


@test
def arguments_are_dictionaries_and_lists_of_arrays_too(folder):
    r = np.random.RandomState(1)
    layers = [{"w": r.randn(3, 3).astype(np.float32), "b": r.randn(3).astype(np.float32)} for _ in range(2)]
    x = r.randn(4, 3).astype(np.float32)
    found, want = network(x, {"layers": layers})["out"], x
    for layer in layers:
        want = np.tanh(want @ layer["w"] + layer["b"])
    assert np.allclose(found, want, atol=1e-5)


@test
def specs_leave_extents_open(folder):
    graph = affine.trace(rlx.spec(["rows", 3]), rlx.spec([3, 3], np.float32))
    assert "[rows,3]" in graph.dump() and graph.text.startswith("rlx.ir 2;\nmodule affine;")
    bundle = graph.compile(folder / "affine.rlxb", "--opt-level", "1")
    assert bundle.stat().st_size > 0
    for rows in (1, 7):
        found = graph.run({"x": np.ones((rows, 3), np.float32), "w": np.eye(3, dtype=np.float32)})
        assert found["output_1"].tolist() == [3.0] * rows


@test
def threads_trace_side_by_side(folder):
    found, failures = {}, []

    def work(i):
        try:
            found[i] = affine(np.ones((i + 1, 2), np.float32), np.eye(2, dtype=np.float32))[1]
        except Exception as error:  # shown below, in the thread that counts
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures and all(found[i].tolist() == [2.0] * (i + 1) for i in range(4)), failures


X = np.ones((2, 3), np.float32)

# What the function does with x; what the message says.
WRONG = [
    (lambda x: x if x > 0 else -x, ["a condition is a constant", "rlx.where(condition, a, b)"]),
    (lambda x: 0 < x and x < 1, ["a condition is a constant", "rlx.logical_and"]),
    (lambda x: 0 < x < 1, ["rlx.where"]),
    (lambda x: not x, ["rlx.logical_not"]),
    (lambda x: max(x, 0 * x), ["a condition is a constant"]),
    (lambda x: [rlx.relu(row) for row in x], ["a loop runs over constants", "rlx.split"]),
    (lambda x: [x for _ in range(x)], ["no integer", "constants"]),
    (lambda x: x * len(x), ["rlx.shape(x)"]),
    (lambda x: x * float(x), ["no number", "rlx.where"]),
    (lambda x: int(x), ["no number"]),
    (lambda x: np.exp(x), ["rlx.exp"]),
    (lambda x: np.asarray(x), ["rlx.exp(x)"]),
    (lambda x: x // 2, ["rlx.floor(a / b)"]),
    (lambda x: x & x, ["rlx.logical_and"]),
    (lambda x: ~x, ["rlx.logical_not"]),
    (lambda x: abs(x), ["rlx.abs(x)"]),
    (lambda x: 1 in x, ["rlx.equal"]),
    (lambda x: x[x > 0], ["rlx.gather"]),
    (lambda x: x[..., 0], ["..."]),
    (lambda x: x[::0], ["step by 0"]),
    (lambda x: x + [1, 2], ["np.array([...])"]),
    (lambda x: x + "1", ["str"]),
    (lambda x: rlx.relu(x, {1, 2}), ["set"]),
    (lambda x: rlx.conv2d(x, x, stirdes=[1, 1]), ["rlx.conv2d has no 'stirdes'", "Did you mean 'strides'?"]),
    (lambda x: rlx.tensor([1, 2]), ["by name"]),
    (lambda x: rlx.constant(x), ["a tensor of the graph is used as it is"]),
    (lambda x: rlx.constant("a"), ["the value of a constant is str"]),
    (lambda x: rlx.constant([1, [2]]), ["no array"]),
    (lambda x: rlx.cast(x, to=np.complex64), ["complex64"]),
    (lambda x: None, ["returns nothing"]),
    (lambda x: {1: x}, ["an output is"]),
    (lambda x: (x, [x]), ["an output is list"]),
    (lambda x: x + 2**70, ["64 bits"]),
    (lambda x: KEPT[0] + x if KEPT else (KEPT.append(x), x)[1], None),
]
KEPT = []


@test
def wrong_uses_say_what_to_write_instead(folder):
    for function, words in WRONG:
        if words is not None:
            refusal(lambda: rlx.jit(function).trace(X), *words, kind=rlx.TraceError)
    keep = rlx.jit(WRONG[-1][0])
    keep.trace(X)
    refusal(lambda: keep.trace(X[:1]), "belongs to another trace", kind=rlx.TraceError)
    refusal(lambda: rlx.relu(X), "@rlx.module or @rlx.jit", kind=rlx.TraceError)
    refusal(lambda: rlx.conv2b, "Did you mean 'conv2d'?", kind=AttributeError)
    refusal(lambda: rlx.jit(lambda x: x.sum()).trace(X), "rlx.reduce_sum(x, ...)", kind=AttributeError)
    refusal(lambda: rlx.jit(lambda x: x.shape[0]).trace(X), "rlx.shape(x)", kind=AttributeError)
    refusal(lambda: affine(rlx.spec([2, 3]), X), "trace(...) takes specs")
    refusal(lambda: affine(object(), X), "Arguments are numpy arrays")
    refusal(lambda: rlx.jit(lambda *x: x), "any number of arguments")
    refusal(lambda: rlx.spec([2.5]), "extents are integers")
    refusal(lambda: rlx.module(lambda x: x).text, "a module has no parameters")
    refusal(lambda: rlx.parallelize(dim="batch"), "cannot be compiled by this version")
    (folder / "none.rlx").write_text("x = 1\n")
    refusal(lambda: rlx.read(folder / "none.rlx"), "has no module")


@test
def errors_of_the_compiler_name_the_line_of_python(folder):
    @rlx.jit
    def wrong(x):
        y = rlx.relu(x)
        z = y @ np.ones((5, 2), np.float32)  # here
        return z

    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if text.endswith("# here"))
    error = refusal(lambda: wrong(X), f"tracer_test.py:{line}: error RLX-", kind=rlx.CompileError)
    assert error.diagnostics[0]["python"].endswith(f"tracer_test.py:{line}") and error.diagnostics[0]["code"].startswith("RLX-")
    found = refusal(lambda: rlx.jit(lambda x: rlx.softmax(x, axis=7)).trace(X).dump(), "axis", kind=rlx.CompileError)
    assert "tracer_test.py" in str(found)


@test
def without_the_program_the_error_says_where_to_name_it(folder):
    code = "import rlx, numpy as np\nrlx._module._program.shutil.which = lambda _: None\nrlx._module._program.__file__ = '/a/b/c/d.py'\n" \
           "try:\n    rlx.jit(lambda x: x + 1)(np.ones(2))\nexcept rlx.Error as error:\n    print(error)\n"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "RLX": "/nowhere"})
    assert "RLX=/path/to/rlx" in run.stdout, run.stdout + run.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(cases.finish(*cases.run(pathlib.Path(place))))
