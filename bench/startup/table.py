"""For every network: start of process to first answer and peak memory, RLX beside ONNX Runtime; and the compiler's time and peak memory.

RLX is `rlx infer` with the verification stamp that `rlx compile` leaves, from execve to exit, files in the page cache. ONNX Runtime runs in Python: what an
interpreter that only loads numpy and the inputs takes is subtracted, from time and memory, so that both are the engine's own. One thread,
rounds of both alternate, medians of --rounds (ONNX Runtime: of the differences). `rlx compile` with an empty cache, and again with what that left. Goals: 0.2 of the time, 0.7 of the memory; 20 s and
2 s; 4 times the model and 300 MiB. `!` marks what misses its goal.

This process imports nothing large: the peak that Linux reports of a child is never below its parent's size at the time of the fork."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
BARE = "import sys, numpy; a = dict(numpy.load(sys.argv[1] + '.npz'))"
PEER = BARE + """
import onnxruntime as o
options = o.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = o.InferenceSession(sys.argv[1] + '.onnx', options, providers=['CPUExecutionProvider'])
session.run(None, {value.name: a[value.name] for value in session.get_inputs()})
"""


def spend(words, environment=None):
    """(milliseconds, peak MiB) of a process on one CPU, or None when it fails."""
    started = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if process.returncode else ((time.monotonic() - started) * 1e3, usage.ru_maxrss * 1024 / MIB)


def compiler(rlx, base, folder):
    """(ms, MiB) of compiling with an empty cache, ms with a warm one."""
    cache = os.path.join(folder, "compile")
    shutil.rmtree(cache, ignore_errors=True)
    words = [rlx, "compile", "--model", base + ".onnx", "--output", os.path.join(folder, "model.rlxb")]
    first, again = (spend(words, {"RLX_CACHE_DIR": cache}) for _ in range(2))
    return first and again and (*first, again[0])


def starts(rlx, base, folder, rounds):
    """((ms, MiB) of RLX, of ONNX Runtime), each None where it fails."""
    environment = {"RLX_CACHE_DIR": os.path.join(folder, "compile")} # with the compiler's stamp
    answer = os.path.join(MEMORY, f"rlx-out-{os.getpid()}.npz")
    words = [rlx, "infer", os.path.join(folder, "model.rlxb"), "--input", base + ".npz", "--output", answer, "--threads", "1", "--quiet"]
    mine, other = [], []
    for _ in range(rounds):
        mine.append(spend(words, environment))
        bare, whole = (spend([sys.executable, "-c", code, base]) for code in (BARE, PEER))
        other.append(bare and whole and (whole[0] - bare[0], whole[1] - bare[1]))
    if os.path.exists(answer):
        os.remove(answer)
    return [None if None in figures else tuple(statistics.median(column) for column in zip(*figures)) for figures in (mine, other)]


def mark(value, limit, text):
    return text.format(value) + (" !" if value > limit else "")


def row(rlx, name, options):
    base = os.path.join(options.work, name)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        built = compiler(rlx, base, folder)
        if not built:
            return f"| {name} | refused |" + " |" * 9
        os.sync() # what the compiler wrote is not written during a run
        mine, other = starts(rlx, base, folder, options.rounds)
    size = os.path.getsize(base + ".onnx") / MIB
    cells = [name]
    if mine and other:
        cells += [f"{mine[0]:.1f}", f"{other[0]:.1f}", mark(mine[0] / other[0], 0.2, "{:.2f}"),
                  f"{mine[1]:.0f}", f"{other[1]:.0f}", mark(mine[1] / other[1], 0.7, "{:.2f}")]
    else:
        cells += ["fails" if not mine else f"{mine[0]:.1f}", "fails" if not other else f"{other[0]:.1f}", "", "", "", ""]
    cells += [f"{size:.1f}", mark(built[0] / 1e3, 20, "{:.2f}"), mark(built[2] / 1e3, 2, "{:.2f}"), mark(built[1], 4 * size + 300, "{:.0f}")]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True)
    parser.add_argument("--work", required=True, help="folder of bench/models.py")
    parser.add_argument("--models", help="comma-separated (all in the folder)")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    there = sorted(file[:-5] for file in os.listdir(options.work) if file.endswith(".onnx") and "@" not in file)
    print("| model | RLX, ms | ONNX Runtime, ms | ratio | RLX, MiB | ONNX Runtime, MiB | ratio | file, MiB | compile, s | again, s | peak, MiB |")
    print("|---" * 11 + "|")
    for name in options.models.split(",") if options.models else there:
        print(row(options.rlx, name, options), flush=True)


if __name__ == "__main__":
    main()
