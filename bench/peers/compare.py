"""Times RLX beside other engines on the same files: interleaved rounds, medians, ratios. See run.

A round gives every engine, in turn, the same number of seconds on the same CPUs; an engine's time is the median over rounds of the round's
median, so that what disturbs the machine for a while disturbs all. The ratio is RLX's median by the fastest peer's: below 1 RLX is faster.
A result is checked against ONNX Runtime's: `!` marks one further away than 1e-3 of the largest output."""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import models  # noqa: E402

PEERS = ["onnxruntime", "openvino", "ncnn"]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OPENVINO_TELEMETRY": "0"}


class Peer:
    def __init__(self, name, model, arrays, cpus, work):
        self.name, self.error = name, None
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), name, model, arrays, str(len(cpus)), work], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        self.receive()

    def receive(self):
        line = self.process.stdout.readline()
        message = json.loads(line) if line else {"error": "the engine's process died"}
        self.error = message.get("error")
        return message

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.receive()

    def output(self, path):
        self.ask({"output": path})
        return numpy.load(path)

    def measure(self, seconds):
        return self.ask({"seconds": seconds}).get("latencies")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Rlx:
    """The command line tool: `rlx bench` reports p50 and min of a run; the machine's peaks it measures first do not count."""

    def __init__(self, rlx, bundle, arrays, cpus, work):
        self.name, self.error = "rlx", None
        self.rlx, self.bundle, self.arrays, self.cpus, self.work = rlx, bundle, arrays, cpus, work

    def call(self, *arguments):
        done = subprocess.run([self.rlx, *arguments, "--threads", str(len(self.cpus))], capture_output=True, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, self.cpus))
        if done.returncode != 0:
            self.error = (done.stderr.strip().splitlines() or ["no message"])[0]
        return done.returncode == 0

    def output(self, path):
        path = path[:-4] + ".npz"
        if not self.call("infer", self.bundle, "--input", self.arrays, "--output", path, "--quiet"):
            return None
        arrays = numpy.load(path)
        return arrays[arrays.files[0]]

    def measure(self, seconds):
        path = os.path.join(self.work, "rlx_bench.json")
        if not self.call("bench", self.bundle, "--input", self.arrays, "--duration", str(seconds), "--warmup", "0.2", "--json", path):
            return None
        with open(path) as file:
            report = json.load(file)
        self.isa = report["isa"]
        return [report["latency_ms"]["min"], report["latency_ms"]["p50"], report["latency_ms"]["p50"]] # median p50, min min

    def close(self):
        pass


def compile_bundle(rlx, model, bundle):
    done = subprocess.run([rlx, "compile", "--model", model, "--output", bundle], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[0]


def distance(result, expected):
    if result is None or result.size != expected.size:
        return None
    return float(numpy.abs(result.ravel() - expected.ravel()).max() / numpy.abs(expected).max())


def compare(name, cpus, options):
    """One row: a dict per engine with median, min and distance, or an error."""
    model, arrays = (os.path.join(options.work, name + end) for end in (".onnx", ".npz"))
    bundle = os.path.join(options.work, name + ".rlxb")
    error = compile_bundle(options.rlx, model, bundle)
    engines = [Rlx(options.rlx, bundle, arrays, cpus, options.work)]
    engines += [Peer(peer, model, arrays, cpus, options.work) for peer in options.peers]
    engines[0].error = error
    outputs = {engine.name: engine.output(os.path.join(options.work, f"{name}.{engine.name}.npy"))
               for engine in engines if engine.error is None}
    expected = outputs.get("onnxruntime")
    rounds = {engine.name: [] for engine in engines}
    for _ in range(options.rounds):
        for engine in engines:
            latencies = engine.measure(options.seconds) if engine.error is None else None
            if latencies:
                rounds[engine.name].append((statistics.median(latencies), min(latencies)))
    for engine in engines:
        engine.close()
    row = {}
    for engine in engines:
        if engine.error is not None or not rounds[engine.name]:
            row[engine.name] = {"error": engine.error or "no result"}
            continue
        medians, minima = zip(*rounds[engine.name])
        row[engine.name] = {"median_ms": statistics.median(medians), "min_ms": min(minima), "rounds_ms": list(medians),
                            "distance": None if expected is None else distance(outputs[engine.name], expected)}
    return row


def ratio(row):
    peers = [cell["median_ms"] for name, cell in row.items() if name != "rlx" and "median_ms" in cell]
    return row["rlx"]["median_ms"] / min(peers) if peers and "median_ms" in row["rlx"] else None


def cell_text(cell):
    if "error" in cell:
        return "fail"
    wrong = cell["distance"] is None or cell["distance"] > 1e-3
    return f"{cell['median_ms']:.2f} ({cell['min_ms']:.2f})" + (" !" if wrong else "")


def print_table(threads, rows, names):
    print(f"\n{threads} thread{'s' if threads > 1 else ''}: median ms (min ms)\n")
    print("| model | " + " | ".join(names) + " | rlx / best peer |")
    print("|---" * (len(names) + 2) + "|")
    for model, row in rows.items():
        value = ratio(row)
        cells = [model, *(cell_text(row[name]) for name in names), "-" if value is None else f"{value:.2f}"]
        print("| " + " | ".join(cells) + " |")
    for model, row in rows.items():
        for name in names:
            if "error" in row[name]:
                print(f"{model}, {name}: {row[name]['error']}")


def options_parse():
    parser = argparse.ArgumentParser(description="Times RLX beside other CPU engines.")
    parser.add_argument("--rlx", required=True, help="the rlx tool")
    parser.add_argument("--work", required=True, help="folder for models, bundles and converted files")
    parser.add_argument("--models", default=",".join(models.ALL), help="comma-separated: %(default)s")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated: %(default)s")
    parser.add_argument("--threads", default="1,2", help="thread counts: %(default)s")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="per engine and round")
    parser.add_argument("--cpus", help="CPUs to pin to, comma-separated (default: the last ones allowed)")
    parser.add_argument("--json", help="also writes everything here")
    options = parser.parse_args()
    options.models = [name for name in options.models.split(",") if name]
    options.peers = [name for name in options.peers.split(",") if name]
    unknown = set(options.models) - set(models.ALL) | set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    options.threads = [int(count) for count in options.threads.split(",")]
    options.cpus = [int(cpu) for cpu in options.cpus.split(",")] if options.cpus else sorted(os.sched_getaffinity(0))
    if max(options.threads) > len(options.cpus):
        parser.error(f"{max(options.threads)} threads need as many CPUs, {len(options.cpus)} are allowed")
    return options


def main():
    options = options_parse()
    missing = [name for name in options.models if not os.path.exists(os.path.join(options.work, name + ".npz"))]
    models.write(options.work, missing)
    report = {"rounds": options.rounds, "seconds": options.seconds, "cpus": options.cpus, "threads": {}}
    for threads in options.threads:
        rows = {}
        for name in options.models:
            rows[name] = compare(name, options.cpus[-threads:], options)
            cells = ", ".join(f"{engine} {cell_text(cell)}" for engine, cell in rows[name].items())
            print(f"{name}, {threads} thread(s): {cells}", file=sys.stderr)
        print_table(threads, rows, ["rlx", *options.peers])
        report["threads"][str(threads)] = {name: {"engines": row, "ratio": ratio(row)} for name, row in rows.items()}
        if options.json:
            with open(options.json, "w") as file:
                json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
