"""Image networks from their public definitions, random weights of fixed seeds, batch normalisation folded as exporters do."""

import numpy
from onnx import TensorProto

from nets.builder import Builder


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


def resnet18():
    """He et al. 2015, 224 x 224: basic blocks, 64 to 512 channels."""
    b = Builder(106)

    def block(x, c_in, c_out, stride):
        y = b.op("Relu", b.conv(x, c_in, c_out, 3, stride))
        y = b.conv(y, c_out, c_out, 3, gain=0.5)
        skip = x if stride == 1 and c_in == c_out else b.conv(x, c_in, c_out, 1, stride, gain=1)
        return b.op("Relu", b.op("Add", y, skip))

    x = b.op("Relu", b.conv("image", 3, 64, 7, 2))
    x, channels = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for c_out, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        x, channels = block(x, channels, c_out, stride), c_out
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    b.op("Gemm", x, b.normal(1000, 512, scale=512 ** -0.5), b.normal(1000, scale=0.1), transB=1)
    return b.model("resnet18", [("image", TensorProto.FLOAT, [1, 3, 224, 224])], "logits", [1, 1000])


def efficientnet_b0():
    """Tan and Le 2019, 224 x 224: inverted bottlenecks with squeeze and excitation, x * sigmoid(x)."""
    b = Builder(107)
    silu_gain = 2.8 # x * sigmoid(x) keeps 0.355 of a normal variance

    def excite(x, channels, inner):
        y = b.silu(b.conv(b.op("GlobalAveragePool", x), channels, inner, 1))
        return b.op("Mul", x, b.op("Sigmoid", b.conv(y, inner, channels, 1)))

    def block(x, c_in, c_out, kernel, stride, expand):
        hidden = c_in * expand
        y = b.silu(b.conv(x, c_in, hidden, 1, gain=1)) if expand != 1 else x
        y = b.silu(b.conv(y, hidden, hidden, kernel, stride, hidden, gain=silu_gain))
        y = b.conv(excite(y, hidden, max(1, c_in // 4)), hidden, c_out, 1, gain=3)
        return b.op("Add", x, y) if stride == 1 and c_in == c_out else y

    x, channels = b.silu(b.conv("image", 3, 32, 3, 2)), 32
    stages = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]
    for expand, c_out, repeats, stride, kernel in stages:
        for index in range(repeats):
            x, channels = block(x, channels, c_out, kernel, stride if index == 0 else 1, expand), c_out
    x = b.op("Flatten", b.op("GlobalAveragePool", b.silu(b.conv(x, channels, 1280, 1, gain=1))))
    b.op("Gemm", x, b.normal(1000, 1280, scale=1280 ** -0.5), b.normal(1000, scale=0.1), transB=1)
    return b.model("efficientnet_b0", [("image", TensorProto.FLOAT, [1, 3, 224, 224])], "logits", [1, 1000])
