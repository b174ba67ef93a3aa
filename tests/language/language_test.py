#!/usr/bin/env python3
"""Modules compiled and run as a user does it, compared with numpy and ONNX Runtime. Prints "N passed, N failed, N skipped" last."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

import cases
from cases import Skip, test

RLX = os.environ["RLX"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

ARRAYS = """
np.random.randn(3, 4)
np.random.randn(7)
np.random.randn(33, 5, 2).astype(np.float32)
np.random.rand(2, 3)
np.random.normal(1.5, 0.3, (4, 5))
np.random.normal(size=3)
np.random.uniform(-2, 3, [6])
np.random.randint(0, 10, (4, 4))
np.random.randint(-5, 2**40, 7)
np.random.randint(7, size=3)
np.random.randint(0, 256, 1000)
np.random.random((2, 2))
np.random.standard_normal((3,))
np.random.randn(101)
np.arange(10)
np.arange(0, 1, 0.1)
np.arange(5, -3, -2)
np.linspace(0, 1, 7)
np.linspace(0, 1, 5, endpoint=False)
np.eye(3)
np.eye(2, 4)
np.full((2, 3), 7)
np.full((2, 3), 0.5)
np.ones((2, 2)) * 3
np.zeros(4) + 1
np.array([[1, 2], [3, 4]])
np.array([1.5, 2])
np.array([1, 2, 3], dtype=np.float32) / 3
np.sqrt(2.0 / 9) * np.ones(3)
np.random.randn(4, 3).T
np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)
np.arange(24).reshape(2, -1)
np.arange(6).reshape(2, 3)[1]
np.arange(6).reshape(2, 3)[:, ::-1]
np.arange(6)[1:5:2]
np.concatenate([np.ones((1, 2)), np.zeros((2, 2))], axis=0)
(np.random.randn(5) * 0.1).astype(np.float32)
np.random.randn(5).astype(np.float16)
np.random.randn(5).astype(np.float32) * np.sqrt(2.0 / 7)
np.random.randn(5).astype(np.float32) * 0.1
np.arange(5, dtype=np.int8) + np.arange(5, dtype=np.uint8)
np.arange(5, dtype=np.int32) * np.ones(5, dtype=np.float32)
np.ones((3, 1)) + np.arange(4)
-np.arange(3)
np.arange(1, 5) // 2
np.arange(-3, 4) % 3
np.arange(1, 5) ** 2
np.maximum(np.arange(4), 2)
np.abs(np.arange(-2, 2))
np.array([True, False])
np.float32(0.1) * np.ones(2, np.float32)
np.array([3, 1]) / np.array([2, 4])
np.random.randn(2, 2).flatten()
""".strip().splitlines()

def rlx(*words, **options):
    return subprocess.run([RLX, *words], capture_output=True, text=True, timeout=300, **options)


def good(run):
    assert run.returncode == 0, run.stdout + run.stderr
    return run


def module(folder, body, head="@rlx.module(version=2)"):
    path = folder / "m.rlx"
    path.write_text(f"{head}\ndef m():\n" + "".join(f"    {line}\n" for line in body))
    return path


def outputs(folder, body, inputs=None, head="@rlx.module(version=2)"):
    """Compiles a module and runs it."""
    good(rlx("compile", "--model", str(module(folder, body, head)), "--output", str(folder / "m.rlxb")))
    np.savez(folder / "in.npz", **(inputs or {}))
    good(rlx("infer", str(folder / "m.rlxb"), "--input", str(folder / "in.npz"), "--output", str(folder / "out.npz")))
    with np.load(folder / "out.npz") as found:
        return dict(found)


@test
def arrays_are_numpys_bit_for_bit(folder):
    for seed in (0, 1, 42, 2**32 - 1):
        np.random.seed(seed)
        wanted = {f"a{i}": np.asarray(eval(text)) for i, text in enumerate(ARRAYS)}
        lines = [f"a{i} = {text}" for i, text in enumerate(ARRAYS)]
        lines.append("return {" + ", ".join(f'"a{i}": a{i}' for i in range(len(ARRAYS))) + "}")
        found = outputs(folder, lines, head=f"@rlx.module(version=2, seed={seed})")
        for i, text in enumerate(ARRAYS):
            got, want = found[f"a{i}"], wanted[f"a{i}"]
            assert got.dtype == want.dtype and got.shape == want.shape, f"{text}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
            assert got.tobytes() == np.ascontiguousarray(want).tobytes(), f"{text} with seed {seed} differs from numpy's"


@test
def resnet18_stem_computes_what_its_text_says(folder):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    text = ROOT / "examples/resnet18_stem.rlx"
    good(rlx("compile", "--model", str(text), "--output", str(folder / "stem.rlxb")))
    image = np.random.RandomState(5).randn(1, 3, 224, 224).astype(np.float32)
    np.savez(folder / "image.npz", input=image)
    good(rlx("infer", str(folder / "stem.rlxb"), "--input", str(folder / "image.npz"), "--output", str(folder / "stem.npz")))
    got = np.load(folder / "stem.npz")["output"]
    np.random.seed(0)
    weight = np.random.randn(64, 3, 7, 7).astype(np.float32)
    vectors = {"scale": np.ones(64, np.float32), "bias": np.zeros(64, np.float32), "mean": np.zeros(64, np.float32), "var": np.ones(64, np.float32)}
    graph = helper.make_graph([helper.make_node("Conv", ["input", "weight"], ["c"], strides=[2, 2], pads=[3, 3, 3, 3]),
                               helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["b"], epsilon=1e-5),
                               helper.make_node("Relu", ["b"], ["output"])], "stem",
                              [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 64, 112, 112])],
                              [numpy_helper.from_array(weight, "weight")] + [numpy_helper.from_array(v, k) for k, v in vectors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"input": image})[0]
    assert got.shape == (1, 64, 112, 112) and got.dtype == np.float32
    assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max(), np.abs(got - want).max()
    wide = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (3, 3), (3, 3)))
    for n, y, x in ((0, 0, 0), (17, 111, 111), (63, 50, 3), (31, 7, 90)):
        sum64 = (wide[0, :, 2 * y:2 * y + 7, 2 * x:2 * x + 7] * weight[n].astype(np.float64)).sum() / np.sqrt(1 + 1e-5)
        assert abs(got[0, n, y, x] - max(sum64, 0)) <= 1e-4, (n, y, x)


@test
def operators_on_tensors_are_numpys(folder):
    x = np.random.RandomState(1).randn(2, 3, 4).astype(np.float32)
    lines = ["x = rlx.tensor(shape=[2, 3, 4])",
             'return {"sum": x + 1, "rest": 2 - x, "product": x * x, "quotient": x / 4.0, "power": x ** 2, "negative": -x, "row": x[1], '
             '"cut": x[0, 1:, ::2], "last": x[-1, :, -1], "flat": x.reshape(2, -1), "turned": x.T, "moved": x.transpose(1, 0, 2), '
             '"less": x < 0.5, "other": x != x[0], "matrix": x @ np.eye(4, dtype=np.float32), "wide": x.astype("float64"), "same": +x}']
    found = outputs(folder, lines, {"x": x})
    wanted = {"sum": x + 1, "rest": 2 - x, "product": x * x, "quotient": x / np.float32(4), "power": x ** 2, "negative": -x, "row": x[1], "cut": x[0, 1:, ::2],
              "last": x[-1, :, -1], "flat": x.reshape(2, -1), "turned": x.T, "moved": x.transpose(1, 0, 2), "less": x < 0.5, "other": x != x[0],
              "matrix": x, "wide": x.astype(np.float64), "same": x}
    for name, want in wanted.items():
        assert found[name].dtype == want.dtype and found[name].shape == want.shape, f"{name}: {found[name].dtype}{found[name].shape}"
        assert np.allclose(found[name], want, rtol=1e-6, atol=0), name


@test
def functions_are_inlined_and_loops_unrolled(folder):
    path = folder / "m.rlx"
    path.write_text("SIZES = [4, 4, 2]\n\n\ndef dense(x, n, act=True):\n    w = np.random.randn(4, n).astype(np.float32)\n    y = x @ w\n"
                    "    if act:\n        return rlx.relu(y)\n    return y\n\n\n@rlx.module(version=2, seed=3)\ndef m():\n    x = rlx.tensor(shape=[1, 4])\n"
                    "    for i, n in enumerate(SIZES):\n        x = dense(x, n, act=i < len(SIZES) - 1)\n    return x\n")
    good(rlx("compile", "--model", str(path), "--output", str(folder / "m.rlxb")))
    x = np.ones((1, 4), np.float32)
    np.savez(folder / "in.npz", x=x)
    good(rlx("infer", str(folder / "m.rlxb"), "--input", str(folder / "in.npz"), "--output", str(folder / "out.npz")))
    np.random.seed(3)
    for i, n in enumerate([4, 4, 2]):
        x = x @ np.random.randn(4, n).astype(np.float32)
        x = np.maximum(x, 0) if i < 2 else x
    assert np.allclose(np.load(folder / "out.npz")["output"], x, rtol=1e-5)


@test
def files_beside_the_text_are_constants(folder):
    header = b'{"bias":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}'
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + np.array([1, 2, 3], np.float32).tobytes())
    np.save(folder / "scale.npy", np.array([2, 4, 8], np.float32))
    found = outputs(folder, ["x = rlx.tensor(shape=[3])", 'b = rlx.constant(value=rlx.load("w.safetensors", "bias"))',
                             'return {"y": x * np.load("scale.npy") + b, "z": x + rlx.load("w.safetensors", "bias") * 2}'], {"x": np.ones(3, np.float32)})
    assert found["y"].tolist() == [3, 6, 11] and found["z"].tolist() == [3, 5, 7]


@test
def constants_keep_their_types_and_shapes_and_outputs_their_names(folder):
    found = outputs(folder, ["x = rlx.tensor(shape=[2, 3])", "w = np.arange(6, dtype=np.float32)", "c = rlx.constant(value=[1, 2], dtype=\"float64\")",
                             "y = rlx.relu(x + w.reshape(2, 3))", "flat = rlx.reshape(x, [6]) + w", "padded = rlx.pad(x, [0, 1, 0, 0], 0.5)",
                             "x = x + 1", "y = y + 1", "return y, flat, c, padded"], {"x": np.ones((2, 3), np.float32)})
    assert found["y"].tolist() == [[2, 3, 4], [5, 6, 7]] and found["flat"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found["c"].dtype == np.float64 and found["padded"].tolist() == [[0.5, 1, 1, 1]] * 2


@test
def a_dumped_module_is_the_same_module(folder):
    for name in ("resnet18_stem", "climate", "edge_cloud_pipeline"):
        first = good(rlx("dump", str(ROOT / f"examples/{name}.rlx"), "--output", str(folder / f"{name}.rlxir")))
        second = good(rlx("dump", str(folder / f"{name}.rlxir"), "--output", str(folder / "again.rlxir")))
        one, two = ((folder / f).read_text().replace("again.", f"{name}.") for f in (f"{name}.rlxir", "again.rlxir"))
        assert one == two, first.stderr + second.stderr


def warned(folder, *options, model):
    """(line, column, what) of what `rlx compile` keeps and does not follow."""
    run = rlx("compile", "--model", str(model), "--output", str(folder / "warned.rlxb"), *options)
    assert run.returncode == 0, run.stderr
    return re.findall(r":(\d+):(\d+): warning RLX-2027: (\w+)", run.stderr)


@test
def demands_that_are_not_followed_are_said_once_for_each_kind(folder):
    example = ROOT / "examples/resnet18_stem.rlx"
    lines = example.read_text().splitlines()
    assert [what for _, _, what in warned(folder, model=example)] == ["location"]
    found = warned(folder, "--opt-level", "2", model=example)
    assert sorted(what for _, _, what in found) == ["compute_schedule", "layout", "location", "tile_layout"], found
    for line, column, what in found:
        assert lines[int(line) - 1][int(column) - 1:].startswith("memory_affinity" if what == "location" else what), (line, column, what)
    assert warned(folder, "--opt-level", "2", model=example) == found  # from the cache
    assert warned(folder, "--opt-level", "2", "--no-cache", model=example) == found
    text = folder / "stem.rlxir"
    good(rlx("dump", str(example), "--output", str(text)))
    assert "tile_layout" in text.read_text() and "vectorize_dim" in text.read_text()


@test
def demands_that_the_compiler_meets_anyway_give_no_warning(folder):
    text = module(folder, """
x = rlx.tensor(shape=[1, 16, 8, 8], layout="NCHW", memory_affinity={"location": "DDR", "bandwidth": "32GB/s", "coherence": "MESI"})
w = rlx.constant(value=np.ones((32, 16, 3, 3), np.float32), layout="OIHW")
return rlx.conv2d(x, w, padding=[1, 1], compute_schedule={"vectorize_dim": "output_channel"})
""".strip().splitlines())
    assert warned(folder, model=text) == []
    assert [what for _, _, what in warned(folder, "--opt-level", "1", model=text)] == ["compute_schedule"]


@test
def syntax_files_are_well_formed(folder):
    for path in (ROOT / "editors/vscode").rglob("*.json"):
        json.loads(path.read_text())
    package = json.loads((ROOT / "editors/vscode/package.json").read_text())["contributes"]
    for entry in [language["configuration"] for language in package["languages"]] + [grammar["path"] for grammar in package["grammars"]]:
        assert (ROOT / "editors/vscode" / entry).exists(), entry
    for grammar in package["grammars"]:
        for pattern in json.loads((ROOT / "editors/vscode" / grammar["path"]).read_text())["patterns"]:
            for key in ("match", "begin"):
                re.compile(pattern.get(key, ""))


@test
def vim_highlights_both_forms(folder):
    if shutil.which("vim") is None:
        raise Skip("no vim")
    (folder / "a.rlx").write_text("@rlx.module\ndef m():\n    import numpy\n")
    (folder / "b.rlxir").write_text("%x = tensor::alloc(shape=[1], dtype=f32);\n")
    wanted = {"a.rlx": [(2, 1, "rlxStatement"), (3, 5, "rlxRefused")], "b.rlxir": [(1, 1, "rlxirValue"), (1, 37, "rlxirType")]}
    for name, places in wanted.items():
        script = folder / "look.vim"
        script.write_text("".join(f"call writefile([synIDattr(synID({line}, {column}, 1), 'name')], '{folder}/found', 'a')\n" for line, column, _ in places))
        (folder / "found").unlink(missing_ok=True)
        subprocess.run(["vim", "-u", "NONE", "-N", "-es", "-c", f"set rtp^={ROOT}/editors/vim", "-c", "filetype on", "-c", "syntax on", "-c",
                        f"edit {folder}/{name}", "-c", f"source {script}", "-c", "qa!"], timeout=60, capture_output=True)
        assert (folder / "found").read_text().split() == [group for _, _, group in places], (name, (folder / "found").read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(cases.finish(*cases.run(pathlib.Path(place))))
