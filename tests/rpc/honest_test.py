"""Honest clients: grpcio, nghttp, h2load; what they get back, errors included."""
import os
import re
import socket
import struct
import subprocess
import threading

import grpc

from h2 import DATA, END_STREAM, HEADERS, WINDOW_UPDATE, frame, message, setting
from harness import SERVER, Server, expect, fails, test, unary, work


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
def messages_of_many_large_and_small_slices_arrive_whole():
    with Server() as server, server.raw(setting(4, 0x7fffffff)) as raw:
        raw.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000)))
        one, bodies, ended = message(bytes(128 * 301)), {}, 0
        streams = [raw.open("/test/Pieces", end=True) for _ in range(20)]
        while ended < len(streams):
            kind, flags, stream, payload = raw.receive(5)
            ended += kind == HEADERS and bool(flags & END_STREAM)
            if kind == DATA:
                bodies[stream] = bodies.get(stream, b"") + payload
        expect(bodies == dict.fromkeys(streams, one * 5), {stream: len(body) for stream, body in bodies.items()})


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
    with Server("--unix", path):
        with grpc.insecure_channel("unix:" + path) as channel:
            expect(b"peer unix\n" in unary(channel, "/test/Info")(b"", timeout=5))
        curl = subprocess.run(["curl", "-s", "--unix-socket", path, "http://local/x"], capture_output=True, timeout=5)
        expect(curl.stdout == b"GET /x HTTP/1.1", "HTTP/1.1 is served there too")
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
        expect(4000 < left <= 5100, info)  # grpcio rounds up
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
