"""A gRPC server that says what a test wants, byte by byte: HTTP/2 frames by hand, so that it can be wrong in any way."""
import socket
import struct
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def fields(**values):
    """HPACK, literals without indexing; _ in a name stands for -."""
    block = b""
    for name, value in values.items():
        name, value = (":status" if name == "status" else name.replace("_", "-")).encode(), str(value).encode()
        block += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    return block


def headers(stream, end=False, **values):
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, fields(**values))


def begin(stream):
    return headers(stream, status=200, content_type="application/grpc")


def message(stream, body, flag=0, claimed=None):
    return frame(DATA, 0, stream, bytes([flag]) + struct.pack(">I", len(body) if claimed is None else claimed) + body)


def trailers(stream, status=0, text=None):
    return headers(stream, True, grpc_status=status, **({} if text is None else {"grpc_message": text}))


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def output(name=b"y", datatype=b"FP32", shape=(1,), more=b""):
    return field(5, field(1, name) + field(2, datatype) + field(3, b"".join(varint(extent) for extent in shape)) + more)


def raw(data):
    return field(6, data)


class FakeServer:
    """`answer(stream)` gives the bytes that follow a request's end, with `each` those that follow every piece of a request; `settings` False: says nothing at first; `raw` bytes are sent instead of
    HTTP/2. `requests` counts."""

    def __init__(self, answer=None, settings=True, greeting=None, each=False):
        self.answer, self.settings, self.greeting, self.each = answer, settings, greeting, each
        self.requests = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.greeting is not None:
                connection.sendall(self.greeting)
                connection.recv(65536)
                return
            stream = connection.makefile("rb")
            assert stream.read(len(PREFACE)) == PREFACE
            if self.settings:
                connection.sendall(frame(SETTINGS, 0, 0))
            while len(head := stream.read(9)) == 9:
                kind, flags, number = head[3], head[4], struct.unpack(">I", head[5:])[0]
                stream.read(int.from_bytes(head[:3], "big"))
                if kind == SETTINGS and not flags & ACK and self.settings:
                    connection.sendall(frame(SETTINGS, ACK, 0))
                if kind == DATA and (flags & END_STREAM or self.each):
                    self.requests += 1
                    connection.sendall(self.answer(number))
        except OSError:
            pass
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in [self.listener, *self.connections]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.listener.close()
