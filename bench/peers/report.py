"""Tables and a picture of what `run` measured: medians over the moments, RLX / best right peer (the median of each moment's ratio).

Prints Markdown. --readme FILE puts the short table (the networks with a name of their own) between the lines `<!-- speed -->` and
`<!-- /speed -->` of FILE and writes the picture beside it, as docs/speed.svg and docs/speed.png; --document FILE the full tables.
--misses lists only what is above its goal (goals.py). `!`: further than 1e-2 of the largest output from ONNX Runtime without its
optimiser, left out of "best"; `fails`: the reasons are in the results and in WORK/ENGINE/NAME.log."""

import argparse
import os
import re
import sys

from goals import goal
from results import Results, summary

TITLES = {
    "resnet50": "ResNet-50", "resnet18": "ResNet-18", "squeezenet": "SqueezeNet", "vgg19": "VGG-19", "densenet121": "DenseNet-121",
    "inception_v1": "Inception v1", "inception_v2": "Inception v2", "mobilenet_v2": "MobileNetV2", "efficientnet_b0": "EfficientNet-B0",
    "shufflenet": "ShuffleNet", "yolov8n": "YOLOv8n, 640x640", "ocr_det": "OCR detection, 640x640", "ocr_rec": "OCR recognition",
    "ocr_cls": "OCR orientation", "bert_base": "BERT-base, 128 tokens", "minilm": "MiniLM, 6 layers", "vit_b_16": "ViT-B/16",
}
ENGINES = {"rlx": "RLX", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "mnn": "MNN", "ncnn": "ncnn", "iree": "IREE",
           "iree_im2col": "IREE, im2col"}


def cell(results, model, engine, found):
    if engine in found["ms"]:
        text = f"{found['ms'][engine]:.2f}"
        text = f"**{text}**" if engine == found.get("best") else text
        return text if results.right(model, engine) else text + " !"
    return "fails" if "error" in results.checks(model).get(engine, {}) else ""


def table(results, threads, names, moments):
    rows = [(name, summary(results, threads, name, moments)) for name in names]
    rows = [(name, found) for name, found in rows if found["ms"]]
    engines = [engine for engine in ENGINES if any(engine in found["ms"] for _, found in rows)]
    lines = [f"| {threads} thread{'s' if threads > 1 else ''}, ms | " + " | ".join(ENGINES[engine] for engine in engines) + " | RLX / best |",
             "|---" * (len(engines) + 2) + "|"]
    for name, found in rows:
        ratio = f"{found['ratio']:.2f}" if "ratio" in found else "-"
        cells = [TITLES.get(name, name), *(cell(results, name, engine, found) for engine in engines), ratio]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rates_table(results, moments):
    """Rows per second on all CPUs, the better of one instance and one instance a CPU."""
    lines = []
    names = sorted({name for moment in moments for name in results.data["rates"].get(moment, {})})
    for name in names:
        lines += [f"| {TITLES.get(name.partition('@')[0], name)}, batch {name.partition('@')[2] or 1} | rows/s, one instance | one a CPU |", "|---|---|---|"]
        rows = [row for moment in moments if (row := results.data["rates"].get(moment, {}).get(name))]
        for engine in ENGINES:
            values = {mode: sorted(row[engine][mode] for row in rows if mode in row.get(engine, {})) for mode in ("together", "apart")}
            cells = [f"{found[len(found) // 2]:.2f}" if found else "" for found in values.values()]
            if any(cells):
                lines.append(f"| {ENGINES[engine]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def moments_text(results, names, moments):
    """In how many of the moments each network was measured: "3 moments", or "1 to 3 moments a network" where they differ."""
    times = results.data["times"]
    counts = {n for name in names if (n := sum(1 for moment in moments if times.get(moment, {}).get("1", {}).get(name)))} or {0}
    if len(counts) > 1:
        return f"{min(counts)} to {max(counts)} moments a network"
    return f"{max(counts)} moment{'' if max(counts) == 1 else 's'}"


def head(results, names, moments):
    data = results.data
    versions = data["versions"]
    peers = ", ".join(f"{ENGINES[name]} {versions[name]}" for name in ENGINES if name in versions)
    builds = sorted({build for moment in moments for build in data.get("builds", {}).get(moment, [])})
    dates = [data["dates"][moment] for moment in moments if moment in data["dates"]]
    return (f"{data['machine']}; {max(dates)} UTC, {moments_text(results, names, moments)}; batch 1, f32, median ms; "
            f"{' and '.join(builds)}; {peers}.")


def misses(results, threads, names, moments):
    """(excess, text) of every network above its goal, the worst first."""
    found = []
    for name in names:
        row = summary(results, threads, name, moments)
        bar = goal(name, row["ms"][row["best"]]) if "ratio" in row and "best" in row else None
        if bar is not None and row["ratio"] > bar:
            text = (f"{name}, {threads} thread(s): {row['ratio']:.2f}, goal {bar:.2f}; RLX {row['ms']['rlx']:.2f} ms, "
                    f"{ENGINES[row['best']]} {row['ms'][row['best']]:.2f} ms")
            found.append((row["ratio"] / bar, text))
    return [text for _, text in sorted(found, reverse=True)]


def picture(results, threads, names, moments, stem):
    """Bars: each peer's time by RLX's, so that longer is slower."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "rlx", "font.size": 9})
    from matplotlib import pyplot
    rows = [(name, found) for name in names if "rlx" in (found := summary(results, threads, name, moments))["ms"]]
    engines = [engine for engine in list(ENGINES)[:5] if any(engine in found["ms"] for _, found in rows)]
    figure, axis = pyplot.subplots(figsize=(8, 0.55 * len(rows) + 1.2))
    colours = dict(zip(ENGINES, ["#d1495b", "#30638e", "#7a9cc6", "#edae49", "#8d99ae"]))
    height = 0.8 / len(engines)
    for place, engine in enumerate(engines):
        values = [found["ms"].get(engine, 0) / found["ms"]["rlx"] if engine == "rlx" or results.right(name, engine) else 0 for name, found in rows]
        axis.barh([row + place * height for row in range(len(rows))], values, height, label=ENGINES[engine], color=colours[engine])
    axis.set_yticks([row + 0.4 - height / 2 for row in range(len(rows))], [TITLES.get(name, name) for name, _ in rows])
    axis.invert_yaxis()
    axis.set_xlim(0, 2.5)
    axis.set_xlabel(f"time by RLX's, {threads} thread{'s' if threads > 1 else ''} (shorter is faster; cut at 2.5)")
    axis.axvline(1, color="#444444", linewidth=0.8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(ncol=len(engines), loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    figure.tight_layout()
    figure.savefig(stem + ".svg", metadata={"Date": None})
    figure.savefig(stem + ".png", dpi=110, metadata={"Software": None})


def insert(path, text):
    with open(path) as file:
        old = file.read()
    new, count = re.subn(r"(<!-- speed -->\n).*?(<!-- /speed -->)", lambda found: found.group(1) + text + "\n" + found.group(2), old, flags=re.S)
    if count != 1:
        sys.exit(f"{path}: one pair of lines `<!-- speed -->` and `<!-- /speed -->` is expected, {count} found")
    with open(path, "w") as file:
        file.write(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", required=True)
    parser.add_argument("--moments", help="comma-separated (all in the results)")
    parser.add_argument("--readme")
    parser.add_argument("--document")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    results = Results(options.results)
    if not results.data["times"] and not results.data["rates"]:
        sys.exit(f"{options.results}: nothing is measured; bench/peers/run does")
    moments = options.moments.split(",") if options.moments else sorted(set(results.data["times"]) | set(results.data["rates"]))
    known = list(TITLES) + sorted(set(results.data["checks"]) - set(TITLES))
    if options.misses:
        print("\n".join(misses(results, 1, known, moments) + misses(results, 2, known, moments)))
        return
    full = "\n\n".join([head(results, known, moments), table(results, 1, known, moments), table(results, 2, known, moments), rates_table(results, moments)])
    print(full)
    if options.document:
        insert(options.document, "\n" + full)
    if options.readme:
        stem = os.path.join(os.path.dirname(os.path.abspath(options.readme)), "docs", "speed")
        picture(results, 1, list(TITLES), moments, stem)
        short = [table(results, threads, list(TITLES), moments) for threads in (1, 2)]
        insert(options.readme, "\n\n".join(["\n![Time of ONNX Runtime, OpenVINO, MNN and ncnn by RLX's](docs/speed.png)", head(results, list(TITLES), moments), *short]) + "\n")


if __name__ == "__main__":
    main()
