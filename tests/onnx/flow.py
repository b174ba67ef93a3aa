"""Control flow and extents that depend on data: small models, each run at sizes and with data that take every path, compared with ONNX Runtime,
and bit for bit with the reference kernels, with 1, 2 and 3 threads and at optimisation levels 1 and 3.

A model is made by a function of this file named after its property; it gives the graph and the inputs of each run.
"""
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import harness

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MODELS = []


def model(make):
    MODELS.append(make)
    return make


def port(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def node(op, inputs, outputs, **attrs):
    """Names apart by spaces; - is an absent operand."""
    return helper.make_node(op, ["" if name == "-" else name for name in inputs.split()], outputs.split(), **attrs)


def body(name, nodes, inputs, outputs, inits=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(inits))


def graph(nodes, inputs, outputs, inits=()):
    made = helper.make_model(helper.make_graph(nodes, "flow", inputs, outputs, list(inits)), opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 9
    return made


def floats(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def loop_ports():
    return [port("i", INT64, []), port("c", BOOL, [])]


@model
def an_if_runs_one_branch_and_both_capture():
    then = body("then", [node("MatMul", "x w", "t")], [], [port("t", FLOAT, None)])
    other = body("else", [node("Sub", "x s", "e0"), node("MatMul", "e0 w", "e")], [], [port("e", FLOAT, None)])
    made = graph([node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "cond"), node("Mul", "x two", "s"),
                  node("If", "cond", "y", then_branch=then, else_branch=other), node("Relu", "y", "z")],
                 [port("x", FLOAT, ["n", 8])], [port("z", FLOAT, ["n", 8])],
                 [const("w", floats(8, 8, seed=5)), const("zero", np.float32(0)), const("two", np.float32(2))])
    return made, [{"x": np.abs(floats(3, 8))}, {"x": -np.abs(floats(5, 8))}, {"x": np.abs(floats(1, 8))}]


@model
def branches_may_differ_in_extents():
    then = body("then", [node("Concat", "x x", "t", axis=0)], [], [port("t", FLOAT, None)])
    other = body("else", [node("Slice", "x starts ends", "e")], [], [port("e", FLOAT, None)])
    made = graph([node("If", "cond", "y", then_branch=then, else_branch=other), node("Exp", "y", "z"), node("Shape", "z", "s")],
                 [port("x", FLOAT, ["n", 4]), port("cond", BOOL, [])], [port("z", FLOAT, None), port("s", INT64, None)],
                 [const("starts", np.array([1])), const("ends", np.array([3]))])
    return made, [{"x": floats(n, 4), "cond": np.array(c)} for n in (2, 5) for c in (True, False)]


@model
def a_loop_nests_in_an_if_and_an_if_in_the_loop():
    odd = body("odd", [node("Add", "v one", "o")], [], [port("o", FLOAT, None)])
    even = body("even", [node("Mul", "v x", "m")], [], [port("m", FLOAT, None)])
    steps = body("steps", [node("Mod", "i two_i", "r"), node("Cast", "r", "is_odd", to=BOOL), node("Identity", "c", "c2"),
                           node("If", "is_odd", "next", then_branch=odd, else_branch=even)],
                 loop_ports() + [port("v", FLOAT, None)], [port("c2", BOOL, []), port("next", FLOAT, None)])
    then = body("then", [node("Loop", "trips - x", "t", body=steps)], [], [port("t", FLOAT, None)])
    other = body("else", [node("Neg", "x", "e")], [], [port("e", FLOAT, None)])
    made = graph([node("If", "cond", "y", then_branch=then, else_branch=other)],
                 [port("x", FLOAT, ["n"]), port("cond", BOOL, []), port("trips", INT64, [])], [port("y", FLOAT, ["n"])],
                 [const("one", np.float32(1)), const("two_i", np.int64(2))])
    return made, [{"x": floats(n), "cond": np.array(c), "trips": np.array(t)} for n, c, t in ((3, True, 5), (7, True, 0), (4, False, 3))]


def counted_loop(nodes, outputs, inits=(), results="y s"):
    inner = body("inner", [node("Identity", "c", "c2")] + nodes, loop_ports() + [port("v", FLOAT, None)],
                 [port("c2", BOOL, [])] + [port(name, FLOAT, None) for name in outputs.split()])
    looped = node("Loop", "trips cond x", results, body=inner)
    return graph([looped], [port("x", FLOAT, ["n", 3]), port("trips", INT64, []), port("cond", BOOL, [])],
                 [port(name, FLOAT, None) for name in results.split()], list(inits))


@model
def a_part_of_a_concatenation_may_depend_on_extents_of_data():
    nodes = [node("Relu", "x", "a"), node("Cast", "w", "times", to=INT64), node("Concat", "times one", "repeats", axis=0),
             node("Tile", "y repeats", "t"), node("ReduceMax", "t zero", "b", keepdims=1), node("Concat", "a b", "c", axis=0), node("Neg", "c", "z")]
    made = graph(nodes, [port("x", FLOAT, ["n", 4]), port("y", FLOAT, [2, 4]), port("w", FLOAT, [1])], [port("z", FLOAT, None)],
                 [const("one", np.array([1])), const("zero", np.array([0]))])
    return made, [{"x": floats(n, 4), "y": floats(2, 4, seed=2), "w": np.float32([w])} for n, w in ((3, 2.5), (1, 1), (6, 4))]


@model
def a_loop_carries_and_appends_for_any_trip_count_and_condition():
    made = counted_loop([node("Tanh", "v", "t"), node("Add", "t w", "next"), node("Sub", "next t", "one")], "next one",
                        [const("w", floats(3, seed=9))])
    return made, [{"x": floats(n, 3), "trips": np.array(t), "cond": np.array(c)}
                  for n, t, c in ((2, 4, True), (2, 0, True), (4, 9, True), (3, 5, False), (1, -3, True))]


@model
def a_carried_value_may_grow():
    made = counted_loop([node("Concat", "v v", "next", axis=0), node("ReduceSum", "next axis", "one", keepdims=0)], "next one",
                        [const("axis", np.array([0]))])
    return made, [{"x": floats(n, 3), "trips": np.array(t), "cond": np.array(True)} for n, t in ((1, 5), (2, 3), (3, 0), (1, 5))]


@model
def a_loop_ends_by_its_own_condition():
    inner = body("inner", [node("Mul", "v half", "next"), node("ReduceMax", "next", "most", keepdims=0), node("Greater", "most limit", "c2")],
                 loop_ports() + [port("v", FLOAT, None)], [port("c2", BOOL, []), port("next", FLOAT, None), port("most", FLOAT, None)])
    made = graph([node("Loop", "- yes x", "y s", body=inner)], [port("x", FLOAT, ["n"])], [port("y", FLOAT, ["n"]), port("s", FLOAT, None)],
                 [const("half", np.float32(0.5)), const("limit", np.float32(0.01)), const("yes", np.array(True))])
    return made, [{"x": np.abs(floats(n)) + 1} for n in (3, 100)]


@model
def an_iteration_reads_its_slice():
    inner = body("inner", [node("Identity", "c", "c2"), node("Gather", "x i", "row", axis=0), node("Add", "i one", "j"),
                           node("Unsqueeze", "i axis", "from"), node("Unsqueeze", "j axis", "to"), node("Slice", "x from to", "part"),
                           node("ReduceSum", "part axis", "flat", keepdims=0), node("Add", "row flat", "both"), node("Add", "v both", "next")],
                 loop_ports() + [port("v", FLOAT, None)], [port("c2", BOOL, []), port("next", FLOAT, None), port("both", FLOAT, None)])
    looped = node("Loop", "n - start", "y s", body=inner)
    made = graph([node("Shape", "x", "dims"), node("Gather", "dims zero", "n", axis=0), looped], [port("x", FLOAT, ["n", 6])],
                 [port("y", FLOAT, [6]), port("s", FLOAT, ["n", 6])],
                 [const("one", np.int64(1)), const("axis", np.array([0])), const("zero", np.int64(0)), const("start", floats(6, seed=4))])
    return made, [{"x": floats(n, 6)} for n in (1, 4, 0, 7)]


def scan_model(**attrs):
    inner = body("inner", [node("Add", "h a", "sum"), node("Tanh", "sum", "h2"), node("Mul", "h2 b", "o")],
                 [port("h", FLOAT, None), port("a", FLOAT, None), port("b", FLOAT, None)], [port("h2", FLOAT, None), port("o", FLOAT, None)])
    return node("Scan", "h0 x z", "h y", body=inner, num_scan_inputs=2, **attrs)


@model
def a_scan_runs_over_the_first_axis():
    made = graph([scan_model()], [port("h0", FLOAT, [3]), port("x", FLOAT, ["t", 3]), port("z", FLOAT, ["t", 3])],
                 [port("h", FLOAT, [3]), port("y", FLOAT, ["t", 3])])
    return made, [{"h0": floats(3), "x": floats(t, 3, seed=2), "z": floats(t, 3, seed=3)} for t in (1, 6, 3)]


@model
def a_scan_runs_in_either_direction_over_any_axis():
    made = graph([scan_model(scan_input_axes=[1, -1], scan_input_directions=[1, 0], scan_output_axes=[1], scan_output_directions=[1])],
                 [port("h0", FLOAT, [3]), port("x", FLOAT, [3, "t"]), port("z", FLOAT, [3, "t"])],
                 [port("h", FLOAT, [3]), port("y", FLOAT, [3, "t"])])
    return made, [{"h0": floats(3), "x": floats(3, t, seed=2), "z": floats(3, t, seed=3)} for t in (5, 1, 2)]


@model
def found_elements_decide_extents():
    made = graph([node("Greater", "x zero", "mask"), node("NonZero", "mask", "where"), node("Transpose", "where", "rows"),
                  node("GatherND", "x rows", "picked"), node("ReduceSum", "picked", "sum", keepdims=0), node("Compress", "x keep", "kept", axis=0),
                  node("MatMul", "kept w", "product")],
                 [port("x", FLOAT, ["n", 4]), port("keep", BOOL, ["n"])],
                 [port("where", INT64, None), port("picked", FLOAT, None), port("sum", FLOAT, []), port("product", FLOAT, None)],
                 [const("zero", np.float32(0)), const("w", floats(4, 5, seed=8))])
    return made, [{"x": floats(n, 4, seed=n), "keep": floats(n, seed=n + 1) > limit} for n, limit in ((3, 0), (8, -9), (8, 9), (1, 0))]


@model
def unique_values_decide_extents():
    made = graph([node("Unique", "x", "values first inverse counts", sorted=0), node("Shape", "values", "n"), node("Tile", "row n", "tiled")],
                 [port("x", INT64, ["n"])], [port(name, INT64, None) for name in ("values", "first", "inverse", "counts")] +
                 [port("tiled", FLOAT, None)], [const("row", floats(3))])
    return made, [{"x": np.random.default_rng(n).integers(0, 4, n)} for n in (1, 9, 30)]


@model
def computed_operands_decide_extents():
    made = graph([node("ReduceMax", "k", "most", keepdims=0), node("Range", "zero most one", "range"), node("Unsqueeze", "most axis", "most1"),
                  node("Concat", "most1 four", "shape", axis=0), node("ConstantOfShape", "shape", "blank"), node("Expand", "row shape", "wide"),
                  node("Add", "blank wide", "sum"), node("Slice", "sum axis most1", "part"), node("Concat", "four minus", "back", axis=0),
                  node("Reshape", "part back", "turned")],
                 [port("k", INT64, ["n"])], [port("range", INT64, None), port("sum", FLOAT, None), port("turned", FLOAT, None)],
                 [const("zero", np.int64(0)), const("one", np.int64(1)), const("axis", np.array([0])), const("four", np.array([4])),
                  const("minus", np.array([-1])), const("row", floats(4))])
    return made, [{"k": np.array(k)} for k in ([1, 5, 2], [7], [3, 3])]


def cases_make(folder):
    """Per run: the model's cases, the first of which is compared with ONNX Runtime and all others with the first."""
    for make in MODELS:
        made, runs = make()
        path = folder / f"{make.__name__}.onnx"
        onnx.save(made, path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        runtime = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for number, inputs in enumerate(runs):
            name = f"{make.__name__} {number}"
            variants = [(3, "image", 2), (3, "image", 1), (3, "image", 3), (3, "reference", 1), (1, "image", 2), (1, "reference", 1)]
            cases = [harness.Case(name, path, inputs, level=level, kernels=kernels, threads=threads) for level, kernels, threads in variants]
            cases[0].expected = dict(zip([out.name for out in runtime.get_outputs()], runtime.run(None, inputs)))
            yield cases


def fault(cases):
    for case in cases:
        if case.result != "ok":
            return case.result
    for name, want in cases[0].expected.items():
        if want.shape == (0,) and cases[0].outputs[name].shape[:1] == (0,):
            want = want.reshape(cases[0].outputs[name].shape)  # what was never appended has no other extents for ONNX Runtime
        text = harness.difference(cases[0].outputs[name], want, 1e-4, 1e-6)
        if text is not None:
            return f"output '{name}': {text}"
        for case in cases[1:]:
            if case.outputs[name].tobytes() != cases[0].outputs[name].tobytes():
                return f"output '{name}' has other bits at level {case.level}, {case.kernels} kernels, {case.threads} threads"
    return None


def main(only=None):
    tally = harness.Tally("onnx control flow")
    with tempfile.TemporaryDirectory() as folder:
        groups = [cases for cases in cases_make(pathlib.Path(folder)) if not only or only in cases[0].name]
        harness.run([case for cases in groups for case in cases])
    for cases in groups:
        tally.add(cases[0].name, fault(cases))
    return tally.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv[1] if len(sys.argv) > 1 else None)
