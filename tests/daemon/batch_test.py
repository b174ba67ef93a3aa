"""Which symbol may be batched: what the compiler says of small models of one idea each, and of whole networks; and for every model that it
calls independent, a batched run through scattered rows against single runs, bit for bit, and how many tensors it copied: none, but where a
title of COPIED says so (tests/daemon/batch_rows.c)."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from onnx import TensorProto, helper, numpy_helper, save

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests" / "bits"))
import models as networks  # noqa: E402

rlx = os.environ.get("RLX", str(root / "build" / "cli" / "rlx"))
batch_rows = str(pathlib.Path(os.environ.get("RLX_BUILD", str(root / "build"))) / "tests" / "daemon" / "batch_rows")
F, I = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """One small model: `op` adds a node, numpy arrays become constants."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def name(self, value):
        if isinstance(value, str):
            return value
        array = numpy.asarray(value)
        array = array.astype(numpy.float32) if array.dtype.kind == "f" else array.astype(numpy.int64)
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, [self.name(value) for value in inputs], names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, output, output_type=F):
        self.nodes.append(helper.make_node("Identity", [output], ["y"]))
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info(*value) for value in inputs],
                                  [helper.make_tensor_value_info("y", output_type, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


random = numpy.random.default_rng(7)


def weight(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def one(build, *inputs, output_type=F):
    """A model of the inputs' shapes from `build(graph) -> output`."""
    graph = Graph()
    return graph.model(inputs or [("x", F, ["n", 4, 6])], build(graph), output_type)


IMAGE = ("x", F, ["n", 3, 12, 12])
X, X2 = ("x", F, ["n", 4, 6]), ("x", F, ["n", 6])
IDS = ("ids", I, ["n", 5])


def lstm(g, layout_first):
    x = "x" if layout_first else g.op("Transpose", "x", perm=[1, 0, 2])
    n = g.op("Gather", g.op("Shape", "x"), numpy.array([0]))
    state = g.op("ConstantOfShape", g.op("Concat", [1], n, [5], axis=0))
    y, _, _ = g.op("LSTM", x, weight(1, 20, 6), weight(1, 20, 5), weight(1, 40), "", state, state, outputs=3, hidden_size=5)
    return g.op("Transpose", g.op("Squeeze", y, [1]), perm=[1, 0, 2])


def attention(g):
    def heads(x):
        return g.op("Transpose", g.op("Reshape", g.op("MatMul", x, weight(6, 6)), [0, 0, 2, 3]), perm=[0, 2, 1, 3])

    scores = g.op("Softmax", g.op("MatMul", heads("x"), g.op("Transpose", heads("x"), perm=[0, 1, 3, 2])), axis=-1)
    return g.op("Reshape", g.op("Transpose", g.op("MatMul", scores, heads("x")), perm=[0, 2, 1, 3]), [0, 0, 6])


def transformer(g):
    """Token ids to a vector per text, as encoders of sentences do it: embeddings, a mask, attention, a mean."""
    def dense(x, n, m):
        return g.op("Add", g.op("MatMul", x, weight(n, m)), weight(m))

    def heads(x, order):
        return g.op("Transpose", g.op("Reshape", dense(x, 32, 32), [0, 0, 4, 8]), perm=order)

    x = g.op("LayerNormalization", g.op("Add", g.op("Gather", weight(9, 32), "ids"), weight(5, 32)), weight(32), axis=-1)
    mask = g.op("Mul", g.op("Sub", numpy.float32(1), g.op("Cast", g.op("Unsqueeze", "mask", [1, 2]), to=F)), numpy.float32(-1e4))
    scores = g.op("Add", g.op("MatMul", heads(x, [0, 2, 1, 3]), heads(x, [0, 2, 3, 1])), mask)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), heads(x, [0, 2, 1, 3]))
    x = g.op("Add", x, dense(g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), [0, 0, 32]), 32, 32))
    weights = g.op("Unsqueeze", g.op("Cast", "mask", to=F), [2])
    return g.op("Div", g.op("ReduceSum", g.op("Mul", x, weights), [1], keepdims=0), g.op("Add", g.op("ReduceSum", weights, [1], keepdims=0), numpy.float32(1)))


def classifier(g):
    x = g.op("Relu", g.op("Conv", "x", weight(24, 3, 3, 3), weight(24), pads=[1, 1, 1, 1], strides=[2, 2]))
    x = g.op("Relu", g.op("Add", g.op("Conv", x, weight(24, 24, 3, 3), pads=[1, 1, 1, 1]), x))
    return g.op("Softmax", g.op("Gemm", g.op("Flatten", g.op("GlobalAveragePool", x)), weight(24, 1000), weight(1000)), axis=-1)


def lstm_first(g):
    y, _, _ = g.op("LSTM", "x", weight(1, 80, 6), weight(1, 80, 20), outputs=3, hidden_size=20, layout=1)
    return g.op("Squeeze", y, [2])


def batch_norm(g, training):
    scale = [weight(4), weight(4), weight(4), numpy.abs(weight(4))]
    y = g.op("BatchNormalization", "x", *scale, outputs=3 if training else 1, training_mode=training)
    return y[0] if training else y


def batch_size(g):
    return g.op("Gather", g.op("Shape", "x"), numpy.array([0]))


INDEPENDENT = {
    "elementwise": one(lambda g: g.op("Add", g.op("Mul", "x", weight(4, 1)), weight(1, 4, 6))),
    "conv and pool": one(lambda g: g.op("MaxPool", g.op("Conv", "x", weight(20, 3, 3, 3)), kernel_shape=[2, 2]), IMAGE),
    "conv transpose": one(lambda g: g.op("ConvTranspose", "x", weight(3, 5, 2, 2), strides=[2, 2]), IMAGE),
    "batch norm of an inference": one(lambda g: batch_norm(g, 0)),
    "layer norm of the last axis": one(lambda g: g.op("LayerNormalization", "x", weight(6), axis=-1)),
    "flatten by -1": one(lambda g: g.op("Gemm", g.op("Reshape", "x", [0, -1]), weight(24, 7))),
    "flatten by shape arithmetic": one(lambda g: g.op("Reshape", "x", g.op("Concat", batch_size(g), [-1], axis=0))),
    "reshape there and back": one(lambda g: g.op("Reshape", g.op("Relu", g.op("Reshape", "x", [0, 2, 2, 6])), [0, 4, 6])),
    "batch moved and moved back": one(lambda g: g.op("Transpose", g.op("CumSum", g.op("Transpose", "x", perm=[1, 2, 0]), 0), perm=[2, 0, 1])),
    "attention": one(attention),
    "sentence encoder": one(transformer, IDS, ("mask", I, ["n", 5])),
    "image classifier": one(classifier, IMAGE),
    "product of a vector per row": one(lambda g: g.op("Gemm", "x", weight(700, 300), weight(300)), ("x", F, ["n", 700])),
    "product of a matrix per row": one(lambda g: g.op("MatMul", g.op("MatMul", "x", weight(70, 30)), weight(30, 200)), ("x", F, ["n", 50, 70])),
    "product with a residual": one(lambda g: g.op("Add", g.op("MatMul", "x", weight(6, 6)), "x")),
    "product of the transposed input": one(lambda g: g.op("MatMul", g.op("Transpose", "x", perm=[0, 2, 1]), weight(4, 33))),
    "the batch on the columns of a product": one(lambda g: g.op("Transpose", g.op("MatMul", weight(33, 6), g.op("Transpose", "x", perm=[1, 0])), perm=[1, 0]), X2),
    "input used twice": one(lambda g: g.op("Concat", g.op("Conv", "x", weight(8, 3, 3, 3), pads=[1, 1, 1, 1]), "x", axis=1), IMAGE),
    "recurrent net with the batch first": one(lstm_first),
    "matmul of two batched operands": one(lambda g: g.op("MatMul", "x", g.op("Transpose", "x", perm=[0, 2, 1]))),
    "einsum with the batch in the result": one(lambda g: g.op("Einsum", "x", weight(6, 3), equation="nij,jk->nik")),
    "reduction of other axes": one(lambda g: g.op("ReduceSum", "x", [1, -1], keepdims=0)),
    "softmax of the last axis": one(lambda g: g.op("Softmax", "x", axis=-1)),
    "argmax of the last axis": one(lambda g: g.op("ArgMax", "x", axis=-1, keepdims=0), output_type=I),
    "top-k of the last axis": one(lambda g: g.op("TopK", "x", [2], outputs=2, axis=-1)[0]),
    "embedding": one(lambda g: g.op("ReduceMean", g.op("Gather", weight(9, 6), "ids"), [1], keepdims=0), IDS),
    "embedding and positions": one(lambda g: g.op("Add", g.op("Gather", weight(9, 6), "ids"), weight(5, 6)), IDS),
    "one-hot": one(lambda g: g.op("OneHot", "ids", [4], weight(2), axis=1), IDS),
    "slice of other axes": one(lambda g: g.op("Slice", "x", [1, 0], [3, 5], [1, 2])),
    "slice that keeps all rows": one(lambda g: g.op("Slice", "x", [0, 1], [2**40, 3], [0, 1])),
    "pad of other axes": one(lambda g: g.op("Pad", "x", [0, 1, 0, 0, 0, 2])),
    "concat of other axes": one(lambda g: g.op("Concat", "x", g.op("Neg", "x"), axis=2)),
    "split of other axes": one(lambda g: g.op("Split", "x", [1, 3], outputs=2, axis=1)[1]),
    "a constant expanded to the batch": one(lambda g: g.op("Concat", g.op("Expand", weight(1, 1, 6), g.op("Concat", batch_size(g), [1], [6], axis=0)), "x", axis=1)),
    "resize of the image": one(lambda g: g.op("Resize", "x", "", numpy.array([1, 1, 2, 1.5]), mode="linear"), IMAGE),
    "recurrent net with a state of the batch's size": one(lambda g: lstm(g, False)),
    "where with a mask": one(lambda g: g.op("Where", g.op("Greater", "x", numpy.float32(0.1)), "x", numpy.float32(2))),
    "the input itself": one(lambda g: "x"),
}

# Models whose rows are put together for a kernel, and how many tensors of them.
COPIED = {"the batch on the columns of a product": 1}

MIXED = {
    "sum over the batch": one(lambda g: g.op("Add", "x", g.op("ReduceSum", "x", [0], keepdims=1))),
    "mean over everything": one(lambda g: g.op("Sub", "x", g.op("ReduceMean", "x", keepdims=1))),
    "batch norm of a training": one(lambda g: batch_norm(g, 1)),
    "layer norm over axis 0": one(lambda g: g.op("Transpose", g.op("LayerNormalization", g.op("Transpose", "x", perm=[1, 2, 0]), [1.0], axis=-1), perm=[2, 0, 1])),
    "softmax over the batch": one(lambda g: g.op("Softmax", "x", axis=0)),
    "cumsum over the batch": one(lambda g: g.op("CumSum", "x", 0)),
    "argmax over the batch": one(lambda g: g.op("Add", "ids", g.op("ArgMax", "ids", axis=0, keepdims=1)), IDS, output_type=I),
    "einsum that sums the batch": one(lambda g: g.op("Add", "x", g.op("Einsum", "x", equation="nij->ij"))),
    "einsum of two rows": one(lambda g: g.op("ReduceSum", g.op("Einsum", "x", "x", equation="nj,mj->nm"), [1], keepdims=0), X2),
    "gram matrix of the batch": one(lambda g: g.op("MatMul", g.op("MatMul", "x", g.op("Transpose", "x", perm=[1, 0])), "x"), X2),
    "matmul that sums the batch": one(lambda g: g.op("Add", "x", g.op("MatMul", g.op("Transpose", "x", perm=[1, 0]), "x")), X2),
    "batch in a reshape's product": one(lambda g: g.op("Reshape", g.op("Softmax", g.op("Reshape", "x", [-1, 8]), axis=0), [-1, 4, 6])),
    "rows regrouped": one(lambda g: g.op("Reshape", g.op("CumSum", g.op("Reshape", "x", [4, -1, 6]), 0), [-1, 4, 6])),
    "batch size as a number": one(lambda g: g.op("Mul", "x", g.op("Cast", batch_size(g), to=F))),
    "the last row for all": one(lambda g: g.op("Add", "x", g.op("Gather", "x", [-1], axis=0))),
    "all but the first row": one(lambda g: g.op("Slice", "x", [1], [2**40], [0])),
    "rows reversed": one(lambda g: g.op("Slice", "x", [-1], [-2**40], [0], [-1])),
    "rows shifted": one(lambda g: g.op("Slice", g.op("Pad", "x", [1, 0, 0, 0, 0, 0]), [0], [-1], [0])),
    "rows moved by pads of both signs": one(lambda g: g.op("Pad", "x", [1, 0, 0, -1, 0, 0])),
    "rows doubled": one(lambda g: g.op("Tile", "x", [2, 1, 1])),
    "rows joined": one(lambda g: g.op("Concat", "x", "x", axis=0)),
    "rows numbered": one(lambda g: g.op("Add", "x", g.op("Reshape", g.op("Cast", g.op("Range", 0, g.op("Squeeze", batch_size(g), [0]), 1), to=F), [-1, 1, 1]))),
    "a convolution over the batch": one(lambda g: g.op("Transpose", g.op("Conv", g.op("Transpose", "x", perm=[1, 2, 0]), weight(4, 6, 3), pads=[1, 1]), perm=[2, 0, 1])),
    "a recurrent net along the batch": one(lambda g: g.op("Squeeze", g.op("RNN", "x", weight(1, 5, 6), weight(1, 5, 5), outputs=2, hidden_size=5)[0], [1])),
    "pool indices": one(lambda g: g.op("MaxPool", "x", outputs=2, kernel_shape=[2, 2])[1], IMAGE, output_type=I),
    "rows by index": one(lambda g: g.op("Gather", "x", "i", axis=0), X, ("i", I, ["n"])),
    "two batches": one(lambda g: g.op("Add", "x", "z"), X, ("z", F, ["m", 4, 6])),
    "an input without the batch": one(lambda g: g.op("Add", "x", "z"), X, ("z", F, [4, 6])),
    "the batch twice": one(lambda g: g.op("MatMul", "x", "x"), ("x", F, ["n", "n"])),
    "an output without the batch": one(lambda g: g.op("ReduceSum", "x", [0], keepdims=0)),
    "the batch at another axis of the output": one(lambda g: g.op("Transpose", "x", perm=[1, 0, 2])),
    "a fixed batch": one(lambda g: g.op("Relu", "x"), ("x", F, [4, 6])),
    "a batch that must be a multiple": one(lambda g: g.op("Reshape", g.op("Reshape", "x", [2, -1, 4, 6]), [-1, 4, 6])),
}

# Seen by the first kernel through a reshape with another outermost axis: row pointers must not reach it.
BEHIND_A_VIEW = {
    "channels as images": one(lambda g: g.op("Reshape", g.op("Conv", g.op("Reshape", "x", [-1, 1, 12, 12]), weight(16, 1, 3, 3)), [-1, 48, 10, 10]), IMAGE),
    "a unit axis in front": one(lambda g: g.op("Squeeze", g.op("Relu", g.op("Unsqueeze", "x", [0])), [0])),
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Tally:
    passed = failed = 0

    def check(self, title, fine, detail=""):
        self.passed += fine
        self.failed += not fine
        print(f"{'ok     ' if fine else 'FAILED '} {title}" + ("" if fine else f"\n        {detail}"))


def symbol_of(path):
    dump = run(rlx, "dump", str(path), "--after", "canonicalise")
    found = re.findall(r"^symbol::range\((\w+),.*\bindependent=true", dump.stdout, re.MULTILINE)
    return (found[0] if found else None), dump.stderr


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        whole = {name: getattr(networks, name)()[0] for name in ("cnn", "transformer", "recurrent") if hasattr(networks, name)}
        for kind, group in (("independent", INDEPENDENT), ("independent", whole), ("mixed", MIXED), ("any", BEHIND_A_VIEW)):
            for title, model in group.items():
                path, bundle = folder / "m.onnx", folder / "m.rlxb"
                save(model, path)
                symbol, errors = symbol_of(path)
                if kind != "any":
                    tally.check(f"{title}: {kind}", (symbol is not None) == (kind == "independent") and "error" not in errors, f"{symbol} {errors}")
                if symbol is None:
                    continue
                compiled = run(rlx, "compile", "--model", str(path), "--output", str(bundle))
                rows = run(batch_rows, str(bundle), "height=20", "width=24")
                copies = f"equal, {COPIED.get(title, 0)} copies"
                fine = compiled.returncode == 0 and (copies in rows.stdout or (kind == "any" and rows.returncode == 3))
                tally.check(f"{title}: rows give the same bits ({rows.stdout.strip()})", fine, compiled.stderr + rows.stdout + rows.stderr)
                if kind == "independent":
                    tally.check(f"{title}: rlx compile says so", f"batched along '{symbol}'" in compiled.stdout, compiled.stdout)
    print(f"{tally.passed} passed, {tally.failed} failed, 0 skipped")
    return tally.failed != 0


if __name__ == "__main__":
    sys.exit(main())
