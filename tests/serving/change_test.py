"""Models come, go and are replaced while requests run: what stays is never disturbed, and what goes finishes."""
import os
import pathlib
import signal
import threading
import urllib.request

import numpy
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import suite
from suite import MIB, MODELS, bundles, metrics, quiet, resident, results, say, size, test, until
from rlxd import Rlxd
from storm import Request, Storm, encoded

NOT_FOUND, UNAVAILABLE = 5, 14


def pair(model, alternatives=(1,), statuses=(0,)):
    """A request for a model that is sum or sum2: a + b * scale."""
    a, b = numpy.random.default_rng(5).standard_normal((2, 3, 4)).astype(numpy.float32)
    return Request(encoded(model, a=a, b=b), tuple((a + b * numpy.float32(scale)).tobytes() for scale in alternatives), statuses)


class Traffic(threading.Thread):
    """A storm that blows until it is told to end."""

    def __init__(self, server, requests, fates, connections=8):
        super().__init__(daemon=True)
        self.storm = Storm(server.port, requests, fates=fates, connections=connections)
        self.stop, self.error = False, None
        self.start()

    def run(self):
        try:
            while not self.stop:
                self.storm.run(200)
        except BaseException as error:  # told by `end`
            self.error = error

    def end(self):
        self.stop = True
        self.join(60)
        self.storm.close()
        if self.error is not None:
            raise self.error
        return self.storm


def put(server, name, source):
    if isinstance(source, bytes):
        part = server.models / f".{name}.part"
        part.write_bytes(source)
        os.replace(part, server.models / f"{name}.rlxb")
    else:
        server.add(name, MODELS / f"{source}.rlxb")


@test
def loads_replacements_and_unloads_under_traffic_fail_no_request_and_leave_no_memory():
    cycles = size(150, 1000, 20)
    with Rlxd({"sum": MODELS / "sum.rlxb", "turn": MODELS / "sum.rlxb", "comes": MODELS / "sum.rlxb"}) as server:
        # `turn` is replaced and never missing; `comes` is unloaded, too.
        requests = [pair("sum"), pair("turn", (1, 2)), pair("comes", (1, 2), (0, NOT_FOUND, UNAVAILABLE))]
        traffic = Traffic(server, requests, {"whole": 80, "pieces": 20})
        sizes, good = [], (MODELS / "sum.rlxb").read_bytes()
        with triton.InferenceServerClient(server.url) as c:
            for cycle in range(cycles):
                put(server, "turn", "sum2" if cycle % 2 == 0 else "sum")
                c.load_model("turn")
                c.unload_model("comes")
                put(server, "comes", "sum" if cycle % 2 == 0 else "sum2")
                c.load_model("comes")
                if cycle % 5 == 0:  # nor does a bad bundle hurt
                    put(server, "turn", good[:-3000] + b"x" * 3000 if cycle % 10 else b"no bundle at all")
                    try:
                        c.load_model("turn")
                        raise AssertionError("a bad bundle was loaded")
                    except InferenceServerException as error:
                        assert "RLX-13" in error.message(), error
                    assert c.is_model_ready("turn")
                if cycle % max(1, cycles // 20) == 0:
                    sizes.append(resident(server))
                assert traffic.error is None, traffic.error
            storm = traffic.end()
            numbers = quiet(server)
            sizes.append(resident(server))
            say(f"{cycles} cycles during {storm.counts['answered']} requests, answers {dict(storm.statuses)}")
            say(f"resident, KiB: {[n // 1024 for n in sizes]}")
            failed = {key: value for key, value in results(numbers, "sum").items() if key != "success" and value}
            assert not failed, failed
            maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
            mapped = {line.split()[4] for line in maps.splitlines() if ".rlxb" in line}
            assert len(mapped) <= 3, f"{len(mapped)} bundles are still mapped"
            if not suite.SANITIZED:
                warm = sizes[len(sizes) // 4]
                assert sizes[-1] - warm <= MIB, sizes


@test
def requests_of_a_replaced_version_are_answered_by_it():
    with Rlxd({"turn": MODELS / "slow.rlxb"}, words=["--workers", "1"]) as server, triton.InferenceServerClient(server.url) as c:
        x = triton.InferInput("x", [512, 512], "FP32")
        x.set_data_from_numpy(numpy.eye(512, dtype=numpy.float32))
        expected = c.infer("turn", [x]).as_numpy("y").tobytes()
        answers = []
        done = threading.Event()

        def take(result, error):
            answers.append(error or result.as_numpy("y").tobytes())
            if len(answers) == 3:
                done.set()
        for _ in range(3):  # one runs, two wait
            c.async_infer("turn", [x], callback=take)
        until(lambda: metrics(server)['rlx_requests{state="queued"}'] + metrics(server)['rlx_requests{state="batching"}'] == 2, "two wait")
        put(server, "turn", "sum2")
        with triton.InferenceServerClient(server.url) as other:
            other.load_model("turn")
        assert not answers, "the load waited for the old version"
        storm = Storm(server.port, [pair("turn", (2,))], fates={"whole": 1}, connections=1)
        storm.run(1, patience_s=120)
        storm.close()
        assert done.wait(120)
        assert answers == [expected] * 3, [a if not isinstance(a, bytes) else len(a) for a in answers]


@test
def a_reload_by_sighup_under_traffic_loses_nothing_and_brings_the_new_bundles():
    rounds = size(10, 100, 3)
    with Rlxd({"sum": MODELS / "sum.rlxb", "turn": MODELS / "sum.rlxb"}) as server:
        traffic = Traffic(server, [pair("sum"), pair("turn", (1, 2))], {"whole": 80, "pieces": 20})
        for i in range(rounds):
            scale = 2 if i % 2 == 0 else 1
            put(server, "turn", "sum2" if scale == 2 else "sum")
            if i == 0:
                put(server, "new", "plus")
            server.signal(signal.SIGHUP)
            probe = pair("turn", (scale,))

            def new_bits():
                storm = Storm(server.port, [probe], fates={"whole": 1}, connections=1)
                try:
                    storm.run(1)
                    return True
                except AssertionError as error:
                    assert "a wrong answer" in str(error), error
                    return False
                finally:
                    storm.close()
            until(new_bits, "the reloaded bundle serves", 30)
            assert traffic.error is None, traffic.error
        storm = traffic.end()
        assert server.get("/v2/models/new/ready")[0] == 200 and server.get("/readyz")[0] == 200
        say(f"{rounds} reloads during {storm.counts['answered']} requests")
        quiet(server)
        failed = {key: value for model in ("sum", "turn") for key, value in results(metrics(server), model).items() if key != "success" and value}
        assert not failed, failed
