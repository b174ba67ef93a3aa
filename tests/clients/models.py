#!/usr/bin/env python3
"""Compiles the bundles that the client tests serve: models.py FOLDER. Needs numpy and onnx; the program is named by RLX."""
import pathlib
import sys

import numpy
from onnx import TensorProto, helper

from graphs import bundle, constant, save, value

TYPES = {
    "BOOL": TensorProto.BOOL, "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32, "INT64": TensorProto.INT64,
    "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16, "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64,
    "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
}


def sum_save(path, scale):
    """total = a + b * scale, difference = a - b; batched along axis 0."""
    kind = TensorProto.FLOAT
    nodes = [helper.make_node("Mul", ["b", "scale"], ["scaled"]), helper.make_node("Add", ["a", "scaled"], ["total"]),
             helper.make_node("Sub", ["a", "b"], ["difference"])]
    save(path, nodes, [value("a", kind, "batch", 4), value("b", kind, "batch", 4)],
         [value("total", kind, "batch", 4), value("difference", kind, "batch", 4)], [constant("scale", numpy.float32(scale))])


def twice_save(path, kind):
    """y = x, x: any type, any length."""
    save(path, [helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [value("x", kind, "n")], [value("y", kind, "m")])


def slow_save(path, products):
    """Many products one after the other: about a second on one core; cancelled between any two."""
    rng = numpy.random.default_rng(1)
    weights = constant("w", (rng.standard_normal((512, 512)) / 22.6).astype(numpy.float32))
    nodes = [helper.make_node("MatMul", [f"v{i}" if i else "x", "w"], [f"v{i + 1}" if i + 1 < products else "y"]) for i in range(products)]
    save(path, nodes, [value("x", TensorProto.FLOAT, 512, 512)], [value("y", TensorProto.FLOAT, 512, 512)], [weights])


def plus_save(path):
    """y = x + 1, any length."""
    one = constant("one", numpy.float32(1))
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
    weights = constant("w", numpy.random.default_rng(2).standard_normal((64, 3, 7, 7)).astype(numpy.float32))
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
        bundle(path, folder, *(["--max", "batch=8"] if path.stem.startswith("sum") else []))


if __name__ == "__main__":
    main()
