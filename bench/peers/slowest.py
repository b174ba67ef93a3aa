"""The slowest kernels over all networks: of every step of every bundle in WORK, the time above what the machine could do at best (the larger of
operations by FMA peak and bytes by memory bandwidth, as `rlx bench` measures them), as a share of its network, summed per kernel and network.
A kernel that takes a long time at the machine's limit is not slow; one far from it is, by as much as its network would gain. Steps without
arithmetic count whole: a copy need not be, and caches serve many a step faster than memory. Networks below --least ms are left out."""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import models  # noqa: E402
from contestants import bundle_compile  # noqa: E402


def bench(rlx, base, seconds):
    path = base + ".slowest.json"
    done = subprocess.run([rlx, "bench", base + ".rlxb", "--input", base + ".npz", "--threads", "1", "--duration", str(seconds), "--warmup", "0.1",
                           "--steps", "--json", path], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    with open(path) as file:
        report = json.load(file)
    os.remove(path)
    return report


def figures(name, report):
    """A dict per kernel of the network."""
    peak, memory = report["machine"]["gflops"] * 1e6, report["machine"]["gbytes_per_s"] * 1e6 # per millisecond
    total = sum(step["ms"] for step in report["steps"])
    found = {}
    for step in report["steps"]:
        least = max(step["flops"] / peak, step["bytes"] / memory) if step["flops"] > 0 else 0
        row = found.setdefault(step["kernel"], {"network": name, "kernel": step["kernel"], "steps": 0, "ms": 0, "least": 0, "flop": 0, "byte": 0})
        row["steps"] += 1
        row["ms"] += step["ms"]
        row["least"] += least
        row["flop"] += step["flops"]
        row["byte"] += step["bytes"]
    for row in found.values():
        row["share"] = row["ms"] / total
        row["lost"] = max(0, row["ms"] - row["least"]) / total
        row["peak"], row["memory"] = row["flop"] / row["ms"] / peak, row["byte"] / row["ms"] / memory
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--models", default=",".join(models.ALL))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--least", type=float, default=0.2, help="ms of a network (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--per-kernel", action="store_true", help="the worst network of every kernel only")
    options = parser.parse_args()
    rows = []
    for name in options.models.split(","):
        base = os.path.join(options.work, name)
        report = bench(options.rlx, base, options.seconds) if bundle_compile(options.rlx, base) is None else None
        if report is not None and report["latency_ms"]["p50"] >= options.least:
            rows += figures(name, report)
    rows.sort(key=lambda row: -row["lost"])
    if options.per_kernel:
        seen = set()
        rows = [row for row in rows if not (row["kernel"] in seen or seen.add(row["kernel"]))]
    print("| kernel | network | steps | ms | of the network | FMA peak | memory | could be saved |\n|---|---|---|---|---|---|---|---|")
    for row in rows[:options.count]:
        print(f"| {row['kernel']} | {row['network']} | {row['steps']} | {row['ms']:.3f} | {row['share']:.0%} | {row['peak']:.0%} | "
              f"{row['memory']:.0%} | {row['lost']:.0%} |")


if __name__ == "__main__":
    main()
