"""One class per engine, all alike: Engine(model, threads, work) loads an .onnx file; prepare(arrays) binds inputs; run() runs once and
keeps the result; output() is the first output as numpy. A peer gets its recommended settings for latency on CPU, f32."""

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
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads,
                                  "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
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
    """Converted by pnnx, which fixes shapes and drops the batch axis; what it or ncnn refuses in a model is rewritten
    before, see adapted."""

    def __init__(self, model, threads, work):
        import ncnn
        base = os.path.join(work, "ncnn", os.path.splitext(os.path.basename(model))[0])
        os.makedirs(os.path.dirname(base), exist_ok=True)
        if not os.path.exists(base + ".ncnn.bin"):
            self.convert(model, base)
        self.ncnn, self.net, self.inputs = ncnn, ncnn.Net(), self.inputs_of(base + ".onnx")
        self.net.opt.num_threads = threads
        self.net.opt.use_vulkan_compute = False
        for precision in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
            setattr(self.net.opt, "use_" + precision, False)
        if self.net.load_param(base + ".ncnn.param") != 0 or self.net.load_model(base + ".ncnn.bin") != 0:
            raise RuntimeError("ncnn cannot load the converted model")

    @staticmethod
    def inputs_of(model):
        """Name, shape and whether it is an integer, of every input."""
        import onnx
        graph = onnx.load(model).graph
        constants = {value.name for value in graph.initializer}
        ports = [(value.name, value.type.tensor_type) for value in graph.input if value.name not in constants]
        return [(name, [dim.dim_value for dim in port.shape.dim], port.elem_type != onnx.TensorProto.FLOAT) for name, port in ports]

    @staticmethod
    def adapted(model, rows=64):
        """pnnx tries the model on made-up ids, which short tables refuse: they get more rows, which real ids never reach. ncnn has no
        cast: an input that is only cast to float becomes a float input."""
        from onnx import TensorProto, numpy_helper
        graph = model.graph
        tables = {node.input[0] for node in graph.node if node.op_type == "Gather"}
        for value in graph.initializer:
            if value.name in tables and len(value.dims) == 2 and value.dims[0] < rows:
                array = numpy_helper.to_array(value)
                value.CopyFrom(numpy_helper.from_array(numpy.pad(array, ((0, rows - len(array)), (0, 0))), value.name))
        for cast in [node for node in graph.node if node.op_type == "Cast" and node.attribute[0].i == TensorProto.FLOAT]:
            source = next((node for node in graph.node if cast.input[0] in node.output), None)
            name = cast.input[0] if source is None else source.input[0]
            users = [node for node in graph.node if name in node.input]
            port = next((value for value in graph.input if value.name == name), None)
            if port is None or len(users) != 1 or (source is not None and source.op_type != "Unsqueeze"):
                continue
            port.type.tensor_type.elem_type = TensorProto.FLOAT
            for node in graph.node:
                node.input[:] = [cast.input[0] if value == cast.output[0] else value for value in node.input]
            graph.node.remove(cast)
        return model

    @staticmethod
    def convert(model, base):
        import onnx
        onnx.save(Ncnn.adapted(onnx.load(model)), base + ".onnx") # pnnx writes beside its input
        shapes = ["[" + ",".join(map(str, shape)) + "]" + ("i64" if integer else "f32")
                  for _, shape, integer in Ncnn.inputs_of(base + ".onnx")]
        tool = shutil.which("pnnx", path=os.path.dirname(sys.executable)) or "pnnx"
        done = subprocess.run([tool, base + ".onnx", "inputshape=" + ",".join(shapes), "fp16=0"], capture_output=True, text=True,
                              cwd=os.path.dirname(base))
        if not os.path.exists(base + ".ncnn.bin"):
            raise RuntimeError("pnnx: " + (done.stderr.strip().splitlines() or ["no output"])[-1])

    def prepare(self, arrays):
        self.arrays = [numpy.array(arrays[name][0], dtype=numpy.int32 if integer else numpy.float32, order="C")
                       for name, _, integer in self.inputs]
        self.mats = [self.ncnn.Mat(array).clone() for array in self.arrays] # the clone too may point into the array, which must stay

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
