"""What the serving tests share: views of a server's numbers from outside and inside."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import sys
import time

from cases import Skip, test  # noqa: F401: for the tests
from program import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "clients"), str(ROOT / "tests" / "rpc"), str(ROOT / "sdk" / "python")]
MODELS = pathlib.Path(os.environ["RLX_TEST_MODELS"])
SANITIZED = os.environ.get("RLX_TEST_SANITIZED") == "1"  # memory and times of such a build say nothing
ALL = "--all" in sys.argv[1:]
# Of the plain build: a sanitizer's cannot be loaded into a Python without it.
os.environ.setdefault("RLX_LIBRARY", str(pathlib.Path(os.environ["RLX"]).parent.parent / "sdk" / "librlx.so.0"))
MIB = 1 << 20


def bundles(*names):
    return {name: MODELS / f"{name}.rlxb" for name in names}


def size(quick, whole, sanitized=None):
    """How much of something: by default, with --all, under a sanitizer."""
    if SANITIZED:
        return sanitized if sanitized is not None else max(1, quick // 10)
    return whole if ALL else quick


def say(text):
    print(f"     {text}", flush=True)


def metrics(server):
    """Every series of /metrics: name{labels} -> number."""
    code, body = server.get("/metrics")
    assert code == 200, code
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))}


def results(numbers, model):
    """Finished requests of a model by result, over its versions."""
    found = {}
    for key, value in numbers.items():
        match = re.fullmatch(r'rlx_model_requests_total\{model="([^"]*)",version="[^"]*",result="([^"]*)"\}', key)
        if match and match[1] == model:
            found[match[2]] = found.get(match[2], 0) + int(value)
    return found


def quiet(server):
    """Waits until no request is in the server; its metrics then."""
    def states():
        numbers = metrics(server)
        busy = sum(value for key, value in numbers.items() if key.startswith("rlx_requests{")) + numbers["rlx_rpc_calls_open"]
        return numbers if busy == 0 else None
    return until(states, "the server is quiet", 60)


def resident(server):
    return server.rss()


def private(server, store):
    """Private memory from smaps, without mapped bundles: those in the folder `store`, and NAME.rlxb."""
    total, path = 0, ""
    for line in pathlib.Path(f"/proc/{server.process.pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            path = line.split(None, 5)[5] if len(line.split(None, 5)) > 5 else ""
        elif line.startswith(("Private_Clean:", "Private_Dirty:")) and not path.endswith(".rlxb") and not path.startswith(store):
            total += int(line.split()[1]) * 1024
    return total


class Prober:
    """Asks /healthz over a kept connection and gRPC Check; how long each took, in seconds."""

    def __init__(self, server):
        from h2 import Raw
        self.http = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.raw = Raw(server.port)
        self.http_s, self.grpc_s = [], []

    def ask(self):
        began = time.monotonic()
        self.http.request("GET", "/healthz")
        answer = self.http.getresponse()
        answer.read()
        self.http_s.append(time.monotonic() - began)
        assert answer.status == 200, answer.status
        began = time.monotonic()
        fields, _, reset = self.raw.call("/grpc.health.v1.Health/Check")
        self.grpc_s.append(time.monotonic() - began)
        assert reset is None and fields["grpc-status"] == "0", (fields, reset)

    def close(self):
        self.http.close()
        self.raw.close()


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def ms(seconds):
    return f"{seconds * 1000:.2f} ms"


@contextlib.contextmanager
def healthy_after(server, what):
    """Health within 100 ms after what was done: the best of three, for other programs' sake."""
    yield
    best = 1e9
    for _ in range(3):
        began = time.monotonic()
        assert server.get("/healthz", timeout=30)[0] == 200, what
        best = min(best, time.monotonic() - began)
    assert best < (2 if SANITIZED else 0.1), f"{what}: health took {ms(best)}"


def status(server):
    return json.loads(server.get("/v1/status")[1])
