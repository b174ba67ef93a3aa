"""A model evaluated in float64 with numpy alone: the truth that engines are held against. Image networks only: the operators below."""

import numpy
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper


def attributes(node):
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def padded(x, pads, value):
    begins, ends = pads[:len(pads) // 2], pads[len(pads) // 2:]
    return numpy.pad(x, [(0, 0), (0, 0), *zip(begins, ends)], constant_values=value)


def conv(x, w, bias=None, pads=(0, 0, 0, 0), strides=(1, 1), dilations=(1, 1), group=1, **_):
    """Kernel cell by kernel cell, a matrix product each."""
    x = padded(x, pads, 0)
    (n, _, height, width), (outputs, per_group, kh, kw) = x.shape, w.shape
    rows = (height - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    columns = (width - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    y = numpy.zeros((n, group, outputs // group, rows * columns))
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilations[0], j * dilations[1]
            cells = x[:, :, top:top + (rows - 1) * strides[0] + 1:strides[0], left:left + (columns - 1) * strides[1] + 1:strides[1]]
            y += w[:, :, i, j].reshape(1, group, outputs // group, per_group) @ cells.reshape(n, group, per_group, rows * columns)
    y = y.reshape(n, outputs, rows, columns)
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


def windows(x, kernel_shape, strides, pads, value):
    view = sliding_window_view(padded(x, pads, value), tuple(kernel_shape), axis=(2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def max_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    return windows(x, kernel_shape, strides, pads, -numpy.inf).max((4, 5))


def average_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    assert not any(pads)
    return windows(x, kernel_shape, strides, pads, 0).mean((4, 5))


def batch_norm(x, scale, bias, mean, variance, epsilon=1e-5, **_):
    scale, bias, mean, variance = (value.reshape(1, -1, 1, 1) for value in (scale, bias, mean, variance))
    return (x - mean) / numpy.sqrt(variance + epsilon) * scale + bias


def gemm(a, b, c=0.0, alpha=1.0, beta=1.0, transA=0, transB=0):
    return alpha * ((a.T if transA else a) @ (b.T if transB else b)) + beta * c


def softmax(x, axis=-1):
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


OPERATORS = {
    "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool, "BatchNormalization": batch_norm, "Gemm": gemm, "Softmax": softmax,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
    "Relu": lambda x: numpy.maximum(x, 0),
    "Add": lambda a, b: a + b,
    "Sum": lambda *terms: sum(terms),
    "Concat": lambda *parts, axis: numpy.concatenate(parts, axis),
    "Reshape": lambda x, shape: x.reshape([x.shape[i] if extent == 0 else int(extent) for i, extent in enumerate(shape)]),
    "Flatten": lambda x, axis=1: x.reshape(int(numpy.prod(x.shape[:axis])), -1),
    "Dropout": lambda x, *_, **__: x,
}


def evaluate(model, arrays):
    """Every value of the graph by name."""
    def widen(array):
        return array.astype(numpy.float64) if array.dtype == numpy.float32 else array

    values = {item.name: widen(numpy_helper.to_array(item)) for item in model.graph.initializer}
    values |= {name: widen(array) for name, array in arrays.items()}
    for node in model.graph.node:
        values[node.output[0]] = OPERATORS[node.op_type](*[values[name] for name in node.input if name], **attributes(node))
    return values
