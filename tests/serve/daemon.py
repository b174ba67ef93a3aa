"""One rlxd under test: started on a free port, with a systemd that listens where asked. Ends with the test that made it."""
import json
import os
import pathlib
import select
import socket
import time

from program import Program

BUILD = pathlib.Path(os.environ["RLX_BUILD"])
RLX, RLXD, RLXCTL = (str(BUILD / name) for name in ("cli/rlx", "daemon/rlxd", "cli/rlxctl"))


class Systemd:
    """The socket that sd_notify writes to. `heard` is every line, in order, with its time."""

    def __init__(self, folder):
        self.path = str(folder / f"notify-{time.monotonic_ns()}")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.heard = []

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                self.heard += [(time.monotonic(), line) for line in self.socket.recv(4096).decode().splitlines()]

    def wait_for(self, start, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _, line in self.heard:
                if line.startswith(start):
                    return line
            self.listen(0.05)
        raise AssertionError(f"systemd did not hear {start} in {seconds} s, but {[line for _, line in self.heard]}")

    def lines(self):
        return [line for _, line in self.heard]


class Daemon(Program):
    def __init__(self, *words, program=(RLXD,), environment=None, wait=True, **options):
        super().__init__([*program, *words], environment, wait, **options)

    @property
    def url(self):
        return self.origin

    def get(self, path, body=None, timeout=20):
        """(code, text), whatever the code is."""
        code, text = self.fetch(path, None if body is None else json.dumps(body).encode(), timeout)
        return code, text.decode()

    def infer(self, model, values, shape, name="x", timeout=60):
        return self.get(f"/v2/models/{model}/infer", {"inputs": [{"name": name, "datatype": "FP32", "shape": shape, "data": values}]}, timeout)


def wait_port_closed(port, seconds=5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.02)
    raise AssertionError("the port is still open")
