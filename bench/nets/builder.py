"""Collects nodes and seeded random constants of one ONNX graph. Needs numpy and onnx."""

import numpy
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

    def conv(self, x, c_in, c_out, kernel, stride=1, group=1, gain=2.0, bias=0.1):
        """A convolution with padding kernel // 2; the gain makes up for what the activation before it takes from the variance."""
        fan_in = c_in // group * kernel * kernel
        weight = self.normal(c_out, c_in // group, kernel, kernel, scale=(gain / fan_in) ** 0.5)
        return self.op("Conv", x, weight, self.normal(c_out, scale=bias), kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=[kernel // 2] * 4, group=group)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def ints(self, *values):
        return self.constant(numpy.array(values, numpy.int64))
