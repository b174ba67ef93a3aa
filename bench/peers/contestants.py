"""Processes that hold one engine with one model each, RLX among them, pinned to CPUs: the same calls for all. An engine that fails keeps
its reason in `error` and answers None from then on."""

import hashlib
import json
import os
import subprocess
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = {**os.environ, "OPENVINO_TELEMETRY": "0"}


class Peer:
    """Starts at once; `settle` waits until the engine has loaded the model and run once."""

    def __init__(self, name, base, cpus, work):
        self.name, self.error = name, None
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), name, base, str(len(cpus)), work], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT, preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    def settle(self):
        return self.receive()

    def send(self, request):
        if self.error is None:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()

    def receive(self):
        if self.error is not None:
            return {}
        line = self.process.stdout.readline()
        message = json.loads(line) if line else {"error": "the engine's process died"}
        self.error = message.get("error")
        return message

    def output(self, path):
        self.send({"output": path})
        return numpy.load(path) if "saved" in self.receive() else None

    def begin(self, seconds):
        self.send({"seconds": seconds})

    def end(self):
        """Latencies in ms, in the order of the runs, or None."""
        return self.receive().get("latencies")

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


class Rlx:
    """The command line tool: `rlx bench` reports min and p50 of a run; the machine's peaks that it measures first do not count."""

    def __init__(self, rlx, base, cpus, name=""):
        self.name, self.error, self.rlx, self.base, self.cpus = "rlx", None, rlx, base, cpus
        self.report = f"{base}.bench{name}.json"

    def settle(self):
        self.error = bundle_compile(self.rlx, self.base)

    def start(self, *words):
        return subprocess.Popen([self.rlx, *words, "--threads", str(len(self.cpus))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, preexec_fn=lambda: os.sched_setaffinity(0, self.cpus))

    def finish(self, process):
        complaint = process.communicate()[1]
        if process.returncode != 0:
            self.error = first_line(complaint)
        return process.returncode == 0

    def output(self, path):
        path = path[:-4] + ".npz"
        if self.error is not None or not self.finish(self.start("infer", self.base + ".rlxb", "--input", self.base + ".npz", "--output", path, "--quiet")):
            return None
        with open(self.base + ".json") as file:
            return numpy.load(path)[json.load(file)["output"]]

    def begin(self, seconds):
        if self.error is None:
            self.process = self.start("bench", self.base + ".rlxb", "--input", self.base + ".npz", "--duration", str(seconds), "--warmup", "0.1",
                                      "--json", self.report)

    def end(self):
        """As of a peer, but every run's latency is the median, save one: the least."""
        if self.error is not None or not self.finish(self.process):
            return None
        with open(self.report) as file:
            report = json.load(file)
        os.remove(self.report)
        latency = report["latency_ms"]
        return [latency["min"]] + [latency["p50"]] * max(1, report["runs"] - 1)

    def close(self):
        pass


def first_line(text):
    return (text.strip().splitlines() or ["no message"])[0]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def bundle_compile(rlx, base):
    """Compiles BASE.onnx, unless this very compiler did already. None, or what went wrong."""
    stamp, mine = base + ".rlxb.by", digest(rlx)
    if os.path.exists(stamp) and os.path.exists(base + ".rlxb"):
        with open(stamp) as file:
            if file.read() == mine:
                return None
    done = subprocess.run([rlx, "compile", "--model", base + ".onnx", "--output", base + ".rlxb"], capture_output=True, text=True)
    if done.returncode != 0:
        return first_line(done.stderr)
    with open(stamp, "w") as file:
        file.write(mine)
    return None
