#!/usr/bin/env python3
"""What a text demands of schedules, layouts and memories, from docs/LANGUAGE.md: the plan and the program show it, results are the bits of
--opt-level 1 (where the definitions run), and `rlx dump --explain` says why. Refusals stand in tests/diagnostics/cases/refused.rlx.txt.
Prints "N passed, N failed, N skipped" last."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

import cases
from cases import test

RLX = os.environ["RLX"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def rlx(*arguments):
    return subprocess.run([RLX, *arguments], capture_output=True, text=True, timeout=300)


def good(run):
    assert run.returncode == 0 and "RLX-2027" not in run.stderr, run.stderr
    return run


def module(folder, lines):
    path = folder / "m.rlx"
    path.write_text("@rlx.module(version=2)\ndef m():\n" + "".join(f"    {line}\n" for line in lines))
    return path


def dump(path, *options):
    return good(rlx("dump", str(path), *options)).stdout


def compute(folder, path, arrays, *options, level="3"):
    bundle = folder / f"m{level}.rlxb"
    run = rlx("compile", "--model", str(path), "--output", str(bundle), "--opt-level", level, "--no-cache")
    assert run.returncode == 0, run.stderr
    np.savez(folder / "in.npz", **arrays)
    good(rlx("infer", str(bundle), "--input", str(folder / "in.npz"), "--output", str(folder / "out.npz"), "--quiet", *options))
    with np.load(folder / "out.npz") as found:
        return dict(found)


def same_bits(folder, path, arrays):
    """The scheduled program, on one and on three threads, against the definitions."""
    expected = compute(folder, path, arrays, level="1")
    for options in ((), ("--threads", "3"), ("--threads", "1")):
        found = compute(folder, path, arrays, *options)
        for name, array in expected.items():
            assert found[name].tobytes() == array.tobytes(), (name, options, path.read_text())


def image(*shape):
    return {"x": np.random.default_rng(7).standard_normal(shape).astype(np.float32)}


def conv(folder, demand, x=(1, 3, 20, 37), w=(24, 3, 3, 3), more="", x_more="", w_more=""):
    return module(folder, [f"x = rlx.tensor(shape={list(x)}{x_more})",
                           f"w = rlx.constant(value=np.random.randn{w}.astype(np.float32){w_more})",
                           f"y = rlx.conv2d(x, w, padding=[1, 1], algorithm=\"direct\"{more}{demand})", "return rlx.relu(y)"])


def plan_of(path):
    found = re.search(r"plan = \{(.*?)\}", dump(path, "--after", "schedule"))
    return dict(re.findall(r"(\w+) = \"?(\w+)\"?", found[1])) if found else {}


def kernels(path):
    return re.findall(r"= (\w+)\(", dump(path, "--after", "lower"))


@test
def columns_in_the_lanes_and_channels_in_the_lanes_give_the_same_bits(folder):
    for x, w, more in (((1, 3, 20, 37), (24, 3, 3, 3), ""), ((2, 32, 9, 14), (48, 32, 3, 3), ""), ((1, 24, 7, 7), (24, 1, 3, 3), ", group=24"),
                       ((1, 8, 15, 40), (2, 8, 5, 5), ", strides=[2, 2]")):
        answers = []
        for dim in ("width", "output_channel"):
            path = conv(folder, f', compute_schedule={{"vectorize_dim": "{dim}"}}', x, w, more)
            assert plan_of(path)["lanes"] == ("columns" if dim == "width" else "channels")
            assert ("conv_width" in kernels(path)) == (dim == "width"), kernels(path)
            same_bits(folder, path, image(*x))
            answers.append(compute(folder, path, image(*x))["output"].tobytes())
        assert answers[0] == answers[1]


@test
def columns_are_taken_where_blocks_of_channels_would_be_almost_empty(folder):
    for x, w, more, wide in (((1, 3, 40, 41), (3, 1, 3, 3), ", group=3", True), ((1, 32, 40, 41), (32, 1, 3, 3), ", group=32", False),
                             ((1, 8, 40, 41), (8, 2, 3, 3), ", group=4", True), ((1, 48, 40, 41), (48, 12, 3, 3), ", group=4", False),
                             ((1, 1, 28, 28), (6, 1, 5, 5), "", True), ((1, 3, 40, 41), (32, 3, 3, 3), "", False),
                             ((1, 4, 9, 9), (4, 4, 1, 1), "", True), ((1, 64, 40, 41), (3, 64, 3, 3), "", True)):
        path = conv(folder, "", x, w, more)
        assert ("conv_width" in kernels(path)) == wide, (x, w, kernels(path))
        same_bits(folder, path, image(*x))


@test
def every_part_of_a_tile_stands_in_the_plan(folder):
    path = conv(folder, ', tile_layout={"input": [1, 3, 4, 8], "weight": [8, 3, 3, 3], "output": [1, 16, 4, 8]},'
                        ' compute_schedule={"vectorize_dim": "width", "unroll": {"output_channel": 2, "width": 1}}')
    assert plan_of(path) == {"lanes": "columns", "rows": "4", "columns": "8", "outputs": "16", "block": "8", "unroll_width": "1",
                             "unroll_outputs": "2"}, plan_of(path)
    same_bits(folder, path, image(1, 3, 20, 37))


@test
def a_tile_in_the_order_of_the_layout_is_the_same_tile(folder):
    x_more, w_more = ', layout="NHWC"', ', layout="HWIO"'
    path = conv(folder, ', tile_layout={"weight": [3, 3, 3, 8], "output": [1, 24, 4, 8]}, compute_schedule={"vectorize_dim": "width"}',
                x_more=x_more, w_more=w_more)
    assert plan_of(path)["block"] == "8" and plan_of(path)["rows"] == "4"
    same_bits(folder, path, image(1, 3, 20, 37))


@test
def threads_are_spread_over_the_named_dimensions_only(folder):
    tiles = {}
    for dims in ('["batch", "output_channel"]', '["batch", "height"]', '["batch"]', '["batch", "height", "output_channel"]'):
        path = conv(folder, f', compute_schedule={{"parallel_dims": {dims}, "vectorize_dim": "width"}}', w=(48, 3, 3, 3))
        tiles[dims] = int(re.search(r"conv_width.* tiles (\d+)", dump(path, "--after", "lower"))[1])
        same_bits(folder, path, image(1, 3, 20, 37))
    assert tiles['["batch"]'] == 1 and tiles['["batch", "output_channel"]'] == 3, tiles
    assert tiles['["batch", "height", "output_channel"]'] == 3 * tiles['["batch", "height"]'] > 3, tiles


@test
def blocked_convolutions_take_rows_and_ranges_of_channels(folder):
    path = conv(folder, ', tile_layout={"output": [1, 32, 3, 19]}, compute_schedule={"parallel_dims": ["batch", "height", "output_channel"]}',
                (1, 64, 12, 19), (96, 64, 3, 3))
    assert plan_of(path) == {"rows": "3", "outputs": "32", "outputs_apart": "1"}, plan_of(path)
    assert re.search(r"conv_c16.* tiles 12\b", dump(path, "--after", "lower")), dump(path, "--after", "lower")
    same_bits(folder, path, image(1, 64, 12, 19))
    path = conv(folder, ', compute_schedule={"parallel_dims": ["batch", "output_channel"]}', (1, 64, 12, 19), (96, 64, 3, 3))
    assert re.search(r"conv_c16.* tiles 3\b", dump(path, "--after", "lower")), dump(path, "--after", "lower")
    same_bits(folder, path, image(1, 64, 12, 19))


@test
def a_tile_that_channels_in_the_lanes_cannot_have_puts_columns_there(folder):
    path = conv(folder, ', tile_layout={"output": [1, 32, 4, 8]}', (1, 32, 12, 19), (32, 32, 3, 3))
    assert plan_of(path)["lanes"] == "columns" and "conv_width" in kernels(path)
    same_bits(folder, path, image(1, 32, 12, 19))


@test
def the_order_of_loops_decides_what_is_outside(folder):
    outside = conv(folder, ', compute_schedule={"vectorize_dim": "width", "loop_order": ["output_channel", "height", "width"]}', w=(48, 3, 3, 3))
    assert plan_of(outside) == {"lanes": "columns", "outputs": "16", "outputs_outside": "1"}, plan_of(outside)
    same_bits(folder, outside, image(1, 3, 20, 37))
    inside = conv(folder, ', compute_schedule={"vectorize_dim": "width", "loop_order": ["height", "width", "output_channel"]}', w=(48, 3, 3, 3))
    assert plan_of(inside) == {"lanes": "columns"}
    same_bits(folder, inside, image(1, 3, 20, 37))


@test
def a_product_has_its_tiles_and_threads(folder):
    lines = ["x = rlx.tensor(shape=[96, 200])", "b = rlx.constant(value=np.random.randn(200, 130).astype(np.float32))"]
    for demand, tiles in (('tile_layout={"output": [32, 64]}', 9), ('compute_schedule={"parallel_dims": ["row"]}', 2),
                          ('compute_schedule={"parallel_dims": ["column"]}', 5)):
        path = module(folder, [*lines, f"return rlx.matmul(x, b, {demand})"])
        assert re.search(rf"gemm.* tiles {tiles}\b", dump(path, "--after", "lower")), dump(path, "--after", "lower")
        same_bits(folder, path, image(96, 200))


@test
def an_element_wise_operator_has_the_asked_axis_innermost(folder):
    for dim, steps in (("width", 0), ("channel", 1)):
        path = module(folder, ["x = rlx.tensor(shape=[2, 20, 5, 6])", f'y = rlx.sigmoid(x, compute_schedule={{"vectorize_dim": "{dim}"}})',
                               "return rlx.softmax(y, axis=1)"])
        assert kernels(path).count("to_c16") == steps, kernels(path)
        same_bits(folder, path, image(2, 20, 5, 6))


@test
def a_layout_is_the_order_of_the_buffer_and_stands_in_the_dump(folder):
    for layout, seen in (("NHWC", "channels_last"), ("NCHW16c", "c16"), ("NCHW", None)):
        path = module(folder, ["x = rlx.tensor(shape=[2, 20, 9, 11])", "w = rlx.constant(value=np.random.randn(40, 20, 3, 3).astype(np.float32))",
                               f'y = rlx.conv2d(x, w, padding=[1, 1], algorithm="direct", layout="{layout}")', "z = rlx.relu(y)",
                               "return z + rlx.max_pool(z, kernel=[1, 1])"])
        text = dump(path, "--after", "layout")
        line = re.search(r"%y: (\S+) = rlxc::(\w+)", text)
        assert line, text
        assert (f"{{{seen}}}" in line[1]) if seen else "{" not in line[1], line[0]
        assert line[2] == ("conv2d" if seen == "c16" else "reorder"), line[0]
        same_bits(folder, path, image(2, 20, 9, 11))


@test
def layouts_of_every_tensor_of_random_chains_change_no_bit(folder):
    r = random.Random(11)
    for _ in range(12):
        channels = r.choice([3, 16, 20])
        lines, name = [f'x = rlx.tensor(shape=[2, {channels}, 7, 18], layout="{r.choice(["NCHW", "NHWC", "NCHW16c"])}")'], "x"
        for i in range(r.randrange(2, 7)):
            layout = r.choice(["", "", ', layout="NHWC"', ', layout="NCHW16c"', ', layout="NCHW"'])
            what = r.choice(["relu", "sigmoid", "conv", "pool", "add", "reshape"])
            schedule = r.choice(["", ', compute_schedule={"vectorize_dim": "width"}', ', compute_schedule={"vectorize_dim": "output_channel"}'])
            if what == "conv":
                lines.append(f"w{i} = rlx.constant(value=np.random.randn({channels}, {channels}, 3, 3).astype(np.float32) * 0.1)")
                call = f'rlx.conv2d({name}, w{i}, padding=[1, 1], algorithm="direct"{schedule}{layout})'
            elif what == "pool":
                call = f"rlx.max_pool({name}, kernel=[3, 3], padding=[1, 1]{layout})"
            elif what == "add":
                call = f"rlx.add({name}, x{layout})"
            elif what == "reshape":
                call = f"rlx.transpose(rlx.transpose({name}, perm=[0, 1, 3, 2]), perm=[0, 1, 3, 2]{layout})"
            else:
                call = f"rlx.{what}({name}{layout})"
            lines.append(f"y{i} = {call}")
            name = f"y{i}"
        path = module(folder, [*lines, f"return {name}"])
        same_bits(folder, path, image(2, channels, 7, 18))


@test
def operators_with_different_memories_are_not_fused(folder):
    for first, second, fused in (("HBM", "DDR", False), ("HBM", "HBM", True), (None, "HBM", True), ("HBM", None, False), (None, None, True)):
        place = lambda name: f', memory_affinity={{"location": "{name}"}}' if name else ""
        path = module(folder, ["x = rlx.tensor(shape=[1, 20, 9, 11])", "w = rlx.constant(value=np.random.randn(40, 20, 3, 3).astype(np.float32))",
                               f'y = rlx.conv2d(x, w, padding=[1, 1]{place(first)})', f"z = rlx.relu(y{place(second)})",
                               "return {\"output\": rlx.softmax(z, axis=1)}"])
        text = rlx("dump", str(path), "--after", "fuse").stdout
        assert ("epilogue" in text) == fused, (first, second, text)
        why = rlx("dump", str(path), "--explain").stdout
        assert ("lives in HBM" in why and "different memories are not fused" in why) != fused, why
        same_bits(folder, path, image(1, 20, 9, 11))


@test
def incoherent_memory_puts_a_sync_before_its_reader_and_fusion_removes_it(folder):
    lines = ["x = rlx.tensor(shape=[4, 30])", 'y = rlx.sigmoid(x, memory_affinity={"location": "HBM", "coherence": "none"})']
    apart = module(folder, [*lines, 'return rlx.softmax(y, axis=1, sync_mode="barrier")'])
    assert 'sync = "step_barrier"' in rlx("dump", str(apart), "--after", "fuse").stdout
    assert "barrier of all workers before reading 'y'" in rlx("dump", str(apart), "--explain").stdout
    together = module(folder, [*lines, 'return rlx.relu(y, memory_affinity={"location": "HBM"}, sync_mode="barrier")'])
    assert "step_barrier" not in rlx("dump", str(together), "--after", "fuse").stdout
    coherent = module(folder, [lines[0], lines[1].replace("none", "MESI"), 'return rlx.softmax(y, axis=1, sync_mode="barrier")'])
    assert 'sync = "none"' in rlx("dump", str(coherent), "--after", "fuse").stdout


@test
def every_operator_of_a_model_is_explained_in_text_and_json(folder):
    path = ROOT / "examples/resnet18_stem.rlx"
    text = rlx("dump", str(path), "--explain").stdout
    entries = json.loads(rlx("dump", str(path), "--explain", "--format", "json").stdout)["decisions"]
    assert len(entries) == len([line for line in text.splitlines() if line]) > 5
    for entry in entries:
        assert set(entry) == {"op", "kind", "source", "topic", "decision", "rule", "change"} and all(entry.values()), entry
        assert entry["decision"] in text and re.match(r"resnet18_stem.rlx:\d+:\d+$", entry["source"]), entry
    topics = {entry["topic"] for entry in entries}
    assert {"algorithm", "schedule", "fusion", "layout", "kernel", "cost", "memory", "sync"} <= topics, topics
    lines = path.read_text().splitlines()
    conv = next(entry for entry in entries if entry["topic"] == "kernel" and entry["kind"] == "conv")
    assert "rlx.conv2d" in lines[int(conv["source"].split(":")[1]) - 1] and conv["decision"].startswith("conv_width"), conv


@test
def the_stem_of_the_examples_is_scheduled_as_it_asks(folder):
    path = ROOT / "examples/resnet18_stem.rlx"
    assert re.search(r'plan = \{lanes = "columns", rows = 8, columns = 8, outputs = 16, block = 16, rows_together = 1\}',
                     rlx("dump", str(path), "--after", "schedule").stdout)
    text = rlx("dump", str(path), "--after", "layout").stdout
    assert re.search(r"\{channels_last\} = rlxc::reorder\(%input\)", text), text
    x = {"input": np.random.default_rng(3).standard_normal((1, 3, 224, 224)).astype(np.float32)}
    assert compute(folder, path, x)["output"].tobytes() == compute(folder, path, x, level="1")["output"].tobytes()


@test
def below_the_level_that_follows_schedules_a_warning_says_so(folder):
    path = conv(folder, ', tile_layout={"output": [1, 24, 4, 8]}, memory_coalesce="vector", compute_schedule={"vectorize_dim": "width"}',
                x_more=', layout="NHWC"')
    for level in "12":
        run = rlx("compile", "--model", str(path), "--output", str(folder / "w.rlxb"), "--opt-level", level)
        found = re.findall(r"warning RLX-2027: (\w+) .*--opt-level 3", run.stderr)
        assert sorted(found) == ["compute_schedule", "layout", "memory_coalesce", "tile_layout"], run.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.environ["RLX_CACHE_DIR"] = place + "/cache"
        sys.exit(cases.finish(*cases.run(pathlib.Path(place))))
