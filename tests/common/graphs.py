"""Small ONNX models, and bundles made of them. Needs onnx; the program is named by RLX."""
import os
import subprocess

import onnx
from onnx import helper, numpy_helper


def value(name, kind, *dims):
    return helper.make_tensor_value_info(name, kind, dims)


def constant(name, array):
    return numpy_helper.from_array(array, name)


def save(path, nodes, inputs, outputs, constants=()):
    """Writes the graph as a model of opset 17."""
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def bundle(source, folder, *words):
    """Compiles the model file into a bundle of its name in `folder`."""
    path = folder / f"{source.stem}.rlxb"
    run = subprocess.run([os.environ["RLX"], "compile", "--model", str(source), "--output", str(path), *words], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{source.name} does not compile: {run.stdout}{run.stderr}")
    return path
