#!/usr/bin/env python3
"""The HTTP/1.1 front end of rlxd. Expectations come from the Open Inference Protocol v2 and from docs/REST.md. Prints
"N passed, N failed, N skipped" last."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy

import cases
from cases import test
from expect import HEADER, refused, scrape
from server import TYPES, Server, tensor

# The server and its models.

@test
def server_metadata(server):
    code, body = server.get("/v2")
    assert code == 200
    assert body["name"] == "rlx"
    assert "binary_tensor_data" in body["extensions"]


@test
def live_and_ready_answer_by_code_and_by_body(server):
    assert server.get("/v2/health/live") == (200, {"live": True})
    assert server.get("/v2/health/ready") == (200, {"ready": True, "live": True})
    for path in ("/healthz", "/readyz"):
        code, _, body = server.ask("GET", path)
        assert (code, body) == (200, b"ok\n")


@test
def model_metadata_with_and_without_version(server):
    wanted = {"name": "id_fp32", "versions": ["1"], "platform": "rlx", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
              "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 3]}]}
    assert server.get("/v2/models/id_fp32") == (200, wanted)
    assert server.get("/v2/models/id_fp32/versions/1") == (200, wanted)


@test
def model_ready_is_in_the_code(server):
    assert server.get("/v2/models/add/ready") == (200, {"name": "add", "ready": True})
    assert server.get("/v2/models/add/versions/1/ready")[0] == 200
    refused(server.get("/v2/models/nope/ready"), 404, "nope")
    refused(server.get("/v2/models/add/versions/7/ready"), 404, "7")


@test
def model_config_has_what_clients_read(server):
    code, body = server.get("/v2/models/add/config")
    assert code == 200
    assert body["max_batch_size"] == 0
    assert [(port["name"], port["data_type"], port["dims"]) for port in body["input"]] == [("a", "TYPE_FP32", [2, 3]), ("b", "TYPE_FP32", [2, 3])]
    assert body["model_transaction_policy"] == {"decoupled": False}


@test
def unknown_routes_list_the_routes_and_wrong_methods_name_the_right_ones(server):
    code, _, body = server.ask("GET", "/v3/anything")
    refused((code, json.loads(body)), 404, "/v2/models/NAME[/versions/VERSION]/infer", "/metrics")
    code, headers, body = server.ask("GET", "/v2/models/add/infer")
    refused((code, json.loads(body)), 405, "POST")
    assert headers["allow"] == "POST"
    code, headers, _ = server.ask("DELETE", "/v2/models/add")
    assert (code, headers["allow"]) == (405, "GET")


@test
def what_the_server_does_not_have_is_501(server):
    for method, path in (("GET", "/v2/cudasharedmemory/status"), ("POST", "/v2/cudasharedmemory/region/r/register"), ("GET", "/v2/trace/setting"),
                         ("POST", "/v2/logging"), ("POST", "/v2/models/add/generate")):
        code, _, body = server.ask(method, path)
        refused((code, json.loads(body)), 501)


@test
def head_is_a_get_without_body(server):
    code, _, body = server.ask("HEAD", "/v2/health/ready")
    assert (code, body) == (200, b"")


# Inference.

@test
def json_in_and_out_nested_or_flat(server):
    flat = [1, 2, 3, 4, 5, 6.5]
    for data in (flat, [flat[:3], flat[3:]]):
        code, body = server.infer("add", [tensor("a", "FP32", (2, 3), data), tensor("b", "FP32", (2, 3), [1] * 6)], id="q-1")
        assert code == 200, body
        assert (body["model_name"], body["model_version"], body["id"]) == ("add", "1", "q-1")
        assert body["outputs"] == [{"name": "sum", "datatype": "FP32", "shape": [2, 3], "data": [2, 3, 4, 5, 6, 7.5]},
                                   {"name": "diff", "datatype": "FP32", "shape": [2, 3], "data": [0, 1, 2, 3, 4, 5.5]}]
        assert body["parameters"]["rlx_device"] == "cpu:0"


@test
def only_wanted_outputs_come_in_the_order_asked_for(server):
    inputs = [tensor("b", "FP32", (2, 3), [1] * 6), tensor("a", "FP32", (2, 3), [3] * 6)]
    code, body = server.infer("add", inputs, outputs=[{"name": "diff"}])
    assert code == 200 and [output["name"] for output in body["outputs"]] == ["diff"] and body["outputs"][0]["data"] == [2] * 6
    code, body = server.infer("add", inputs, outputs=[{"name": "diff"}, {"name": "sum"}])
    assert [output["name"] for output in body["outputs"]] == ["diff", "sum"]
    refused(server.infer("add", inputs, outputs=[{"name": "other"}]), 400, "other", "sum")


def sample(name):
    """Six values that stress the type."""
    kind = TYPES[name][1]
    if name == "BOOL":
        return numpy.array([True, False, True, True, False, False])
    if name in ("FP32", "FP64", "FP16"):
        limits = numpy.finfo(kind)
        return numpy.array([0, -0.0, 1 / 3, limits.max, limits.tiny, -1.5], kind)
    limits = numpy.iinfo(kind)
    return numpy.array([limits.min, limits.max, 0, 1, 2, 3], kind)


@test
def every_type_goes_through_json_bit_by_bit(server):
    for name, (_, kind) in TYPES.items():
        if kind is None:
            continue
        values = sample(name)
        code, body = server.infer(f"id_{name.lower()}", [tensor("x", name, (2, 3), values.tolist())])
        assert code == 200, (name, body)
        assert body["outputs"][0]["datatype"] == name
        assert numpy.array(body["outputs"][0]["data"], kind).tobytes() == values.tobytes(), (name, body["outputs"][0]["data"])
    code, body = server.infer("id_bf16", [tensor("x", "BF16", (1, 3), [1, -2.5, 1e30])])
    assert code == 200 and body["outputs"][0]["data"][:2] == [1, -2.5]


@test
def every_type_goes_through_binary_bit_by_bit(server):
    for name, (_, kind) in TYPES.items():
        data = bytes(range(12)) if kind is None else sample(name).tobytes()
        head = json.dumps({"inputs": [tensor("x", name, (2, 3), binary_data_size=len(data))], "parameters": {"binary_data_output": True}}).encode()
        code, headers, body = server.ask("POST", f"/v2/models/id_{name.lower()}/infer", head + data, {HEADER: str(len(head))})
        assert code == 200, (name, body)
        cut = int(headers[HEADER.lower()])
        answer = json.loads(body[:cut])
        assert answer["outputs"][0]["parameters"]["binary_data_size"] == len(data)
        assert "data" not in answer["outputs"][0]
        assert body[cut:] == data, name


@test
def json_and_binary_tensors_mix_in_requests_and_answers(server):
    data = numpy.arange(6, dtype=numpy.float32).tobytes()
    head = json.dumps({"inputs": [tensor("a", "FP32", (2, 3), [10] * 6), tensor("b", "FP32", (2, 3), binary_data_size=24)],
                       "outputs": [{"name": "sum", "parameters": {"binary_data": True}}, {"name": "diff"}]}).encode()
    code, headers, body = server.ask("POST", "/v2/models/add/infer", head + data, {HEADER: str(len(head))})
    assert code == 200, body
    cut = int(headers[HEADER.lower()])
    answer = json.loads(body[:cut])
    assert answer["outputs"][1]["data"] == [10, 9, 8, 7, 6, 5]
    assert numpy.frombuffer(body[cut:], numpy.float32).tolist() == [10, 11, 12, 13, 14, 15]


@test
def a_raw_body_is_the_only_input(server):
    data = numpy.arange(5, dtype=numpy.float32).tobytes()
    code, headers, body = server.ask("POST", "/v2/models/line/infer", data, {HEADER: "0"})
    assert code == 200, body
    cut = int(headers[HEADER.lower()])
    assert json.loads(body[:cut])["outputs"][0]["shape"] == [5]
    assert body[cut:] == data
    code, _, body = server.ask("POST", "/v2/models/line/infer", data + b"x", {HEADER: "0"})
    refused((code, json.loads(body)), 400, "21 bytes", "multiples of 4")
    code, _, body = server.ask("POST", "/v2/models/add/infer", data, {HEADER: "0"})
    refused((code, json.loads(body)), 400, "2 inputs")


@test
def binary_tails_need_the_right_header(server):
    data = bytes(24)
    head = json.dumps({"inputs": [tensor("x", "FP32", (2, 3), binary_data_size=24)]}).encode()
    ask = lambda body, headers: (lambda code, _, text: (code, json.loads(text)))(*server.ask("POST", "/v2/models/id_fp32/infer", body, headers))
    refused(ask(head + b"\x01" * 24, {}), 400, HEADER, "24 bytes follow")
    refused(ask(head + data, {HEADER: str(len(head) + 25)}), 400, HEADER, str(len(head) + 25))
    refused(ask(head + data, {HEADER: "many"}), 400, HEADER, "many")
    refused(ask(head + data, {HEADER: "-1"}), 400, HEADER)
    refused(ask(head + data, {HEADER: "99999999999999999999999"}), 400, HEADER)
    refused(ask(head + data, {HEADER: str(len(head) - 1)}), 400, "ends too early")
    refused(ask(head + data, {HEADER: str(len(head) + 1)}), 400, "follow the JSON")
    refused(ask(head + data + b"1234", {HEADER: str(len(head))}), 400, "4 bytes", "no input")
    refused(ask(head + data[:20], {HEADER: str(len(head))}), 400, "binary_data_size", "24", "20")
    refused(ask(head, {}), 400, HEADER)
    short = json.dumps({"inputs": [tensor("x", "FP32", (2, 3), binary_data_size=20)]}).encode()
    refused(ask(short + data[:20], {HEADER: str(len(short))}), 400, "20", "24")


@test
def the_content_type_alone_decides_nothing(server):
    body = json.dumps({"inputs": [tensor("x", "FP32", (1, 3), [1, 2, 3])]})
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "application/json"):
        code, _, answer = server.ask("POST", "/v2/models/id_fp32/infer", body, {"Content-Type": kind})
        assert code == 200, (kind, answer)
    code, _, answer = server.ask("POST", "/v2/models/id_fp32/infer", body, {"Content-Encoding": "gzip"})
    refused((code, json.loads(answer)), 501, "gzip")


@test
def wrong_requests_say_what_is_wrong(server):
    x = lambda **change: [{**tensor("x", "FP32", (1, 3), [1, 2, 3]), **change}]
    refused(server.infer("nope", x()), 404, "nope", "add")
    refused(server.infer("id_fp32", x(name="z")), 400, "z", "x")
    refused(server.infer("id_fp32", x(datatype="INT32")), 400, "INT32", "FP32")
    refused(server.infer("id_fp32", x(datatype="FLOAT")), 400, "FLOAT")
    refused(server.infer("id_fp32", x(datatype="BYTES")), 400, "BYTES")
    refused(server.infer("id_fp32", x(shape=[1, 4], data=[1, 2, 3, 4])), 400, "x")
    refused(server.infer("id_fp32", x(shape=[3])), 400, "x")
    refused(server.infer("id_fp32", x(shape=[-1, 3])), 400, "shape", "axis 0")
    refused(server.infer("id_fp32", x(shape=[1.5, 3])), 400, "shape")
    refused(server.infer("id_fp32", x(shape="1,3")), 400, "shape")
    refused(server.infer("id_fp32", x(shape=[1] * 9)), 400, "9 axes")
    refused(server.infer("id_fp32", x(shape=[2**40, 3])), 413, str(2**40))
    refused(server.infer("id_fp32", x(shape=[2**62, 3])), 400, "more bytes")
    refused(server.infer("id_fp32", x(data=[1, 2])), 400, "2 elements", "3", "'x'")
    refused(server.infer("id_fp32", x(data=[1, 2, "3"])), 400, "element 2")
    refused(server.infer("id_fp32", x(data="123")), 400, "array")
    refused(server.infer("id_fp32", x(data=[1, 2, 1e39])), 400, "FP32")
    refused(server.infer("add", [tensor("a", "FP32", (2, 3), [1] * 6)]), 400, "b")
    refused(server.infer("id_fp32", x() + x()), 400, "x")
    refused(server.infer("id_fp32", []), 400, "x")
    refused(server.infer("id_fp32", [{"name": "x"}]), 400, "datatype")
    refused(server.infer("id_fp32", [tensor("x", "FP32", (1, 3))]), 400, "data")
    refused(server.infer("id_fp32", ["x"]), 400, "object")
    refused(server.infer("id_fp32", {"x": 1}), 400, "inputs")
    refused(server.infer("id_fp32", x(), id=5), 400, "id")
    refused(server.infer("id_fp32", x(), id="i" * 256), 400, "256")
    refused(server.infer("id_fp32", x(), outputs=[{"name": "y", "parameters": {"classification": 3}}]), 501, "classification")
    refused(server.infer("id_fp32", x(), parameters={"timeout": -1}), 400, "timeout")
    refused(server.infer("id_uint8", [tensor("x", "UINT8", (1, 3), [1, 2, 256])]), 400, "256", "0 to 255")
    refused(server.infer("id_int64", [tensor("x", "INT64", (1, 3), [1, 2, 2**63])]), 400, "INT64")
    refused(server.infer("id_int64", [tensor("x", "INT64", (1, 3), [1, 2, 2.5])]), 400, "2.5", "integer")


@test
def a_request_above_the_declared_maximum_is_told_both_numbers_and_not_to_retry(server):
    code, headers, body = server.ask("POST", "/v2/models/bounded/infer", {"inputs": [tensor("x", "FP32", (5,), [1] * 5)]})
    refused((code, json.loads(body)), 413, "5", "4")
    assert "retry-after" not in headers


@test
def what_is_no_json_is_refused(server):
    for body, word in ((b"", "empty"), (b"{", "too early"), (b"[]", "object"), (b"nonsense", "object"), (b'{"inputs":[}', "closes nothing"),
                       (b'{"inputs":[],}', "no JSON"), (b'{"a":1,"a":2}', "no JSON"), (b'{"inputs":[{"name":"x"}]', "too early"),
                       (b'{"inputs":[{"d\\u0061ta":7,"name":"x","datatype":"FP32","shape":[1,3]}]}', "escapes"),
                       (b"\xff\xfe{}", "object"), (b'{"id":"\xff"}', "no JSON"), (b'{"id":"a\\u0000b"}', "no JSON")):
        code, _, text = server.ask("POST", "/v2/models/id_fp32/infer", body)
        refused((code, json.loads(text)), 400, word)


@test
def numbers_that_json_does_not_have_are_refused_on_the_way_in(server):
    for word in ("NaN", "Infinity", "-Infinity"):
        body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,%s]}]}' % word
        code, _, text = server.ask("POST", "/v2/models/id_fp32/infer", body)
        refused((code, json.loads(text)), 400, word, "binary")


@test
def numbers_that_json_does_not_have_are_strings_on_the_way_out(server):
    code, body = server.infer("divide", [tensor("a", "FP32", (3,), [1, -1, 0]), tensor("b", "FP32", (3,), [0, 0, 0])])
    assert code == 200
    assert body["outputs"][0]["data"] == ["Infinity", "-Infinity", "NaN"]
    values = numpy.array(body["outputs"][0]["data"], numpy.float32)
    assert values[0] == math.inf and values[1] == -math.inf and math.isnan(values[2])


@test
def empty_tensors_are_tensors(server):
    code, body = server.infer("id_fp32", [tensor("x", "FP32", (0, 3), [])])
    assert (code, body["outputs"][0]["shape"], body["outputs"][0]["data"]) == (200, [0, 3], []), body


# Large ones.

@test
def a_json_tensor_of_a_picture_is_quick_and_exact(server):
    values = numpy.random.default_rng(7).random(512 * 512 * 3, dtype=numpy.float32)
    body = json.dumps({"inputs": [tensor("x", "FP32", (values.size,), values.tolist())]})
    start = time.monotonic()
    code, _, text = server.ask("POST", "/v2/models/line/infer", body)
    took = time.monotonic() - start
    assert code == 200, text[:300]
    assert numpy.array(json.loads(text)["outputs"][0]["data"], numpy.float32).tobytes() == values.tobytes()
    print(f"    512x512x3 as JSON both ways ({len(body) >> 20} MiB in, {len(text) >> 20} MiB out): {1000 * took:.0f} ms")
    assert took < 1.5, took


@test
def a_large_json_tensor_does_not_hold_up_a_health_check(server):
    body = json.dumps({"inputs": [tensor("x", "FP32", (3000000,), [0.123456789] * 3000000)]})
    ended, times = threading.Event(), []

    def large():
        server.ask("POST", "/v2/models/line/infer", body)
        ended.set()

    thread = threading.Thread(target=large)
    thread.start()
    connection = server.connect()
    while not ended.is_set():
        start = time.monotonic()
        code, _, _ = server.ask("GET", "/healthz", connection=connection)
        times.append(time.monotonic() - start)
        assert code == 200
        time.sleep(0.002)
    thread.join()
    times.sort()
    print(f"    health during {len(body) >> 20} MiB of JSON: median {1000 * times[len(times) // 2]:.1f} ms, p99 {1000 * times[int(len(times) * 0.99)]:.1f} ms of {len(times)}")
    assert times[len(times) // 2] < 0.05, times[len(times) // 2]


@test
def bodies_in_chunks_and_after_100_continue_arrive(server):
    body = json.dumps({"inputs": [tensor("x", "FP32", (1, 3), [1, 2, 3])]}).encode()
    path = f"{server.url}/v2/models/id_fp32/infer"
    for words in (["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["--http1.0"]):
        run = subprocess.run(["curl", "-s", "-m", "10", *words, "--data-binary", "@-", path], input=body, capture_output=True)
        assert run.returncode == 0 and json.loads(run.stdout)["outputs"][0]["data"] == [1, 2, 3], (words, run)


# Repository, statistics, shared memory.

@test
def the_index_names_states_and_can_be_narrowed(server):
    code, _, body = server.ask("POST", "/v2/repository/index")
    index = {entry["name"]: entry for entry in json.loads(body)}
    assert code == 200 and index["add"] == {"name": "add", "version": "1", "state": "READY", "reason": ""}
    code, _, body = server.ask("POST", "/v2/repository/index", {"ready": True})
    assert {entry["state"] for entry in json.loads(body)} == {"READY"}


@test
def models_unload_and_load(server):
    code, _, body = server.ask("POST", "/v2/repository/models/id_int8/unload", {"parameters": {"unload_dependents": False}})
    assert code == 200, body
    assert server.get("/v2/models/id_int8/ready")[0] in (404, 503)
    code, _, body = server.ask("POST", "/v2/repository/models/id_int8/load")
    assert code == 200, body
    assert server.get("/v2/models/id_int8/ready")[0] == 200
    code, _, body = server.ask("POST", "/v2/repository/models/nope/load")
    refused((code, json.loads(body)), 404)
    code, _, body = server.ask("POST", "/v2/repository/models/nope/unload")
    refused((code, json.loads(body)), 404)
    code, _, body = server.ask("POST", "/v2/repository/models/id_int8/load", {"parameters": {"config": "{}"}})
    refused((code, json.loads(body)), 501, "config")


@test
def statistics_count_each_request_once(server):
    def look():
        code, body = server.get("/v2/models/divide/stats")
        assert code == 200
        return body["model_stats"][0]
    before = look()
    good = [tensor("a", "FP32", (3,), [1, 2, 3]), tensor("b", "FP32", (3,), [1, 2, 3])]
    for _ in range(5):
        assert server.infer("divide", good)[0] == 200
    for _ in range(3):
        assert server.infer("divide", good[:1])[0] == 400
    after = look()
    assert after["inference_count"] - before["inference_count"] == 5
    assert after["inference_stats"]["success"]["count"] - before["inference_stats"]["success"]["count"] == 5
    assert after["inference_stats"]["fail"]["count"] - before["inference_stats"]["fail"]["count"] == 3
    assert len(server.get("/v2/models/stats")[1]["model_stats"]) >= 10


@test
def system_shared_memory_is_registered_used_and_unregistered(server):
    path = pathlib.Path(f"/dev/shm/rlx-rest-{os.getpid()}")
    values = numpy.arange(6, dtype=numpy.float32)
    path.write_bytes(bytes(64) + values.tobytes() + bytes(64))
    base = "/v2/systemsharedmemory"
    try:
        post = lambda way, body=None: server.ask("POST", base + way, body)
        code, _, body = post("/region/r/register", {"key": path.name, "offset": 64, "byte_size": 88})
        assert code == 200, body
        code, body = server.get(base + "/region/r/status")
        assert code == 200 and body[0]["name"] == "r" and body[0]["byte_size"] == 88, body
        code, _, body = post("/region/r/register", {"key": path.name, "byte_size": 8})
        refused((code, json.loads(body)), 409)
        place = {"shared_memory_region": "r", "shared_memory_byte_size": 24}
        code, body = server.infer("id_fp32", [tensor("x", "FP32", (2, 3), **place)],
                                  outputs=[{"name": "y", "parameters": {**place, "shared_memory_offset": 32}}])
        assert code == 200, body
        assert "data" not in body["outputs"][0] and body["outputs"][0]["parameters"]["shared_memory_region"] == "r"
        assert path.read_bytes()[96:120] == values.tobytes()
        for offset in (80, 2**63 - 8):
            refused(server.infer("id_fp32", [tensor("x", "FP32", (2, 3), **place, shared_memory_offset=offset)]), 400)
        code, _, body = post("/region/q/register", {"key": path.name, "byte_size": 10**6})
        refused((code, json.loads(body)), 400)
        code, _, body = post("/region/q/register", {"key": "no-such-thing", "byte_size": 8})
        refused((code, json.loads(body)), 400)
        code, _, body = post("/region/q/register", {"byte_size": 8})
        refused((code, json.loads(body)), 400, "key")
        assert post("/region/r/unregister")[0] == 200
        code, _, body = post("/region/r/unregister")
        refused((code, json.loads(body)), 404)
        assert post("/unregister")[0] == 200
        assert server.get(base + "/status") == (200, [])
    finally:
        path.unlink()


# Metrics, status, admin.

@test
def metrics_parse_and_count(server):
    labels = (("model", "line"), ("version", "1"))
    before = scrape(server)
    for _ in range(4):
        assert server.infer("line", [tensor("x", "FP32", (1,), [1])])[0] == 200
    after = scrape(server)
    rise = lambda name, *more: after[(name, tuple(sorted(labels + more)))] - before[(name, tuple(sorted(labels + more)))]
    assert rise("rlx_model_requests_total", ("result", "success")) == 4
    for name in ("request", "queue", "compute"):
        assert rise(f"rlx_model_{name}_seconds_count") == 4
        assert rise(f"rlx_model_{name}_seconds_bucket", ("le", "+Inf")) == 4
    assert after[("rlx_ready", ())] == 1
    assert after[("process_resident_memory_bytes", ())] > 1e6


@test
def names_that_clients_make_up_never_become_labels(server):
    for name in ('a"b', "x" * 200, "a%0Ab", "evil"):
        server.ask("POST", f"/v2/models/{name.replace(chr(34), '%22')}/infer", b"{}")
        server.ask("GET", f"/v2/models/{name.replace(chr(34), '%22')}/ready")
    models = {dict(labels).get("model") for _, labels in scrape(server)} - {None}
    assert models <= {entry["name"] for entry in json.loads(server.ask("POST", "/v2/repository/index")[2])}, models


@test
def the_status_page_needs_nothing_from_elsewhere(server):
    code, headers, body = server.ask("GET", "/")
    page = body.decode()
    assert code == 200 and headers["content-type"].startswith("text/html")
    for word in ("http://", "https://", "src=", "@import"):
        assert word not in page.replace("http://www.w3.org/2000/svg", ""), word
    code, status = server.get("/status.json")
    assert code == 200 and status["ready"] and status["schema"] == 1
    assert {model["name"] for model in status["models"]} >= {"add", "slow"}
    assert len(status["workers"]) == 2


@test
def admin_shows_what_runs_and_what_waits(server):
    size = 160
    data = numpy.ones((1, 64, size, size), numpy.float32).tobytes()
    head = json.dumps({"id": "long", "inputs": [tensor("x", "FP32", (1, 64, size, size), binary_data_size=len(data))]}).encode()
    threads = [threading.Thread(target=server.ask, args=("POST", "/v2/models/slow/infer", head + data, {HEADER: str(len(head))})) for _ in range(6)]
    for thread in threads:
        thread.start()
    states, busy, steps = set(), 0, set()
    while any(thread.is_alive() for thread in threads):
        _, body = server.get("/v1/requests")
        states |= {request["state"] for request in body["requests"] if request["model"] == "slow" and request["id"] == "long"}
        _, stacks = server.get("/v1/stacks")
        running = [worker for worker in stacks["workers"] if worker["state"] == "running"]
        busy = max(busy, len(running))
        steps |= {worker["step"] for worker in running}
    for thread in threads:
        thread.join()
    assert {"running", "queued"} <= states, states
    assert busy >= 1
    assert server.get("/v1/status")[1]["node"]


import trouble_test  # noqa: E402,F401  registers its tests after these: its last one stops the server


def main():
    with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
        counts = cases.run(server, over=lambda: f"rlxd ended\n{server.log()[-3000:]}" if server.process.poll() is not None else None)
        server.stop()
    return cases.finish(*counts)


if __name__ == "__main__":
    sys.exit(main())
