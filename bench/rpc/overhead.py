#!/usr/bin/env python3
"""What rlxd adds to a request: every figure of rlxd and of the libgrpc++ echo in turn, round after round, and the medians side by side.

One setting for all figures: rlxd as it comes (--set is handed through for experiments), client and servers on the same CPUs. A line says what
was reached and whether that is the goal; the exit code is 1 when a goal was missed."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request

SMALL, LARGE = 4096, 1 << 20  # floats: 16 KiB, 4 MiB

# name: options of rlx bench, model
LOADS = {
    "closed loop 1": ([], "identity"),
    "8 streams on one connection": (["--concurrency", "8"], "identity"),
    "8 connections of one": (["--connections", "8"], "identity"),
    "4 MiB": ([], "identity4m"),
    "5 ms think time": (["--think", "5ms"], "identity"),
    "64 connections of one": (["--connections", "64"], "identity"),
}
# What is compared: load, figure, unit, whether more is better, goal for rlxd/echo.
GOALS = [
    ("closed loop 1", "p50", "us", "at most", 0.60),
    ("8 streams on one connection", "throughput", "/s", "at least", 1.50),
    ("8 connections of one", "throughput", "/s", "at least", 1.50),
    ("8 streams on one connection", "server_cpu", "us", "at most", 0.45),
    ("4 MiB", "throughput", "/s", "at least", 2.50),
    ("5 ms think time", "p50", "us", "at most", 1.00),
]


def bundles_compile(options):
    """The bundles, made once: two copies, and work on 16 KiB that takes about as long as the copy of 4 MiB."""
    import onnx
    from onnx import TensorProto, helper
    repository = options.work / "models"
    repository.mkdir(exist_ok=True)
    for name, elements, operators in (("identity", SMALL, ["Identity"]), ("identity4m", LARGE, ["Identity"]), ("work", SMALL, ["Erf"] * 40)):
        bundle = repository / f"{name}.rlxb"
        if bundle.exists() and bundle.stat().st_mtime > options.rlx.stat().st_mtime:
            continue
        ports = [helper.make_tensor_value_info(port, TensorProto.FLOAT, [1, elements]) for port in ("input", "output")]
        values = ["input", *(f"t{i}" for i in range(1, len(operators))), "output"]
        nodes = [helper.make_node(operator, [values[i]], [values[i + 1]]) for i, operator in enumerate(operators)]
        graph = helper.make_graph(nodes, name, ports[:1], ports[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        source = options.work / f"{name}.onnx"
        onnx.save(model, source)
        subprocess.run([options.rlx, "compile", "--model", source, "--output", bundle], check=True, stdout=subprocess.DEVNULL)
    return repository


class Server:
    """A server under test; `ports` maps models to its addresses."""

    def __init__(self, name, command, pattern):
        self.name = name
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        match = re.search(pattern, line)
        if match is None:
            sys.exit(f"overhead: {name} did not start: {line!r}")
        self.port = int(match[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def bench(options, server, words, model, duration=None):
    words = [options.rlx, "bench", "--url", f"grpc://127.0.0.1:{server.port}", "--model", model, "--duration", duration or options.duration,
             "--warmup", options.warmup, "--pid", server.process.pid, "--json", "-", *words]
    run = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"overhead: {' '.join(map(str, words))}\n{run.stderr}")
    result = json.loads(run.stdout)
    if set(result["status"]) - {"OK"}:
        sys.exit(f"overhead: {server.name}: {result['status']}: {result['first_failure']}")
    figures = {"p50": result["latency_us"]["p50"], "p99": result["latency_us"]["p99"], "throughput": result["throughput"],
               "server_cpu": result.get("server_cpu_us", 0), "client_cpu": result["client_cpu_us"]}
    if result["connections"] > 1:
        figures["fairness"] = result["connection_min"] / max(1, result["connection_max"])
    return figures


def server_time(server):
    """rlxd's own histogram: last read returned until the write call begins, kernel time taken off. {upper bound in us: count}"""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text = answer.read().decode()
    return {float(bound) * 1e6: int(count)
            for bound, count in re.findall(r'^rlx_rpc_server_time_seconds_bucket\{.*?le="([^"]+)"\} (\d+)$', text, re.M)}


def quantile(before, after, share):
    """From the difference of two cumulative histograms; even spread inside of a bucket is assumed, as Prometheus does."""
    wanted = share * (after[float("inf")] - before.get(float("inf"), 0))
    low, below = 0.0, 0
    for bound in sorted(after):
        count = after[bound] - before.get(bound, 0)
        if count >= wanted and count > below:
            return bound if bound == float("inf") else low + (bound - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return float("nan")


def shared_memory(options, server, socket):
    """Server time without kernels: 16 KiB in messages, 4 MiB in a memfd and in system shared memory. A small run is done by the loop, a long
    one by workers, so runs of equal length are compared."""
    times = {}
    for name, words, model in (("16 KiB in the message", [], "work"),
                               ("4 MiB in a sealed memfd", ["--shared-memory=memfd", "--memory-socket", socket], "identity4m"),
                               ("4 MiB in system shared memory", ["--shared-memory=system"], "identity4m")):
        before = server_time(server)
        bench(options, server, words, model)
        times[name] = quantile(before, server_time(server), 0.5)
    return times


def measure(options, rlxd, small, large, socket):
    rounds = {(name, server): [] for name in LOADS for server in ("rlxd", "echo")}
    times, memory = [], []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for name, (words, model) in LOADS.items():
            before = server_time(rlxd) if name == "closed loop 1" else None
            rounds[name, "rlxd"].append(bench(options, rlxd, words, model))
            if before is not None:
                after = server_time(rlxd)
                times.append((quantile(before, after, 0.5), quantile(before, after, 0.99)))
            rounds[name, "echo"].append(bench(options, large if model == "identity4m" else small, words, model))
        memory.append(shared_memory(options, rlxd, socket))
    return rounds, times, memory


def median(rounds, figure):
    return statistics.median(entry[figure] for entry in rounds)


def report(rounds, times, memory):
    """Prints the tables; returns what must be kept, and whether every goal was met."""
    met = []

    def verdict(reached, kind, goal):
        met.append(reached <= goal if kind == "at most" else reached >= goal)
        return "yes" if met[-1] else "NO"

    print(f"{'load':<28} {'server':<6} {'p50 us':>9} {'p99 us':>9} {'requests/s':>11} {'server CPU us':>14} {'client CPU us':>14}")
    for name in LOADS:
        for server in ("rlxd", "echo"):
            values = [median(rounds[name, server], figure) for figure in ("p50", "p99", "throughput", "server_cpu", "client_cpu")]
            print(f"{name:<28} {server:<6} {values[0]:>9.1f} {values[1]:>9.1f} {values[2]:>11.0f} {values[3]:>14.1f} {values[4]:>14.1f}")
    print(f"\n{'goal':<66} {'reached':>9}  met")
    for load, figure, _, kind, goal in GOALS:
        ratio = median(rounds[load, "rlxd"], figure) / median(rounds[load, "echo"], figure)
        print(f"{f'{load}: {figure} {kind} {goal:.2f}x of the echo':<66} {ratio:>8.2f}x  {verdict(ratio, kind, goal)}")
    fairness = median(rounds["64 connections of one", "rlxd"], "fairness")
    print(f"{'64 connections of one: slowest/fastest at least 0.75':<66} {fairness:>9.2f}  {verdict(fairness, 'at least', 0.75)}")
    for which, share, goal in ((0, "p50", 60), (1, "p99", 200)):
        value = statistics.median(entry[which] for entry in times)
        print(f"{f'closed loop 1: server time {share} at most {goal} us':<66} {value:>6.1f} us  {verdict(value, 'at most', goal)}")
    small, sealed, system = (statistics.median(entry[name] for entry in memory) for name in memory[0])
    print(f"{'4 MiB in a sealed memfd: server time at most 1.2x, equal runs':<66} {sealed / small:>8.2f}x  {verdict(sealed / small, 'at most', 1.2)}")
    print(f"\nserver time p50 without kernels: 16 KiB in the message {small:.1f} us, 4 MiB in a sealed memfd {sealed:.1f} us, "
          f"in system shared memory {system:.1f} us")
    return all(met)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rlx", type=pathlib.Path, required=True)
    parser.add_argument("--rlxd", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", default="1", help="seconds of each measurement (1)")
    parser.add_argument("--warmup", default="0.3")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="handed to rlxd")
    parser.add_argument("--json", type=pathlib.Path, help="also writes every round")
    options = parser.parse_args()
    repository = bundles_compile(options)
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/memory.sock"
        settings = [word for pair in options.set for word in ("--set", pair)]
        servers = [Server("rlxd", [options.rlxd, "--models", repository, "--devices", "auto", "--port", "0", "--memory-socket", socket, *settings],
                          r"started on http://.*:(\d+)")]
        try:
            for elements in (SMALL, LARGE):
                servers.append(Server("the echo", [options.work / "echo_server", "127.0.0.1:0", elements], r"port (\d+)"))
            rounds, times, memory = measure(options, *servers, socket)
        finally:
            for server in servers:
                server.stop()
    met = report(rounds, times, memory)
    if options.json is not None:
        flat = {f"{name} | {server}": entries for (name, server), entries in rounds.items()}
        options.json.write_text(json.dumps({"rounds": flat, "server_time_us": times, "memory_us": memory}, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
