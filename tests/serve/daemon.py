"""One rlxd under test: started on a free port, with a systemd that listens where asked. Ends with the test that made it."""
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

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


class Daemon:
    def __init__(self, *words, program=(RLXD,), environment=None, wait=True):
        self.process = subprocess.Popen([*program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.url = None
        if wait:
            self.first_line = self.process.stdout.readline()
            assert self.first_line.startswith("RLX Runtime started on http"), self.first_line + self.stop(signal.SIGKILL)[1]
            self.url = self.first_line.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, timeout=30):
        """(exit code, standard error)"""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, error = self.process.communicate(timeout=timeout)
        return self.process.returncode, error

    def get(self, path, body=None, timeout=20):
        """(code, body), whatever the code is."""
        request = urllib.request.Request(self.url + path, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def infer(self, model, values, shape, name="x", timeout=60):
        return self.get(f"/v2/models/{model}/infer", {"inputs": [{"name": name, "datatype": "FP32", "shape": shape, "data": values}]}, timeout)

    def wait_until(self, what, seconds=10):
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, "what was waited for did not come"
            time.sleep(0.01)


def wait_port_closed(port, seconds=5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.02)
    raise AssertionError("the port is still open")
