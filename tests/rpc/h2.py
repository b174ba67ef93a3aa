"""HTTP/2 frames by hand, for tests that must say what no client library would."""
import socket
import ssl
import struct

import hpack

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK, PADDED = 1, 4, 1, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def message(payload, flag=0):
    return struct.pack(">BI", flag, len(payload)) + payload


def setting(identifier, value):
    return struct.pack(">HI", identifier, value)


class Closed(Exception):
    pass


class Raw:
    """One connection. Frames that arrive are (kind, flags, stream, payload); headers are decoded."""

    def __init__(self, port, settings=b"", begin=True, rcvbuf=None, tls=None, unix=None, timeout=10):
        if unix:
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket()
        if rcvbuf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.socket.connect(unix or ("127.0.0.1", port))
        if not unix:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.settimeout(timeout)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.buffer = b""
        self.waiting = []  # frames that came while `data` waited for a window
        self.next_stream = 1
        self.initial, self.window, self.windows = 65535, 65535, {}
        if begin:
            self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as error:
            raise Closed(str(error)) from error

    def block(self, path, extra=(), te=True, content="application/grpc", method="POST"):
        headers = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "test")]
        if content:
            headers.append(("content-type", content))
        if te:
            headers.append(("te", "trailers"))
        return self.encoder.encode(headers + list(extra))

    def open(self, path, extra=(), end=False, **how):
        """Request headers; the stream's number."""
        stream = self.next_stream
        self.next_stream += 2
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, self.block(path, extra, **how)))
        return stream

    def data(self, stream, payload, end=False):
        """DATA frames, as the server's windows allow."""
        while True:
            window = self.windows.setdefault(stream, self.initial)
            n = min(len(payload), 16384, window, self.window)
            if n > 0 or not payload:
                last = n == len(payload)
                self.send(frame(DATA, END_STREAM if end and last else 0, stream, payload[:n]))
                self.windows[stream] -= n
                self.window -= n
                payload = payload[n:]
                if last:
                    return
            else:
                self.waiting.append(self.frame())
                if self.waiting[-1][0] == RST_STREAM and self.waiting[-1][2] == stream:
                    return

    def receive(self, timeout=None):
        if timeout is not None:
            self.socket.settimeout(timeout)
        return self.waiting.pop(0) if self.waiting else self.frame()

    def frame(self):
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                more = self.socket.recv(1 << 18)
            except (ConnectionResetError, ssl.SSLError) as error:
                raise Closed(str(error)) from error
            if not more:
                raise Closed("end of stream")
            self.buffer += more
        size = int.from_bytes(self.buffer[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
        payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
        if kind == HEADERS:
            payload = dict((n if isinstance(n, str) else n.decode(), v if isinstance(v, str) else v.decode())
                           for n, v in self.decoder.decode(payload))
        elif kind == SETTINGS and not flags & ACK:
            self.settings(payload)
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE and stream == 0:
            self.window += struct.unpack(">I", payload)[0]
        elif kind == WINDOW_UPDATE:
            self.windows[stream] = self.windows.get(stream, self.initial) + struct.unpack(">I", payload)[0]
        return kind, flags, stream, payload

    def settings(self, payload):
        for i in range(0, len(payload), 6):
            identifier, value = struct.unpack(">HI", payload[i:i + 6])
            if identifier == 4:
                for stream in self.windows:
                    self.windows[stream] += value - self.initial
                self.initial = value
        self.send(frame(SETTINGS, ACK))

    def answer(self, stream, timeout=10):
        """Everything of one stream until its end: (headers and trailers together, data, code of a reset or None). Windows are given back."""
        fields, body = {}, b""
        while True:
            kind, flags, of, payload = self.receive(timeout)
            if kind == DATA and payload:
                self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
                if not flags & END_STREAM:
                    self.send(frame(WINDOW_UPDATE, 0, of, struct.pack(">I", len(payload))))
            if of != stream:
                if kind == GOAWAY and struct.unpack(">I", payload[4:8])[0] != 0:
                    raise Closed("GOAWAY %d" % struct.unpack(">I", payload[4:8])[0])
                continue
            if kind == HEADERS:
                fields.update(payload)
            elif kind == DATA:
                body += payload
            elif kind == RST_STREAM:
                return fields, body, struct.unpack(">I", payload)[0]
            if flags & END_STREAM and kind in (HEADERS, DATA):
                return fields, body, None

    def call(self, path, payload=b"", extra=()):
        stream = self.open(path, extra)
        self.data(stream, message(payload), end=True)
        fields, body, reset = self.answer(stream)
        return fields, body[5:], reset

    def closed(self, timeout=5):
        """Reads until the peer closes: the last GOAWAY's (stream, code) or None. Raises TimeoutError when it does not."""
        goaway = None
        try:
            while True:
                kind, _, _, payload = self.receive(timeout)
                if kind == GOAWAY:
                    goaway = struct.unpack(">II", payload[:8])
        except Closed:
            return goaway
