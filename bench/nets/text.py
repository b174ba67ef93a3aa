"""Transformers from their public definitions, random weights of fixed seeds."""

import numpy
from onnx import TensorProto

from nets.builder import Builder


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


def vit_b_16(layers=12, width=768, heads=12, feed_forward=3072, size=224, patch=16):
    """Dosovitskiy et al. 2020, ViT-B/16: patches by a convolution, a class token, norms before attention and feed-forward."""
    b = Builder(109)
    depth, tokens = width // heads, (size // patch) ** 2
    half, one, root, scale = (b.constant(numpy.float32(value)) for value in (0.5, 1, 2 ** 0.5, depth ** 0.5))
    split_shape, join_shape = b.ints(0, 0, heads, depth), b.ints(0, 0, width)

    def linear(x, rows, columns, gain=1.0):
        return b.op("Add", b.op("MatMul", x, b.normal(rows, columns, scale=gain * rows ** -0.5)), b.normal(columns, scale=0.02))

    def norm(x):
        return b.op("LayerNormalization", x, b.normal(width, scale=0.1, mean=1.0), b.normal(width, scale=0.1), axis=-1, epsilon=1e-6)

    def attention(x):
        q, k, v = (b.op("Transpose", b.op("Reshape", linear(x, width, width), split_shape), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        weights = b.op("Softmax", b.op("Div", b.op("MatMul", q, k), scale), axis=-1)
        mixed = b.op("Transpose", b.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        return linear(b.op("Reshape", mixed, join_shape), width, width)

    def feed(x):
        y = linear(x, width, feed_forward)
        y = b.op("Mul", b.op("Mul", y, b.op("Add", b.op("Erf", b.op("Div", y, root)), one)), half)
        return linear(y, feed_forward, width)

    fan_in = 3 * patch * patch
    x = b.op("Conv", "image", b.normal(width, 3, patch, patch, scale=fan_in ** -0.5), b.normal(width, scale=0.1),
             kernel_shape=[patch, patch], strides=[patch, patch])
    x = b.op("Transpose", b.op("Reshape", x, b.ints(0, width, -1)), perm=[0, 2, 1])
    x = b.op("Add", b.op("Concat", b.normal(1, 1, width, scale=0.5), x, axis=1), b.normal(1, tokens + 1, width, scale=0.5))
    for _ in range(layers):
        x = b.op("Add", attention(norm(x)), x)
        x = b.op("Add", feed(norm(x)), x)
    x = b.op("Gather", norm(x), b.constant(numpy.array(0, numpy.int64)), axis=1)
    b.op("Gemm", x, b.normal(1000, width, scale=width ** -0.5), b.normal(1000, scale=0.1), transB=1)
    return b.model("vit_b_16", [("image", TensorProto.FLOAT, [1, 3, size, size])], "logits", [1, 1000])
