"""Time and trouble: deadlines, clients that leave, load, abuse, memory, the end. Part of rest_test.py, which runs it last."""
import json
import socket
import threading
import time

import numpy

from cases import Skip, test
from expect import HEADER, refused, scrape
from server import tensor


@test
def a_passed_deadline_is_504_or_429_and_never_run_late(server):
    size = 160
    data = numpy.ones((1, 64, size, size), numpy.float32).tobytes()
    head = json.dumps({"parameters": {"timeout": 1}, "inputs": [tensor("x", "FP32", (1, 64, size, size), binary_data_size=len(data))]}).encode()
    code, headers, body = server.ask("POST", "/v2/models/slow/infer", head + data, {HEADER: str(len(head))})
    assert code in (429, 504), (code, body)
    assert code == 504 or headers["retry-after"] == "1"


@test
def a_client_that_leaves_frees_its_place(server):
    size = 256
    data = numpy.ones((1, 64, size, size), numpy.float32).tobytes()
    head = json.dumps({"inputs": [tensor("x", "FP32", (1, 64, size, size), binary_data_size=len(data))]}).encode()
    before = scrape(server)[("rlx_http_gone_total", ())]
    connections = []
    for _ in range(8):
        connection = server.connect()
        connection.request("POST", "/v2/models/slow/infer", head + data, {HEADER: str(len(head))})
        connections.append(connection)
    for connection in connections:
        connection.close()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        numbers = scrape(server)
        if sum(value for (name, _), value in numbers.items() if name == "rlx_requests") == 0:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("requests are left")
    assert numbers[("rlx_http_gone_total", ())] > before
    assert server.infer("add", [tensor("a", "FP32", (2, 3), [1] * 6), tensor("b", "FP32", (2, 3), [1] * 6)])[0] == 200


@test
def health_answers_while_every_worker_is_busy(server):
    size = 200
    data = numpy.ones((1, 64, size, size), numpy.float32).tobytes()
    head = json.dumps({"inputs": [tensor("x", "FP32", (1, 64, size, size), binary_data_size=len(data))]}).encode()
    stop = time.monotonic() + 2
    def load():
        connection = server.connect()
        while time.monotonic() < stop:
            server.ask("POST", "/v2/models/slow/infer", head + data, {HEADER: str(len(head))}, connection)
    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    times, connection = [], server.connect()
    while time.monotonic() < stop:
        start = time.monotonic()
        assert server.ask("GET", "/healthz", connection=connection)[0] == 200
        times.append(time.monotonic() - start)
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    times.sort()
    print(f"    health under load: median {1000 * times[len(times) // 2]:.2f} ms, p99 {1000 * times[int(len(times) * 0.99)]:.2f} ms of {len(times)}")
    assert times[len(times) // 2] < 0.02, times[len(times) // 2]


@test
def abuse_is_refused_and_leaves_nothing(server):
    before = server.rss()
    path = "POST /v2/models/id_fp32/infer HTTP/1.1\r\nHost: x\r\n"
    brackets = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":' + b"[" * 100000 + b"]" * 100000 + b"}]}"
    code, _, body = server.ask("POST", "/v2/models/id_fp32/infer", brackets)
    refused((code, json.loads(body)), 400, "deep")
    code, _, body = server.ask("POST", "/v2/models/id_fp32/infer", b'{"a":' * 100000)
    refused((code, json.loads(body)), 400, "deep")
    for body, code in ((b"[" * 50000, 400), (b'{"a":' * 10000, 400), (b"[" * 100000, 413)):
        got, _, text = server.ask("POST", "/v2/repository/index", body)
        refused((got, json.loads(text)), code)
    code, _, body = server.ask("POST", "/v2/models/id_fp32/infer", b'{"x":"' + b"y" * 1000000 + b'"}')
    refused((code, json.loads(body)), 400, "besides tensor data")
    server.health_within(0.1)
    for head in ("Content-Length: -5\r\n\r\n", "Content-Length: 5x\r\n\r\nhello", "Content-Length: 99999999999999999999\r\n\r\n",
                 "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nabc", "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                 "X: " + "a" * 300000 + "\r\n\r\n", "".join(f"H{i}: v\r\n" for i in range(20000)) + "\r\n"):
        answer = server.raw((path + head).encode())
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer[:100]
        server.health_within(0.1)
    for line in (b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 100000, b"\r\n" * 1000):
        server.raw(line)
        server.health_within(0.1)
    clients = []
    for _ in range(200):
        client = socket.create_connection((server.host, server.port))
        client.sendall((path + "Content-Length: 50000000\r\n\r\n{").encode())
        clients.append(client)
    server.health_within(0.1)
    for client in clients:
        client.close()
    time.sleep(0.3)
    growth = server.rss() - before
    print(f"    memory growth over all abuse: {growth / 2**20:.1f} MiB")
    assert server.instrumented or growth < 32 << 20, growth


@test
def memory_is_flat_over_many_requests(server):
    if server.instrumented:
        raise Skip("a sanitizer keeps what is freed")
    connection = server.connect()
    body = json.dumps({"inputs": [tensor("x", "FP32", (1, 3), [1, 2, 3])]})
    def round_of(n):
        for i in range(n):
            assert server.ask("POST", "/v2/models/id_fp32/infer", body if i % 3 else body[:-4], connection=connection)[0] == (200 if i % 3 else 400)
        return server.rss()
    first = round_of(3000)
    last = [round_of(1000) for _ in range(4)][-1]
    print(f"    {first >> 10} KiB after 3000 requests, {last >> 10} KiB after 7000")
    assert last - first < 1 << 20, (first, last)


@test
def pipelined_and_kept_connections_work(server):
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    assert server.raw(request * 5).count(b"HTTP/1.1 200") == 5


@test
def stopping_turns_ready_false_and_finishes_what_was_accepted(server):
    """Last: the server is gone afterwards."""
    size = 400
    data = numpy.ones((1, 64, size, size), numpy.float32).tobytes()
    head = json.dumps({"inputs": [tensor("x", "FP32", (1, 64, size, size), binary_data_size=len(data))]}).encode()
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(server.ask("POST", "/v2/models/slow/infer", head + data, {HEADER: str(len(head))})[0]))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    while sum(value for (name, _), value in scrape(server).items() if name == "rlx_requests") < 6:
        time.sleep(0.005)
    server.process.terminate()
    seen = set()
    try:
        while True:
            infer = server.infer("line", [tensor("x", "FP32", (1,), [1])])[0]
            seen.add((server.ask("GET", "/v2/health/ready")[0], infer))
            time.sleep(0.002)
    except (OSError, ValueError):
        pass
    for thread in threads:
        thread.join()
    assert codes == [200] * 6, codes
    assert (503, 503) in seen, seen
    assert all(ready == 503 or infer == 200 for ready, infer in seen), seen
    assert server.process.wait(20) == 0
