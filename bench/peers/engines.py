"""One class per engine, all alike: Engine(base, threads, work) loads BASE.onnx, converted on first use into the folder WORK/engine;
prepare(arrays) binds inputs; run() runs once and keeps the result; output() is the output that BASE.json names, as numpy. A peer gets its
recommended settings for latency on CPU, f32. What a converter says stays in WORK/engine/NAME.log."""

import json
import os
import shutil
import subprocess
import sys

import numpy


class Engine:
    def __init__(self, base, threads, work):
        self.model, self.threads = base + ".onnx", threads
        with open(base + ".json") as file:
            outline = json.load(file)
        self.inputs, self.index = outline["inputs"], outline["index"]
        folder = os.path.join(work, type(self).__name__.lower())
        self.converted = os.path.join(folder, os.path.basename(base))
        os.makedirs(folder, exist_ok=True)
        self.load()

    def outputs(self):
        """The names of all outputs: an engine that computes what is asked for, and no more, is asked for every one."""
        import onnx
        return [value.name for value in onnx.load(self.model, load_external_data=False).graph.output]

    def tool(self, path, *words, limit=900):
        """Runs a converter, unless its output `path` is there already. Raises with the last line of its complaint."""
        if os.path.exists(path):
            return
        log = self.converted + ".log"
        if os.path.exists(log + ".failed"):
            raise RuntimeError(open(log + ".failed").read())
        command = [shutil.which(words[0], path=os.path.dirname(sys.executable)) or words[0], *words[1:]]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  cwd=os.path.dirname(self.converted), timeout=limit)
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as expired:
            output, status = f"{expired.stdout or ''}\nno result after {limit} s", 1
        with open(log, "a") as file:
            file.write(output)
        if status != 0 or not os.path.exists(path):
            lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no output"]
            wrong = [line for line in lines if "error" in line.lower() or "no result" in line or "not support" in line.lower()]
            reason = f"{words[0]}: {(wrong or lines[::-1])[0][-160:]}"
            with open(log + ".failed", "w") as file:
                file.write(reason)
            raise RuntimeError(reason)


class OnnxRuntime(Engine):
    level = "ORT_ENABLE_ALL"

    def load(self):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, self.level)
        self.session = onnxruntime.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])

    def prepare(self, arrays):
        self.arrays = {value.name: arrays[value.name] for value in self.session.get_inputs()}

    def run(self):
        self.result = self.session.run(None, self.arrays)

    def output(self):
        return self.result[self.index]


class Reference(OnnxRuntime):
    """ONNX Runtime without its optimiser: what the results are held against."""
    level = "ORT_DISABLE_ALL"


class OpenVino(Engine):
    def load(self):
        import openvino
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": self.threads,
                                  "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        self.compiled = core.compile_model(core.read_model(self.model), "CPU")
        self.request = self.compiled.create_infer_request()

    def prepare(self, arrays):
        import openvino
        for port in self.compiled.inputs:
            self.request.set_tensor(port, openvino.Tensor(numpy.ascontiguousarray(arrays[port.get_any_name()])))

    def run(self):
        self.request.infer()

    def output(self):
        return numpy.array(self.request.get_output_tensor(self.index).data)


class Mnn(Engine):
    def load(self):
        import MNN
        path = self.converted + ".mnn"
        self.tool(path, "mnnconvert", "-f", "ONNX", "--modelFile", self.model, "--MNNModel", path, "--bizCode", "bench")
        self.expr = MNN.expr
        self.manager = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": self.threads},))
        self.net = MNN.nn.load_module_from_file(path, [name for name, _, _ in self.inputs], self.outputs(), runtime_manager=self.manager)

    def prepare(self, arrays):
        self.variables = []
        for name, _, _ in self.inputs:
            integer = arrays[name].dtype.kind != "f"
            variable = self.expr.placeholder(list(arrays[name].shape), self.expr.NCHW, self.expr.int if integer else self.expr.float)
            variable.write(numpy.array(arrays[name], dtype=numpy.int32 if integer else numpy.float32, order="C"))
            self.variables.append(variable)

    def run(self):
        result = self.net.forward(self.variables)
        self.results = [value.read() for value in (result if isinstance(result, (list, tuple)) else [result])]

    def output(self):
        return numpy.array(self.results[self.index])


class Iree(Engine):
    """llvm-cpu for the CPU it compiles on; a convolution as it comes. IreeIm2col turns convolutions into products first."""
    options = []

    def load(self):
        from iree import runtime
        middle, path = self.converted + ".mlir", self.converted + ".vmfb"
        if not os.path.exists(path):
            self.tool(middle, "iree-import-onnx", self.model, "--opset-version", "17", "-o", middle)
            self.tool(path, "iree-compile", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                      "--iree-llvmcpu-target-cpu=host", *self.options, middle, "-o", path)
            os.remove(middle)
        runtime.flags.parse_flags(f"--task_topology_group_count={self.threads}")
        config = runtime.Config("local-sync" if self.threads == 1 else "local-task")
        module = runtime.VmModule.mmap(config.vm_instance, path)
        bound = runtime.load_vm_module(module, config)
        self.runtime, self.device = runtime, config.device
        self.function = bound[next(name for name in module.function_names if not name.startswith("__") and not name.endswith("$async"))]

    def prepare(self, arrays):
        self.arrays = [self.runtime.asdevicearray(self.device, numpy.ascontiguousarray(arrays[name])) for name, _, _ in self.inputs]

    def run(self):
        result = self.function(*self.arrays)
        self.results = [value.to_host() for value in (result if isinstance(result, (list, tuple)) else [result])]

    def output(self):
        return numpy.array(self.results[self.index])


class IreeIm2col(Iree):
    options = ["--iree-global-opt-use-im2col-for-convs"]


class Ncnn(Engine):
    """Converted by pnnx, which fixes shapes and drops the batch axis; what it or ncnn refuses in a model is rewritten
    before, see adapted."""

    def load(self):
        import ncnn
        base = self.converted
        if not os.path.exists(base + ".ncnn.bin"):
            self.convert()
        self.ncnn, self.net = ncnn, ncnn.Net()
        self.net.opt.num_threads = self.threads
        self.net.opt.use_vulkan_compute = False
        for precision in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
            setattr(self.net.opt, "use_" + precision, False)
        if self.net.load_param(base + ".ncnn.param") != 0 or self.net.load_model(base + ".ncnn.bin") != 0:
            raise RuntimeError("ncnn cannot load the converted model")
        self.names = [f"out{index}" for index in range(len(self.outputs()))]

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

    def convert(self):
        import onnx
        base, model = self.converted, Ncnn.adapted(onnx.load(self.model))
        onnx.save(model, base + ".onnx") # pnnx writes beside its input
        stored = {value.name for value in model.graph.initializer}
        ports = {value.name: value.type.tensor_type.elem_type for value in model.graph.input if value.name not in stored}
        integers = {name: kind != onnx.TensorProto.FLOAT for name, kind in ports.items()}
        with open(base + ".inputs.json", "w") as file:
            json.dump(integers, file)
        shapes = ["[" + ",".join(map(str, shape)) + "]" + ("i64" if integers[name] else "f32") for name, shape, _ in self.inputs]
        self.tool(base + ".ncnn.bin", "pnnx", base + ".onnx", "inputshape=" + ",".join(shapes), "fp16=0")
        for end in (".onnx", ".pnnx.onnx", ".pnnx.bin"):
            if os.path.exists(base + end):
                os.remove(base + end)

    def prepare(self, arrays):
        if any(array.shape[:1] != (1,) for array in arrays.values()):
            raise RuntimeError("the batch axis that pnnx drops is not 1")
        with open(self.converted + ".inputs.json") as file:
            integers = json.load(file)
        self.arrays = [numpy.array(arrays[name][0], dtype=numpy.int32 if integer else numpy.float32, order="C") for name, integer in integers.items()]
        self.mats = [self.ncnn.Mat(array).clone() for array in self.arrays] # the clone too may point into the array, which must stay

    def run(self):
        extractor = self.net.create_extractor()
        for index, mat in enumerate(self.mats):
            extractor.input(f"in{index}", mat)
        self.results = []
        for name in self.names:
            status, result = extractor.extract(name)
            if status != 0:
                raise RuntimeError(f"ncnn: extract of {name} gives {status}")
            self.results.append(result)

    def output(self):
        return numpy.array(self.results[self.index])


ALL = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "mnn": Mnn, "ncnn": Ncnn, "iree": Iree, "iree_im2col": IreeIm2col,
       "reference": Reference}
