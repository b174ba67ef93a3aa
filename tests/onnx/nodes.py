"""The node tests that the onnx package ships, each compiled and run; expected outputs are the package's.

Out of scope, and skipped: sequence, optional, map, string, complex and sub-byte or float8 types, random operators, training. Everything else
passes, or stands in refused.txt: one "NAME  REASON" a line. That list is exact: what stands there must be refused cleanly.
"""
import os
import pathlib

import numpy
import onnx
import onnx.numpy_helper

import harness

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
# Tests whose expected output cannot be met to the usual 1e-3 relative, 1e-7 absolute: name prefix -> (relative, absolute or None, reason).
# None: only type and shape are compared.
LOOSE = {
    "test_qlinearmatmul_2D_int8_": (None, None, "the expected value wraps around (276 became 20) where the operator saturates"),
    "test_qlinearmatmul_3D_int8_": (None, None, "the expected value wraps around where the operator saturates"),
    "test_dft_inverse": (1e-3, 1e-6, "sums of a hundred terms near zero in single precision"),
}
TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}


def out_of_scope(model):
    graph = model.graph
    if any(opset.domain == "ai.onnx.preview.training" for opset in model.opset_import):
        return True
    if any(node.op_type in RANDOM for node in graph.node):
        return True
    for port in list(graph.input) + list(graph.output):
        if not port.type.HasField("tensor_type") or port.type.tensor_type.elem_type not in TYPES:
            return True
    for node in graph.node:
        for attr in node.attribute:
            if (attr.name == "to" and attr.i not in TYPES) or (attr.HasField("t") and attr.t.data_type not in TYPES):
                return True
    return any(init.data_type not in TYPES for init in graph.initializer)


def tensor_read(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(tensor)


def refused_read():
    lines = (harness.HERE / "refused.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def cases_read(tally, only):
    cases = []
    for folder in sorted(DATA.iterdir()):
        if only and only not in folder.name:
            continue
        model = onnx.load(folder / "model.onnx")
        if out_of_scope(model):
            tally.skipped += 1
            continue
        for data in sorted(folder.glob("test_data_set_*")):
            inputs = [tensor_read(data / f"input_{i}.pb") for i in range(len(list(data.glob("input_*.pb"))))]
            names = [port.name for port in model.graph.input][:len(inputs)]
            case = harness.Case(folder.name, folder / "model.onnx", dict(zip(names, inputs)), level=int(os.environ.get("RLX_LEVEL", 3)),
                                kernels=os.environ.get("RLX_KERNELS", "image"))
            case.expected = {port.name: tensor_read(data / f"output_{i}.pb") for i, port in enumerate(model.graph.output)}
            cases.append(case)
    return cases


def fault(case, refused):
    if case.result is None or case.result.startswith("crashed"):
        return case.result or "no answer"
    if case.name in refused:
        return None if case.result.startswith("refused") else "stands in refused.txt, but is accepted"
    if case.result != "ok":
        return case.result
    for name, want in case.expected.items():
        if name not in case.outputs:
            return f"no output '{name}'"
        rtol, atol, _ = next((rule for prefix, rule in LOOSE.items() if case.name.startswith(prefix)), (1e-3, 1e-7, ""))
        text = harness.difference(case.outputs[name], want, rtol, atol)
        if text is not None:
            return f"output '{name}': {text}"
    return None


def main(only=None):
    tally = harness.Tally("onnx node tests")
    refused = refused_read()
    cases = cases_read(tally, only)
    harness.run(cases)
    for case in cases:
        tally.add(case.name, fault(case, refused))
    for name in sorted(set(refused) - {case.name for case in cases} if not only else []):
        tally.add(name, "stands in refused.txt, but is no test in scope")
    return tally.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv[1] if len(sys.argv) > 1 else None)
