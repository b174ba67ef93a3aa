"""A program that serves until it is told to stop, rlxd or `rlx run`: started, waited for, asked, stopped.

    with Program([RLXD, "--port", "0"]) as server:
        server.fetch("/readyz")     # (code, bytes)
        server.stop()               # SIGTERM; its exit code
        server.log()                # what it wrote to standard error

Leaving the block kills what still runs; a sanitizer's report in the log fails the test then."""
import os
import pathlib
import queue
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from signal import SIGTERM

START_S = 60


class Program:
    READY = "RLX Runtime started on http"  # how its first line begins

    def __init__(self, command, environment=None, wait=True, **options):
        self.errors = tempfile.NamedTemporaryFile(prefix="rlx-log-")
        self.lines = []
        self.launch(command, environment, wait, **options)

    def launch(self, command, environment=None, wait=True, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env={**os.environ, **(environment or {})}, **options)
        self.first_line = None
        arrived = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, arrived), daemon=True).start()
        if wait:
            self._wait_start(arrived)

    def _read(self, process, arrived):
        for line in process.stdout:
            self.lines.append(line)
            arrived.put(line)
        arrived.put("")

    def _wait_start(self, arrived):
        try:
            self.first_line = arrived.get(timeout=START_S)
        except queue.Empty:
            self.first_line = ""
        if not self.first_line.startswith(self.READY):
            self.kill()
            raise RuntimeError(f"the server did not start: {self.first_line!r}\n{self.log()}")

    @property
    def origin(self):
        """http://HOST:PORT, as it said."""
        return self.first_line.split()[-1]

    @property
    def port(self):
        return int(self.origin.rsplit(":", 1)[1])

    @property
    def pid(self):
        return self.process.pid

    def fetch(self, path, data=None, timeout=20):
        """Code and body of GET, or of POST with `data`; the code of an error is an answer too."""
        request = urllib.request.Request(self.origin + path, data=data, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def log(self):
        return pathlib.Path(self.errors.name).read_text(errors="replace")

    def rss(self):
        return int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        return self.process.wait(timeout)

    def stop(self, number=SIGTERM, timeout=60):
        """Sends the signal; the exit code. A server that does not end in time is killed, and that is an error."""
        if self.process.poll() is None:
            self.signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the server did not stop within {timeout} s\n{self.log()}") from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.kill()
        log = self.log()
        self.errors.close()
        if kind is None and ("Sanitizer" in log or "runtime error" in log):
            raise RuntimeError(log)


def until(condition, what, seconds=10):
    """Waits for a true value of `condition` and returns it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return found
