"""Models made for these tests: one that is fast, one that takes as long as it is told."""
import numpy
from onnx import TensorProto, helper

from graphs import bundle, constant, save, value

F = TensorProto.FLOAT


def add_one(folder, name="add", addend=1.0):
    """y = x + addend; x is f32[n]."""
    source = folder / f"{name}.onnx"
    save(source, [helper.make_node("Add", ["x", "c"], ["y"])], [value("x", F, "n")], [value("y", F, "n")],
         [constant("c", numpy.array([addend], numpy.float32))])
    return bundle(source, folder)


def slow(folder, products, name="slow", side=512):
    """Row x of `side` becomes a matrix that is multiplied by itself `products` times: about 3 ms each on one core."""
    nodes = [helper.make_node("Mul", ["x", "ones"], ["m0"])]
    nodes += [helper.make_node("MatMul", [f"m{i}", "m0"], [f"m{i + 1}"]) for i in range(products)]
    nodes.append(helper.make_node("ReduceMean", [f"m{products}"], ["y"], axes=[0, 1], keepdims=0))
    source = folder / f"{name}.onnx"
    save(source, nodes, [value("x", F, side)], [value("y", F)], [constant("ones", numpy.ones((side, 1), numpy.float32))])
    return bundle(source, folder)
