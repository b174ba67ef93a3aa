"""Quantised models, written by onnxruntime.quantization or operator by operator: results within one step of ONNX Runtime's (its optimiser off),
integer operators where docs/QUANTISATION.md promises them, and the same bits for every ISA, thread count and optimisation level."""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

passed = failed = 0
SCALE, POINT = 0.05, 117


def report(title, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {title}{'' if good else ': ' + detail}", flush=True)


class Graph:
    """Nodes and constants of a model with one f32 input x and one output y."""

    def __init__(self, seed=3):
        self.random, self.nodes, self.constants = numpy.random.default_rng(seed), [], []

    def const(self, array):
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, *inputs, domain="", **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], domain=domain, **attributes))
        return out

    def normal(self, *shape, scale=1.0):
        return self.const((self.random.standard_normal(shape) * scale).astype(numpy.float32))

    def save(self, path, shape, out=TensorProto.FLOAT):
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", out, None)], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def network(path):
    """Everything that a small image network has: first layer, residual, depthwise, pools, concat, squeeze and excite, classifier."""
    g = Graph()

    def conv(x, c, o, kernel, group=1, **more):
        return g.op("Conv", x, g.normal(o, c // group, kernel, kernel, scale=(2 / (c // group * kernel * kernel)) ** 0.5), g.normal(o, scale=0.1),
                    kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, group=group, **more)

    x = g.op("Relu", conv("x", 3, 20, 3, strides=[2, 2]))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = conv(g.op("Clip", conv(x, 20, 20, 3, group=20), g.const(numpy.float32(0)), g.const(numpy.float32(6))), 20, 20, 1)
    x = g.op("Relu", g.op("Add", x, y))
    gate = g.op("Sigmoid", conv(g.op("GlobalAveragePool", x), 20, 20, 1))
    x = g.op("Mul", x, gate)
    x = g.op("Concat", conv(x, 20, 9, 1), g.op("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4), axis=1)
    x = g.op("LeakyRelu", conv(x, 29, 32, 3), alpha=0.1)
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    g.op("Gemm", x, g.normal(10, 32, scale=0.2), g.normal(10), transB=1)
    return g.save(path, ["batch", 3, 41, 35]), (2, 3, 41, 35)


def transformer(path):
    g = Graph(4)
    x = g.op("Add", g.op("MatMul", "x", g.normal(40, 70, scale=0.2)), g.normal(70))
    x = g.op("MatMul", g.op("Tanh", x), g.normal(70, 33, scale=0.2))
    g.op("Identity", x)
    return g.save(path, ["batch", 7, 40]), (3, 7, 40)


def recurrent(path, direction):
    """An LSTM of two directions and one of the other kind on top of it."""
    g, directions = Graph(5), 2 if direction == "bidirectional" else 1

    def lstm(x, size, hidden):
        w, r = (g.normal(directions, 4 * hidden, width, scale=0.2) for width in (size, hidden))
        y = g.op("LSTM", x, w, r, g.normal(directions, 8 * hidden), hidden_size=hidden, direction=direction)
        return g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.const(numpy.array([0, 0, -1], numpy.int64)))

    lstm(lstm("x", 21, 40), 40 * directions, 19)
    return g.save(path, [9, 1, 21]), (9, 1, 21)


class Samples(CalibrationDataReader):
    def __init__(self, shape):
        self.left, self.shape, self.random = 3, shape, numpy.random.default_rng(1)

    def get_next(self):
        self.left -= 1
        return {"x": self.random.standard_normal(self.shape).astype(numpy.float32)} if self.left >= 0 else None


def linear(kind, n, out=TensorProto.UINT8, **attributes):
    """A com.microsoft QLinear operator of `n` operands behind a QuantizeLinear of x."""
    def make(path):
        g = Graph()
        s, z = g.const(numpy.float32(SCALE)), g.const(numpy.uint8(POINT))
        t, q = g.const(numpy.float32(SCALE * 1.3)), g.const(numpy.uint8(POINT - 40))
        a = g.op("QuantizeLinear", "x", s, z)
        b = g.op("QuantizeLinear", g.op("Neg", "x"), t, q)
        parts = [a, s, z, b, t, q][:3 * n]
        result = [g.const(numpy.float32(SCALE * 0.9)), g.const(numpy.uint8(100))]
        g.op(kind, *(result + parts if kind == "QLinearConcat" else parts + result), domain="com.microsoft", **attributes)
        return g.save(path, [2, 20, 9, 11], out), (2, 20, 9, 11)
    return make


def gemm_forms(kind):
    def make(path):
        g = Graph()
        b = g.const(g.random.integers(-128, 128, (40, 35)).astype(numpy.int8))
        scale = g.const((g.random.random(35) * 0.01 + 0.001).astype(numpy.float32))
        zero = g.const(numpy.zeros(35, numpy.int8))
        if kind == "DynamicQuantizeMatMul":
            g.op(kind, "x", b, scale, zero, g.normal(35), domain="com.microsoft")
        elif kind == "FusedMatMul":
            g.op(kind, "x", g.normal(35, 40), domain="com.microsoft", transB=1, alpha=0.5)
        else:
            s, z = g.const(numpy.float32(SCALE)), g.const(numpy.uint8(POINT))
            a = g.op("QuantizeLinear", "x", s, z)
            if kind == "MatMulIntegerToFloat":
                g.op(kind, a, b, s, scale, z, zero, g.normal(35), domain="com.microsoft")
            else:
                bias = g.const(g.random.integers(-5000, 5000, 35).astype(numpy.int32))
                g.op(kind, a, s, z, b, scale, zero, bias, g.const(numpy.float32(0.3)), g.const(numpy.uint8(90)), domain="com.microsoft")
        return g.save(path, [6, 40], TensorProto.UINT8 if kind == "QGemm" else TensorProto.FLOAT), (6, 40)
    return make


class Tool:
    def __init__(self, rlx, folder):
        self.rlx, self.folder = rlx, pathlib.Path(folder)

    def call(self, *words, isa=None):
        done = subprocess.run([self.rlx, *map(str, words)], capture_output=True, text=True, env={**os.environ, **({"RLX_ISA": isa} if isa else {})})
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def infer(self, model, x, *options, compile_options=(), isa=None):
        out = self.folder / "m.rlxb"
        self.call("compile", model, "--output", out, *compile_options)
        numpy.savez(self.folder / "in.npz", x=x)
        self.call("infer", out, "--input", self.folder / "in.npz", "--output", self.folder / "out.npz", *options, isa=isa)
        return numpy.load(self.folder / "out.npz")["y"]


def reference(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def check(tool, title, path, shape, step, forbidden):
    """`step`: the largest difference allowed, in units of the largest value (f32) or in steps (bytes)."""
    x = numpy.random.default_rng(9).standard_normal(shape).astype(numpy.float32)
    try:
        y = tool.infer(path, x)
        dump = tool.call("dump", path, "--after", "layout")
    except RuntimeError as error:
        report(title, False, str(error))
        return
    expected = reference(path, x).astype(numpy.float64)
    worst = numpy.abs(y - expected).max() / (1 if y.dtype == numpy.uint8 else numpy.abs(expected).max())
    report(f"{title}: as ONNX Runtime", y.shape == expected.shape and worst <= step, f"differs by {worst:.3g}")
    made = set(re.findall(r"= rlxc::([a-z_0-9]+)\(", dump))
    assert made, dump
    left = sorted(made & forbidden)
    report(f"{title}: in integers", not left, f"{', '.join(left)} left")
    for isa in ("x86-64-v3", "x86-64-v4"):
        if isa == "x86-64-v3" or "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text():
            report(f"{title}: bits of {isa}", tool.infer(path, x, isa=isa).tobytes() == y.tobytes(), "differ")
    for words, options in ((("--threads", 3), ()), (("--kernels", "reference"), ()), ((), ("--opt-level", 1))):
        name = " ".join(map(str, words + options))
        report(f"{title}: bits with {name}", tool.infer(path, x, *words, compile_options=options).tobytes() == y.tobytes(), "differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rlx", required=True)
    options = parser.parse_args()
    products = {"conv", "matmul", "add", "mul", "avg_pool"}
    with tempfile.TemporaryDirectory() as folder:
        tool, folder = Tool(options.rlx, folder), pathlib.Path(folder)
        source, shape = network(folder / "network.onnx")
        for fmt in (QuantFormat.QDQ, QuantFormat.QOperator):
            for activation in (QuantType.QUInt8, QuantType.QInt8):
                for weight, reduce_range in ((QuantType.QInt8, False), (QuantType.QInt8, True), (QuantType.QUInt8, False)):
                    if activation == QuantType.QInt8 and weight == QuantType.QUInt8:
                        continue
                    title = f"{fmt} {activation} {weight}{' reduced' if reduce_range else ''}"
                    path = folder / "quantised.onnx"
                    quantize_static(source, path, Samples(shape), quant_format=fmt, per_channel=weight == QuantType.QInt8,
                                    reduce_range=reduce_range, activation_type=activation, weight_type=weight)
                    check(tool, title, path, shape, 0.08, {"conv", "matmul"})
        source, shape = transformer(folder / "transformer.onnx")
        for weight in (QuantType.QInt8, QuantType.QUInt8):
            for per_channel in (False, True):
                path = folder / "dynamic.onnx"
                quantize_dynamic(source, path, weight_type=weight, per_channel=per_channel)
                check(tool, f"dynamic {weight}{' per channel' if per_channel else ''}", path, shape, 1e-2, {"matmul"})
        for direction in ("forward", "reverse", "bidirectional"):
            source, shape = recurrent(folder / "recurrent.onnx", direction)
            for weight in (QuantType.QInt8, QuantType.QUInt8):
                for per_channel in (False, True):
                    path = folder / "dynamic.onnx"
                    quantize_dynamic(source, path, weight_type=weight, per_channel=per_channel)
                    check(tool, f"dynamic LSTM {direction} {weight}{' per channel' if per_channel else ''}", path, shape, 1e-2, {"lstm", "matmul"})
        for kind, n, more in (("QLinearAdd", 2, {}), ("QLinearMul", 2, {}), ("QLinearSigmoid", 1, {}), ("QLinearLeakyRelu", 1, {"alpha": 0.2}),
                              ("QLinearGlobalAveragePool", 1, {}), ("QLinearConcat", 2, {"axis": 1}),
                              ("QLinearAveragePool", 1, {"kernel_shape": [3, 2], "strides": [2, 1]})):
            path, shape = linear(kind, n, **more)(folder / "op.onnx")
            check(tool, kind, path, shape, 1, products - {"mul"})
        for kind in ("DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "FusedMatMul"):
            path, shape = gemm_forms(kind)(folder / "op.onnx")
            check(tool, kind, path, shape, 1 if kind == "QGemm" else 1e-4, set() if kind == "FusedMatMul" else {"matmul"})
    print(f"{passed} passed, {failed} failed, 0 skipped")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
