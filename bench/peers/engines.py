"""One class per engine, all alike: Engine(model, threads, work) loads an .onnx file; prepare(arrays) binds inputs; run() runs once and keeps the
result; output() is the first output as numpy. A peer gets its recommended settings for latency on CPU, f32."""

import os
import shutil
import subprocess
import sys

import numpy


class OnnxRuntime:
    def __init__(self, model, threads, work):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def prepare(self, arrays):
        self.arrays = {value.name: arrays[value.name] for value in self.session.get_inputs()}

    def run(self):
        self.result = self.session.run(None, self.arrays)

    def output(self):
        return self.result[0]


class OpenVino:
    def __init__(self, model, threads, work):
        import openvino
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        self.compiled = core.compile_model(core.read_model(model), "CPU")
        self.request = self.compiled.create_infer_request()

    def prepare(self, arrays):
        import openvino
        for port in self.compiled.inputs:
            self.request.set_tensor(port, openvino.Tensor(numpy.ascontiguousarray(arrays[port.get_any_name()])))

    def run(self):
        self.request.infer()

    def output(self):
        return numpy.array(self.request.get_output_tensor(0).data)


class Ncnn:
    """Converted by pnnx, which fixes shapes and drops the batch axis."""

    def __init__(self, model, threads, work):
        import ncnn
        base = os.path.join(work, os.path.splitext(os.path.basename(model))[0])
        if not os.path.exists(base + ".ncnn.bin"):
            self.convert(model, base)
        self.ncnn, self.net = ncnn, ncnn.Net()
        self.net.opt.num_threads = threads
        self.net.opt.use_vulkan_compute = False
        for precision in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
            setattr(self.net.opt, "use_" + precision, False)
        if self.net.load_param(base + ".ncnn.param") != 0 or self.net.load_model(base + ".ncnn.bin") != 0:
            raise RuntimeError("ncnn cannot load the converted model")
        self.names = self.inputs_of(model)

    @staticmethod
    def inputs_of(model):
        import onnx
        graph = onnx.load(model, load_external_data=False).graph
        constants = {value.name for value in graph.initializer}
        return [value.name for value in graph.input if value.name not in constants]

    @staticmethod
    def convert(model, base):
        import onnx
        shapes = []
        graph = onnx.load(model, load_external_data=False).graph
        for name in Ncnn.inputs_of(model):
            tensor = next(value for value in graph.input if value.name == name).type.tensor_type
            shape = ",".join(str(dim.dim_value) for dim in tensor.shape.dim)
            shapes.append(f"[{shape}]" + ("i64" if tensor.elem_type == onnx.TensorProto.INT64 else "f32"))
        tool = shutil.which("pnnx", path=os.path.dirname(sys.executable)) or "pnnx"
        copy = base + ".onnx" # pnnx writes beside its input
        shutil.copyfile(model, copy)
        done = subprocess.run([tool, copy, "inputshape=" + ",".join(shapes), "fp16=0"], capture_output=True, text=True, cwd=os.path.dirname(base))
        if not os.path.exists(base + ".ncnn.bin"):
            raise RuntimeError("pnnx: " + (done.stderr.strip().splitlines() or ["no output"])[-1])

    def prepare(self, arrays):
        self.mats = []
        for name in self.names:
            array = arrays[name][0]
            self.mats.append(self.ncnn.Mat(numpy.ascontiguousarray(array.astype(numpy.int32) if array.dtype == numpy.int64 else array)).clone())

    def run(self):
        extractor = self.net.create_extractor()
        for index, mat in enumerate(self.mats):
            extractor.input(f"in{index}", mat)
        status, self.result = extractor.extract("out0")
        if status != 0:
            raise RuntimeError(f"ncnn: extract gives {status}")

    def output(self):
        return numpy.array(self.result)


ALL = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ncnn": Ncnn}
