#!/usr/bin/env python3
"""Traces as a viewer reads them, and the page. RLX and RLXD name the programs. Prints "N passed, N failed, N skipped" last."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy

import cases
import trace_format
from cases import Skip, test
from rlxd import Rlxd

ROOT = pathlib.Path(__file__).resolve().parents[2]
RLX = os.environ["RLX"]
MODEL = ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c")


def rlx(*words, code=0):
    run = subprocess.run([RLX, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert run.returncode == code, f"rlx {words[0]}: exit code {run.returncode}, expected {code}: {run.stdout}{run.stderr}"
    return run.stdout + run.stderr


class Bench:
    """A real model, compiled, its input, and one trace of each kind, made once."""

    def __init__(self, folder):
        self.folder = folder
        fetched = subprocess.run([sys.executable, str(ROOT / "scripts" / "fetch_model.py"), *MODEL], capture_output=True, text=True)
        if fetched.returncode != 0:
            raise Skip(f"the model cannot be fetched: {fetched.stderr.strip()}")
        self.bundle = folder / "cls.rlxb"
        rlx("compile", "--model", fetched.stdout.strip(), "--output", self.bundle)
        self.input = folder / "in.npz"
        self.x = numpy.random.default_rng(7).standard_normal((1, 3, 48, 192), dtype=numpy.float32)
        numpy.savez(self.input, x=self.x)
        self.infer_trace = folder / "infer.json"
        rlx("infer", self.bundle, "--input", self.input, "--output", folder / "traced.npz", "--threads", 2, "--profiling", self.infer_trace)
        self.infer = read_trace(self.infer_trace)
        self.page = folder / "infer.html"
        self.said = rlx("profile", self.infer_trace, "-o", self.page)

    def daemon_trace(self, work, stop, words=()):
        """What `work(server)` leaves in the trace of an rlxd that `stop(server)` ends."""
        path = self.folder / f"rlxd-{time.monotonic_ns()}.json"
        server = Rlxd({"cls": self.bundle}, ["--workers", "2", "--profiling", str(path), *words])
        try:
            work(server)
        finally:
            stop(server)
        return path


def read_trace(path):
    """As chrome://tracing does: an array, whose end may be missing."""
    text = pathlib.Path(path).read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(text[:text.rindex(",\n")] + "]")


def page_data(path):
    text = pathlib.Path(path).read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def fact(events, name):
    return next(e["args"] for e in events if e["name"] == name)


def spans(events, *categories):
    return [e for e in events if e["ph"] == "X" and e["cat"] in categories]


def check_trace(events):
    """What viewers need: fields, spans that nest on each track, async spans that pair."""
    tracks = {}
    for event in events:
        assert {"ph", "name", "pid", "tid"} <= event.keys(), event
        if event["ph"] != "M":
            assert event["ts"] >= 0, event
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"], event["name"]))
    for track in tracks.values():
        open_until = []
        for begin, end, name in sorted(track, key=lambda s: (s[0], -s[1])):
            while open_until and open_until[-1][0] <= begin + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1][0] + 1e-6, f"{name} reaches out of {open_until[-1][1]}"
            open_until.append((end, name))
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert tracks.keys() <= named, f"tracks without a name: {tracks.keys() - named}"
    stacks = {}
    for event in [e for e in events if e["ph"] in "be"]:
        stack = stacks.setdefault((event["cat"], event["id"]), [])
        if event["ph"] == "b":
            assert not stack or stack[-1]["ts"] <= event["ts"], event
            stack.append(event)
        else:
            begin = stack.pop()
            assert begin["name"] == event["name"], (begin, event)
            assert begin["ts"] <= event["ts"], (begin, event)
    assert not any(stacks.values()), "async spans that never end"


def infer_rest(server, x, request_id, traceparent=None):
    body = json.dumps({"id": request_id, "inputs": [{"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}]})
    headers = {"Content-Type": "application/json", **({"traceparent": traceparent} if traceparent else {})}
    request = urllib.request.Request(f"http://{server.url}/v2/models/cls/infer", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@test
def a_trace_is_json_whose_spans_nest(bench):
    json.loads(bench.infer_trace.read_text())
    check_trace(bench.infer)


@test
def every_event_of_every_program_is_what_the_published_format_asks_for(bench):
    hostile = ['quote " and \\ backslash', "tab\tline\n", "\u2028 \u00e9 \U0001f600", "</script>", ""]

    def work(server):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: infer_rest(server, bench.x, hostile[i % len(hostile)]), range(40)))

    traced = bench.folder / "format.json"
    rlx("bench", bench.bundle, "--input", bench.input, "--duration", "0.1", "--warmup", "0", "--profiling", traced)
    trace_format.check(traced.read_text())
    trace_format.check(bench.infer_trace.read_text())
    events = trace_format.check(bench.daemon_trace(work, lambda server: server.stop()).read_text())
    assert {e["args"]["id"] for e in events if e["ph"] == "b" and "args" in e} == set(hostile)
    assert {"X", "i", "C", "M", "b", "e"} == {e["ph"] for e in events}
    bounded = bench.daemon_trace(work, lambda server: server.stop(), ["--set", "profiling.size=100KiB"])
    trace_format.check(bounded.read_text())


@test
def the_trace_says_what_machine_program_and_model_it_comes_from(bench):
    facts, model = fact(bench.infer, "rlx.trace"), fact(bench.infer, "rlx.model")
    assert facts["program"] == "rlx" and facts["version"] in rlx("--version"), facts
    assert facts["peak_gflops"] >= facts["thread_gflops"] > 0 and facts["peak_gbytes"] > 0, facts
    assert re.fullmatch("[0-9a-f]{64}", model["digest"]), model
    assert model["isa"].startswith("x86-64-v"), model


@test
def every_step_is_there_once_with_its_kernel_source_and_costs(bench):
    steps = spans(bench.infer, "step")
    assert sorted(s["args"]["step"] for s in steps) == list(range(fact(bench.infer, "rlx.model")["steps"]))
    for step in steps:
        args = step["args"]
        assert args["kernel"] and args["source"] and args["tiles"] > 0, step
        assert args["flops"] >= 0 and args["bytes"] > 0, step
        assert 1 <= args["workers"] <= args["team"] <= 2, step
        assert args["busy_ns"] <= args["team"] * args["ns"] * 1.001 + 1000, step


@test
def steps_add_up_to_the_kernel_time_of_their_run(bench):
    path, four = bench.folder / "bench.json", bench.folder / "four.npz"
    numpy.savez(four, x=numpy.repeat(bench.x, 16, axis=0))  # some milliseconds: what a run costs besides its steps is microseconds
    rlx("bench", bench.bundle, "--input", four, "--duration", "0.3", "--warmup", "0.1", "--threads", 2, "--profiling", path)
    events = read_trace(path)
    check_trace(events)
    runs, sums = spans(events, "run"), {}
    for step in spans(events, "step"):
        sums[step["args"]["run"]] = sums.get(step["args"]["run"], 0) + step["args"]["ns"]
    assert len(runs) > 2
    shares = sorted(sums[r["args"]["run"]] / r["args"]["kernel_ns"] for r in runs)
    assert shares[-1] <= 1, shares[-1]
    assert shares[len(shares) // 2] >= 0.98, f"median {shares[len(shares) // 2]}"


@test
def profiling_changes_no_bit_of_the_outputs(bench):
    rlx("infer", bench.bundle, "--input", bench.input, "--output", bench.folder / "plain.npz", "--threads", 2)
    plain, traced = numpy.load(bench.folder / "plain.npz"), numpy.load(bench.folder / "traced.npz")
    assert plain.files == traced.files
    for name in plain.files:
        assert plain[name].tobytes() == traced[name].tobytes(), name


@test
def bench_prints_what_tracing_costs(bench):
    said = rlx("bench", bench.bundle, "--input", bench.input, "--duration", "0.1", "--warmup", "0", "--profiling", bench.folder / "b.json")
    assert re.search(r"profiling +p50 [0-9.]+ ms traced, [0-9.]+ ms not \(every other run\): [+-][0-9.]+ %", said), said


@test
def the_page_holds_every_kernel_and_every_step(bench):
    data, steps = page_data(bench.page), spans(bench.infer, "step")
    assert {k["kernel"] for k in data["kernels"]} == {s["args"]["kernel"] for s in steps}
    assert {(s["name"], s["kernel"], s["source"]) for s in data["steps"]} == {(s["name"], s["args"]["kernel"], s["args"]["source"]) for s in steps}
    total = sum(s["args"]["ns"] for s in steps)
    assert abs(sum(k["ns"] for k in data["kernels"]) - total) <= 0.001 * total
    for kernel in data["kernels"]:
        mine = [s for s in steps if s["args"]["kernel"] == kernel["kernel"]]
        assert kernel["flops"] == sum(s["args"]["flops"] for s in mine), kernel
        assert kernel["verdict"] in ("compute-bound", "memory-bound", "overhead-bound", "no single limit"), kernel
        assert kernel["why"] and kernel["knob"], kernel


@test
def verdicts_follow_the_documented_limits(bench):
    for row in page_data(bench.page)["steps"]:
        busy, fma, bandwidth = row["busy"], row["fma"], row["bandwidth"]
        expected = ("overhead-bound" if busy < 0.3 else "memory-bound" if bandwidth > 0.9 and fma < 0.7 else
                    "compute-bound" if busy > 0.95 else "overhead-bound" if busy < 0.7 else "no single limit")
        near = min(abs(busy - 0.3), abs(busy - 0.7), abs(busy - 0.95), abs(bandwidth - 0.9), abs(fma - 0.7)) < 1e-4
        assert near or row["verdict"] == expected, row


@test
def the_page_refers_to_nothing_outside_itself(bench):
    text = bench.page.read_text()
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//|@import|url\(', text)
    assert "</script><script" not in text.lower().replace("\n", "")


@test
def the_other_spelling_of_profile_works(bench):
    assert "kernels" in rlx("profile-viewer", bench.infer_trace, "--output", bench.folder / "other.html")


@test
def names_from_the_trace_cannot_break_out_of_the_page(bench):
    evil = "</script><img src=x onerror=alert(1)>\u2028&\"\\"
    events = json.loads(bench.infer_trace.read_text())
    for event in events:
        if event["ph"] == "X" and event["cat"] == "step":
            event["name"] = event["args"]["kernel"] = evil
    path = bench.folder / "evil.json"
    path.write_text(json.dumps(events))
    rlx("profile", path, "-o", bench.folder / "evil.html")
    text = (bench.folder / "evil.html").read_text()
    assert "<img" not in text and text.count("</script>") == 2
    assert page_data(bench.folder / "evil.html")["kernels"][0]["kernel"] == evil


@test
def a_trace_cut_anywhere_gives_a_page_with_a_note(bench):
    data = bench.infer_trace.read_bytes()
    first = data.index(b"\n", 2) + 1
    cut, page = bench.folder / "cut.json", bench.folder / "cut.html"
    line = data.index(b"\n{", len(data) // 2) + 1  # one event, cut at every byte; and the whole at some
    places = {first, first + 1, first + 20, *range(line, data.index(b"\n", line) + 2), *numpy.random.default_rng(3).integers(first, len(data) - 3, 40).tolist()}
    for place in sorted(places):
        cut.write_bytes(data[:place])
        assert "ends early" in rlx("profile", cut, "-o", page), place
        assert page_data(page)["meta"]["truncated"] is True
        assert "ends early" in page_data(page)["meta"]["note"]


@test
def what_is_no_trace_is_refused_with_rlx_1801_and_where(bench):
    good = bench.infer_trace.read_text()
    lines = good.split("\n")
    bad = {
        "": "empty", "hello": ":1 ", "{}": ":1 ", "[]": ":1 ", "[1]": ":1 ", "[\n{\"ph\":\"X\"}\n]": ":2 ",
        '[{"ph":"i","name":"rlx.trace","args":{"format":99}}]': "another version",
        "\n".join(lines[:5] + ["{broken"] + lines[5:]): ":6 ",
        "\n".join(lines[:5]) + "\n7,\n" + "\n".join(lines[5:]): ":6 ",
        good.rstrip() + "\nmore": "follows the end",
        re.sub(r'"tiles":\d+', '"tiles":-5', good): "lacks its numbers",
        re.sub(r'"dur":[0-9.]+', '"dur":1e300', good): "lacks ts, dur",
        good.replace('"tid":1,', '"tid":4000000000,'): "a thread's name has no number",
        "[" * 100000: "",
    }
    path = bench.folder / "bad.json"
    for text, where in bad.items():
        path.write_text(text)
        said = rlx("profile", path, "-o", bench.folder / "bad.html", code=1)
        assert "RLX-1801" in said, (text[:40], said)
        assert where in said, (text[:40], where, said)
    assert not (bench.folder / "bad.html").exists()


@test
def damaged_traces_never_crash_the_reader(bench):
    random = numpy.random.default_rng(11)
    data = bytearray(bench.infer_trace.read_bytes())
    path = bench.folder / "damaged.json"
    for _ in range(60):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), int(random.integers(1, 12))):
            damaged[place] = int(random.integers(0, 256))
        path.write_bytes(damaged)
        run = subprocess.run([RLX, "profile", str(path), "-o", str(bench.folder / "damaged.html")], capture_output=True, text=True, errors="replace", timeout=60)
        assert run.returncode in (0, 1), (run.returncode, run.stderr)
        assert run.returncode == 0 or "RLX-1801" in run.stderr, run.stderr


@test
def profile_without_output_is_a_usage_error(bench):
    assert "--output" in rlx("profile", bench.infer_trace, code=2)


@test
def a_trace_that_cannot_be_written_is_an_error_before_anything_runs(bench):
    said = rlx("infer", bench.bundle, "--input", bench.input, "--output", bench.folder / "never.npz", "--profiling", bench.folder / "no" / "t.json", code=1)
    assert "trace" in said and not (bench.folder / "never.npz").exists(), said


@test
def rlxd_tells_every_request_with_its_id_and_traceparent(bench):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def work(server):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: infer_rest(server, bench.x, f"request-{i}", parent if i == 5 else None), range(24)))

    path = bench.daemon_trace(work, lambda server: server.stop())
    events = json.loads(path.read_text())
    check_trace(events)
    opened = {e["args"]["id"]: e["args"] for e in events if e["ph"] == "b" and "args" in e}
    assert set(opened) == {f"request-{i}" for i in range(24)}, sorted(opened)
    assert opened["request-5"]["traceparent"] == parent and opened["request-6"]["traceparent"] == ""
    assert all(a["outcome"] == "OK" and a["rows"] == 1 for a in opened.values())
    assert {a["run"] for a in opened.values()} <= {r["args"]["run"] for r in spans(events, "run")}
    assert {"running", "in flight", "resident memory"} <= {e["name"] for e in events if e["ph"] == "C"}
    assert fact(events, "rlx.end")["dropped_ring"] == 0
    said = rlx("profile", path, "-o", bench.folder / "rlxd.html")
    data = page_data(bench.folder / "rlxd.html")
    assert len(data["requests"]) == 24 and data["latency"][0]["n"] == 24, said
    assert {"loop", "worker 0", "worker 1"} <= set(data["tracks"])


@test
def rlxd_answers_the_same_bits_with_and_without_profiling(bench):
    answers = []
    for words in ([], ["--profiling", str(bench.folder / "bits.json")]):
        with Rlxd({"cls": bench.bundle}, words) as server:
            answers.append(infer_rest(server, bench.x, "same")["outputs"])
    assert answers[0] == answers[1]


@test
def a_killed_rlxd_leaves_a_trace_that_opens(bench):
    def stop(server):
        time.sleep(0.2)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()

    path = bench.daemon_trace(lambda server: [infer_rest(server, bench.x, f"r{i}") for i in range(3)], stop)
    events = read_trace(path)
    check_trace(events)
    assert len(spans(events, "run")) >= 3
    assert "ends early" in rlx("profile", path, "-o", bench.folder / "killed.html")


@test
def the_file_is_bounded_and_says_what_it_dropped(bench):
    path = bench.daemon_trace(lambda server: [infer_rest(server, bench.x, f"r{i}") for i in range(12)], lambda server: server.stop(),
                              ["--set", "profiling.size=100KiB"])
    assert path.stat().st_size <= 100 * 1024
    events = json.loads(path.read_text())
    check_trace(events)
    assert fact(events, "rlx.end")["dropped_full"] > 100
    assert "events are missing" in rlx("profile", path, "-o", bench.folder / "bounded.html")


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            bench = Bench(pathlib.Path(folder))
        except Skip as reason:
            print(f"skipped: {reason}")
            return cases.finish(0, 0, len(cases.TESTS))
        return cases.finish(*cases.run(bench))


if __name__ == "__main__":
    sys.exit(main())
