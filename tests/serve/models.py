"""Models made for these tests: one that is fast, one that takes as long as it is told."""
import subprocess

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from daemon import RLX


def compile_model(graph, folder, name):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    source, bundle = folder / f"{name}.onnx", folder / f"{name}.rlxb"
    onnx.save(model, source)
    subprocess.run([RLX, "compile", "--model", str(source), "--output", str(bundle)], check=True, capture_output=True)
    return bundle


def add_one(folder, name="add", constant=1.0):
    """y = x + constant; x is f32[n]."""
    value = numpy_helper.from_array(numpy.array([constant], numpy.float32), "c")
    graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"])], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])], [value])
    return compile_model(graph, folder, name)


def slow(folder, products, name="slow", side=512):
    """Row x of `side` becomes a matrix that is multiplied by itself `products` times: about 3 ms each on one core."""
    nodes = [helper.make_node("Mul", ["x", "ones"], ["m0"])]
    nodes += [helper.make_node("MatMul", [f"m{i}", "m0"], [f"m{i + 1}"]) for i in range(products)]
    nodes.append(helper.make_node("ReduceMean", [f"m{products}"], ["y"], axes=[0, 1], keepdims=0))
    ones = numpy_helper.from_array(numpy.ones((side, 1), numpy.float32), "ones")
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [side])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])], [ones])
    return compile_model(graph, folder, name)
