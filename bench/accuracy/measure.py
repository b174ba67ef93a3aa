"""How far the end of a network is from float64: RLX with each --accuracy beside ONNX Runtime, optimised and not.

A network is compared where its rounding has accumulated, before a last softmax, on the inputs of bench/models.py. Errors are relative to the
RMS of the exact values: mean, and the largest. Needs numpy, onnx and onnxruntime."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import float64  # noqa: E402
import models  # noqa: E402


def before_softmax(model):
    """The model with its last softmax cut off."""
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        model.graph.node.remove(last)
        output = onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None)
        del model.graph.output[:]
        model.graph.output.append(output)
    return model


def rlx_output(arguments, folder, path, arrays, accuracy):
    bundle, inputs, output = folder / "net.rlxb", folder / "in.npz", folder / "out.npz"
    numpy.savez(inputs, **arrays)
    subprocess.run([arguments.rlx, "compile", "--model", path, "--accuracy", accuracy, "--output", bundle], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([arguments.rlx, "infer", bundle, "--input", inputs, "--output", output], check=True, stdout=subprocess.DEVNULL)
    with numpy.load(output) as out:
        return out[out.files[0]]


def ort_output(path, arrays, optimised):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, arrays)[0]


def measure(arguments, name, folder):
    path, model = folder / f"{name}.onnx", before_softmax(models.build(name))
    arrays = models.inputs_for(model, {})
    onnx.save(model, path)
    exact = float64.evaluate(model, arrays)[model.graph.output[0].name]
    rms = numpy.sqrt(numpy.mean(exact ** 2))
    rows = [(f"RLX, --accuracy {accuracy}", rlx_output(arguments, folder, path, arrays, accuracy))
            for accuracy in ("default", "careful", "direct")]
    rows += [("ONNX Runtime", ort_output(path, arrays, True)), ("ONNX Runtime, no optimiser", ort_output(path, arrays, False))]
    for engine, got in rows:
        error = numpy.abs(got.astype(numpy.float64) - exact) / rms
        print(f"| {name} | {engine} | {error.mean():.2e} | {error.max():.2e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True, help="the rlx tool")
    parser.add_argument("--models", default="resnet50,resnet18,vgg19,squeezenet", help="comma-separated, of bench/models.py (%(default)s)")
    arguments = parser.parse_args()
    print("| network | engine | mean error | largest |\n|---|---|---|---|")
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            measure(arguments, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
