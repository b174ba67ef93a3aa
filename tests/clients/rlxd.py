"""A real rlxd on a free port with a repository of its own, for tests: starts it, waits until it serves, stops it.

    with Rlxd(bundles={"sum": "sum.rlxb"}) as server:
        server.url            # "127.0.0.1:PORT", for gRPC and HTTP alike
        server.stop()         # SIGTERM; its exit code

The program is named by RLXD. `bundles` maps names to files, which are copied into the repository folder `server.models`."""
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.request

START_S = 60


class Rlxd:
    def __init__(self, bundles=None, words=(), environment=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rlxd-test-"))
        self.models = self.folder / "models"
        self.models.mkdir()
        for name, path in (bundles or {}).items():
            self.add(name, path)
        self.log_path = self.folder / "log"
        self.lines = []
        self.process = None
        self.port = None
        self.start(words, environment)

    def add(self, name, path):
        """Puts a bundle into the repository, whole or not at all."""
        shutil.copy(path, self.models / f".{name}.part")
        os.replace(self.models / f".{name}.part", self.models / f"{name}.rlxb")

    def start(self, words=(), environment=None):
        command = [os.environ["RLXD"], "--models", str(self.models), "--devices", "auto", "--host", "127.0.0.1", "--port", "0", *words]
        with open(self.log_path, "ab") as log:
            environment = {**os.environ, **(environment or {})}
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        arrived = queue.Queue()
        threading.Thread(target=self._read, args=(arrived,), daemon=True).start()
        try:
            line = arrived.get(timeout=START_S)
        except queue.Empty:
            line = ""
        if not line.startswith("RLX Runtime started on "):
            self.kill()
            raise RuntimeError(f"rlxd did not start: {line!r}\n{self.log()}")
        self.port = int(line.strip().rsplit(":", 1)[1])

    def _read(self, arrived):
        for line in self.process.stdout:
            self.lines.append(line)
            arrived.put(line)
        arrived.put("")

    @property
    def url(self):
        return f"127.0.0.1:{self.port}"

    def get(self, path, timeout=10):
        """Status code and body of GET; the code of an error is an answer too."""
        try:
            with urllib.request.urlopen(f"http://{self.url}{path}", timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def log(self):
        return self.log_path.read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        return self.process.wait(timeout)

    def stop(self, timeout=60):
        """SIGTERM; the exit code. A server that does not end in time is killed, and that is an error."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"rlxd did not stop within {timeout} s\n{self.log()}") from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        code = None
        try:
            code = self.process.poll()
            if code is None:
                code = self.stop()
        finally:
            log = self.log()
            shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None and (code not in (0, 4, -signal.SIGKILL) or any(word in log for word in ("Sanitizer", "runtime error"))):
            raise RuntimeError(f"rlxd ended with {code}\n{log}")
