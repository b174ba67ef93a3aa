#!/usr/bin/env python3
"""Broken ONNX models and what `rlx compile` says about them: the node, and the path by which its operands came there. The outputs stand in
onnx.txt, behind the models' names; --update writes them anew: read them before you keep them. Prints "N passed, N failed, N skipped" last."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node as node

RLX = os.environ["RLX"]
GOLDEN = pathlib.Path(__file__).parent / "onnx.txt"
F = TensorProto.FLOAT


def info(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, list(shape))


X, Y = info("x", F, 1, 4, 8, 8), info("y", F, None, None, None, None)
W = numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w")


def array(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def model(nodes, inputs=(X,), outputs=(Y,), weights=(), opset=17, **more):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *more.pop("opsets", [])], **more)


def edited(made, change):
    change(made)
    return made


def external():
    made = model([node("Conv", ["x", "w"], ["y"], "c1")], weights=[W])
    onnx.external_data_helper.set_external_data(made.graph.initializer[0], "weights.bin", offset=0, length=432)
    made.graph.initializer[0].ClearField("raw_data")
    made.graph.initializer[0].data_location = TensorProto.EXTERNAL
    return made


def branch():
    then = helper.make_graph([node("Relu", ["x"], ["t1"], "then/relu"), node("Conv", ["t1", "w"], ["t"], "then/conv")], "then", [], [info("t", F)])
    other = helper.make_graph([node("Identity", ["x"], ["e"], "else/id")], "else", [], [info("e", F)])
    return model([node("If", ["c"], ["y"], "branch", then_branch=then, else_branch=other)], [X, info("c", TensorProto.BOOL)], weights=[W])


def function(op):
    body = helper.make_function("local", "Block", ["a"], ["b"], [node("Relu", ["a"], ["r"], "act"), node(op, ["r"], ["b"], "inner", axis=7)],
                                [helper.make_opsetid("", 17)])
    return model([node("Block", ["x"], ["y"], "outer", domain="local")], opsets=[helper.make_opsetid("local", 1)], functions=[body])


CASES = {
    "channels of a weight": lambda: model([node("Relu", ["x"], ["r"], "relu0"), node("Sigmoid", ["r"], ["s"], "act/sig"),
                                           node("Conv", ["s", "w"], ["y"], "layer1/conv1")], weights=[W]),
    "columns and rows": lambda: model([node("Flatten", ["x"], ["f"], "flat"), node("MatMul", ["f", "m"], ["y"], "head/fc")],
                                      weights=[array("m", np.zeros((100, 10)))]),
    "a long way from the input": lambda: model([*(node("Relu", [f"r{i}" if i else "x"], [f"r{i + 1}"], f"relu{i}") for i in range(8)),
                                                node("Add", ["r8", "b"], ["y"], "sum")], weights=[array("b", np.zeros(3))]),
    "element types": lambda: model([node("Add", ["x", "i"], ["y"], "add")], weights=[array("i", [1], np.int64)]),
    "an element count": lambda: model([node("Relu", ["x"], ["r"], "r0"), node("Reshape", ["r", "s"], ["y"], "reshape")],
                                      weights=[array("s", [7, 7], np.int64)]),
    "nodes without names": lambda: model([node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["y"])], weights=[W]),
    "a node of a branch": branch,
    "a node of a function": lambda: function("Softmax"),
    "an unknown operator of a function": lambda: function("Frob"),
    "an unknown operator": lambda: model([node("Relu", ["x"], ["r"], "relu0"), node("Frobnicate", ["r"], ["y"], "mine")]),
    "a misspelt operator": lambda: model([node("Rellu", ["x"], ["y"], "relu0")]),
    "an operator of another domain": lambda: model([node("FlashAttention", ["x"], ["y"], "mine", domain="com.acme")]),
    "an operator that is known to be missing": lambda: model([node("SequenceConstruct", ["x", "x"], ["y"], "sequence")]),
    "an attribute of another type": lambda: model([node("Conv", ["x", "w"], ["y"], "c1", strides="a")], weights=[W]),
    "an attribute that is missing": lambda: model([node("Concat", ["x", "x"], ["y"], "cat")]),
    "an attribute that is not known": lambda: model([node("Relu", ["x"], ["y"], "relu0", slope=1.0)]),
    "an axis": lambda: model([node("Softmax", ["x"], ["y"], "softmax", axis=7)]),
    "too many operands": lambda: model([node("Relu", ["x", "x", "x"], ["y"], "relu0")]),
    "an operand that nothing makes": lambda: model([node("Relu", ["nope"], ["y"], "relu0")]),
    "nodes in a circle": lambda: model([node("Add", ["x", "b"], ["a"], "n1"), node("Relu", ["a"], ["b"], "n2"), node("Relu", ["b"], ["y"], "n3")]),
    "a result that is made twice": lambda: model([node("Relu", ["x"], ["y"], "a"), node("Abs", ["x"], ["y"], "b")]),
    "an output that nothing makes": lambda: model([node("Relu", ["x"], ["r"], "relu0")]),
    "a weight that is too short": lambda: edited(model([node("Conv", ["x", "w"], ["y"], "c1")], weights=[W]),
                                                 lambda made: setattr(made.graph.initializer[0], "raw_data", b"1234")),
    "a weight's file": external,
    "text in and out": lambda: model([node("Identity", ["x"], ["y"], "i")], [info("x", TensorProto.STRING, 3)], [info("y", TensorProto.STRING, 3)]),
    "an opset of the future": lambda: model([node("Relu", ["x"], ["y"], "a")], opset=99),
    "no opset": lambda: edited(model([node("Relu", ["x"], ["y"], "a")]), lambda made: made.ClearField("opset_import")),
    "half a file": lambda: model([node("Conv", ["x", "w"], ["y"], "c1")], weights=[W]).SerializeToString()[:200],
    "another file": lambda: b"hello\n",
    "an empty file": lambda: b"",
}


def said(folder, made):
    data = made if isinstance(made, bytes) else made.SerializeToString()
    (folder / "m.onnx").write_bytes(data)
    done = subprocess.run([RLX, "compile", "--no-cache", "m.onnx", "--output", "m.rlxb"], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def main():
    wanted = dict(part.split("\n", 1) for part in GOLDEN.read_text().split("#### ")[1:]) if GOLDEN.exists() else {}
    found, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for title, make in CASES.items():
            code, found[title] = said(pathlib.Path(folder), make())
            if code != 1 or "--update" not in sys.argv and found[title] != wanted.get(title):
                failed += 1
                print(f"FAIL {title}: {code}, says\n{found[title]}instead of\n{wanted.get(title)}")
    if "--update" in sys.argv:
        GOLDEN.write_text("".join(f"#### {title}\n{text}" for title, text in found.items()))
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
