#!/usr/bin/env python3
"""Compiles the bundles that the serving tests use: bundles.py FOLDER. Needs numpy and onnx; the program is named by RLX."""
import importlib.util
import pathlib
import sys

import numpy
from onnx import TensorProto, helper, save

import graphs
from graphs import bundle, constant, value

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "clients"))
import models  # noqa: E402

F = TensorProto.FLOAT


def work_save(path, products):
    """y = something of x, f32[256]: products of 256 x 256, about half a millisecond each on one core, from 1 KiB of input."""
    rng = numpy.random.default_rng(1)
    constants = [constant("w", (rng.standard_normal((256, 256)) / 16).astype(numpy.float32)),
                 constant("ones", numpy.ones((256, 1), numpy.float32))]
    nodes = [helper.make_node("Mul", ["x", "ones"], ["v0"])]
    nodes += [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(products)]
    nodes.append(helper.make_node("ReduceMean", [f"v{products}"], ["y"], axes=[0], keepdims=0))
    graphs.save(path, nodes, [value("x", F, 256)], [value("y", F, 256)], constants)


def classify_save(path):
    """Two layers and a softmax over any number of rows: rows are independent, so requests run together."""
    rng = numpy.random.default_rng(2)
    constants = [constant(name, rng.standard_normal(shape).astype(numpy.float32) / 8)
                 for name, shape in (("w", (64, 160)), ("b", (160,)), ("u", (160, 10)), ("c", (10,)))]
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("Gemm", ["t", "u", "c"], ["s"]), helper.make_node("Softmax", ["s"], ["y"], axis=-1)]
    graphs.save(path, nodes, [value("x", F, "batch", 64)], [value("y", F, "batch", 10)], constants)


def resnet50_save(path):
    """The benchmark's network. Its file has the name of the clients' models, so it is loaded by path."""
    spec = importlib.util.spec_from_file_location("networks", ROOT / "bench" / "models.py")
    networks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(networks)
    save(networks.resnet50(), path)


def main():
    folder = pathlib.Path(sys.argv[1])
    sources = folder / "onnx"
    sources.mkdir(parents=True)
    models.sum_save(sources / "sum.onnx", 1)
    models.sum_save(sources / "sum2.onnx", 2)
    models.slow_save(sources / "slow.onnx", 150)
    models.plus_save(sources / "plus.onnx")
    work_save(sources / "work.onnx", 8)
    classify_save(sources / "classify.onnx")
    resnet50_save(sources / "resnet50.onnx")
    for path in sorted(sources.glob("*.onnx")):
        bundle(path, folder, *(["--max", "batch=8"] if path.stem in ("sum", "sum2", "classify") else []))


if __name__ == "__main__":
    main()
