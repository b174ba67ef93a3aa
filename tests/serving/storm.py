"""Many connections of gRPC calls by hand, in one thread, each call with a fate of its own: answered, cancelled, cut with its connection in the
middle of the message or after it, given a deadline, wrong. What every call came to is counted, so that the server's statistics can be
compared with it number by number."""
import collections
import random
import selectors
import socket
import struct
import time
import typing

import hpack
from tritonclient.grpc import service_pb2

from h2 import ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, message

INFER = "/inference.GRPCInferenceService/ModelInfer"
WINDOW = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 24)) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))


def block(path, timeout_ms=None):
    """Request headers without the dynamic table: the same bytes on every connection."""
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"), ("content-type", "application/grpc"),
              ("te", "trailers")]
    if timeout_ms is not None:
        fields.append(("grpc-timeout", f"{timeout_ms}m"))
    return b"".join(b"\x00" + bytes([len(n)]) + n.encode() + bytes([len(v)]) + v.encode() for n, v in fields)


class Request(typing.NamedTuple):
    """What is sent, and what may come back: with status 0 one of `good` (as a part of the answer), or another of `statuses`."""
    data: bytes
    good: tuple = ()
    statuses: tuple = (0,)


def encoded(model, **inputs):
    """A ModelInferRequest with raw contents."""
    made = service_pb2.ModelInferRequest(model_name=model)
    for name, array in inputs.items():
        made.inputs.add(name=name, datatype="FP32", shape=array.shape)
        made.raw_input_contents.append(array.tobytes())
    return made.SerializeToString()


class Call:
    __slots__ = ("fate", "request", "body", "cancel_at", "began")

    def __init__(self, fate, request):
        self.fate, self.request, self.body, self.cancel_at, self.began = fate, request, bytearray(), None, time.monotonic()


class Connection:
    def __init__(self, storm):
        self.storm = storm
        self.socket = socket.create_connection(("127.0.0.1", storm.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(10)
        self.decoder = hpack.Decoder()
        self.buffer = bytearray()
        self.calls, self.next_stream = {}, 1
        self.socket.sendall(PREFACE + WINDOW)

    def begin(self, fate, request, timeout_ms):
        """Sends one call, or the part of it that its fate wants sent. False: the connection is over, by our own doing."""
        storm, rng = self.storm, self.storm.rng
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        head = frame(HEADERS, END_HEADERS, stream, storm.head(timeout_ms))
        body = message(request.data)
        if fate == "cut":  # goes with its connection before the message is whole
            self.socket.sendall(head + frame(DATA, 0, stream, body[:rng.randrange(len(body))]))
            return False
        if fate == "gone":  # goes right after the whole message
            self.socket.sendall(head + frame(DATA, END_STREAM, stream, body))
            return False
        call = Call(fate, request)
        self.calls[stream] = call
        if fate == "reset within":  # reset before the message is whole
            self.socket.sendall(head + frame(DATA, 0, stream, body[:rng.randrange(len(body))]) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
            del self.calls[stream]
            return True
        if fate == "pieces":
            self.socket.sendall(head)
            while body:
                n = rng.randrange(1, len(body) + 1)
                piece, body = body[:n], body[n:]
                self.socket.sendall(frame(DATA, 0 if body else END_STREAM, stream, piece))
            return True
        self.socket.sendall(head + frame(DATA, END_STREAM, stream, body))
        if fate == "cancel":
            call.cancel_at = call.began + rng.random() * 0.003
        return True

    def cancel(self, now):
        for stream, call in list(self.calls.items()):
            if call.cancel_at is not None and call.cancel_at <= now:
                self.socket.sendall(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
                del self.calls[stream]
                self.storm.counts["cancelled by us"] += 1

    def read(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise AssertionError("the server closed a connection")
        self.buffer += data
        while len(self.buffer) >= 9:
            size = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
            payload = bytes(self.buffer[9:9 + size])
            del self.buffer[:9 + size]
            self.take(kind, flags, stream, payload)

    def take(self, kind, flags, stream, payload):
        if kind == HEADERS:
            fields = dict(self.decoder.decode(payload, raw=True))
            if flags & END_STREAM:
                self.end(stream, fields)
        elif kind == DATA and stream in self.calls:
            self.calls[stream].body += payload
        elif kind == RST_STREAM:
            self.reset(self.calls.get(stream), struct.unpack(">I", payload)[0])
        elif kind == GOAWAY:
            raise AssertionError(f"GOAWAY {payload!r}")
        elif kind == SETTINGS and not flags & ACK:
            self.socket.sendall(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))

    def reset(self, call, code):
        """NO_ERROR follows a whole answer; any other reset is none."""
        assert call is None or code == 0, f"the server reset a call ({call.fate}): {code}"

    def end(self, stream, fields):
        call = self.calls.pop(stream, None)
        if call is None:
            return  # we cancelled it while its answer was on the way
        status = int(fields[b"grpc-status"])
        self.storm.ended(call, status, fields.get(b"grpc-message", b"").decode())


class Storm:
    """`requests` and `wrong` (to be refused) are lists of Request."""

    def __init__(self, port, requests, wrong=(), fates=None, connections=64, streams=4, seed=1, deadline_ms=(1, 30)):
        self.port, self.requests, self.wrong, self.streams, self.deadline_ms = port, requests, list(wrong), streams, deadline_ms
        self.rng = random.Random(seed)
        self.fates = fates or {"whole": 40, "pieces": 12, "deadline": 15, "cancel": 12, "reset within": 5, "cut": 3, "gone": 3, "wrong": 10}
        self.heads = {}
        self.counts = collections.Counter()
        self.statuses = collections.Counter()
        self.selector = selectors.DefaultSelector()
        self.connections = []
        for _ in range(connections):
            self.connect()

    def head(self, timeout_ms):
        if timeout_ms not in self.heads:
            self.heads[timeout_ms] = block(INFER, timeout_ms)
        return self.heads[timeout_ms]

    def connect(self):
        connection = Connection(self)
        self.selector.register(connection.socket, selectors.EVENT_READ, connection)
        self.connections.append(connection)

    def drop(self, connection):
        self.selector.unregister(connection.socket)
        connection.socket.close()
        self.connections.remove(connection)
        self.counts["lost with their connection"] += len(connection.calls)

    def ended(self, call, status, text):
        self.counts["answered"] += 1
        self.statuses[status] += 1
        if status == 0:
            assert 0 in call.request.statuses and any(good in bytes(call.body) for good in call.request.good), f"{call.fate}: a wrong answer"
        else:
            assert status in call.request.statuses or (call.fate == "deadline" and status in (4, 8)), f"{call.fate}: {status} {text}"

    def begin(self, connection):
        fate = self.rng.choices(list(self.fates), self.fates.values())[0]
        timeout_ms = None
        request = self.rng.choice(self.wrong if fate == "wrong" else self.requests)
        if fate == "deadline":
            timeout_ms = self.rng.randrange(*self.deadline_ms)
        self.counts[fate] += 1
        if not connection.begin(fate, request, timeout_ms):
            self.drop(connection)
            self.connect()

    def run(self, requests, patience_s=30):
        """Begins so many requests and waits until every one of them is over."""
        left = requests
        end = None
        while left or any(c.calls for c in self.connections):
            for connection in list(self.connections):
                while left and len(connection.calls) < self.streams:
                    left -= 1
                    self.begin(connection)
                    if connection not in self.connections:
                        break
            for key, _ in self.selector.select(0.001):
                if key.data in self.connections:
                    key.data.read()
            now = time.monotonic()
            for connection in self.connections:
                connection.cancel(now)
            if not left:
                end = end or now + patience_s
                unanswered = [c.fate for connection in self.connections for c in connection.calls.values()]
                assert now < end, f"{len(unanswered)} requests have no answer after {patience_s} s: {unanswered[:10]}"

    def close(self):
        for connection in list(self.connections):
            self.drop(connection)
        self.selector.close()
