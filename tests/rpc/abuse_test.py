"""Hostile clients: each is refused with a counter, health stays within 100 ms, memory stays bounded."""
import contextlib
import random
import re
import signal
import socket
import struct
import time

import h2
from h2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, frame, message, setting
from harness import SANITIZED, Server, expect, test


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
def a_peer_that_leaves_before_its_preface_is_complete_is_let_go_at_once():
    # With FIN the socket is readable for ever, whatever SO_RCVLOWAT says.
    with Server() as server:
        with server.raw(begin=False) as raw:
            raw.send(b"PRI")
            raw.socket.shutdown(socket.SHUT_WR)
            cpu = server.cpu()
            raw.closed(2)
            time.sleep(0.3)
            expect(server.cpu() - cpu < 0.1, "the server spun")
        expect(server.counters()["open_connections"] == 1)


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
        expect(server.log().count("\n") == 1 and "descriptors" in server.log(), server.log())
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
        server.stop_signal = signal.SIGINT


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
