"""YOLOv8n from its public definition (depth 1/3, width 1/4, 80 classes), 640 x 640, opset 17, random weights of a fixed seed: backbone of C2f
blocks and SPPF, a pyramid up and down, three heads whose boxes are expectations over 16 bins. One output, [1, 84, 8400], as exporters give it."""

import numpy
from onnx import TensorProto

from nets.builder import Builder

SIZE, CLASSES, BINS = 640, 80, 16


class Yolo(Builder):
    def unit(self, x, c_in, c_out, kernel=1, stride=1):
        return self.silu(self.conv(x, c_in, c_out, kernel, stride, gain=2.8))

    def several(self, kind, inputs, count, **attributes):
        """A node with more than one output."""
        self.op(kind, *inputs, **attributes)
        node = self.nodes[-1]
        node.output.extend(f"{node.output[0]}_{index}" for index in range(1, count))
        return list(node.output)

    def concat(self, *values, axis=1):
        return self.op("Concat", *values, axis=axis)

    def c2f(self, x, c_in, c_out, repeats, shortcut):
        half = c_out // 2
        parts = self.several("Split", [self.unit(x, c_in, c_out), self.ints(half, half)], 2, axis=1)
        for _ in range(repeats):
            y = self.unit(self.unit(parts[-1], half, half, 3), half, half, 3)
            parts.append(self.op("Add", parts[-1], y) if shortcut else y)
        return self.unit(self.concat(*parts), (2 + repeats) * half, c_out)

    def sppf(self, x, channels):
        parts = [self.unit(x, channels, channels // 2)]
        for _ in range(3):
            parts.append(self.op("MaxPool", parts[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
        return self.unit(self.concat(*parts), channels * 2, channels)

    def double(self, x):
        scales = self.constant(numpy.array([1, 1, 2, 2], numpy.float32))
        return self.op("Resize", x, "", scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")

    def branch(self, x, c_in, inner, c_out):
        y = self.unit(self.unit(x, c_in, inner, 3), inner, inner, 3)
        return self.conv(y, inner, c_out, 1)

    def detect(self, features):
        rows = []
        for x, channels in features:
            both = self.concat(self.branch(x, channels, 64, 4 * BINS), self.branch(x, channels, CLASSES, CLASSES))
            rows.append(self.op("Reshape", both, self.ints(1, 4 * BINS + CLASSES, -1)))
        boxes, scores = self.several("Split", [self.concat(*rows, axis=2), self.ints(4 * BINS, CLASSES)], 2, axis=1)
        return self.concat(self.boxes(boxes), self.op("Sigmoid", scores))

    def boxes(self, x):
        centres, strides = anchors()
        bins = self.op("Transpose", self.op("Reshape", x, self.ints(1, 4, BINS, -1)), perm=[0, 2, 1, 3])
        weight = self.constant(numpy.arange(BINS, dtype=numpy.float32).reshape(1, BINS, 1, 1))
        mean = self.op("Conv", self.op("Softmax", bins, axis=1), weight, kernel_shape=[1, 1])
        sides = self.op("Reshape", mean, self.ints(1, 4, -1))
        near = self.op("Slice", sides, self.ints(0), self.ints(2), self.ints(1))
        far = self.op("Slice", sides, self.ints(2), self.ints(4), self.ints(1))
        centres = self.constant(centres)
        low, high = self.op("Sub", centres, near), self.op("Add", centres, far)
        middle = self.op("Div", self.op("Add", low, high), self.constant(numpy.float32(2)))
        return self.op("Mul", self.concat(middle, self.op("Sub", high, low)), self.constant(strides))


def anchors():
    """Cell centres [1, 2, 8400] in cells, and the stride [1, 8400] of each."""
    centres, strides = [], []
    for stride in (8, 16, 32):
        cells = numpy.arange(SIZE // stride, dtype=numpy.float32) + numpy.float32(0.5)
        y, x = numpy.meshgrid(cells, cells, indexing="ij")
        centres.append(numpy.stack([x.ravel(), y.ravel()]))
        strides.append(numpy.full(x.size, stride, numpy.float32))
    return numpy.concatenate(centres, 1)[None], numpy.concatenate(strides)[None]


def yolov8n():
    b = Yolo(108)
    x = b.unit(b.unit("images", 3, 16, 3, 2), 16, 32, 3, 2)
    x = b.c2f(x, 32, 32, 1, True)
    eighth = b.c2f(b.unit(x, 32, 64, 3, 2), 64, 64, 2, True)
    sixteenth = b.c2f(b.unit(eighth, 64, 128, 3, 2), 128, 128, 2, True)
    x = b.c2f(b.unit(sixteenth, 128, 256, 3, 2), 256, 256, 1, True)
    deepest = b.sppf(x, 256)
    middle = b.c2f(b.concat(b.double(deepest), sixteenth), 384, 128, 1, False)
    small = b.c2f(b.concat(b.double(middle), eighth), 192, 64, 1, False)
    medium = b.c2f(b.concat(b.unit(small, 64, 64, 3, 2), middle), 192, 128, 1, False)
    large = b.c2f(b.concat(b.unit(medium, 128, 128, 3, 2), deepest), 384, 256, 1, False)
    b.detect([(small, 64), (medium, 128), (large, 256)])
    return b.model("yolov8n", [("images", TensorProto.FLOAT, [1, 3, SIZE, SIZE])], "output0", [1, 4 + CLASSES, 8400])
