"""tritonclient over HTTP, and curl: the same calls, the same errors, on the same port."""
import json
import subprocess

import numpy
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from harness import bundles, test
from rlxd import Rlxd

A = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
B = numpy.full((2, 4), 0.5, dtype=numpy.float32)


def inputs(a=A, b=B, names=("a", "b"), binary=True):
    entries = []
    for name, array in zip(names, (a, b)):
        datatype = {"float32": "FP32", "int32": "INT32"}[array.dtype.name]
        entries.append(triton.InferInput(name, list(array.shape), datatype))
        entries[-1].set_data_from_numpy(array, binary_data=binary)
    return entries


def curl(server, path, *words):
    """Status code and body."""
    command = ["curl", "-sS", "-m", "20", "-w", "\n%{http_code}", *words, f"http://{server.url}{path}"]
    run = subprocess.run(command, capture_output=True, check=True)
    body, code = run.stdout.rsplit(b"\n", 1)
    return int(code), body


def expect(call, code, *words):
    try:
        call()
    except InferenceServerException as error:
        assert str(error.status()) == str(code), f"status {error.status()}, expected {code}: {error.message()}"
        for word in words:
            assert word in error.message(), f"'{word}' is not in: {error.message()}"
        return
    raise AssertionError(f"no error, expected {code}")


@test
def live_ready_metadata_config_and_index(server):
    with triton.InferenceServerClient(server.url) as c:
        assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("sum") and not c.is_model_ready("nobody")
        assert c.get_server_metadata()["name"] == "rlx"
        model = c.get_model_metadata("sum")
        assert model["inputs"][0] == {"name": "a", "datatype": "FP32", "shape": [-1, 4]}
        assert c.get_model_config("sum")["name"] == "sum"
        entry = next(entry for entry in c.get_model_repository_index() if entry["name"] == "sum")
        assert (entry["version"], entry["state"]) == ("1", "READY")
        assert c.get_inference_statistics("sum")["model_stats"][0]["name"] == "sum"


@test
def inference_in_json_and_in_binary(server):
    with triton.InferenceServerClient(server.url) as c:
        for binary in (True, False):
            outputs = [triton.InferRequestedOutput("total", binary_data=binary),
                       triton.InferRequestedOutput("difference", binary_data=not binary)]
            answer = c.infer("sum", inputs(binary=binary), outputs=outputs, request_id="nine")
            assert (answer.as_numpy("total") == A + B).all() and (answer.as_numpy("difference") == A - B).all()
            assert answer.get_response()["id"] == "nine"
        assert (c.infer("sum", inputs()).as_numpy("total") == A + B).all()


@test
def wrong_requests_get_the_right_code_and_a_hint(server):
    with triton.InferenceServerClient(server.url) as c:
        expect(lambda: c.infer("nobody", inputs()), 404, "RLX-1603", "nobody")
        expect(lambda: c.infer("sum", inputs(names=("a", "c"))), 400, "RLX-1401", "'c'")
        expect(lambda: c.infer("sum", inputs()[:1]), 400, "RLX-1401")
        expect(lambda: c.infer("sum", inputs(A.astype(numpy.int32))), 400, "RLX-1403", "'a'")
        expect(lambda: c.infer("sum", inputs(A.reshape(4, 2))), 400, "RLX-1402", "'a'")
        large = numpy.zeros((9, 4), numpy.float32)
        expect(lambda: c.infer("sum", inputs(large, large)), 413, "RLX-1404", "9", "8")
        expect(lambda: c.infer("sum", inputs(), outputs=[triton.InferRequestedOutput("z")]), 400, "RLX-1617")


@test
def the_repository_over_http():
    with Rlxd(bundles("sum", "plus")) as own, triton.InferenceServerClient(own.url) as c:
        c.unload_model("sum")
        assert not c.is_model_ready("sum") and c.is_model_ready("plus")
        expect(lambda: c.infer("sum", inputs()), 404, "RLX-1603")
        c.load_model("sum")
        assert (c.infer("sum", inputs()).as_numpy("total") == A + B).all()


@test
def curl_alone_is_enough(server):
    assert curl(server, "/v2/health/live")[0] == 200 and curl(server, "/v2/health/ready")[0] == 200
    assert curl(server, "/healthz")[0] == 200 and curl(server, "/readyz")[0] == 200
    body = {"id": "c", "inputs": [{"name": name, "datatype": "FP32", "shape": [2, 4], "data": array.flatten().tolist()}
                                  for name, array in (("a", A), ("b", B))]}
    code, answer = curl(server, "/v2/models/sum/infer", "--data", json.dumps(body))
    assert code == 200, answer
    outputs = {entry["name"]: entry["data"] for entry in json.loads(answer)["outputs"]}
    assert outputs["total"] == (A + B).flatten().tolist()
    code, answer = curl(server, "/v2/models/nobody/infer", "--data", json.dumps(body))
    assert code == 404 and "RLX-1603" in json.loads(answer)["error"]
    code, answer = curl(server, "/v2/models/sum/infer", "--data", "{")
    assert code == 400 and json.loads(answer)["error"].startswith("RLX-")
    assert curl(server, "/nothing/here")[0] == 404
    code, answer = curl(server, "/metrics")
    assert code == 200 and b"# TYPE" in answer
