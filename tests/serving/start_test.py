"""How light an idle daemon is, and how soon it serves: at first, and again after it was killed.

The bars on a quiet machine are: private memory 12 MiB, ready within 50 ms, within 150 ms after kill -9. The times here are wide; the numbers
are printed."""
import tempfile
import time
import urllib.error
import urllib.request

from suite import MIB, MODELS, SANITIZED, private, say, size, test
from change_test import Traffic, pair
from rlxd import Rlxd


def start(server, words):
    """Starts the stopped server again; seconds until it is ready."""
    began = time.monotonic()
    server.start(words)
    while True:
        try:
            with urllib.request.urlopen(f"http://{server.url}/readyz", timeout=10) as answer:
                if answer.status == 200:
                    return time.monotonic() - began
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.0005)


@test
def an_idle_daemon_with_resnet50_is_light_and_starts_at_once():
    bundle = MODELS / "resnet50.rlxb"
    with tempfile.TemporaryDirectory() as store:
        words = ["--set", f"models.store={store}"]  # later starts find their own copy, and the stamp that says what was checked
        with Rlxd({"resnet50": bundle}, words=words) as server:
            times = []
            for _ in range(size(7, 20, 2)):
                assert server.stop() == 0
                times.append(start(server, words))
            times = times[1:]  # the source had changed just before it was read first: it was read again
            time.sleep(0.2)
            held = private(server, store)
        say(f"start to ready with a bundle of {bundle.stat().st_size / MIB:.0f} MiB and a stamp: {', '.join(f'{t * 1000:.0f}' for t in times)} ms; "
            f"private memory, idle: {held / MIB:.1f} MiB")
        assert SANITIZED or held <= 12 * MIB, held
        assert SANITIZED or min(times) <= 0.2, times


@test
def a_killed_daemon_serves_again_at_once():
    with tempfile.TemporaryDirectory() as store:
        words = ["--set", f"models.store={store}"]
        with Rlxd({"sum": MODELS / "sum.rlxb", "resnet50": MODELS / "resnet50.rlxb"}, words=words) as server:
            server.stop()
            start(server, words)  # the sources are old enough now to be known again
            times = []
            for _ in range(size(3, 10, 1)):
                traffic = Traffic(server, [pair("sum")], {"whole": 80, "pieces": 20})
                time.sleep(0.3)
                port = server.port
                server.kill()
                traffic.stop = True
                traffic.join(30)
                assert isinstance(traffic.error, (AssertionError, OSError)), traffic.error  # its connections broke
                times.append(start(server, ["--port", str(port), *words]))
                traffic = Traffic(server, [pair("sum")], {"whole": 1})
                time.sleep(0.1)
                assert traffic.end().counts["answered"] > 0
            say(f"kill -9 in traffic, start to ready: {', '.join(f'{t * 1000:.0f}' for t in times)} ms")
            assert SANITIZED or min(times) <= 0.5, times
