"""What the tests share: the server under test, and small helpers."""
import contextlib
import os
import resource
import signal
import tempfile
import time

import grpc

from cases import test  # noqa: F401: for the tests
from h2 import Raw
from program import Program

SERVER = os.environ["RPC_TEST_SERVER"]
SANITIZED = os.environ.get("RPC_TEST_SANITIZED") == "1"
work = tempfile.TemporaryDirectory(prefix="rlx-rpc-")


class Server(Program):
    """A test server; leaving it stops it, and fails unless every call was closed, every answer released and every handle gone."""
    READY = "port "

    def __init__(self, *arguments, stop=signal.SIGTERM, nofile=None):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
        super().__init__([SERVER, *arguments], preexec_fn=limit)
        self.target = "127.0.0.1:%d" % self.port
        self.stop_signal = stop

    @property
    def port(self):
        return int(self.first_line.split()[1])

    def __exit__(self, kind, *rest):
        code = self.stop(self.stop_signal, 15)
        if code != 0:
            said = "the server ended with %s: %s%s" % (code, "".join(self.lines), self.log()[-3000:])
            expect(kind is not None, said)
            print(said)
        super().__exit__(kind, *rest)

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
