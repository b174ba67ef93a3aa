"""What was measured, in one JSON file that runs add to:

    checks[MODEL][ENGINE]                      {"distance": of the largest output} or {"error": why it does not run}
    times[MOMENT][THREADS][MODEL][ENGINE]      {"median_ms", "min_ms"}; MODEL may be NAME@ROWS
    rates[MOMENT][MODEL][ENGINE]               {"together": rows/s by one instance on all CPUs, "apart": by one instance a CPU}
    machine, versions, dates[MOMENT], builds[MOMENT]: what rlx calls itself, more than one where a moment was made with several

A moment is a name for one pass over the models. A result is right when it is within RIGHT of ONNX Runtime without its optimiser."""

import datetime
import json
import os
import platform
import re
import statistics
from importlib import metadata

RIGHT = 1e-2
PACKAGES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "mnn": "MNN", "ncnn": "ncnn", "iree": "iree-base-runtime"}


class Results:
    def __init__(self, path):
        self.path = path
        self.data = {"checks": {}, "times": {}, "rates": {}, "dates": {}}
        if os.path.exists(path):
            with open(path) as file:
                self.data = json.load(file)

    def save(self, moment, rlx_version):
        self.data["dates"][moment] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        self.data["machine"] = machine()
        builds = self.data.setdefault("builds", {}).setdefault(moment, [])
        builds += [rlx_version] if rlx_version not in builds else []
        self.data["versions"] = {name: metadata.version(package) for name, package in PACKAGES.items()}
        with open(self.path + ".part", "w") as file:
            json.dump(self.data, file, indent=1)
        os.replace(self.path + ".part", self.path)

    def checks(self, model):
        return self.data["checks"].setdefault(model, {})

    def row(self, moment, threads, model):
        return self.data["times"].setdefault(moment, {}).setdefault(str(threads), {}).setdefault(model, {})

    def rate(self, moment, model):
        return self.data["rates"].setdefault(moment, {}).setdefault(model, {})

    def right(self, model, engine):
        return self.checks(model).get(engine, {}).get("distance", 2 * RIGHT) <= RIGHT


def machine():
    with open("/proc/cpuinfo") as file:
        text = file.read()
    name = re.search(r"model name\s*:\s*(.*)", text)
    wide = "AVX-512" if "avx512f" in text else "AVX2"
    return f"{name.group(1) if name else platform.machine()}, {os.cpu_count()} CPUs, {wide}"


def summary(results, threads, model, moments):
    """Medians over the moments of every engine's median in ms; the best right peer by them; and RLX / best right peer, the median of
    the moments' ratios. Names are left out where there is nothing."""
    rows = [row for moment in moments if (row := results.data["times"].get(moment, {}).get(str(threads), {}).get(model))]
    cells, ratios = {}, []
    for row in rows:
        for engine, cell in row.items():
            cells.setdefault(engine, []).append(cell["median_ms"])
        best = min((cell["median_ms"] for engine, cell in row.items() if engine != "rlx" and results.right(model, engine)), default=None)
        if best and "rlx" in row:
            ratios.append(row["rlx"]["median_ms"] / best)
    medians = {engine: statistics.median(values) for engine, values in cells.items()}
    found = {"ms": medians, "moments": len(ratios)}
    right = {engine: value for engine, value in medians.items() if engine != "rlx" and results.right(model, engine)}
    if right:
        found["best"] = min(right, key=right.get)
    if ratios:
        found["ratio"] = statistics.median(ratios)
    return found
