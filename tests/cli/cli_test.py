#!/usr/bin/env python3
"""Runs the `rlx` program named by RLX and checks what a user sees. Prints "N passed, N failed, N skipped" last."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

import numpy

import cases
from cases import test
from command import RLX, expect, rlx


class Project:
    """The project that `rlx init` makes, compiled once."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "hello"
        self.made = rlx("init", str(self.path))
        self.script = subprocess.run([str(self.path / "compile-and-infer.sh")], capture_output=True, text=True, env={**os.environ, "RLX": RLX})
        self.model = str(self.path / "models/tiny.onnx")
        self.bundle = str(self.path / "build/tiny.rlxb")


@test
def version_names_the_commit(project):
    run = rlx("--version")
    expect(run, 0)
    assert re.fullmatch(r"rlx \d+\.\d+\.\d+ \(commit: [0-9a-f]{7,40}(-dirty)?\)\n|rlx \d+\.\d+\.\d+ \(commit: unknown\)\n", run.stdout), run.stdout


@test
def tuning_is_kept_in_the_bundle_and_its_log_gives_the_bundle_again(project):
    log, tuned, again = (str(project.folder / name) for name in ("tune.log", "tuned.rlxb", "again.rlxb"))
    expect(rlx("compile", project.model, "--output", tuned, "--tune", "--tune-budget", "1", "--tune-log", log), 0, "kinds of op")
    expect(rlx("compile", project.model, "--output", again, "--tune-from", log), 0)
    assert pathlib.Path(tuned).read_bytes() == pathlib.Path(again).read_bytes()
    lines = [json.loads(line) for line in pathlib.Path(log).read_text().splitlines()]
    assert lines[0]["rlx_tune"] == 1 and all(line["measured"][0]["alone_ns"] > 0 for line in lines[1:])


@test
def what_is_no_log_of_tuning_is_refused_with_its_line(project):
    log, out = project.folder / "bad.log", project.folder / "never.rlxb"
    head = '{"rlx_tune": 1}\n'
    for text, word in (("", "no head"), ("{}\n", "no head"), ("[1\n", "line 1"), ('{"rlx_tune": 2}\n', "no head"),
                       (head + '{"cut": {}, "scale": []}\n', "\"op\""), (head + '{"op": "a", "cut": [], "scale": []}\n', "no object"),
                       (head + '{"op": "a", "cut": {"rows": 193}, "scale": []}\n', "0 to 192"),
                       (head + '{"op": "a", "cut": {"rows": -1}, "scale": []}\n', "line 2"),
                       (head + '{"op": "a", "cut": {"wings": 1}, "scale": []}\n', "'wings'"),
                       (head + '{"op": "a", "cut": {}, "scale": [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n', "at most 8"),
                       (head + '{"op": "a", "cut": {}, "scale": [1e3]}\n', "integers"),
                       (head + 2 * '{"op": "a", "cut": {}, "scale": []}\n', "same op")):
        log.write_text(text)
        expect(rlx("compile", project.model, "--output", str(out), "--tune-from", str(log)), 1, "RLX-1006", word)
        assert not out.exists()
    expect(rlx("compile", project.model, "--output", str(out), "--tune", "--tune-from", str(log)), 2, "one of them")
    expect(rlx("compile", project.model, "--output", str(out), "--tune-log", str(log)), 2, "belong to --tune")


@test
def help_lists_every_verb_and_every_verb_has_help(project):
    expect(rlx("help"), 0, "compile", "run", "infer", "bench", "profile", "dump", "explain", "init")
    for verb in ("init", "compile", "run", "infer", "bench", "profile", "dump", "explain"):
        expect(rlx("help", verb), 0, f"rlx {verb}")
        expect(rlx(verb, "--help"), 0, f"rlx {verb}")


@test
def usage_errors_exit_with_2(project):
    for words in ((), ("frobnicate",), ("compile",), ("compile", "--wrong"), ("compile", "--model"), ("infer", "x.rlxb"), ("help", "nothing"),
                  ("compile", "--model", "m.onnx", "--output", "x", "--opt-level", "9"), ("dump", "m.onnx", "--after", "lunch"),
                  ("compile", "--model", "m.onnx", "--output", "x", "--shape", "image"), ("explain", "RLX-0007"), ("bench", "a", "b"),
                  ("compile", "--model", "m.onnx", "--output", "x", "--determinism", "mostly"),
                  ("compile", "--model", "m.onnx", "--output", "x", "--accuracy", "exact"), ("infer", "x", "--threads", "0")):
        run = rlx(*words)
        assert run.returncode == 2, f"{words}: {run.returncode}"
        assert run.stderr, words
        assert not words or "RLX-1001" in run.stderr, run.stderr


@test
def other_spellings_of_verbs_are_accepted(project):
    expect(rlx("benchmark", "--help"), 0, "rlx bench")
    expect(rlx("profile-viewer", "--help"), 0, "rlx profile")
    links = project.folder / "links"
    links.mkdir(exist_ok=True)
    for name in ("rlx-ir-dump", "rlx-ir-validate"):
        (links / name).symlink_to(RLX)
    done = subprocess.run([str(links / "rlx-ir-dump"), project.model], capture_output=True, text=True, timeout=60)
    expect(done, 0)
    assert done.stdout == rlx("dump", project.model).stdout
    done = subprocess.run([str(links / "rlx-ir-validate"), project.model], capture_output=True, text=True, timeout=60)
    expect(done, 0, "valid; module")


@test
def a_text_dumped_from_a_model_compiles_to_the_model_s_bundle(project):
    text, one, other = project.folder / "t.rlxir", project.folder / "one.rlxb", project.folder / "other.rlxb"
    expect(rlx("dump", project.model, "--output", text), 0)
    expect(rlx("validate", "--strict", text), 0, "valid; module")
    expect(rlx("compile", "--no-cache", "--model", project.model, "--output", one), 0)
    expect(rlx("compile", "--no-cache", "--model", text, "--output", other), 0)
    assert one.read_bytes() == other.read_bytes()
    again = project.folder / "u.rlxir"
    expect(rlx("dump", text, "--output", again), 0)
    assert again.read_text() == text.read_text().replace("t.safetensors", "u.safetensors")


@test
def the_cache_sees_a_changed_constant_beside_a_text(project):
    text = project.folder / "c.rlxir"
    weights = project.folder / "c.npy"
    numpy.save(weights, numpy.full((4,), 2, numpy.float32))
    text.write_text('rlx.ir 2;\n%x = tensor::alloc(shape=[4], dtype=f32);\n%w = tensor::constant(f32[4]{file="c.npy"});\n'
                    '%y = rlxc::mul(%x, %w);\nreturn %y;\n')
    expect(rlx("compile", "--model", text, "--output", project.folder / "c1.rlxb"), 0)
    numpy.save(weights, numpy.full((4,), 3, numpy.float32))
    expect(rlx("compile", "--model", text, "--output", project.folder / "c2.rlxb"), 0)
    assert (project.folder / "c1.rlxb").read_bytes() != (project.folder / "c2.rlxb").read_bytes()


@test
def an_older_text_is_upgraded_and_strictly_refused(project):
    text = project.folder / "old.rlxir"
    text.write_text('rlx.ir 1;\n%x = tensor::input(shape=[1,3,8,8]);\n%w = tensor::constant(f32[4,3,3,3]{fill=1});\n'
                    '%y = rlxc::conv2d(%x, %w) { pads = [1,1] };\nreturn %y;\n')
    expect(rlx("validate", text), 0, "valid; module 'old'")
    expect(rlx("validate", "--strict", text), 1, "RLX-2020", "old.rlxir:1:8", "schema version 1")
    text.write_text(text.read_text().replace("rlx.ir 1", "rlx.ir 99"))
    expect(rlx("validate", text), 1, "RLX-2020", "schema version 99")


@test
def what_cannot_run_yet_is_verified_and_refused_by_compile_with_its_line(project):
    text = project.folder / "sharded.rlxir"
    text.write_text('rlx.ir 2;\n%x = tensor::alloc(shape=[1,3,8,8], device="gpu:0");\n%w = tensor::constant(f32[4,3,3,3]{fill=1});\n'
                    '%y = rlxc::conv2d(%x, %w) { target_device_set = ["gpu:0","gpu:1"], sync_mode = "barrier" };\nreturn %y;\n')
    expect(rlx("verify", text), 0)
    expect(rlx("compile", "--model", text, "--output", project.folder / "s.rlxb"), 1, "RLX-2023", "sharded.rlxir:4:1")
    text.write_text(text.read_text().replace('"barrier"', '"barier"'))
    expect(rlx("verify", text), 1, "RLX-2019", "sharded.rlxir:4:80")
    text.write_text(text.read_text().replace('sync_mode = "barier"', 'lossy = false /* sync: async */'))
    expect(rlx("verify", text), 1, "RLX-2019", "sharded.rlxir:4:6", "RLX-2025")


CHECKED = """rlx.ir 2;
module m;

%x = tensor::alloc(shape=[4,3,8,8], dtype=f32){X};
%w = tensor::constant(f32[4,3,3,3]{fill=1}) { memory_affinity = { location = "HBM", coherence = "none" } };
%y = rlxc::conv2d(%x, %w) { padding = [1,1]{Y} };
%z = rlxc::relu(%y){Z};
return %z;
"""


def checked(project, check, x="", y="", z=""):
    """What `rlx verify --check` says about a module whose input, convolution and relu say more."""
    text = project.folder / "checked.rlxir"
    text.write_text(CHECKED.replace("{X}", x).replace("{Y}", y).replace("{Z}", z))
    return rlx("verify", "--check", check, text)


@test
def incoherent_memory_is_read_with_a_sync_only(project):
    incoherent = ' { memory_affinity = { location = "SRAM", coherence = "none" } }'
    expect(checked(project, "memory_coherence"), 0, "memory_coherence: 2 operators, 0 errors, 0 warnings")  # the constant is exempt
    expect(checked(project, "memory_coherence", x=incoherent), 1, "RLX-2028", "checked.rlxir:6:1", "'x'", "checked.rlxir:4:50")
    expect(checked(project, "all", x=incoherent), 1, "RLX-2028")
    expect(checked(project, "distributed_scheduling", x=incoherent), 0)
    expect(checked(project, "memory_coherence", x=incoherent, y=', sync_mode = "barrier"'), 0, "0 errors")
    expect(checked(project, "memory_coherence", x=incoherent.replace("none", "MESI")), 0)
    expect(rlx("verify", project.folder / "checked.rlxir"), 0)
    between = ', memory_affinity = { location = "SRAM", coherence = "none" }'
    expect(checked(project, "memory_coherence", y=between), 1, "RLX-2028", "checked.rlxir:7:1", "'y'")
    expect(checked(project, "memory_coherence", y=between + ', device = "gpu:0"', z=' { device = "gpu:0" }'), 0, "0 errors")


@test
def a_copy_between_devices_that_nothing_announces_is_warned_about(project):
    move = ' { device = "gpu:1", sync_mode = "barrier" }'
    expect(checked(project, "memory_coherence", y=', device = "gpu:0"', z=move), 0, "RLX-2033", "checked.rlxir:7:1", "0 errors, 1 warning")
    for sharing in ("none", "shm", "p2p_dma"):
        said = checked(project, "memory_coherence", y=f', device = "gpu:0", buffer_sharing_capability = "{sharing}"', z=move)
        expect(said, 0, "0 errors, 0 warnings")


@test
def sharding_and_devices_that_contradict_each_other_are_errors(project):
    def devices(*names):
        return f", target_device_set = [{', '.join(chr(34) + name + chr(34) for name in names)}]"

    two, check = devices("gpu:0", "gpu:1"), "distributed_scheduling"
    expect(checked(project, check, y=two + ', sync_mode = "barrier", sharding_strategy = "data_parallel"'), 0, "0 errors", "not checked")
    expect(checked(project, check, x=' { device = "gpu:2" }', y=two + ', sync_mode = "barrier"'), 1, "RLX-2029", "'x' is on gpu:2", ":6:46")
    expect(checked(project, check, y=two + ', sync_mode = "stream_ordered"'), 1, "RLX-2019", "crosses devices", ":6:86")
    expect(checked(project, check, y=devices("gpu:0") + ', sharding_strategy = "data_parallel"'), 1, "RLX-2029", "one device")
    sharded = ' { target_device_set = ["gpu:0", "gpu:1"], sync_mode = "barrier", sharding_strategy = "tensor_parallel" }'
    expect(checked(project, check, z=sharded), 1, "RLX-2029", "output channels", ":7:86")
    five = devices(*(f"gpu:{i}" for i in range(5)))
    expect(checked(project, check, y=five + ', sync_mode = "barrier", sharding_strategy = "data_parallel"'), 0, "4 rows over 5 devices")


@test
def the_sharded_example_is_verified(project):
    text = project.folder / "conv_sharded.rlxir"
    text.write_text('%input = tensor::alloc(shape=[1,3,224,224], dtype=f32, device="gpu:0");\n'
                    '%weight = tensor::alloc(shape=[64,3,3,3], dtype=f32, device="gpu:1");\n'
                    '%conv = rlxc::conv2d(%input, %weight) {\n    padding = [1,1],\n    stride = [2,2],\n'
                    '    target_device_set = ["gpu:0", "gpu:1"],\n    sharding_strategy = "data_parallel",\n    sync_mode = "async_barrier"\n};\n')
    expect(rlx("verify", "--check", "all", text), 0, "memory_coherence: 1 operator, 0 errors, 1 warning", "'input' from gpu:0 to gpu:1, 'weight' from gpu:1 to gpu:0", "1 row over 2 devices",
           "distributed_scheduling: 1 operator, 0 errors, 1 warning", "conv_sharded.rlxir:3:1", "conv_sharded.rlxir:7:5")
    expect(rlx("compile", "--model", text, "--output", project.folder / "s.rlxb"), 1, "RLX-2023", "can be verified and dumped")
    expect(rlx("verify", "--check", "memory_coherance", text), 2, "Did you mean 'memory_coherence'?")
    expect(rlx("verify", "--check", "all", project.bundle), 2, "is a bundle")


@test
def verbs_of_later_versions_say_so(project):
    for words in (("nodes",), ("help", "bundle")):
        expect(rlx(*words), 2, "RLX-1001", "comes with a later version")


@test
def init_makes_a_configuration_and_scripts_that_serve(project):
    text = (project.path / "configs/local.yaml").read_text()
    assert "devices: auto" in text and "port: 8080" in text
    for name in ("serve.sh", "ask.sh"):
        path = project.path / name
        assert os.access(path, os.X_OK)
        assert subprocess.run(["sh", "-n", str(path)]).returncode == 0
    rlxd = pathlib.Path(RLX).parent / "rlxd"
    if not rlxd.exists():
        rlxd = pathlib.Path(RLX).parent.parent / "daemon/rlxd"
    run = subprocess.run([str(rlxd), "--config", str(project.path / "configs/local.yaml"), "--check"], capture_output=True, text=True, timeout=60)
    expect(run, 0, "node-0", "127.0.0.1:8080")


@test
def run_refuses_what_it_cannot_serve(project):
    environment = {**os.environ, "RLX_CACHE_DIR": str(project.folder / "cache")}
    expect(rlx("run", "--model", str(project.folder / "absent.onnx"), env=environment), 1, "absent.onnx")
    expect(rlx("run", "--model", project.model, "--opt-level", "9", env=environment), 2, "--opt-level")
    expect(rlx("run", "--frobnicate", env=environment), 2, "--frobnicate")
    bad = project.folder / "bad.onnx"
    bad.write_bytes(b"no model")
    expect(rlx("run", "--model", str(bad), env=environment), 1, "RLX-1101")
    nowhere = {name: value for name, value in environment.items() if name not in ("RLX_CACHE_DIR", "HOME", "XDG_CACHE_HOME")}
    expect(rlx("run", "--model", project.model, env=nowhere), 1, "RLX_CACHE_DIR")


@test
def what_was_compiled_is_not_compiled_again(project):
    cache, first, again = project.folder / "compiled", project.folder / "first.rlxb", project.folder / "again/deep.rlxb"
    environment = {**os.environ, "RLX_CACHE_DIR": str(cache)}

    def compiled(output, *words, reused, model=project.model):
        run = rlx("compile", "--model", model, "--output", str(output), *words, env=environment)
        expect(run, 0, "steps", "MB of constants")
        assert ("compiled before" in run.stdout) == reused, run.stdout
        return output.read_bytes(), run.stdout

    def entries():
        return sorted((cache / "bundles").glob("*.rlxb"))

    fresh, told = compiled(first, reused=False)
    assert len(entries()) == 1
    reused, retold = compiled(again, reused=True)
    assert reused == fresh and re.findall("batched along.*", told) == re.findall("batched along.*", retold)
    other = project.folder / "elsewhere.onnx"  # the name is no part of it
    other.write_bytes(pathlib.Path(project.model).read_bytes())
    assert compiled(again, reused=True, model=str(other))[0] == fresh
    compiled(again, "--opt-level", "1", reused=False)
    compiled(again, "--max", "batch=3", reused=False)
    assert len(entries()) == 3
    assert compiled(again, "--no-cache", reused=False)[0] == fresh
    with open(first, "r+b") as file:  # a change of the result is no change of the entry
        file.seek(5000)
        file.write(b"damage")
    assert compiled(first, reused=True)[0] == fresh
    for damage in (b"damaged", b"", fresh[:-1], fresh[:5000] + b"\1" + fresh[5001:], fresh[:-9] + b"\1" + fresh[-8:]):
        for entry in entries():
            entry.write_bytes(damage)
        assert compiled(again, reused=False)[0] == fresh, damage[:8]
        assert compiled(again, reused=True)[0] == fresh
    assert not list((cache / "bundles").glob("*.part")) and not list(again.parent.glob("*.part"))


@test
def compiling_needs_no_cache(project):
    output = project.folder / "uncached.rlxb"
    for cache in ("/dev/null/cache", ""):
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
        expect(rlx("compile", "--model", project.model, "--output", str(output), env={**environment, "RLX_CACHE_DIR": cache}), 0, "reorders")
        assert output.stat().st_size > 4096
        output.unlink()
    nothing = {**environment, "RLX_CACHE_DIR": str(project.folder / "nothing")}
    expect(rlx("compile", "--model", project.model, "--output", str(output), "--no-cache", env=nothing), 0)
    assert not (project.folder / "nothing/bundles").exists()


@test
def a_bundle_just_compiled_is_not_hashed_again(project):
    folder = project.folder / "stamps"
    environment = {**os.environ, "RLX_CACHE_DIR": str(folder)}
    output = project.folder / "stamped.rlxb"
    for _ in range(2):  # compiled, and copied from the cache
        expect(rlx("compile", "--model", project.model, "--output", str(output), env=environment), 0)
        stamps = set(folder.glob("stamp-*"))
        arrays = str(project.path / "inputs/one.npz")
        expect(rlx("infer", str(output), "--input", arrays, "--output", str(project.folder / "o.npz"), env=environment), 0)
        assert set(folder.glob("stamp-*")) == stamps  # a run that hashes leaves one more
    bare = {name: value for name, value in os.environ.items() if name not in ("RLX_CACHE_DIR", "XDG_CACHE_HOME")}
    home = {**bare, "HOME": str(project.folder / "home")}
    (project.folder / "home").mkdir()
    expect(rlx("compile", "--model", project.model, "--output", str(output), env=home), 0)
    gone = project.folder / "gone"
    expect(rlx("compile", "--model", project.model, "--output", str(output), env={**bare, "HOME": str(gone)}), 0)
    assert not gone.exists()
    assert list((project.folder / "home/.cache/rlx").glob("stamp-*")) and list((project.folder / "home/.cache/rlx/bundles").glob("*.rlxb"))


@test
def explain_knows_codes_in_every_spelling(project):
    for spelling in ("RLX-1104", "rlx-1104", "1104"):
        expect(rlx("explain", spelling), 0, "RLX-1104", "operator not supported", "cause", "fix")
    assert len(rlx("explain").stdout.splitlines()) > 20


@test
def init_makes_a_project_that_works_at_once(project):
    expect(project.made, 0, "compile-and-infer.sh")
    expect(project.script, 0, "tiny.rlxb", "probabilities: f32 1x10")
    with numpy.load(project.path / "build/out.npz") as out:
        assert out["probabilities"].shape == (1, 10)
        assert abs(out["probabilities"].sum() - 1) < 1e-5


@test
def init_leaves_an_existing_folder_alone(project):
    expect(rlx("init", str(project.path)), 1, "RLX-1003", "not empty")


@test
def sample_model_is_valid_onnx_and_agrees_with_onnx_runtime(project):
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load(project.model), full_check=True)
    session = onnxruntime.InferenceSession(project.model, providers=["CPUExecutionProvider"])
    image = numpy.random.default_rng(3).standard_normal((5, 1, 8, 8)).astype(numpy.float32)
    numpy.savez(project.folder / "in.npz", image=image)
    expect(rlx("infer", project.bundle, "--input", str(project.folder / "in.npz"), "--output", str(project.folder / "out.npz")), 0)
    with numpy.load(project.folder / "out.npz") as out:
        difference = numpy.abs(out["probabilities"] - session.run(None, {"image": image})[0]).max()
    assert difference < 1e-5, difference


@test
def every_way_to_run_gives_the_same_bytes(project):
    image = numpy.random.default_rng(4).standard_normal((3, 1, 8, 8)).astype(numpy.float32)
    source = project.folder / "same.npz"
    numpy.savez_compressed(source, image=image)
    numpy.save(project.folder / "same.npy", image)
    answers = set()
    for words in (("--threads", "1"), ("--threads", "3"), ("--kernels", "reference"), ("--input", str(project.folder / "same.npy"))):
        out = project.folder / "same-out.npz"
        expect(rlx("infer", project.bundle, "--input", str(source), "--output", str(out), *words), 0)
        answers.add(out.read_bytes())
    assert len(answers) == 1


@test
def same_model_same_bundle_from_another_folder(project):
    here, there = project.folder / "a.rlxb", project.folder / "deep" / "er"
    there.mkdir(parents=True)
    expect(rlx("compile", "--model", project.model, "--output", str(here)), 0)
    expect(rlx("compile", "--model", os.path.relpath(project.model, there), "--output", "out", cwd=there, env={**os.environ, "TZ": "Asia/Tokyo"}), 0)
    assert here.read_bytes() == (there / "out" / "tiny.rlxb").read_bytes()


@test
def refused_inputs_exit_with_1_and_name_the_input(project):
    good = numpy.zeros((1, 1, 8, 8), numpy.float32)
    cases = [({"picture": good}, "RLX-1401", "picture"), ({}, "RLX-1401", "image"), ({"image": good[0]}, "RLX-1402", "image"),
             ({"image": numpy.zeros((1, 1, 8, 9), numpy.float32)}, "RLX-1402", "image"),
             ({"image": good.astype(numpy.float64)}, "RLX-1403", "image"),
             ({"image": numpy.zeros((9, 1, 8, 8), numpy.float32)}, "RLX-1404", "8")]
    for arrays, code, word in cases:
        numpy.savez(project.folder / "bad.npz", **arrays)
        out = project.folder / "bad-out.npz"
        run = rlx("infer", project.bundle, "--input", str(project.folder / "bad.npz"), "--output", str(out))
        expect(run, 1, code, word)
        assert not out.exists()


@test
def empty_batch_gives_empty_answer(project):
    numpy.savez(project.folder / "empty.npz", image=numpy.zeros((0, 1, 8, 8), numpy.float32))
    out = project.folder / "empty-out.npz"
    expect(rlx("infer", project.bundle, "--input", str(project.folder / "empty.npz"), "--output", str(out)), 0)
    with numpy.load(out) as arrays:
        assert arrays["probabilities"].shape == (0, 10)


@test
def damaged_files_are_refused(project):
    text = project.folder / "text"
    text.write_text("no model, no bundle, no archive\n" * 10)
    expect(rlx("compile", "--model", str(text), "--output", str(project.folder / "x.rlxb")), 1, "RLX-1101")
    expect(rlx("infer", str(text), "--input", str(project.path / "inputs/one.npz"), "--output", "/dev/null"), 1, "RLX-13")
    expect(rlx("infer", project.bundle, "--input", str(text), "--output", "/dev/null"), 1, "RLX-1005")
    expect(rlx("compile", "--model", "/nonexistent.onnx", "--output", str(project.folder / "x.rlxb")), 1, "RLX-1002", "/nonexistent.onnx")
    damaged = bytearray(pathlib.Path(project.bundle).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (project.folder / "damaged.rlxb").write_bytes(damaged)
    expect(rlx("infer", str(project.folder / "damaged.rlxb"), "--input", str(project.path / "inputs/one.npz"), "--output", "/dev/null"), 1, "RLX-13")


@test
def dump_shows_every_pass_as_text_and_picture(project):
    for name in ("import", "canonicalise", "fuse", "layout", "lower"):
        expect(rlx("dump", project.model, "--after", name), 0)
    expect(rlx("dump", project.model), 0, "conv", "batch")
    expect(rlx("dump", project.bundle), 0, "conv")
    expect(rlx("dump", project.bundle, "--after", "lower"), 0, "symbol batch")
    expect(rlx("dump", project.model, "--format", "dot"), 0, "digraph")
    picture = project.folder / "model.svg"
    expect(rlx("dump", project.model, "--after", "fuse", "--format", "svg", "--output", str(picture)), 0)
    assert xml.dom.minidom.parse(str(picture)).documentElement.tagName == "svg"


@test
def bench_prints_percentiles_and_writes_json(project):
    figures = project.folder / "bench.json"
    run = rlx("bench", project.bundle, "--duration", "0.2", "--warmup", "0", "--shape", "image=4x1x8x8", "--threads", "1", "--json", str(figures))
    expect(run, 0, "p50", "p90", "p99", "FMA peak", "kernel")
    data = json.loads(figures.read_text())
    assert data["runs"] >= 1 and data["threads"] == 1
    assert 0 < data["latency_ms"]["min"] <= data["latency_ms"]["p50"] <= data["latency_ms"]["p99"]
    assert data["machine"]["gflops"] > 1 and data["machine"]["gbytes_per_s"] > 0.1
    assert data["steps"] and sum(row["steps"] for row in data["kernels"]) == len(data["steps"])


@test
def levels_give_the_same_bits(project):
    answers = set()
    for level in ("1", "2", "3"):
        bundle, out = project.folder / f"level{level}.rlxb", project.folder / "level.npz"
        expect(rlx("compile", "--model", project.model, "--opt-level", level, "--output", str(bundle)), 0)
        expect(rlx("infer", str(bundle), "--input", str(project.path / "inputs/one.npz"), "--output", str(out)), 0)
        answers.add(out.read_bytes())
    assert len(answers) == 1


@test
def fixed_shape_refuses_others(project):
    bundle = project.folder / "fixed.rlxb"
    expect(rlx("compile", "--model", project.model, "--shape", "image=2x1x8x8", "--output", str(bundle)), 0)
    run = rlx("infer", str(bundle), "--input", str(project.path / "inputs/one.npz"), "--output", "/dev/null")
    expect(run, 1, "RLX-1402", "image")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return cases.finish(*cases.run(Project(pathlib.Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
