"""rpc/server.h as clients meet it: honest ones (grpcio, nghttp, h2load, curl) and hostile ones (h2.py). Usage: run [PATTERN]"""
import contextlib
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import grpc

import h2
from h2 import ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE
from h2 import Closed, Raw, frame, message, setting

SERVER = os.environ["RPC_TEST_SERVER"]
SANITIZED = os.environ.get("RPC_TEST_SANITIZED") == "1"
tests = []
work = tempfile.TemporaryDirectory(prefix="rlx-rpc-")


def test(function):
    tests.append(function)
    return function


class Server:
    """A test server; leaving it stops it, and fails unless every call was closed, every answer released and every handle gone."""

    def __init__(self, *arguments, stop=signal.SIGTERM, nofile=None):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([SERVER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=self.errors, text=True, preexec_fn=limit)
        line = self.process.stdout.readline()
        if not line.startswith("port "):
            raise AssertionError("the server did not start: " + self.stderr())
        self.port = int(line.split()[1])
        self.target = "127.0.0.1:%d" % self.port
        self.stop = stop

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(self.stop)
        try:
            code = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none within 15 s"
        if kind is not None and code != 0:
            print("the server ended with %s: %s" % (code, self.stderr()))
        if kind is None:
            expect(code == 0, "the server ended with %s: %s%s" % (code, self.process.stdout.read(), self.stderr()))

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-3000:]

    def raw(self, *arguments, **how):
        return Raw(self.port, *arguments, **how)

    def channel(self, **options):
        return grpc.insecure_channel(self.target, options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                                                           ("grpc.use_local_subchannel_pool", 1), *options.items()])

    def counters(self):
        with self.raw() as raw:
            fields, body, _ = raw.call("/test/Counters")
        expect(fields["grpc-status"] == "0", fields)
        return {name: int(value) for name, value in (line.split() for line in body.decode().splitlines())}

    def healthy(self):
        """An echo on a new connection within 100 ms (a sanitizer's build: a second)."""
        begin = time.monotonic()
        with self.raw() as raw:
            fields, body, _ = raw.call("/test/Echo", b"alive?")
        took = time.monotonic() - begin
        expect(fields.get("grpc-status") == "0" and body == b"alive?", (fields, body))
        expect(took < (1.0 if SANITIZED else 0.1), "health took %.0f ms" % (took * 1000))

    def rss(self):
        with open("/proc/%d/statm" % self.process.pid) as file:
            return int(file.read().split()[1]) * 4096

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def eventually(self, name, value, within=5):
        end = time.monotonic() + within
        while True:
            counters = self.counters()
            if (value(counters[name]) if callable(value) else counters[name] == value) or time.monotonic() > end:
                break
            time.sleep(0.02)
        expect(value(counters[name]) if callable(value) else counters[name] == value, "%s is %d" % (name, counters[name]))
        return counters


def expect(condition, what=""):
    if not condition:
        raise AssertionError(what)


def unary(channel, path):
    return channel.unary_unary(path, request_serializer=None, response_deserializer=None)


@contextlib.contextmanager
def fails(code, *parts):
    try:
        yield
    except grpc.RpcError as error:
        expect(error.code() == code, "%s: %s" % (error.code(), error.details()))
        for part in parts:
            expect(part in error.details(), error.details())
    else:
        raise AssertionError("succeeded")


# --- Honest clients


@test
def messages_of_every_size_come_back_bit_equal():
    with Server() as server, server.channel() as channel:
        echo = unary(channel, "/test/Echo")
        for size in (0, 1, 4, 5, 255, 256, 257, 16383, 16384, 16385, 65536, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 20 << 20):
            payload = os.urandom(size)
            expect(echo(payload, timeout=30) == payload, size)


@test
def a_stream_keeps_the_order_of_its_messages():
    with Server() as server, server.channel() as channel:
        sent = [os.urandom(i * 37 % 5000) for i in range(1000)]
        stream = channel.stream_stream("/test/Echo", request_serializer=None, response_deserializer=None)
        expect(list(stream(iter(sent), timeout=30)) == sent)
        upload = channel.stream_unary("/test/Sink", request_serializer=None, response_deserializer=None)
        expect(int(upload(iter(sent), timeout=30)) == sum(map(len, sent)))


@test
def many_calls_on_many_connections_are_all_answered():
    failures = []

    def client(server, n):
        with server.channel() as channel:
            echo = unary(channel, "/test/Echo")
            calls = [(os.urandom(16384), i) for i in range(n)]
            for (payload, _), future in zip(calls, [echo.future(payload, timeout=30) for payload, _ in calls]):
                if future.result() != payload:
                    failures.append("not equal")

    with Server() as server:
        threads = [threading.Thread(target=client, args=(server, 50)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(not failures, failures)
        expect(server.counters()["closed"] == 800)


@test
def a_large_answer_arrives_whole_through_small_client_windows():
    with Server() as server, server.channel(**{"grpc.http2.lookahead_bytes": 65535, "grpc.http2.bdp_probe": 0}) as channel:
        answer = unary(channel, "/test/Big")(b"30000000", timeout=60)
        block = bytes((i * 7) & 255 for i in range(1 << 20))
        expect(answer == (block * 29)[:30000000])
        expect(server.counters()["released"] >= 1)


@test
def nghttp_and_h2load_are_served():
    path = os.path.join(work.name, "body")
    with open(path, "wb") as file:
        file.write(message(b"x" * 16384))
    headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
    with Server() as server:
        url = "http://%s/test/Echo" % server.target
        output = subprocess.run(["nghttp", "-v", "-d", path, *headers, url], capture_output=True, text=True, timeout=20).stdout
        expect("grpc-status: 0" in output and "content-type: application/grpc" in output, output)
        output = subprocess.run(["h2load", "-n", "4000", "-c", "8", "-m", "8", "-d", path, *headers, url], capture_output=True, text=True,
                                timeout=60).stdout
        expect("4000 succeeded, 0 failed, 0 errored" in output, output)


@test
def over_a_unix_socket_and_a_stale_socket_file_is_replaced():
    path = os.path.join(work.name, "socket")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    with Server("--unix", path) as server:
        with grpc.insecure_channel("unix:" + path) as channel:
            expect(b"peer unix\n" in unary(channel, "/test/Info")(b"", timeout=5))
        second = subprocess.run([SERVER, "--unix", path], capture_output=True, text=True, timeout=5)
        expect(second.returncode == 1 and "RLX-1601" in second.stderr and path in second.stderr, second.stderr)
        with grpc.insecure_channel("unix:" + path) as channel:
            unary(channel, "/test/Echo")(b"still served", timeout=5)
    expect(not os.path.exists(path), "the socket file is left")


@test
def a_method_sees_peer_deadline_and_the_headers_that_are_kept():
    with Server() as server, server.channel() as channel:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        info = unary(channel, "/test/Info")(b"", timeout=5, metadata=[("traceparent", trace), ("x-other", "1")]).decode()
        expect(re.search(r"^peer 127\.0\.0\.1:\d+$", info, re.M), info)
        expect("subject -\n" in info and "traceparent " + trace in info and "x-other -" in info, info)
        left = int(re.search(r"left_ms (-?\d+)", info)[1])
        expect(4000 < left <= 5000, info)
        expect("left_ms -1" in unary(channel, "/test/Info")(b"").decode())


@test
def server_time_is_counted_once_per_unary_call():
    with Server() as server, server.channel() as channel:
        echo = unary(channel, "/test/Echo")
        for _ in range(100):
            echo(b"x" * 100, timeout=5)
        counters = server.counters()
        expect(counters["server_time_count"] == 100, counters["server_time_count"])
        expect(0 < counters["server_time_sum"] / 100 < 5e6, counters)


# --- Errors


@test
def an_unknown_method_is_named():
    with Server() as server, server.channel() as channel:
        with fails(grpc.StatusCode.UNIMPLEMENTED, "/test/Nothing", "RLX-1611"):
            unary(channel, "/test/Nothing")(b"x" * 100000, timeout=5)
        expect(unary(channel, "/test/Echo")(b"next", timeout=5) == b"next")
        expect(server.counters()["calls_unknown"] == 1)


@test
def error_texts_survive_percent_encoding():
    with Server() as server, server.channel() as channel:
        with fails(grpc.StatusCode.INVALID_ARGUMENT):
            unary(channel, "/test/Fail")(b"", timeout=5)
        try:
            unary(channel, "/test/Fail")(b"", timeout=5)
        except grpc.RpcError as error:
            expect(error.details() == "100 % wrong: ü, line\n2", repr(error.details()))
        with server.raw() as raw:
            fields, _, _ = raw.call("/test/Fail")
            expect(fields["grpc-message"] == "100 %25 wrong: %C3%BC, line%0A2", fields)
            fields, body, _ = raw.call("/test/FailLate")
            expect(body == b"partial" and fields["grpc-status"] == "15" and fields["grpc-message"] == "lost %E2%82%AC", (fields, body))


@test
def a_message_above_the_limit_is_refused_with_both_sizes_and_the_connection_survives():
    with Server("message_bytes_max=1000000") as server, server.raw() as raw:
        fields, body, _ = raw.call("/test/Sink", b"x" * 1000000)
        expect(body == b"1000000", (fields, body))
        for _ in range(40):  # 2 MB of dropped bytes: more than the window
            stream = raw.open("/test/Sink")
            raw.send(frame(DATA, 0, stream, struct.pack(">BI", 0, 1000001) + b"y" * 10000))
            fields, _, _ = raw.answer(stream)
            expect(fields["grpc-status"] == "8" and "1000001" in fields["grpc-message"] and "1000000" in fields["grpc-message"], fields)
            for _ in range(3):
                raw.send(frame(DATA, 0, stream, b"y" * 15000))  # had left before the refusal came
        fields, body, _ = raw.call("/test/Sink", b"x" * 1000000)
        expect(body == b"1000000", (fields, body))
        expect(server.counters()["messages_oversize"] == 40)


@test
def compressed_messages_are_unimplemented_and_identity_is_offered():
    with Server() as server:
        with server.raw() as raw:
            stream = raw.open("/test/Echo", [("grpc-encoding", "gzip")])
            raw.data(stream, message(b"\x1f\x8b", flag=1), end=True)
            fields, _, _ = raw.answer(stream)
            expect(fields["grpc-status"] == "12" and "identity" in fields["grpc-message"], fields)
            fields, body, _ = raw.call("/test/Echo", b"plain", [("grpc-encoding", "gzip")])  # announced, but not used
            expect(body == b"plain" and fields["grpc-accept-encoding"] == "identity", fields)
        with server.channel() as channel:
            with fails(grpc.StatusCode.UNIMPLEMENTED):
                unary(channel, "/test/Echo")(b"a" * 5000, compression=grpc.Compression.Gzip, timeout=5)
        expect(server.counters()["messages_malformed"] == 2)


@test
def what_is_not_grpc_is_told_so():
    with Server() as server, server.raw() as raw:
        for content in ("application/json", "application/grpc-web", "application/grpc+json", "application/grpcx", None):
            fields, _, _ = raw.answer(raw.open("/test/Echo", end=True, content=content))
            expect(fields[":status"] == "415" and "application/grpc" in fields["grpc-message"], (content, fields))
        for content in ("application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"):
            stream = raw.open("/test/Echo", content=content)
            raw.data(stream, message(b"x"), end=True)
            expect(raw.answer(stream)[0]["grpc-status"] == "0", content)
        fields, _, _ = raw.answer(raw.open("/test/Echo", end=True, method="GET"))
        expect(fields[":status"] == "415", fields)
        fields, _, _ = raw.answer(raw.open("/test/Echo", end=True, te=False))
        expect(fields["grpc-status"] == "3" and "te: trailers" in fields["grpc-message"], fields)
        fields, _, _ = raw.answer(raw.open("/test/Echo", [("grpc-timeout", "5 seconds")], end=True))
        expect(fields["grpc-status"] == "3" and "grpc-timeout" in fields["grpc-message"], fields)
        expect(server.counters()["content_type_bad"] == 6)


@test
def broken_message_framing_is_refused():
    with Server() as server, server.raw() as raw:
        for payload in (b"\x00", b"\x00\x00\x00\x00", message(b"12345678")[:9], message(b"1234") + b"\x00\x00", b"\x02\x00\x00\x00\x01x"):
            stream = raw.open("/test/Echo")
            raw.data(stream, payload, end=True)
            fields, _, _ = raw.answer(stream)
            expect(fields["grpc-status"] == "3" and "RLX-1609" in fields["grpc-message"], (payload, fields))
        stream = raw.open("/test/Sink")  # a byte at a time
        for byte in message(b"abc") + message(b"") + message(b"defgh"):
            raw.send(frame(DATA, 0, stream, bytes([byte])))
        raw.data(stream, b"", end=True)
        expect(raw.answer(stream)[1][5:] == b"8")
        expect(server.counters()["messages_malformed"] == 5)


@test
def a_method_that_refuses_a_message_gets_none_of_its_bytes():
    with Server() as server, server.raw() as raw:
        stream = raw.open("/test/Refuse")
        raw.data(stream, message(b"x" * 50000), end=True)
        fields, _, _ = raw.answer(stream)
        expect(fields["grpc-status"] == "9" and "50000 bytes" in fields["grpc-message"], fields)
        expect(raw.call("/test/Echo", b"y")[1] == b"y")
        fields, _, _ = raw.answer(raw.open("/test/Bare", [("grpc-timeout", "50m")]))  # no functions but open and closed
        expect(fields["grpc-status"] == "4", fields)
        expect(server.counters()["message_ends"] == 1, "only the echo's")


# --- The end of calls


@test
def the_server_ends_a_call_at_its_deadline():
    with Server() as server, server.raw() as raw:
        begin = time.monotonic()
        stream = raw.open("/test/Silent", [("grpc-timeout", "150m")])
        raw.data(stream, message(b"x"), end=True)
        fields, _, _ = raw.answer(stream)
        took = time.monotonic() - begin
        expect(fields["grpc-status"] == "4" and "RLX-1608" in fields["grpc-message"], fields)
        expect(0.149 <= took < 0.6, took)
        counters = server.counters()
        expect(counters["deadlines"] == 1 and counters["closed"] == 1 and counters["cancelled"] == 0, counters)
        fields, _, _ = raw.answer(raw.open("/test/Silent", [("grpc-timeout", "0n")]))  # already over; the request goes on
        expect(fields["grpc-status"] == "4", fields)
        expect(raw.call("/test/Echo", b"y", [("grpc-timeout", "99999999H")])[1] == b"y")


@test
def a_deadline_in_the_middle_of_an_answer_resets_the_stream():
    with Server() as server, server.raw(setting(4, 0)) as raw:  # windows of zero: the answer cannot leave
        stream = raw.open("/test/Echo", [("grpc-timeout", "100m")])
        raw.data(stream, message(b"x" * 1000), end=True)
        _, body, reset = raw.answer(stream)
        expect(body == b"" and reset == 8, (body, reset))
        counters = server.eventually("released", 1)
        expect(counters["closed"] == 1, counters)


@test
def cancellation_and_disconnection_tell_the_method_at_once():
    with Server() as server:
        with server.raw() as raw:
            streams = [raw.open("/test/Silent") for _ in range(10)]
            server.eventually("opened", 10)
            for stream in streams[:5]:
                raw.send(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
            counters = server.eventually("closed", 5)
            expect(counters["cancelled"] == 5 and counters["open_calls"] == 6, counters)
        counters = server.eventually("closed", 10)
        expect(counters["cancelled"] == 10, counters)
        with server.channel() as channel:
            future = unary(channel, "/test/Silent").future(b"x")
            server.eventually("opened", 11)
            future.cancel()
            server.eventually("cancelled", 11)


@test
def keepalive_closes_a_peer_that_went_silent_and_spares_one_that_answers():
    with Server("keepalive_ms=150") as server, server.raw() as dead, server.raw() as alive:
        streams = [raw.open("/test/Silent") for raw in (dead, alive)]
        end = time.monotonic() + 1
        pings = 0
        while time.monotonic() < end:  # `alive` answers PINGs inside receive; `dead` is not read
            try:
                pings += alive.receive(0.1)[0] == PING
            except TimeoutError:
                pass
        expect(3 <= pings <= 8, pings)
        counters = server.counters()
        expect(counters["cancelled"] == 1 and counters["closed"] == 1, counters)
        alive.send(frame(RST_STREAM, 0, streams[1], struct.pack(">I", 8)))
        server.eventually("closed", 2)


@test
def an_idle_connection_is_asked_to_go():
    with Server("idle_ms=200") as server, server.raw() as raw:
        expect(raw.call("/test/Echo", b"x")[1] == b"x")
        begin = time.monotonic()
        expect(raw.closed() == (1, 0))
        expect(0.1 < time.monotonic() - begin < 2, time.monotonic() - begin)
        server.healthy()


# --- Flow control


@test
def a_held_call_stops_its_peer_after_one_window_and_others_flow_on():
    with Server("window_bytes=65535") as server, server.raw() as raw:
        stream = raw.open("/test/Hold")
        raw.data(stream, message(b"x" * 30000) * 2)
        begin = time.monotonic()
        expect(raw.call("/test/Sink", b"y" * 50000)[1] == b"50000", "another call, meanwhile")
        expect(time.monotonic() - begin < 0.25, "waited for the held one")
        updates = []
        while not updates:
            kind, _, of, payload = raw.receive(2)
            if kind == WINDOW_UPDATE and of == stream:
                updates.append(time.monotonic() - begin)
        expect(updates[0] > 0.2, "the window was given back while held: %s" % updates)
        raw.data(stream, message(b"x" * 30000), end=True)
        expect(raw.answer(stream)[1][5:] == b"90000")


@test
def reset_uploads_do_not_shrink_the_connections_window():
    # B417: ten uploads, five reset midway, again and again: 65535 bytes of window see megabytes pass.
    with Server("window_bytes=65535") as server, server.raw() as raw:
        for round_ in range(60):
            streams = [raw.open("/test/Sink") for _ in range(10)]
            for i, stream in enumerate(streams):
                raw.send(frame(DATA, 0, stream, message(b"z" * 3000)[:2000]))
                if i % 2:
                    raw.send(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
                    raw.send(frame(DATA, 0, stream, b"z" * 500))  # was on its way
            for i, stream in enumerate(streams):
                if not i % 2:
                    raw.send(frame(DATA, END_STREAM, stream, message(b"z" * 3000)[2000:]))
                    expect(raw.answer(stream)[1][5:] == b"3000", round_)
            expect(raw.call("/test/Sink", b"w" * 16000)[1] == b"16000", round_)


@test
def padding_counts_towards_windows_and_is_given_back():
    with Server("window_bytes=65535") as server, server.raw() as raw:
        for _ in range(600):  # 600 * 256 bytes of padding
            stream = raw.open("/test/Sink")
            raw.send(frame(DATA, END_STREAM | h2.PADDED, stream, b"\xff" + message(b"q") + bytes(255)))
            expect(raw.answer(stream)[1][5:] == b"1")


@test
def large_messages_grow_the_window():
    with Server() as server, server.raw() as raw:
        raw.data(raw.open("/test/Sink"), struct.pack(">BI", 0, 8 << 20) + b"x" * 1000)
        while raw.initial < 16 << 20 or raw.window < 15 << 20:
            raw.receive(2)
        raw.data(1, b"x" * ((8 << 20) - 1000), end=True)
        expect(raw.answer(1)[1][5:] == b"8388608")


def ends_of(raw, streams):
    """How all of `streams` end, in whatever order: {stream: (fields, code of a reset or None)}."""
    ends, fields = {}, {}
    while len(ends) < len(streams):
        kind, flags, stream, payload = raw.receive(5)
        if kind == HEADERS:
            fields.setdefault(stream, {}).update(payload)
        if stream in streams and stream not in ends:
            if kind == RST_STREAM:
                ends[stream] = (fields.get(stream, {}), struct.unpack(">I", payload)[0])
            elif flags & END_STREAM and kind in (HEADERS, DATA):
                ends[stream] = (fields.get(stream, {}), None)
    return ends


@test
def answers_that_are_not_read_are_bounded_and_end_after_the_stall_time():
    with Server("stall_ms=700", "output_bytes_max=4000000") as server:
        server.healthy()
        before = server.rss()
        with server.raw(setting(4, 0)) as raw:  # zero windows, for ever
            streams = set()
            for _ in range(100):
                stream = raw.open("/test/Big")
                raw.data(stream, message(b"100000"), end=True)
                streams.add(stream)
                time.sleep(0.002)
            server.healthy()
            expect(server.rss() - before < 16 << 20 or SANITIZED, "memory grew by %d" % (server.rss() - before))
            ends = ends_of(raw, streams).values()
            refused = sum(fields.get("grpc-status") == "8" for fields, _ in ends)
            reset = sum(code == 8 for _, code in ends)
            expect(refused >= 50 and 30 <= reset <= 50 and refused + reset == 100, (refused, reset))
            counters = server.eventually("open_calls", 1)
            expect(counters["stalls"] == reset and counters["output_full"] == refused, counters)
            raw.send(frame(SETTINGS, 0, 0, setting(4, 65535)))
            expect(raw.call("/test/Echo", b"again")[1] == b"again", "the connection works on")


@test
def a_peer_that_never_reads_is_bounded_and_closed():
    with Server("stall_ms=700", "output_bytes_max=4000000") as server:
        server.healthy()
        before = server.rss()
        with server.raw(setting(4, 0x7fffffff), rcvbuf=4096) as raw:
            raw.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000)))
            raw.socket.settimeout(0.5)
            with contextlib.suppress(TimeoutError, Closed):
                for _ in range(20000):
                    stream = raw.open("/test/Big")
                    raw.data(stream, message(b"100000"), end=True)
            server.healthy()
            expect(server.rss() - before < 24 << 20 or SANITIZED, "memory grew by %d" % (server.rss() - before))
            counters = server.eventually("open_connections", 1)
            expect(counters["stalls"] >= 1 and counters["open_calls"] == 1, counters)


# --- Drain and close


@test
def a_drain_lets_calls_finish_in_two_phases():
    with Server() as server, server.raw() as raw:
        stream = raw.open("/test/Later")
        raw.data(stream, message(b"x"), end=True)
        server.eventually("opened", 1)
        server.process.send_signal(signal.SIGTERM)
        kind = None
        while kind != GOAWAY:
            kind, _, _, payload = raw.receive(2)
        expect(struct.unpack(">II", payload[:8]) == (0x7fffffff, 0), payload)
        with socket.socket() as late:
            expect(late.connect_ex(("127.0.0.1", server.port)) != 0, "a new connection was accepted")
        # The PING of the drain is answered inside receive; a request that had left before is still served.
        second = raw.open("/test/Echo")
        raw.data(second, message(b"in flight"), end=True)
        ends = answers_with_goaway(raw, {stream, second})
        expect(ends["bodies"] == {stream: message(b"later"), second: message(b"in flight")}, ends)
        expect(ends["goaway"] in ((1, 0), (3, 0)), ends)
        expect(server.process.wait(5) == 0)


def answers_with_goaway(raw, streams):
    bodies, goaway, ended = {}, None, set()
    try:
        while True:
            kind, flags, stream, payload = raw.receive(5)
            if kind == GOAWAY:
                goaway = struct.unpack(">II", payload[:8])
            if kind == DATA:
                bodies[stream] = bodies.get(stream, b"") + payload
            if flags & END_STREAM and kind in (HEADERS, DATA):
                ended.add(stream)
    except Closed:
        pass
    expect(ended == streams or ended == {1}, ended)
    return {"bodies": bodies, "goaway": goaway}


@test
def under_load_a_drain_fails_no_call_that_a_client_may_not_retry():
    # B419: grpcio retries transparently what GOAWAY says was not processed; then there is nobody to retry with, so UNAVAILABLE is right.
    with Server() as server, server.channel() as channel:
        echo = unary(channel, "/test/Echo")
        outcomes = []

        def client():
            while True:
                try:
                    outcomes.append(echo(b"x" * 1000, timeout=5) == b"x" * 1000)
                except grpc.RpcError as error:
                    outcomes.append(error.code())
                    return

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        expect(server.process.wait(10) == 0)
        expect(set(outcomes) == {True, grpc.StatusCode.UNAVAILABLE}, set(outcomes))


@test
def the_server_may_be_closed_from_inside_a_callback():
    with Server() as server, server.raw() as raw, server.raw() as other:
        silent = other.open("/test/Silent")
        server.eventually("opened", 1)
        stream = raw.open("/test/Close")
        raw.data(stream, message(b"x"), end=True)
        expect(raw.closed() is None)
        expect(other.closed() is None and silent == 1)
        expect(server.process.wait(5) == 0, "calls or answers were left")


@test
def closing_with_calls_open_tells_every_method():
    with Server(stop=signal.SIGINT) as server, server.raw(setting(4, 10)) as raw:
        for path in ("/test/Silent", "/test/Echo", "/test/Hold", "/test/Later") * 5:
            raw.data(raw.open(path), message(b"x" * 5000), end=True)
        server.eventually("opened", 20)


# --- TLS


def certificates():
    paths = {name: os.path.join(work.name, name + ".pem") for name in ("ca", "ca.key", "server", "server.key", "client", "client.key")}
    if os.path.exists(paths["client"]):
        return paths

    def run(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650", "-subj", "/CN=test ca", "-keyout",
        paths["ca.key"], "-out", paths["ca"])
    for name, subject, extension in (("server", "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                                     ("client", "/O=rlx/CN=node-7", "extendedKeyUsage=clientAuth")):
        request, extensions = paths[name] + ".csr", paths[name] + ".ext"
        with open(extensions, "w") as file:
            file.write(extension + "\n")
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject, "-keyout", paths[name + ".key"], "-out",
            request)
        run("x509", "-req", "-in", request, "-CA", paths["ca"], "-CAkey", paths["ca.key"], "-CAcreateserial", "-days", "3650", "-extfile",
            extensions, "-out", paths[name])
    return paths


def read(path):
    with open(path, "rb") as file:
        return file.read()


@test
def over_tls_messages_of_every_size_come_back():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server:
        credentials = grpc.ssl_channel_credentials(read(paths["ca"]))
        with grpc.secure_channel("localhost:%d" % server.port, credentials, options=[("grpc.max_receive_message_length", -1)]) as channel:
            echo = unary(channel, "/test/Echo")
            for size in (0, 1, 16384, 1 << 20, 8 << 20):
                payload = os.urandom(size)
                expect(echo(payload, timeout=30) == payload, size)
            expect(len(unary(channel, "/test/Big")(b"30000000", timeout=60)) == 30000000)
            expect(b"subject -" in unary(channel, "/test/Info")(b"", timeout=5))
            with fails(grpc.StatusCode.DEADLINE_EXCEEDED):
                unary(channel, "/test/Silent")(b"", timeout=0.1)
        context = ssl.create_default_context(cafile=paths["ca"])
        context.set_alpn_protocols(["h2"])
        with server.raw(tls=context) as raw:
            expect(raw.call("/test/Counters")[0]["grpc-status"] == "0")


@test
def mutual_tls_shows_the_subject_and_refuses_strangers():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"], "--ca", paths["ca"]) as server:
        mutual = grpc.ssl_channel_credentials(read(paths["ca"]), read(paths["client.key"]), read(paths["client"]))
        with grpc.secure_channel("localhost:%d" % server.port, mutual) as channel:
            info = unary(channel, "/test/Info")(b"", timeout=5).decode()
            expect("O" in info and "rlx" in info and "node-7" in info, info)
            with grpc.secure_channel("localhost:%d" % server.port, grpc.ssl_channel_credentials(read(paths["ca"]))) as stranger:
                with fails(grpc.StatusCode.UNAVAILABLE):
                    unary(stranger, "/test/Echo")(b"", timeout=2)
            text = unary(channel, "/test/Counters")(b"", timeout=5).decode()
            expect(re.search(r"tls_failures [1-9]", text), text)


@test
def tls_files_that_do_not_fit_are_named():
    paths = certificates()
    for arguments, part in ((["/nonexistent.pem", paths["server.key"]], "/nonexistent.pem"), ([paths["server"], paths["client.key"]], "client.key"),
                            ([paths["server"], paths["server"]], "server.pem")):
        result = subprocess.run([SERVER, "--tls", *arguments], capture_output=True, text=True, timeout=5)
        expect(result.returncode == 1 and "RLX-1602" in result.stderr and part in result.stderr, result.stderr)


@test
def plain_bytes_to_a_tls_port_and_tls_to_a_plain_one_are_refused():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server, server.raw() as raw:
        raw.closed()
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.settimeout(3)
            while plain.recv(1000):
                pass
        server.stop = signal.SIGINT
    with Server() as server:
        context = ssl.create_default_context(cafile=paths["ca"])
        try:
            server.raw(tls=context)
        except (ssl.SSLError, ConnectionResetError, OSError):
            pass
        expect(server.counters()["preface_bad"] == 1)


@test
def a_tls_connection_that_is_closed_while_a_large_answer_leaves_frees_everything():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"], stop=signal.SIGINT) as server:
        context = ssl.create_default_context(cafile=paths["ca"])
        context.set_alpn_protocols(["h2"])
        for _ in range(5):
            with server.raw(setting(4, 0x7fffffff), tls=context, rcvbuf=4096) as raw:
                raw.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000)))
                stream = raw.open("/test/Big")
                raw.data(stream, message(b"50000000"), end=True)
                time.sleep(0.05)


# --- HTTP/1.1 on the same port


@test
def http1_is_handed_over_untouched_however_slowly_it_comes():
    with Server() as server:
        for request in (b"GET /x HTTP/1.1\r\n\r\n", b"POST /p HTTP/1.1\r\n\r\n", b"PRX /t HTTP/1.1\r\n\r\n"):
            for pause in (0, 0.02):
                with socket.create_connection(("127.0.0.1", server.port)) as client:
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for piece in ([request] if not pause else [request[i:i + 1] for i in range(len(request))]):
                        client.sendall(piece)
                        time.sleep(pause)
                    client.settimeout(3)
                    answer = b""
                    while more := client.recv(1000):
                        answer += more
                    expect(answer.endswith(b"\r\n\r\n" + request.split(b"\r\n")[0]), answer)
        expect(subprocess.run(["curl", "-s", "http://%s/by/curl" % server.target], capture_output=True, timeout=5).stdout == b"GET /by/curl HTTP/1.1")
        expect(server.counters()["http_connections"] == 7)


@test
def an_http2_preface_that_comes_byte_by_byte_is_understood_without_spinning():
    with Server() as server, server.raw(begin=False) as raw:
        cpu = server.cpu()
        for byte in h2.PREFACE[:3]:
            raw.send(bytes([byte]))
            time.sleep(0.3)
        expect(server.cpu() - cpu < 0.1, "the server spun")
        for byte in h2.PREFACE[3:] + frame(SETTINGS):
            raw.send(bytes([byte]))
            time.sleep(0.002)
        expect(raw.call("/test/Echo", b"x")[1] == b"x")


@test
def http1_over_tls_goes_through_a_pair():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server:
        curl = ["curl", "-s", "--http1.1", "--cacert", paths["ca"]]
        url = "https://localhost:%d" % server.port
        expect(subprocess.run([*curl, url + "/tls"], capture_output=True, timeout=5).stdout == b"GET /tls HTTP/1.1")
        expect(subprocess.run([*curl, url + "/big/20000000"], capture_output=True, timeout=20).stdout == bytes(20000000))
        expect(subprocess.run([*curl, "--no-alpn", url + "/none"], capture_output=True, timeout=5).stdout == b"GET /none HTTP/1.1")
        slow = subprocess.run([*curl, "--limit-rate", "10M", url + "/big/5000000"], capture_output=True, timeout=20).stdout
        expect(slow == bytes(5000000), len(slow))
        # Gone in the middle.
        context = ssl.create_default_context(cafile=paths["ca"])
        with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost") as client:
            client.sendall(b"GET /big/50000000 HTTP/1.1\r\n\r\n")
            client.recv(1000)


@test
def without_an_http_server_such_peers_are_closed_and_counted():
    with Server("--no-http") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            client.settimeout(3)
            with contextlib.suppress(ConnectionResetError):
                expect(client.recv(100) == b"")
        expect(server.counters()["preface_bad"] == 1)


# --- Abuse


@test
def bad_prefaces_are_closed_and_counted():
    with Server() as server:
        for first in (b"\x00" * 24, b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"\xff" * 1000):
            with server.raw(begin=False) as raw:
                raw.send(first)
                raw.closed()
        with server.raw(begin=False) as raw:  # not SETTINGS first
            raw.send(h2.PREFACE + frame(PING, 0, 0, bytes(8)))
            raw.closed()
        expect(server.counters()["preface_bad"] == 4, server.counters())
        server.healthy()


@test
def connections_that_say_nothing_end_with_the_handshake_time():
    with Server("handshake_ms=600") as server:
        server.healthy()
        before = server.rss()
        idle = [server.raw(begin=False) for _ in range(500)]
        for i, raw in enumerate(idle):
            if i % 3:
                raw.send(h2.PREFACE if i % 3 == 1 else b"PR")
        server.healthy()
        expect(server.rss() - before < 16 << 20 or SANITIZED, server.rss() - before)
        counters = server.eventually("handshake_timeouts", 500)
        expect(counters["open_connections"] == 1, counters)
        for raw in idle:
            raw.close()
        with server.raw() as raw:  # one that connected ahead stays
            time.sleep(1)
            expect(raw.call("/test/Echo", b"x")[1] == b"x")


@test
def more_connections_than_the_maximum_are_closed_at_once():
    with Server("connections_max=10") as server:
        held = [server.raw() for _ in range(10)]
        for raw in held:
            expect(raw.call("/test/Echo", b"x")[1] == b"x")
        with server.raw(begin=False) as eleventh:
            eleventh.closed(1)
        expect(int(re.search(rb"connections_refused (\d+)", held[0].call("/test/Counters")[1])[1]) == 1)
        for raw in held:
            raw.close()
        time.sleep(0.1)
        server.healthy()


@test
def out_of_descriptors_open_connections_work_and_the_log_stays_short():
    # B414
    with Server(nofile=64) as server, server.raw() as raw:
        expect(raw.call("/test/Echo", b"x")[1] == b"x")
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        time.sleep(0.3)
        cpu = server.cpu()
        for _ in range(20):
            expect(raw.call("/test/Echo", b"y")[1] == b"y")
        time.sleep(0.5)
        expect(server.cpu() - cpu < 0.2, "the server spun")
        refused = int(re.search(rb"connections_refused (\d+)", raw.call("/test/Counters")[1])[1])
        expect(refused > 100, refused)
        expect(server.stderr().count("\n") == 1 and "descriptors" in server.stderr(), server.stderr())
        for client in clients:
            client.close()
        time.sleep(0.2)
        server.healthy()


def flood(server, begin, piece, counter, code=11, rounds=3000):
    """Sends `piece` again and again until the server closes; it must say why and count it."""
    with server.raw() as raw:
        begin(raw)
        with contextlib.suppress(Closed, TimeoutError):
            for i in range(rounds):
                raw.send(piece(i))
        goaway = None
        with contextlib.suppress(ConnectionResetError, Closed):
            goaway = raw.closed()
        counters = server.counters()
        expect(counters[counter] == 1, counters)
        if code is not None and goaway is not None:
            expect(goaway[1] == code, goaway)
    server.healthy()


@test
def floods_of_control_frames_are_cut_off():
    pieces = {
        "ping": lambda i: frame(PING, 0, 0, bytes(8)) * 20,
        "settings": lambda i: frame(SETTINGS, 0, 0, setting(4, 65535)) * 20,
        "empty data": lambda i: frame(DATA, 0, 1) * 20,
        "priority": lambda i: frame(h2.PRIORITY, 0, 3, struct.pack(">IB", 0, 1)) * 20,
        "window updates": lambda i: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) * 20,
    }
    for name, piece in pieces.items():
        with Server(stop=signal.SIGINT) as server:
            before = server.rss()
            try:
                flood(server, lambda raw: raw.open("/test/Silent"), piece, "flood_control")
            except Exception as error:
                raise AssertionError("%s: %r" % (name, error)) from error
            expect(server.rss() - before < 16 << 20 or SANITIZED, name)


@test
def frames_of_unknown_types_are_ignored_however_many():
    with Server() as server, server.raw() as raw:
        before = server.rss()
        for _ in range(3000):
            raw.send(frame(99, 0xff, 0, b"x" * 10) * 20)
        expect(raw.call("/test/Echo", b"x")[1] == b"x")
        expect(server.rss() - before < 1 << 20 or SANITIZED)


@test
def a_rapid_reset_is_cut_off():
    with Server() as server:
        with server.raw() as raw:
            block = raw.block("/test/Silent")
            with contextlib.suppress(Closed, TimeoutError):
                for i in range(300):
                    raw.send(b"".join(frame(HEADERS, END_HEADERS, s, block if s == 1 else raw.block("/test/Silent")) +
                                      frame(RST_STREAM, 0, s, struct.pack(">I", 8)) for s in range(1 + i * 20, 21 + i * 20, 2)))
            with contextlib.suppress(Closed):
                goaway = raw.closed()
                expect(goaway is None or goaway[1] == 11, goaway)
        counters = server.counters()
        expect(counters["flood_resets"] == 1 and counters["opened"] < 1300 and counters["opened"] == counters["closed"], counters)
        server.healthy()


@test
def a_client_that_makes_the_server_reset_is_cut_off_too():
    with Server() as server:
        with server.raw() as raw:
            with contextlib.suppress(Closed, TimeoutError):
                for i in range(3000):
                    stream = raw.open("/test/Silent")
                    raw.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0)))  # a stream error
            with contextlib.suppress(Closed):
                raw.closed()
        counters = server.counters()
        expect(counters["flood_resets"] + counters["h2_errors"] >= 1, counters)
        server.healthy()


@test
def a_thousand_honest_cancellations_are_no_flood():
    with Server() as server, server.raw() as raw:
        for _ in range(3):
            for _ in range(150):
                stream = raw.open("/test/Silent")
                raw.send(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
            expect(raw.call("/test/Echo", b"x")[1] == b"x")
        expect(server.counters()["flood_resets"] == 0)


@test
def a_continuation_flood_is_cut_off():
    with Server() as server:
        before = server.rss()
        with server.raw() as raw:
            with contextlib.suppress(Closed, TimeoutError):
                raw.send(frame(HEADERS, 0, 1, raw.block("/test/Echo")))
                filler = h2.hpack.Encoder().encode([("x-%d" % i, "y" * 500) for i in range(25)], huffman=False)
                for _ in range(2000):
                    raw.send(frame(CONTINUATION, 0, 1, filler))
            with contextlib.suppress(Closed):
                raw.closed()
        expect(server.counters()["flood_control"] == 1, server.counters())
        expect(server.rss() - before < 8 << 20 or SANITIZED)
        server.healthy()


@test
def a_header_list_above_the_limit_is_refused_and_the_connection_survives():
    with Server("header_bytes_max=4096") as server, server.raw() as raw:
        fields, _, _ = raw.answer(raw.open("/test/Echo", [("x-%d" % i, "v" * 200) for i in range(20)], end=True))
        expect(fields["grpc-status"] == "8" and "4096" in fields["grpc-message"], fields)
        # Small on the wire, large when unpacked: one indexed field, again and again.
        stream = raw.next_stream
        raw.next_stream += 2
        block = raw.block("/test/Echo", [("x-big", "w" * 3000)])
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block + b"\xbe" * 2000))
        fields, _, _ = raw.answer(stream)
        expect(fields["grpc-status"] == "8", fields)
        expect(raw.call("/test/Echo", b"fits")[1] == b"fits")
        expect(server.counters()["headers_oversize"] == 2)


@test
def headers_that_never_end_are_given_up():
    with Server("stall_ms=400") as server, server.raw() as raw:
        expect(raw.call("/test/Echo", b"x")[1] == b"x")
        raw.send(frame(HEADERS, 0, 3, raw.block("/test/Echo")[:10]))
        begin = time.monotonic()
        raw.closed()
        expect(0.3 < time.monotonic() - begin < 2)
        expect(server.counters()["stalls"] == 1)


@test
def a_message_that_stops_in_the_middle_ends_with_deadline_exceeded():
    with Server("stall_ms=400") as server, server.raw() as raw:
        slow = raw.open("/test/Sink")
        raw.send(frame(DATA, 0, slow, message(b"x" * 1000)[:500]))
        idle = raw.open("/test/Silent")  # a stream between messages may stay
        raw.send(frame(DATA, 0, idle, message(b"whole")))
        fields, _, _ = raw.answer(slow, 3)
        expect(fields["grpc-status"] == "4" and "RLX-1621" in fields["grpc-message"], fields)
        drip = raw.open("/test/Sink")  # slow, but moving
        for byte in message(b"12345"):
            raw.send(frame(DATA, 0, drip, bytes([byte])))
            time.sleep(0.1)
        raw.data(drip, b"", end=True)
        expect(raw.answer(drip)[1][5:] == b"5")
        counters = server.counters()
        expect(counters["stalls"] == 1 and counters["closed"] == 2, counters)
        raw.send(frame(RST_STREAM, 0, idle, struct.pack(">I", 8)))


@test
def one_stream_above_the_maximum_is_refused_and_the_connection_goes_on():
    # B419
    with Server("streams_max=10") as server, server.raw() as raw:
        kind = None
        while kind != SETTINGS:
            kind, _, _, _ = raw.receive(2)
        streams = [raw.open("/test/Silent") for _ in range(10)]
        _, _, reset = raw.answer(raw.open("/test/Echo", end=True))
        expect(reset == 7, reset)  # REFUSED_STREAM
        raw.send(frame(RST_STREAM, 0, streams[0], struct.pack(">I", 8)))
        expect(raw.call("/test/Echo", b"room")[1] == b"room")
        server.stop = signal.SIGINT


@test
def a_peer_that_overruns_its_window_is_closed():
    with Server("window_bytes=65535") as server, server.raw() as raw:
        stream = raw.open("/test/Hold")
        with contextlib.suppress(Closed):
            for _ in range(30):
                raw.send(frame(DATA, 0, stream, b"\0\0\0\0\0" * 3000))
        with contextlib.suppress(Closed):
            goaway = raw.closed()
            expect(goaway is None or goaway[1] == 3, goaway)  # FLOW_CONTROL_ERROR
        expect(server.counters()["h2_errors"] == 1)
        server.healthy()


@test
def broken_frames_end_the_connection_and_are_counted():
    with Server() as server:
        broken = [frame(HEADERS, END_HEADERS, 0, b"\x82"), frame(HEADERS, END_HEADERS, 2, b"\x82"), frame(DATA, 0, 0, b"x"), frame(PING, 0, 0, b"x"),
                  frame(SETTINGS, 0, 1), frame(SETTINGS, 0, 0, b"12345"), frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"),
                  frame(DATA, 0, 0, b"x" * 20000), frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff)),
                  frame(h2.PUSH_PROMISE, END_HEADERS, 1, b"\x00\x00\x00\x02\x82"), frame(CONTINUATION, END_HEADERS, 1, b"\x82")]
        for piece in broken:
            with server.raw() as raw:
                with contextlib.suppress(Closed):
                    raw.send(piece)
                goaway = raw.closed()
                expect(goaway is None or goaway[1] != 0, (piece, goaway))
        expect(server.counters()["h2_errors"] == len(broken), server.counters())
        server.healthy()


@test
def random_ends_leave_nothing_behind():
    import random
    rng = random.Random(7)
    with Server("stall_ms=2000") as server:
        server.healthy()
        sizes = []
        for round_ in range(6):
            for _ in range(40):
                with server.raw() as raw:
                    for _ in range(rng.randrange(1, 20)):
                        path = rng.choice(["/test/Echo", "/test/Sink", "/test/Silent", "/test/Later", "/test/Big", "/test/Nope", "/test/Fail"])
                        timeout = [("grpc-timeout", "%dm" % rng.randrange(0, 30))] if rng.random() < 0.3 else []
                        stream = raw.open(path, timeout)
                        if rng.random() < 0.9:
                            payload = message(b"%d" % rng.randrange(200000)) + b"\x00" * rng.choice([0, 0, 0, 3])
                            raw.data(stream, payload, end=rng.random() < 0.8)
                        if rng.random() < 0.3:
                            raw.send(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
                    if rng.random() < 0.7:
                        with contextlib.suppress(Closed, TimeoutError):
                            raw.receive(0.01)
            counters = server.eventually("open_connections", 1)
            expect(counters["opened"] == counters["closed"] and counters["sent"] == counters["released"] + 0, counters)
            sizes.append(server.rss())
        expect(sizes[-1] - sizes[2] <= 1 << 20 or SANITIZED, sizes)


def main():
    patterns = [word for word in sys.argv[1:] if not word.startswith("-")]
    passed = failed = 0
    for function in tests:
        title = function.__name__.replace("_", " ")
        if patterns and not any(re.search(pattern, function.__name__) for pattern in patterns):
            continue
        begin = time.monotonic()
        try:
            function()
            passed += 1
            print("ok    %s (%.1f s)" % (title, time.monotonic() - begin), flush=True)
        except Exception:  # noqa: BLE001: any failure is a failed test
            failed += 1
            print("FAIL  %s" % title)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
