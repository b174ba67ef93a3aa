#!/usr/bin/env python3
"""Compiles the bundles that the client tests serve: models.py FOLDER. Needs numpy and onnx; the program is named by RLX."""
import os
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "BOOL": TensorProto.BOOL, "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32, "INT64": TensorProto.INT64,
    "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16, "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64,
    "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
}


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def value(name, kind, *dims):
    return helper.make_tensor_value_info(name, kind, dims)


def sum_save(path, scale):
    """total = a + b * scale, difference = a - b; batched along axis 0."""
    kind = TensorProto.FLOAT
    constant = numpy_helper.from_array(numpy.float32(scale), "scale")
    nodes = [helper.make_node("Mul", ["b", "scale"], ["scaled"]), helper.make_node("Add", ["a", "scaled"], ["total"]),
             helper.make_node("Sub", ["a", "b"], ["difference"])]
    save(path, nodes, [value("a", kind, "batch", 4), value("b", kind, "batch", 4)],
         [value("total", kind, "batch", 4), value("difference", kind, "batch", 4)], [constant])


def twice_save(path, kind):
    """y = x, x: any type, any length."""
    save(path, [helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [value("x", kind, "n")], [value("y", kind, "m")])


def slow_save(path, products):
    """Many products one after the other: about a second on one core; cancelled between any two."""
    rng = numpy.random.default_rng(1)
    weights = numpy_helper.from_array((rng.standard_normal((512, 512)) / 22.6).astype(numpy.float32), "w")
    nodes = [helper.make_node("MatMul", [f"v{i}" if i else "x", "w"], [f"v{i + 1}" if i + 1 < products else "y"]) for i in range(products)]
    save(path, nodes, [value("x", TensorProto.FLOAT, 512, 512)], [value("y", TensorProto.FLOAT, 512, 512)], [weights])


def plus_save(path):
    """y = x + 1, any length."""
    one = numpy_helper.from_array(numpy.float32(1), "one")
    kind = TensorProto.FLOAT
    save(path, [helper.make_node("Add", ["x", "one"], ["y"])], [value("x", kind, "n")], [value("y", kind, "n")], [one])


def scaled_save(path):
    """y = x * factor + offset; factor and offset are scalars."""
    kind = TensorProto.FLOAT
    nodes = [helper.make_node("Mul", ["x", "factor"], ["scaled"]), helper.make_node("Cast", ["offset"], ["shift"], to=kind),
             helper.make_node("Add", ["scaled", "shift"], ["y"])]
    save(path, nodes, [value("x", kind, "n"), value("factor", kind), value("offset", TensorProto.INT64)], [value("y", kind, "n")])


def stem_save(path):
    """The model that examples/infer.py asks for."""
    nodes = [helper.make_node("Conv", ["input", "w"], ["c"], kernel_shape=[7, 7], strides=[2, 2], pads=[3, 3, 3, 3]),
             helper.make_node("Relu", ["c"], ["output"])]
    weights = numpy_helper.from_array(numpy.random.default_rng(2).standard_normal((64, 3, 7, 7)).astype(numpy.float32), "w")
    save(path, nodes, [value("input", TensorProto.FLOAT, 1, 3, 224, 224)], [value("output", TensorProto.FLOAT, 1, 64, 112, 112)], [weights])


def main():
    folder = pathlib.Path(sys.argv[1])
    onnx_folder = folder / "onnx"
    onnx_folder.mkdir(parents=True)
    sum_save(onnx_folder / "sum.onnx", 1)
    sum_save(onnx_folder / "sum2.onnx", 2)
    slow_save(onnx_folder / "slow.onnx", 150)
    plus_save(onnx_folder / "plus.onnx")
    scaled_save(onnx_folder / "scaled.onnx")
    stem_save(onnx_folder / "resnet18_stem.onnx")
    for name, kind in TYPES.items():
        twice_save(onnx_folder / f"twice_{name}.onnx", kind)
    for path in sorted(onnx_folder.glob("*.onnx")):
        options = ["--max", "batch=8"] if path.stem.startswith("sum") else []
        run = subprocess.run([os.environ["RLX"], "compile", "--model", str(path), "--output", str(folder / f"{path.stem}.rlxb"), *options],
                             capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{path.name} does not compile: {run.stdout}{run.stderr}")


if __name__ == "__main__":
    main()
