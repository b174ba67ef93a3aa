"""int8 against f32: networks quantised by onnxruntime.quantization (static, QDQ, per channel, calibrated on four inputs), then timed and compared.

For every network: f32 without Winograd, int8 with full 8-bit weights, int8 with 7-bit weights (reduce_range); RLX on this machine's best
code and, with --isa, on another (RLX_ISA); ONNX Runtime and OpenVINO on the same files. Engines take turns, round by round; the median
over the rounds counts. Accuracy: signal to quantisation noise and agreement of argmax with f32, over a few inputs.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

OPSET = 17      # the first with everything that per-channel QDQ needs is 13
CALIBRATION = 4
FORMS = {"int8": False, "int8, 7-bit weights": True}


class Samples(CalibrationDataReader):
    """Normal numbers of a fixed seed, as bench/models.py feeds its networks."""

    def __init__(self, name, shape):
        self.name, self.shape, self.left, self.random = name, shape, CALIBRATION, numpy.random.default_rng(1)

    def get_next(self):
        self.left -= 1
        return {self.name: self.random.standard_normal(self.shape, dtype=numpy.float32)} if self.left >= 0 else None


def quantise(work, name):
    """Paths of the prepared f32 model and of its int8 forms; made once."""
    base = os.path.join(work, f"{name}.quant")
    paths = {"f32": f"{base}.f32.onnx", **{form: f"{base}.{index}.onnx" for index, form in enumerate(FORMS)}}
    if not os.path.exists(paths["f32"]):
        model = onnx.load(os.path.join(work, f"{name}.onnx"))
        if model.opset_import[0].version < OPSET:
            model = version_converter.convert_version(model, OPSET)
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, os.path.join(folder, "in.onnx"))
            quant_pre_process(os.path.join(folder, "in.onnx"), paths["f32"], skip_symbolic_shape=True)
    source = onnx.load(paths["f32"], load_external_data=False).graph.input[0]
    shape = [dim.dim_value or 1 for dim in source.type.tensor_type.shape.dim]
    for form, reduce_range in FORMS.items():
        if not os.path.exists(paths[form]):
            quantize_static(paths["f32"], paths[form], Samples(source.name, shape), quant_format=QuantFormat.QDQ, per_channel=True,
                            reduce_range=reduce_range, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return paths, source.name, shape


class Rlx:
    def __init__(self, options, model, isa):
        self.tool, self.threads = options.rlx, options.threads
        self.bundle = f"{model}.rlxb"
        self.environment = {**os.environ, **({"RLX_ISA": isa} if isa else {})}
        subprocess.run([self.tool, "compile", model, "--accuracy", "direct", "--output", self.bundle],
                       stdout=subprocess.DEVNULL, check=True)

    def time(self, seconds):
        done = subprocess.run([self.tool, "bench", self.bundle, "--threads", str(self.threads), "--duration", str(max(1, round(seconds)))],
                              env=self.environment, capture_output=True, text=True, check=True)
        return float(re.search(r"p50 ([0-9.]+)", done.stdout).group(1))

    def infer(self, feed):
        with tempfile.TemporaryDirectory() as folder:
            numpy.savez(f"{folder}/in.npz", **feed)
            subprocess.run([self.tool, "infer", self.bundle, "--input", f"{folder}/in.npz", "--output", f"{folder}/out.npz", "--quiet"],
                           env=self.environment, check=True)
            archive = numpy.load(f"{folder}/out.npz")
            return archive[archive.files[0]]


class Timed:
    """An engine of this process."""

    def time(self, seconds):
        self.run()
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            begin = time.perf_counter()
            self.run()
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times)


class OnnxRuntime(Timed):
    def __init__(self, options, model, feed):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        self.run = lambda: session.run(None, feed)


class OpenVino(Timed):
    def __init__(self, options, model, feed):
        import openvino

        core = openvino.Core()
        compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": options.threads,
                                                     "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        tensors = {key: openvino.Tensor(value) for key, value in feed.items()}
        self.run = lambda: request.infer(tensors, share_inputs=True)


def noise(reference, value):
    """Signal to noise, dB."""
    return 10 * numpy.log10(numpy.square(reference).sum() / max(numpy.square(reference - value).sum(), 1e-30))


def accuracy(options, paths, name, shape):
    random, engines = numpy.random.default_rng(7), {form: Rlx(options, path, None) for form, path in paths.items()}
    rows = {form: [] for form in FORMS}
    for _ in range(options.inputs):
        feed = {name: random.standard_normal(shape, dtype=numpy.float32)}
        results = {form: engine.infer(feed) for form, engine in engines.items()}
        for form, row in rows.items():
            row.append((noise(results["f32"], results[form]), results["f32"].argmax() == results[form].argmax()))
    for form, row in rows.items():
        print(f"{form}: {statistics.median(r[0] for r in row):.1f} dB to f32, argmax equal {sum(r[1] for r in row)} of {len(row)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True)
    parser.add_argument("--work", required=True, help="has NAME.onnx of bench/models.py")
    parser.add_argument("--models", default="resnet50,mobilenet_v2")
    parser.add_argument("--isa", help="a further column of RLX under RLX_ISA, such as x86-64-v3")
    parser.add_argument("--peers", default="ort,openvino")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of every engine and round")
    parser.add_argument("--inputs", type=int, default=8, help="for accuracy; 0: none")
    options = parser.parse_args()
    for model in options.models.split(","):
        paths, name, shape = quantise(options.work, model)
        feed = {name: numpy.random.default_rng(3).standard_normal(shape, dtype=numpy.float32)}
        columns = {"RLX": lambda path: Rlx(options, path, None)}
        if options.isa:
            columns[f"RLX {options.isa}"] = lambda path: Rlx(options, path, options.isa)
        if "ort" in options.peers:
            columns["ONNX Runtime"] = lambda path: OnnxRuntime(options, path, feed)
        if "openvino" in options.peers:
            columns["OpenVINO"] = lambda path: OpenVino(options, path, feed)
        engines = {(form, column): make(path) for form, path in paths.items() for column, make in columns.items()}
        times = {key: [] for key in engines}
        for _ in range(options.rounds):
            for key, engine in engines.items():
                times[key].append(engine.time(options.seconds))
        print(f"\n{model}, {options.threads} thread(s), median ms of {options.rounds} rounds\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for form in paths:
            print(f"| {form} | {' | '.join(f'{statistics.median(times[form, column]):.2f}' for column in columns)} |")
        if options.inputs:
            accuracy(options, paths, name, shape)


if __name__ == "__main__":
    main()
