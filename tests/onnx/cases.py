"""Small graphs that public reports say some engine gets wrong (cases/README.md). Each runs at opt levels 1 and 3, with the image's and the
reference kernels, on one thread and on three: all must agree bit for bit."""
import json

import numpy

import harness

WAYS = [(3, "image", 1), (3, "image", 3), (3, "reference", 1), (1, "image", 1)]


def same(a, b):
    return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a)


def disagreement(runs):
    first = runs[0]
    for other in runs[1:]:
        ways = f"level {other.level}, {other.kernels} kernels, {other.threads} threads"
        if (other.result == "ok") != (first.result == "ok"):
            return f"{ways}: {other.result}; elsewhere: {first.result}"
        if first.result == "ok" and not same(first.outputs, other.outputs):
            return f"{ways}: other bits"
    return None


def values(run, meta, folder):
    if not (folder / "output.npz").exists():  # nocrash: any answer will do
        return None
    with numpy.load(folder / "output.npz") as want:
        for name in want.files:
            if name in meta["open_outputs"]:
                continue
            if name not in run.outputs:
                return f"no output '{name}'"
            text = harness.difference(run.outputs[name], want[name], meta["rtol"], meta["atol"])
            if text is not None:
                return f"output '{name}': {text}"
    return None


def fault(runs, meta, folder):
    for run in runs:
        if run.result is None or run.result.startswith("crashed"):
            return run.result or "no answer"
    if meta["kind"] == "reject":
        accepted = [run for run in runs if run.result == "ok"]
        return "accepted" if accepted else None
    text = disagreement(runs)
    if text is not None or (meta["kind"] == "nocrash" and runs[0].result != "ok"):
        return text
    if runs[0].result != "ok":
        return runs[0].result
    return values(runs[0], meta, folder)


def inputs_read(folder):
    path = folder / "input.npz"
    if not path.exists():
        return {}
    with numpy.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def main(only=None):
    tally = harness.Tally("onnx cases")
    tests, runs = [], []
    for folder in sorted((harness.HERE / "cases").iterdir()):
        if not (folder / "meta.json").exists() or (only and only not in folder.name):
            continue
        meta = json.loads((folder / "meta.json").read_text())
        mine = [harness.Case(meta["id"], folder / "model.onnx", inputs_read(folder), *way) for way in WAYS]
        tests.append((meta, folder, mine))
        runs += mine
    harness.run(runs)
    for meta, folder, mine in tests:
        text = fault(mine, meta, folder)
        tally.add(f"{meta['id']} ({meta['title']})" if text else meta["id"], text)
    return tally.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv[1] if len(sys.argv) > 1 else None)
