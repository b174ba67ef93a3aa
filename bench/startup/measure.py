"""What a run costs besides its kernels, with a 100 MB bundle (ResNet-50, random weights) and a warm page cache:

- compile time;
- `rlx infer` wall time minus the warm median of the kernels, with and without a verification stamp;
- memory that two processes share: Pss of the mapped constants while both run.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import models  # noqa: E402

ROUNDS = 9


def call(*words, environment=None):
    subprocess.run([*map(str, words)], check=True, capture_output=True, env={**os.environ, **(environment or {})})


def wall_ms(*words, environment=None):
    started = time.monotonic()
    call(*words, environment=environment)
    return (time.monotonic() - started) * 1e3


def mapped_kib(pid, path):
    """Rss and Pss of the file's mappings in a process, in KiB."""
    rss = pss = 0
    inside = False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            rss += int(line.split()[1])
        elif inside and line.startswith("Pss:"):
            pss += int(line.split()[1])
    return rss, pss


def sharing(rlx, bundle, seconds):
    pair = [subprocess.Popen([rlx, "bench", bundle, "--threads", "1", "--duration", str(seconds)], stdout=subprocess.DEVNULL) for _ in range(2)]
    time.sleep(seconds * 0.7)
    figures = [mapped_kib(process.pid, bundle) for process in pair]
    for process in pair:
        process.wait()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", required=True)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models.write(folder, ["resnet50"])
        model, fed = folder / "resnet50.onnx", folder / "resnet50.npz"
        bundle, answer = folder / "resnet50.rlxb", folder / "out.npz"
        compile_s = wall_ms(arguments.rlx, "compile", "--model", model, "--target", "x86_64", "--output", bundle) / 1e3
        call(arguments.rlx, "bench", bundle, "--threads", arguments.threads, "--duration", 3, "--json", folder / "bench.json")
        kernels_ms = json.loads((folder / "bench.json").read_text())["latency_ms"]["p50"]
        infer = [arguments.rlx, "infer", bundle, "--input", fed, "--output", answer, "--threads", arguments.threads, "--quiet"]
        cold = [wall_ms(*infer, environment={"RLX_CACHE_DIR": str(folder / f"cache{i}")}) for i in range(ROUNDS)]
        stamped_environment = {"RLX_CACHE_DIR": str(folder / "cache")}
        call(*infer, environment=stamped_environment)
        stamped = [wall_ms(*infer, environment=stamped_environment) for _ in range(ROUNDS)]
        megabytes = bundle.stat().st_size / 1e6
        print(f"bundle                          {megabytes:.1f} MB")
        print(f"rlx compile                     {compile_s:.2f} s")
        print(f"kernels, warm median            {kernels_ms:.2f} ms ({arguments.threads} thread)")
        print(f"rlx infer - kernels, stamp      {statistics.median(stamped) - kernels_ms:.2f} ms (least {min(stamped) - kernels_ms:.2f})")
        extra = statistics.median(cold) - kernels_ms
        print(f"rlx infer - kernels, no stamp   {extra:.2f} ms = {extra / megabytes:.2f} ms per MB")
        for number, (rss, pss) in enumerate(sharing(arguments.rlx, bundle, 4), 1):
            print(f"process {number}, bundle mapping      Rss {rss / 1024:.1f} MiB, Pss {pss / 1024:.1f} MiB")


if __name__ == "__main__":
    main()
