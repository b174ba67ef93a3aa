"""Times RLX beside other engines on the same files: interleaved rounds, medians. See run; report makes tables of what this measures.

A round gives every engine, in turn, the same number of seconds on the same CPUs; an engine's time in a moment is the median over rounds of
the round's median, so that what disturbs the machine for a while disturbs all. Moments, some minutes apart, are named by --moment; a run
goes on where the last one with the same name stopped, so one moment can be made in pieces of --budget seconds.

--prepare compiles, converts and checks every engine's result and times nothing: what takes long and need not have the machine alone.
--rates measures rows per second on all CPUs instead, for models NAME@ROWS: by one instance with all threads, and by one instance a CPU
with one thread each."""

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import models  # noqa: E402
from contestants import Peer, Rlx, digest  # noqa: E402
from results import Results  # noqa: E402

PEERS = ["onnxruntime", "openvino", "mnn", "ncnn", "iree", "iree_im2col"]


def distance(result, expected):
    """The largest difference, of the largest expected value; None where sizes differ."""
    if result is None or result.size != expected.size:
        return None
    scale = numpy.abs(expected.astype(numpy.float64)).max() or 1.0
    worst = numpy.abs(result.ravel().astype(numpy.float64) - expected.ravel()).max() / scale
    return float(worst) if numpy.isfinite(worst) else None


def reference(base, cpus, work):
    """The output of ONNX Runtime without its optimiser, kept in a file."""
    path = os.path.join(work, "reference", os.path.basename(base) + ".npy")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(base + ".onnx"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        peer = Peer("reference", base, cpus, work)
        peer.settle()
        peer.output(path)
        peer.close()
        if peer.error:
            raise RuntimeError(f"{base}: ONNX Runtime: {peer.error}")
    return numpy.load(path)


def check(results, engine, base, expected, work):
    """Runs the engine once and keeps how far its result is off, or why there is none."""
    engine.settle()
    path = os.path.join(work, "reference", f"{os.path.basename(base)}.{engine.name}.npy")
    result = engine.output(path) if engine.error is None else None
    for end in (".npy", ".npz"):
        if os.path.exists(path[:-4] + end):
            os.remove(path[:-4] + end)
    off = distance(result, expected) if engine.error is None else None
    error = engine.error or ("the result has another size, or is not finite" if off is None else None)
    found = {"error": error} if error else {"distance": off}
    results.checks(os.path.basename(base))[engine.name] = {**found, "by": digest(engine.rlx)} if engine.name == "rlx" else found


def prepare(results, name, options):
    base = os.path.join(options.work, name)
    expected = reference(base, options.cpus[-1:], options.work)
    known = results.checks(name)
    if options.again or known.get("rlx", {}).get("by") != digest(options.rlx):
        check(results, Rlx(options.rlx, base, options.cpus[-1:]), base, expected, options.work)
    for peer in options.peers:
        if options.again or peer not in known:
            engine = Peer(peer, base, options.cpus[-1:], options.work)
            check(results, engine, base, expected, options.work)
            engine.close()
    results.save(options.moment, options.version)


def engines_start(results, name, options, cpus, mark=""):
    base = os.path.join(options.work, name)
    runs = [engine for engine in ["rlx", *options.peers] if "distance" in results.checks(name).get(engine, {})]
    engines = [Rlx(options.rlx, base, cpus, mark) if engine == "rlx" else Peer(engine, base, cpus, options.work) for engine in runs]
    for engine in engines:
        engine.settle()
    return engines


def compare(results, name, threads, options):
    """One row: every engine's median and minimum."""
    engines = engines_start(results, name, options, options.cpus[-threads:])
    rounds = {engine.name: [] for engine in engines}
    for _ in range(options.rounds):
        for engine in engines:
            engine.begin(options.seconds)
            latencies = engine.end()
            if latencies:
                rounds[engine.name].append((statistics.median(latencies), min(latencies)))
    for engine in engines:
        engine.close()
    row = results.row(options.moment, threads, name)
    for engine, pairs in rounds.items():
        if pairs:
            row[engine] = {"median_ms": statistics.median(pair[0] for pair in pairs), "min_ms": min(pair[1] for pair in pairs)}


def rates(results, name, options):
    """Rows per second: by one instance on all CPUs, and by one instance on each CPU, at once."""
    rows = int(name.partition("@")[2] or 1)
    groups = {"together": [options.cpus], "apart": [[cpu] for cpu in options.cpus]}
    found = {}
    for mode, sets in groups.items():
        teams = list(zip(*(engines_start(results, name, options, cpus, f".{index}") for index, cpus in enumerate(sets))))
        for _ in range(options.rounds):
            for team in teams:
                for engine in team:
                    engine.begin(options.seconds)
                latencies = [engine.end() for engine in team]
                if all(latencies):
                    rate = sum(1e3 * rows * len(one) / sum(one) for one in latencies)
                    found.setdefault(team[0].name, {}).setdefault(mode, []).append(rate)
        for team in teams:
            for engine in team:
                engine.close()
    row = results.rate(options.moment, name)
    row |= {engine: {mode: statistics.median(values) for mode, values in modes.items()} for engine, modes in found.items()}


def line(row):
    return ", ".join(f"{engine} {cell['median_ms']:.2f}" for engine, cell in row.items())


def options_parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True, help="the rlx tool")
    parser.add_argument("--work", required=True, help="folder for models, bundles and converted files")
    parser.add_argument("--results", help="the file that results are added to (WORK/results.json)")
    parser.add_argument("--models", default=",".join(models.ALL), help="comma-separated; NAME@ROWS is a batch (all)")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated: %(default)s")
    parser.add_argument("--threads", default="1,2", help="thread counts: %(default)s")
    parser.add_argument("--batch", type=int, help="rows of every model: NAME stands for NAME@BATCH")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="per engine and round; one run at least (%(default)s)")
    parser.add_argument("--cpus", help="CPUs to pin to, comma-separated (default: the last ones allowed)")
    parser.add_argument("--moment", default="1", help="the name of this pass (%(default)s)")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no further row begins")
    parser.add_argument("--prepare", action="store_true", help="compile, convert and check only")
    parser.add_argument("--rates", action="store_true", help="rows per second on all CPUs")
    parser.add_argument("--again", action="store_true", help="also what is in the results already")
    options = parser.parse_args()
    options.models = [name for name in options.models.split(",") if name]
    options.peers = [name for name in options.peers.split(",") if name]
    unknown = {name.partition("@")[0] for name in options.models} - set(models.ALL) | set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.batch:
        options.models = [f"{name}@{options.batch}" for name in options.models]
    options.threads = [int(count) for count in options.threads.split(",")]
    options.cpus = [int(cpu) for cpu in options.cpus.split(",")] if options.cpus else sorted(os.sched_getaffinity(0))
    if max(options.threads) > len(options.cpus):
        parser.error(f"{max(options.threads)} threads need as many CPUs, {len(options.cpus)} are allowed")
    options.version = subprocess.run([options.rlx, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return options


def main():
    options = options_parse()
    results = Results(options.results or os.path.join(options.work, "results.json"))
    end = time.monotonic() + options.budget
    rows = [(name, threads) for name in options.models for threads in ([0] if options.rates or options.prepare else options.threads)]
    for number, (name, threads) in enumerate(rows):
        if time.monotonic() > end:
            print(f"{len(rows) - number} rows are left: the same command goes on", file=sys.stderr)
            return 3
        done = results.rate(options.moment, name) if options.rates else results.row(options.moment, threads, name)
        if done and not options.prepare and not options.again:
            continue
        if not os.path.exists(os.path.join(options.work, name + ".json")):
            models.write(options.work, [name])
        prepare(results, name, options)
        if options.prepare:
            print(f"{name}: {results.checks(name)}", file=sys.stderr)
            continue
        if options.rates:
            rates(results, name, options)
            print(f"{name}: {results.rate(options.moment, name)}", file=sys.stderr)
        else:
            compare(results, name, threads, options)
            print(f"{name}, {threads} thread(s): {line(results.row(options.moment, threads, name))}", file=sys.stderr)
        results.save(options.moment, options.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
