"""Three times the capacity: what is accepted ends in time, what is refused hears it at once, and health answers.

The bars on a quiet machine are: goodput 90 % of capacity, refusals within 5 ms, health p99 within 10 ms. Here they are wide, since other
programs may have the machine; the numbers are printed."""
import json
import os
import subprocess
import threading
import time

import numpy

from suite import SANITIZED, Prober, bundles, metrics, ms, quantile, results, say, size, test
from h2 import Raw
from rlxd import Rlxd
from storm import INFER, encoded

DEADLINE_MS = 100


def bench(server, *words):
    run = subprocess.run([os.environ["RLX"], "bench", "--url", f"grpc://{server.url}", "--model", "work", "--json", "-", *map(str, words)],
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


class Probing(threading.Thread):
    """Every few milliseconds until told to stop: health by both protocols, and one request more, for what a refusal takes."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.prober, self.stop, self.error = Prober(server), False, None
        self.raw = Raw(server.port)
        self.work = encoded("work", x=numpy.ones(256, numpy.float32))
        self.by_status = {}
        self.start()

    def refusal(self):
        began = time.monotonic()
        fields, _, reset = self.raw.call(INFER, self.work, [("grpc-timeout", f"{DEADLINE_MS}m")])
        self.by_status.setdefault(fields.get("grpc-status", f"reset {reset}"), []).append(time.monotonic() - began)

    def run(self):
        try:
            while not self.stop:
                self.prober.ask()
                self.refusal()
                time.sleep(0.003)
        except Exception as error:  # told by `end`
            self.error = error

    def end(self):
        self.stop = True
        self.join(60)
        self.prober.close()
        self.raw.close()
        assert self.error is None, self.error
        return self.prober.http_s, self.prober.grpc_s, self.by_status.get("8", [])


def attempt(server, seconds):
    """(goodput / capacity, p50 of refusals in ms, health p99 in s), printed."""
    capacity = bench(server, "--concurrency", 8, "--connections", 4, "--duration", seconds)["throughput"]
    before = results(metrics(server), "work")
    probing = Probing(server)
    load = bench(server, "--rate", 3 * capacity, "--connections", 4, "--timeout", f"{DEADLINE_MS}ms", "--duration", seconds, "--warmup", 1)
    http_s, grpc_s, refusals_s = probing.end()
    after = results(metrics(server), "work")
    good, refused = load["status"].get("OK", 0), load["status"].get("RESOURCE_EXHAUSTED", 0)
    late = load["status"].get("DEADLINE_EXCEEDED", 0)
    goodput = good / load["seconds"]
    refusals_s = refusals_s or [0]
    say(f"capacity {capacity:.0f}/s; at {3 * capacity:.0f}/s with a deadline of {DEADLINE_MS} ms: goodput {goodput:.0f}/s = {goodput / capacity:.1%}, "
        f"{refused} refused, {late} too late; {len(refusals_s)} refusals told after p50 {ms(quantile(refusals_s, .5))}, p90 "
        f"{ms(quantile(refusals_s, .9))}, p99 {ms(quantile(refusals_s, .99))}")
    say(f"{len(http_s)} probes: /healthz p50 {ms(quantile(http_s, .5))}, p99 {ms(quantile(http_s, .99))}; "
        f"Check p50 {ms(quantile(grpc_s, .5))}, p99 {ms(quantile(grpc_s, .99))}")
    assert set(load["status"]) <= {"OK", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}, load["status"]
    assert after["success"] - before["success"] >= good
    return goodput / capacity, quantile(refusals_s, .5) * 1000, max(quantile(http_s, .99), quantile(grpc_s, .99))


@test
def at_three_times_the_capacity_goodput_stays_and_refusals_and_health_are_quick():
    with Rlxd(bundles("work")) as server:
        bench(server, "--concurrency", 8, "--duration", 1)
        for _ in range(3):  # what else runs on the machine changes its capacity meanwhile
            goodput, refused_ms, health_s = attempt(server, size(2, 10, 1))
            if SANITIZED or (goodput >= 0.7 and refused_ms <= 5 and health_s <= 0.05):
                return
        raise AssertionError((goodput, refused_ms, health_s))
