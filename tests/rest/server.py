"""A running rlxd with small models, and clients of it that keep to the bare protocol."""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time

import numpy
from onnx import TensorProto, helper

from graphs import bundle, constant, save, value
from program import Program

RLXD = os.environ["RLXD"]

TYPES = {
    "FP32": (TensorProto.FLOAT, numpy.float32), "FP64": (TensorProto.DOUBLE, numpy.float64), "FP16": (TensorProto.FLOAT16, numpy.float16),
    "INT8": (TensorProto.INT8, numpy.int8), "INT16": (TensorProto.INT16, numpy.int16), "INT32": (TensorProto.INT32, numpy.int32),
    "INT64": (TensorProto.INT64, numpy.int64), "UINT8": (TensorProto.UINT8, numpy.uint8), "UINT16": (TensorProto.UINT16, numpy.uint16),
    "UINT32": (TensorProto.UINT32, numpy.uint32), "UINT64": (TensorProto.UINT64, numpy.uint64), "BOOL": (TensorProto.BOOL, numpy.bool_),
    "BF16": (TensorProto.BFLOAT16, None),
}


def identity(kind, *dims):
    """y = x"""
    return [helper.make_node("Identity", ["x"], ["y"])], [value("x", kind, *dims)], [value("y", kind, *dims)]


def models():
    """name -> (graph, further words of `rlx compile`)"""
    node, kind = helper.make_node, TensorProto.FLOAT
    found = {f"id_{name.lower()}": (identity(number, "n", 3), ()) for name, (number, _) in TYPES.items()}
    found["add"] = (([node("Add", ["a", "b"], ["sum"]), node("Sub", ["a", "b"], ["diff"])],
                     [value("a", kind, 2, 3), value("b", kind, 2, 3)], [value("sum", kind, 2, 3), value("diff", kind, 2, 3)]), ())
    found["line"] = (identity(kind, "n"), ())
    found["bounded"] = (identity(kind, "n"), ("--max", "n=4"))
    found["divide"] = (([node("Div", ["a", "b"], ["q"])], [value("a", kind, 3), value("b", kind, 3)], [value("q", kind, 3)]), ())
    weights = numpy.random.default_rng(1).standard_normal((64, 64, 3, 3), dtype=numpy.float32)
    found["slow"] = (([node("Conv", ["x", "w"], ["t"], pads=[1, 1, 1, 1]), node("Conv", ["t", "w"], ["u"], pads=[1, 1, 1, 1]),
                       node("ReduceMean", ["u"], ["y"], axes=[2, 3], keepdims=0)],
                      [value("x", kind, 1, 64, "h", "w")], [value("y", kind, 1, 64)], [constant("w", weights)]), ())
    return found


class Server(Program):
    def __init__(self, folder, *words):
        self.models = pathlib.Path(folder) / "models"
        self.models.mkdir()
        for name, (graph, more) in models().items():
            source = pathlib.Path(folder) / f"{name}.onnx"
            save(source, *graph)
            bundle(source, self.models, *more)
        self.instrumented = "asan" in subprocess.run(["ldd", RLXD], capture_output=True, text=True).stdout
        super().__init__([RLXD, "--models", self.models, "--port", "0", "--workers", "2", *words])
        self.url = self.origin
        self.host = self.url.split("//")[1].rsplit(":", 1)[0]

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
