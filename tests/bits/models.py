"""Small real networks with odd sizes and open dimensions, built with fixed seeds: three CNNs, a transformer block, a recurrent net."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def weight(self, *shape, scale=None):
        fan_in = int(numpy.prod(shape[1:])) or 1
        array = self.random.standard_normal(shape) * (scale if scale is not None else (2 / fan_in) ** 0.5)
        return self.constant(array.astype(numpy.float32))

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, outputs):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(*value) for value in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def cnn():
    b = Builder(1)
    x = b.op("Relu", b.op("Conv", "x", b.weight(20, 3, 3, 3), b.weight(20, scale=0.1), pads=[1, 1, 1, 1], strides=[2, 2]))
    d = b.op("HardSwish", b.op("Conv", x, b.weight(20, 1, 5, 5), b.weight(20, scale=0.1), pads=[2, 2, 2, 2], group=20))
    p = b.op("Conv", d, b.weight(37, 20, 1, 1), b.weight(37, scale=0.1))
    q = b.op("Relu", b.op("Add", b.op("Conv", p, b.weight(37, 37, 3, 3), pads=[1, 1, 1, 1]), p))
    pooled = b.op("MaxPool", q, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    gate = b.op("Sigmoid", b.op("Conv", b.op("GlobalAveragePool", pooled), b.weight(37, 37, 1, 1)))
    gated = b.op("Mul", pooled, gate)
    wide = b.op("Conv", gated, b.weight(48, 37, 3, 3), pads=[2, 2, 2, 2], dilations=[2, 2])
    joined = b.op("Concat", wide, b.op("AveragePool", wide, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), axis=1)
    mean = b.op("Flatten", b.op("GlobalAveragePool", joined))
    y = b.op("Softmax", b.op("Gemm", mean, b.weight(11, 96), b.weight(11, scale=0.1), transB=1))
    b.nodes[-1].output[0] = "y"
    return b.model([("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])], [("y", TensorProto.FLOAT, ["batch", 11])]), \
        lambda n, k: {"x": numpy.random.default_rng(k).standard_normal((n, 3, 45, 39)).astype(numpy.float32)}, y


def groups():
    """Groups that share blocks of channels, a shuffle between them, a response norm, pools of few channels."""
    b = Builder(4)
    x = b.op("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])
    x = b.op("LRN", b.op("Conv", x, b.weight(36, 5, 3, 3), b.weight(36, scale=0.1), pads=[1, 1, 1, 1]), size=5, alpha=0.1, beta=0.75)
    x = b.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    g = b.op("Relu", b.op("Conv", x, b.weight(20, 9, 1, 1), b.weight(20, scale=0.1), group=4))
    s = b.op("Reshape", g, b.constant(numpy.array([-1, 4, 5, 12, 10], numpy.int64)))
    s = b.op("Reshape", b.op("Transpose", s, perm=[0, 2, 1, 3, 4]), b.constant(numpy.array([-1, 20, 12, 10], numpy.int64)))
    d = b.op("Conv", s, b.weight(20, 1, 3, 3), b.weight(20, scale=0.1), pads=[1, 1, 1, 1], group=20)
    z = b.op("Relu", b.op("Add", b.op("Conv", d, b.weight(36, 5, 1, 1), group=4), x))
    wide = b.op("Conv", z, b.weight(54, 4, 3, 3), b.weight(54, scale=0.1), group=9, strides=[2, 1])
    dense = b.op("Concat", wide, b.op("Mul", wide, b.op("Sigmoid", wide)), axis=1)
    for _ in range(2):
        dense = b.op("Add", b.op("Mul", dense, b.weight(108, 1, 1, scale=1.0)), b.weight(108, 1, 1, scale=0.5))
    dense = b.op("Conv", b.op("Relu", dense), b.weight(54, 108, 1, 1))
    y = b.op("Flatten", b.op("GlobalAveragePool", dense))
    b.nodes[-1].output[0] = "y"
    return b.model([("x", TensorProto.FLOAT, ["batch", 5, 24, 20])], [("y", TensorProto.FLOAT, ["batch", 54])]), \
        lambda n, k: {"x": numpy.random.default_rng(k).standard_normal((n, 5, 24, 20)).astype(numpy.float32)}, y


def winograd():
    """Maps of fixed, odd sizes: F(2,3) of stride 2 to 21 x 19, F(4,3) at 11 x 10, F(2,3) at 6 x 5."""
    b = Builder(5)

    def conv(x, c_in, c_out, **attributes):
        return b.op("Conv", x, b.weight(c_out, c_in, 3, 3), b.weight(c_out, scale=0.1), pads=[1, 1, 1, 1], **attributes)

    x = b.op("Relu", conv("x", 3, 40))
    x = b.op("Relu", conv(x, 40, 70, strides=[2, 2]))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = b.op("Relu", conv(x, 70, 150))
    x = b.op("Relu", b.op("Add", conv(b.op("HardSwish", conv(x, 150, 40)), 40, 150), x))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = b.op("Relu", b.op("Add", conv(conv(x, 150, 72), 72, 150), x))
    y = b.op("Gemm", b.op("Flatten", b.op("GlobalAveragePool", x)), b.weight(11, 150), b.weight(11, scale=0.1), transB=1)
    b.nodes[-1].output[0] = "y"
    return b.model([("x", TensorProto.FLOAT, ["batch", 3, 41, 37])], [("y", TensorProto.FLOAT, ["batch", 11])]), \
        lambda n, k: {"x": numpy.random.default_rng(k).standard_normal((n, 3, 41, 37)).astype(numpy.float32)}, y


def transformer():
    b = Builder(2)
    heads, width, depth = 3, 51, 17
    x = b.op("Gather", b.weight(97, width, scale=1.0), "ids")
    x = b.op("LayerNormalization", x, b.weight(width, scale=1.0), b.weight(width, scale=0.1), axis=-1)

    def linear(value, rows, columns):
        return b.op("Add", b.op("MatMul", value, b.weight(rows, columns, scale=rows ** -0.5)), b.weight(columns, scale=0.1))

    def split(value, perm):
        shape = b.constant(numpy.array([0, 0, heads, depth], numpy.int64))
        return b.op("Transpose", b.op("Reshape", value, shape), perm=perm)

    q, k, v = split(linear(x, width, width), [0, 2, 1, 3]), split(linear(x, width, width), [0, 2, 3, 1]), split(linear(x, width, width), [0, 2, 1, 3])
    scores = b.op("Div", b.op("MatMul", q, k), b.constant(numpy.float32(depth ** 0.5)))
    mixed = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = b.op("Add", linear(b.op("Reshape", mixed, b.constant(numpy.array([0, 0, width], numpy.int64))), width, width), x)
    for inner in (70, 1024):
        h = linear(x, width, inner)
        gelu = b.op("Mul", b.op("Mul", h, b.op("Add", b.op("Erf", b.op("Div", h, b.constant(numpy.float32(2 ** 0.5)))), b.constant(numpy.float32(1)))),
                    b.constant(numpy.float32(0.5)))
        x = y = b.op("LayerNormalization", b.op("Add", linear(gelu, inner, width), x), b.weight(width, scale=1.0), axis=-1)
    b.nodes[-1].output[0] = "y"
    return b.model([("ids", TensorProto.INT64, ["batch", "seq"])], [("y", TensorProto.FLOAT, ["batch", "seq", width])]), \
        lambda n, k: {"ids": numpy.random.default_rng(k).integers(0, 97, (n, 23))}, y


def recurrent():
    b = Builder(3)
    size, hidden = 19, 21
    x = b.op("Transpose", "x", perm=[1, 0, 2])
    y, _, _ = b.op("LSTM", x, b.weight(2, 4 * hidden, size, scale=0.3), b.weight(2, 4 * hidden, hidden, scale=0.3),
                   b.weight(2, 8 * hidden, scale=0.1), outputs=3, hidden_size=hidden, direction="bidirectional")
    y = b.op("Transpose", y, perm=[2, 0, 1, 3])
    y = b.op("Reshape", y, b.constant(numpy.array([0, 0, -1], numpy.int64)))
    z, _ = b.op("GRU", b.op("Transpose", y, perm=[1, 0, 2]), b.weight(1, 3 * hidden, 2 * hidden, scale=0.3),
                b.weight(1, 3 * hidden, hidden, scale=0.3), outputs=2, hidden_size=hidden, linear_before_reset=1)
    out = b.op("Transpose", b.op("Squeeze", z, b.constant(numpy.array([1], numpy.int64))), perm=[1, 0, 2])
    b.nodes[-1].output[0] = "y"
    return b.model([("x", TensorProto.FLOAT, ["batch", "time", size])], [("y", TensorProto.FLOAT, ["batch", "time", hidden])]), \
        lambda n, k: {"x": numpy.random.default_rng(k).standard_normal((n, 13, size)).astype(numpy.float32)}, out


ALL = {"cnn": cnn, "groups": groups, "winograd": winograd, "transformer": transformer, "recurrent": recurrent}
