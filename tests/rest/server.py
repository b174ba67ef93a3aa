"""A running rlxd with small models, and clients of it that keep to the bare protocol."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

RLX = os.environ["RLX"]
RLXD = os.environ.get("RLXD") or str(pathlib.Path(os.environ["RLX_BUILD"]) / "daemon/rlxd")

TYPES = {
    "FP32": (TensorProto.FLOAT, numpy.float32), "FP64": (TensorProto.DOUBLE, numpy.float64), "FP16": (TensorProto.FLOAT16, numpy.float16),
    "INT8": (TensorProto.INT8, numpy.int8), "INT16": (TensorProto.INT16, numpy.int16), "INT32": (TensorProto.INT32, numpy.int32),
    "INT64": (TensorProto.INT64, numpy.int64), "UINT8": (TensorProto.UINT8, numpy.uint8), "UINT16": (TensorProto.UINT16, numpy.uint16),
    "UINT32": (TensorProto.UINT32, numpy.uint32), "UINT64": (TensorProto.UINT64, numpy.uint64), "BOOL": (TensorProto.BOOL, numpy.bool_),
    "BF16": (TensorProto.BFLOAT16, None),
}


def model_make(name, nodes, inputs, outputs, constants=()):
    ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, name, *ports, [numpy_helper.from_array(value, key) for key, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def models():
    """name -> (model, further words of `rlx compile`)"""
    node, kind = helper.make_node, TensorProto.FLOAT
    found = {f"id_{name.lower()}": (model_make("id", [node("Identity", ["x"], ["y"])], [("x", number, ["n", 3])], [("y", number, ["n", 3])]), ())
             for name, (number, _) in TYPES.items()}
    found["add"] = (model_make("add", [node("Add", ["a", "b"], ["sum"]), node("Sub", ["a", "b"], ["diff"])],
                               [("a", kind, [2, 3]), ("b", kind, [2, 3])], [("sum", kind, [2, 3]), ("diff", kind, [2, 3])]), ())
    found["line"] = (model_make("line", [node("Identity", ["x"], ["y"])], [("x", kind, ["n"])], [("y", kind, ["n"])]), ())
    found["bounded"] = (model_make("bounded", [node("Identity", ["x"], ["y"])], [("x", kind, ["n"])], [("y", kind, ["n"])]), ("--max", "n=4"))
    found["divide"] = (model_make("divide", [node("Div", ["a", "b"], ["q"])], [("a", kind, [3]), ("b", kind, [3])], [("q", kind, [3])]), ())
    weights = numpy.random.default_rng(1).standard_normal((64, 64, 3, 3), dtype=numpy.float32)
    found["slow"] = (model_make("slow", [node("Conv", ["x", "w"], ["t"], pads=[1, 1, 1, 1]), node("Conv", ["t", "w"], ["u"], pads=[1, 1, 1, 1]),
                                         node("ReduceMean", ["u"], ["y"], axes=[2, 3], keepdims=0)],
                                [("x", kind, [1, 64, "h", "w"])], [("y", kind, [1, 64])], [("w", weights)]), ())
    return found


class Server:
    def __init__(self, folder, *words):
        self.folder = pathlib.Path(folder)
        self.models = self.folder / "models"
        self.models.mkdir()
        for name, (model, more) in models().items():
            source = self.folder / f"{name}.onnx"
            onnx.save(model, source)
            subprocess.run([RLX, "compile", "--model", source, "--output", self.models / f"{name}.rlxb", *more], check=True, capture_output=True)
        self.instrumented = "asan" in subprocess.run(["ldd", RLXD], capture_output=True, text=True).stdout
        self.log = open(self.folder / "rlxd.log", "w+")
        self.process = subprocess.Popen([RLXD, "--models", self.models, "--port", "0", "--workers", "2", *words], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"started on http://([\d.]+):(\d+)", line)
        if not found:
            self.process.wait(10)
            raise RuntimeError(f"rlxd did not start: {line!r} {(self.folder / 'rlxd.log').read_text()}")
        self.host, self.port = found[1], int(found[2])
        self.url = f"http://{self.host}:{self.port}"

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def rss(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def connect(self, timeout=20):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """(code, headers, body)"""
        own = connection or self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        own.request(method, path, body, headers or {})
        answer = own.getresponse()
        data = answer.read()
        if connection is None:
            own.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, data

    def get(self, path):
        code, _, body = self.ask("GET", path)
        return code, json.loads(body)

    def infer(self, model, inputs, **more):
        code, _, body = self.ask("POST", f"/v2/models/{model}/infer", {"inputs": inputs, **more})
        return code, json.loads(body)

    def raw(self, data, seconds=5):
        """What comes back for some bytes, until the server closes or is silent."""
        client = socket.create_connection((self.host, self.port), timeout=seconds)
        answer = b""
        try:
            client.sendall(data)
            client.settimeout(0.5)
            while piece := client.recv(65536):
                answer += piece
        except OSError:
            pass
        client.close()
        return answer

    def health_within(self, seconds):
        start = time.monotonic()
        code, _, _ = self.ask("GET", "/healthz")
        took = time.monotonic() - start
        assert code == 200, code
        assert took < seconds, f"health took {took:.3f} s"


def tensor(name, datatype, shape, data=None, **parameters):
    found = {"name": name, "datatype": datatype, "shape": list(shape)}
    if data is not None:
        found["data"] = data
    if parameters:
        found["parameters"] = parameters
    return found
