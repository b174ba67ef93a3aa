"""People who mean harm, against one rlxd that serves a normal client all the while. Each abuse is refused and counted, health answers within
100 ms after it, the normal client never gets a wrong or late answer, and memory grows by at most 32 MiB over all."""
import atexit
import contextlib
import fcntl
import json
import os
import pathlib
import resource
import socket
import struct
import tempfile
import threading
import time

import numpy

import suite
from suite import MIB, bundles, healthy_after, metrics, quiet, resident, say, test, until
from change_test import Traffic, pair
from h2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, Raw, frame,
                message, setting)
from rlxd import Rlxd
from storm import INFER, encoded

ONES = numpy.ones((1, 4), numpy.float32)
GOOD = encoded("sum", a=ONES, b=ONES)
GROWTH_MAX = 32 * MIB


class Victim:
    """The server of all abuses, with its normal client. Made by the first, closed by the last test."""
    one = None

    def __init__(self):
        atexit.register(self.close)  # words may choose tests without the last
        self.folder = tempfile.TemporaryDirectory()
        self.memory = f"{self.folder.name}/memory.sock"
        self.server = Rlxd(bundles("sum", "plus"), words=["--set", "server.limits.stall=1s", "--set", "server.limits.handshake=1s",
                                                          "--memory-socket", self.memory])
        with Raw(self.server.port) as raw:
            assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"
        self.traffic = Traffic(self.server, [pair("sum")], {"whole": 80, "pieces": 20}, connections=4)
        time.sleep(0.5)
        self.before = resident(self.server)

    def close(self):
        if self.server.process.poll() is None:
            self.server.kill()
        self.folder.cleanup()


def counted(numbers, names):
    return sum(value for key, value in numbers.items() if any(key.startswith(name) for name in names))


MALFORMED = ("rlx_requests_malformed_total", 'rlx_model_requests_total{model="sum",version="1",result="malformed"}',
             'rlx_model_requests_total{model="plus",version="1",result="malformed"}')
INPUT = ('rlx_model_requests_total{model="sum",version="1",result="input"}', 'rlx_model_requests_total{model="plus",version="1",result="input"}')


def abuse(*counters, least=1):
    """A test that runs `function(server)` against the shared server and sees its counters rise by at least `least`."""
    def register(function):
        def wrapper():
            if Victim.one is None:
                Victim.one = Victim()
            victim = Victim.one
            before = counted(metrics(victim.server), counters)
            with healthy_after(victim.server, function.__name__):
                function(victim.server)
            until(lambda: counted(metrics(victim.server), counters) >= before + least,
                  f"{counters} rises by {least}; it is {counted(metrics(victim.server), counters) - before}", 15)
            assert victim.traffic.error is None, victim.traffic.error
        wrapper.__name__, wrapper.__module__ = function.__name__, function.__module__
        test(wrapper)
        return function
    return register


def cut_off(server, begin, piece, rounds):
    """Sends `piece(i)` until the server closes, which it must do."""
    with Raw(server.port) as raw:
        begin(raw)
        try:
            for i in range(rounds):
                raw.send(piece(i))
            raw.closed(10)
        except (Closed, ConnectionResetError):
            pass


@abuse("rlx_rpc_preface_bad_total", least=4)
def bad_prefaces_are_closed(server):
    for first in (b"\x00" * 24, b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"\xff" * 1000):
        with Raw(server.port, begin=False) as raw:
            raw.send(first)
            raw.closed()


@abuse("rlx_rpc_headers_oversize_total", least=2)
def oversize_headers_are_refused_and_the_connection_goes_on(server):
    with Raw(server.port) as raw:
        for block in (raw.block(INFER, [(f"x-{i}", "v" * 200) for i in range(85)]),          # 20 KiB of values
                      raw.block(INFER, [("x-big", "w" * 3000)]) + b"\xbe" * 2000):  # 6 MiB when unpacked
            assert len(block) < 16384
            stream, raw.next_stream = raw.next_stream, raw.next_stream + 2
            raw.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block))
            fields, _, _ = raw.answer(stream)
            assert fields["grpc-status"] == "8" and "16384" in fields["grpc-message"], fields
        assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"


@abuse("rlx_rpc_flood_control_total")
def a_continuation_flood_is_cut_off(server):
    filler = b"".join(b"\x00" + b"\x03x-" + b"%d" % (i % 10) + b"\x7f\xf5\x02" + b"y" * 500 for i in range(25))
    cut_off(server, lambda raw: raw.send(frame(HEADERS, 0, 1, raw.block(INFER))), lambda i: frame(CONTINUATION, 0, 1, filler), 2000)


@abuse("rlx_rpc_flood_resets_total")
def a_reset_flood_of_whole_requests_is_cut_off(server):
    body = frame(DATA, END_STREAM, 0, message(GOOD))

    def piece(i):
        stream = 2 * i + 1
        return (frame(HEADERS, END_HEADERS, stream, block) + body[:5] + struct.pack(">I", stream) + body[9:] +
                frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
    from storm import block as plain_block
    block = plain_block(INFER)
    cut_off(server, lambda raw: None, piece, 5000)


@abuse("rlx_rpc_flood_control_total", least=4)
def floods_of_frames_that_do_nothing_are_cut_off(server):
    for piece in (frame(PING, 0, 0, bytes(8)), frame(SETTINGS, 0, 0, setting(4, 65535)), frame(DATA, 0, 1),
                  frame(PRIORITY, 0, 3, struct.pack(">IB", 0, 1))):
        cut_off(server, lambda raw: raw.open(INFER), lambda i: piece * 50, 3000)


@abuse("rlx_rpc_stalls_total", least=50)
def answers_that_are_not_read_do_not_stay(server):
    """Windows of zero: the answers wait, and after the stall time they are dropped with their memory."""
    with Raw(server.port, setting(4, 0)) as raw:
        for _ in range(50):
            raw.data(raw.open(INFER), message(GOOD), end=True)
        until(lambda: metrics(server)['rlx_rpc_calls_open'] >= 50, "the answers wait")
        with healthy_after(server, "zero windows"):
            until(lambda: metrics(server)['rlx_requests{state="replying"}'] == 0, "the answers are dropped")


@abuse("rlx_rpc_handshake_timeouts_total", least=500)
def five_hundred_half_open_connections_end_and_cost_little(server):
    before, ended = resident(server), metrics(server)["rlx_rpc_handshake_timeouts_total"]
    peers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(500)]
    for i, peer in enumerate(peers):
        peer.sendall((b"", b"PRI", PREFACE)[i % 3])
    with healthy_after(server, "500 half-open connections, while they are"):
        pass
    assert suite.SANITIZED or resident(server) - before <= 16 * MIB, resident(server) - before
    until(lambda: metrics(server)["rlx_rpc_handshake_timeouts_total"] >= ended + 500, "they are closed", 10)
    for peer in peers:
        peer.close()


@abuse("rlx_rpc_stalls_total", least=20)
def senders_that_stop_within_a_message_are_told_so(server):
    with Raw(server.port) as raw:
        streams = [raw.open(INFER) for _ in range(20)]
        for i, stream in enumerate(streams):
            raw.send(frame(DATA, 0, stream, message(GOOD)[:1 + i * 3]))
        ended = {}
        while len(ended) < len(streams):
            kind, _, stream, payload = raw.receive(5)
            if kind == HEADERS:
                ended[stream] = payload
        assert all(fields["grpc-status"] == "4" and "RLX-1621" in fields["grpc-message"] for fields in ended.values()), ended


@abuse("rlx_http_broken_total", least=20)
def http_senders_that_stop_within_a_body_are_closed(server):
    peers = [socket.create_connection(("127.0.0.1", server.port), timeout=15) for _ in range(20)]
    for peer in peers:
        peer.sendall(b"POST /v2/models/sum/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
    for peer in peers:
        with contextlib.suppress(ConnectionResetError):
            while peer.recv(65536):
                pass
        peer.close()


def refused(raw, data, statuses=("3",)):
    fields, _, reset = raw.call(INFER, data)
    assert reset is None and fields["grpc-status"] in statuses and fields["grpc-message"].startswith("RLX-"), (data[:60], fields, reset)


@abuse(*MALFORMED, *INPUT, least=len(GOOD) - 1)
def truncated_protobufs_are_refused(server):
    with Raw(server.port) as raw:
        for n in range(1, len(GOOD)):
            fields, _, _ = raw.call(INFER, GOOD[:n])
            assert fields["grpc-status"] != "0", n


@abuse(*MALFORMED, *INPUT, least=4)
def nested_protobufs_are_refused(server):
    def nested(tag, depth):  # length-delimited, one inside the other
        data = b""
        for _ in range(depth):
            size, n = b"", len(data)
            while n > 127:
                size, n = size + bytes([n & 127 | 128]), n >> 7
            data = tag + size + bytes([n]) + data
        return data
    with Raw(server.port) as raw:
        refused(raw, b"\x0a\x03sum" + b"\x0b" * 100000)            # groups
        refused(raw, b"\x0a\x03sum" + b"\x2a\xff\xff\xff\xff\x0f")  # an input of 4 GiB
        refused(raw, b"\x0a\x03sum" + nested(b"\x2a", 20000))       # inputs inside of inputs
        refused(raw, b"\x0a\x03sum" + nested(b"\x22", 20000))       # parameters inside of parameters


@abuse("rlx_rpc_messages_malformed_total", least=2)
def compressed_messages_are_refused(server):
    with Raw(server.port) as raw:
        for flag in (1, 0x55):
            stream = raw.open(INFER)
            raw.data(stream, message(GOOD, flag), end=True)
            fields, _, _ = raw.answer(stream)
            assert fields["grpc-status"] in ("12", "13", "3"), fields
        assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"


@abuse("rlx_rpc_messages_oversize_total", least=1)
def a_message_of_four_gibibytes_is_refused_before_it_is_sent(server):
    with Raw(server.port) as raw:
        stream = raw.open(INFER)
        raw.send(frame(DATA, 0, stream, b"\x00\xff\xff\xff\xff" + b"x" * 100))
        fields, _, _ = raw.answer(stream)
        assert fields["grpc-status"] == "8" and "4294967295" in fields["grpc-message"], fields


@abuse("rlx_rpc_content_type_bad_total", least=3)
def wrong_content_types_are_refused(server):
    with Raw(server.port) as raw:
        for content in ("text/html", "application/json", ""):
            fields, _, _ = raw.answer(raw.open(INFER, content=content, end=True))
            assert fields[":status"] == "415", fields
        assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"


def rest(server, path, body, headers=()):
    connection = suite.http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", path, body, dict(headers))
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


@abuse(*MALFORMED, "rlx_http_answers_4xx_total", least=4)
def json_of_a_hundred_thousand_brackets_is_refused(server):
    for body in (b"[" * 100000, b'{"a":' * 100000, b'{"inputs":[{"name":"a","datatype":"FP32","shape":[1,4],"data":' + b"[" * 100000,
                 b'{"inputs":' + b"[" * 50000 + b"]" * 50000 + b"}"):
        code, text = rest(server, "/v2/models/sum/infer", body)
        assert code == 400 and b"RLX-" in text, (code, text[:200])


@abuse(*INPUT, *MALFORMED, least=10)
def shapes_whose_product_wraps_are_refused(server):
    from tritonclient.grpc import service_pb2
    with Raw(server.port) as raw:
        for shape in ([2**62], [2**63 - 1], [-1], [-4], [2**61 + 1], [2**40], [2**32, 2**32]):
            request = service_pb2.ModelInferRequest(model_name="plus")
            request.inputs.add(name="x", datatype="FP32", shape=shape)
            request.raw_input_contents.append(b"\0" * 4)
            refused(raw, request.SerializeToString(), ("3", "8", "11"))
    for shape in ("[4611686018427387904]", "[9223372036854775807]", "[99999999999999999999999]", "[-1]", "[1e30]"):
        code, text = rest(server, "/v2/models/plus/infer", b'{"inputs":[{"name":"x","datatype":"FP32","shape":%s,"data":[1]}]}' % shape.encode())
        assert code in (400, 413), (shape, code, text)


@abuse(*(f'rlx_model_requests_total{{model="plus",version="1",result="{result}"}}' for result in ("input", "run")))
def memory_that_shrinks_in_mid_request_harms_its_own_answer_only(server):
    """The region is cut to nothing and grown again, over and over, while requests read from it and write to it."""
    path = pathlib.Path(f"/dev/shm/rlx-abuse-{os.getpid()}")
    n = 1 << 18
    path.write_bytes(bytes(8 * n))
    base = "/v2/systemsharedmemory/region/cut"
    assert rest(server, f"{base}/register", json.dumps({"key": path.name, "byte_size": 8 * n}))[0] == 200
    place = {"shared_memory_region": "cut", "shared_memory_byte_size": 4 * n}
    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [n], "parameters": place}],
                       "outputs": [{"name": "y", "parameters": {**place, "shared_memory_offset": 4 * n}}]})
    stop, codes = threading.Event(), {}

    def cut():
        while not stop.is_set():
            os.truncate(path, 0)
            os.truncate(path, 8 * n)
    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end and not (sum(codes.values()) >= 200 and len(codes) > 1):
            code, text = rest(server, "/v2/models/plus/infer", body)
            codes[code] = codes.get(code, 0) + 1
            assert code == 200 or b"RLX-" in text, text
        stop.set()
        cutter.join()
        os.truncate(path, 0)
        code, text = rest(server, "/v2/models/plus/infer", body)
        rest(server, f"{base}/unregister", b"{}")
    finally:
        stop.set()
        cutter.join()
        path.unlink()
    say(f"answers while the region changed its size: {codes}; with nothing left of it: {code} {text.decode()[:120]}")
    assert code == 400 and b"RLX-161" in text, (code, text)


def hand_over(name=b"m", magic=0x4d584c52, version=1, op=1, name_bytes=None):
    return struct.pack("<IHHII", magic, version, op, len(name) if name_bytes is None else name_bytes, 0) + name


@abuse("rlx_handover_malformed_total", least=7)
def malformed_hand_overs_of_memory_close_their_connection(server):
    memory = os.memfd_create("abuse")
    try:
        for data, descriptors in ((hand_over(magic=1), 1), (hand_over(version=9), 1), (hand_over(op=7), 0), (hand_over(), 0), (hand_over(), 3),
                                  (hand_over(b""), 1), (hand_over(b"n" * 256), 1)):
            with memory_peer() as peer:
                socket.send_fds(peer, [data], [memory] * descriptors)
                with contextlib.suppress(ConnectionResetError):
                    assert peer.recv(4096) == b"", data
    finally:
        os.close(memory)


@abuse("rlx_handover_denied_total", least=3)
def memory_that_could_shrink_under_the_server_is_not_taken(server):
    unsealed, grows = os.memfd_create("abuse", os.MFD_ALLOW_SEALING), os.memfd_create("abuse", os.MFD_ALLOW_SEALING)
    for memory in (unsealed, grows):
        os.truncate(memory, 4096)
    fcntl.fcntl(grows, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    reader, writer = os.pipe()
    with memory_peer() as peer:
        for descriptor in (unsealed, grows, reader):
            socket.send_fds(peer, [hand_over()], [descriptor])
            magic, _, code, size, _ = struct.unpack("<IHHII", peer.recv(16))
            assert magic == 0x4d584c52 and code == 3 and peer.recv(size).startswith(b"RLX-1616"), code
    for descriptor in (unsealed, grows, reader, writer):
        os.close(descriptor)


@abuse("rlx_handover_refused_total", least=44)
def more_hand_over_connections_than_the_maximum_are_closed_at_once(server):
    peers = [memory_peer() for _ in range(300)]
    time.sleep(0.1)
    for peer in peers:
        peer.close()


def memory_peer():
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(5)
    peer.connect(Victim.one.memory)
    return peer


@abuse("rlx_http_broken_total", least=6)
def what_is_no_http_is_refused(server):
    path = b"POST /v2/models/sum/infer HTTP/1.1\r\nHost: x\r\n"
    for data in (path + b"Content-Length: -5\r\n\r\n", path + b"Content-Length: 99999999999999999999\r\n\r\n",
                 path + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nabc", path + b"X: " + b"a" * 300000 + b"\r\n\r\n",
                 path + b"".join(b"H%d: v\r\n" % i for i in range(20000)) + b"\r\n", b"G" * 100000):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as peer:
            answer = b""
            with contextlib.suppress(OSError):
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while piece := peer.recv(65536):
                    answer += piece
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer[:200]


@test
def after_all_abuse_the_normal_client_was_never_wrong_and_memory_grew_little():
    victim, Victim.one = Victim.one, None
    if victim is None:
        raise suite.Skip("no abuse ran before it")
    try:
        storm = victim.traffic.end()
        numbers = quiet(victim.server)
        growth = resident(victim.server) - victim.before
        say(f"{storm.counts['answered']} right answers meanwhile; memory grew by {growth / MIB:.1f} MiB over all")
        assert storm.statuses == {0: storm.counts["answered"]}, storm.statuses
        assert suite.SANITIZED or growth <= GROWTH_MAX, growth
        assert numbers["rlx_request_memory_bytes"] == 0 and numbers["rlx_shared_memory_regions{kind=\"system\"}"] == 0
        code = victim.server.stop()
        assert code == 0, code
    finally:
        victim.server.__exit__(None, None, None)


@test
def out_of_descriptors_open_connections_work_and_later_ones_are_served_again():
    """B414. A connection too many is closed at once."""
    with Rlxd(bundles("sum")) as server:
        open_now = len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (open_now + 20, open_now + 20))
        with Raw(server.port) as raw:
            assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"
            peers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
            for _ in range(50):
                assert raw.call(INFER, GOOD)[0]["grpc-status"] == "0"
            lines = len(server.log().splitlines())
            for peer in peers:
                peer.close()
        time.sleep(0.1)
        with healthy_after(server, "descriptors come back"):
            pass
        assert metrics(server)["rlx_rpc_connections_refused_total"] > 100
        assert lines < 30, server.log()
