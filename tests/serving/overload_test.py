"""Three times the capacity: what is accepted ends in time, what is refused hears it at once, and health answers.

The bars on a quiet machine are: goodput 90 % of capacity, refusals within 5 ms, health p99 within 10 ms. Here they are wide, since other
programs may have the machine; the numbers are printed."""
import json
import os
import subprocess
import threading
import time

from suite import SANITIZED, Prober, bundles, metrics, ms, quantile, results, say, size, test
from rlxd import Rlxd

DEADLINE = "100ms"


def bench(server, *words):
    run = subprocess.run([os.environ["RLX"], "bench", "--url", f"grpc://{server.url}", "--model", "work", "--json", "-", *map(str, words)],
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


class Probing(threading.Thread):
    """Probes every few milliseconds until told to stop."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.prober, self.stop, self.error = Prober(server), False, None
        self.start()

    def run(self):
        try:
            while not self.stop:
                self.prober.ask()
                time.sleep(0.003)
        except Exception as error:  # told by `end`
            self.error = error

    def end(self):
        self.stop = True
        self.join(60)
        self.prober.close()
        assert self.error is None, self.error
        return self.prober.http_s, self.prober.grpc_s


def attempt(server, seconds):
    """(goodput / capacity, refusals' p50 in ms, health p99 in s), printed."""
    capacity = bench(server, "--concurrency", 8, "--connections", 4, "--duration", seconds)["throughput"]
    before = results(metrics(server), "work")
    probing = Probing(server)
    load = bench(server, "--rate", 3 * capacity, "--connections", 4, "--timeout", DEADLINE, "--duration", seconds, "--warmup", 1)
    http_s, grpc_s = probing.end()
    after = results(metrics(server), "work")
    good, refused = load["status"].get("OK", 0), load["status"].get("RESOURCE_EXHAUSTED", 0)
    late = load["status"].get("DEADLINE_EXCEEDED", 0)
    goodput = good / load["seconds"]
    quick = load["refused_us"]
    say(f"capacity {capacity:.0f}/s; at {3 * capacity:.0f}/s with a deadline of {DEADLINE}: goodput {goodput:.0f}/s = {goodput / capacity:.1%}, {refused} "
        f"refused, {late} too late; these heard it after p50 {quick['p50'] / 1000:.2f} ms, p90 {quick['p90'] / 1000:.2f} ms, p99 {quick['p99'] / 1000:.2f} ms")
    say(f"{len(http_s)} probes: /healthz p50 {ms(quantile(http_s, .5))}, p99 {ms(quantile(http_s, .99))}; "
        f"Check p50 {ms(quantile(grpc_s, .5))}, p99 {ms(quantile(grpc_s, .99))}")
    assert set(load["status"]) <= {"OK", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}, load["status"]
    assert after["success"] - before["success"] >= good
    return goodput / capacity, quick["p50"] / 1000, max(quantile(http_s, .99), quantile(grpc_s, .99))


@test
def at_three_times_the_capacity_goodput_stays_and_refusals_and_health_are_quick():
    with Rlxd(bundles("work")) as server:
        bench(server, "--concurrency", 8, "--duration", 1)
        for _ in range(3):  # what else runs on the machine changes its capacity meanwhile
            goodput, refused_ms, health_s = attempt(server, size(2, 10, 1))
            if SANITIZED or (goodput >= 0.7 and refused_ms <= 5 and health_s <= 0.05):
                return
        raise AssertionError((goodput, refused_ms, health_s))
