"""Models of these tests, compiled for targets, and what they answer: `rlx infer` on this machine is the truth that all others are held to."""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
RLX = os.environ["RLX"]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="rlx-targets-"))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
CACHED = "ccache " if shutil.which("ccache") else ""
CACHE = ROOT / ".cache" / "targets"
TEXTS = {"resnet18_stem": ROOT / "examples" / "resnet18_stem.rlx", "climate": WORK / "climate.rlx"}
MODELS = ["squeezenet", "mobilenet_v2", "minilm", "resnet18", "openwakeword__alexa_v0_1", "ocr_cls"]
MORE = ["openwakeword__embedding_model"]


def rlx(*words, code=0):
    """Runs the tool; returns what it printed on both streams."""
    done = subprocess.run([RLX, *map(str, words)], capture_output=True, text=True, env=os.environ | {"RLX_CACHE_DIR": str(WORK / "cache")})
    if done.returncode != code:
        raise AssertionError(f"rlx {' '.join(map(str, words))} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def models_make():
    """ONNX files, texts, and inputs (bench/models.py): the same bytes on every machine. Compiled kernels are kept for the next run."""
    subprocess.run([sys.executable, ROOT / "bench" / "models.py", WORK, *MODELS, *MORE], check=True, stdout=subprocess.DEVNULL)
    image = numpy.random.default_rng(7).standard_normal((1, 3, 224, 224), dtype="f4")
    numpy.savez(WORK / "resnet18_stem.npz", input=image)
    (CACHE / "objects").mkdir(parents=True, exist_ok=True)
    (WORK / "cache").mkdir()
    (WORK / "cache" / "objects").symlink_to(CACHE / "objects")
    os.environ["CCACHE_DIR"] = os.environ.get("CCACHE_DIR", str(CACHE / "ccache"))


def source_of(name):
    return TEXTS.get(name, WORK / f"{name}.onnx")


class Model:
    """A model compiled into WORK/NAME, its inputs as .npy files, and the outputs that rlx infer gives."""

    def __init__(self, name, *options):
        self.name, self.folder = name, WORK / f"{name}.out"
        self.said = rlx("compile", "--model", source_of(name), "--output", self.folder, *options)
        self.bundle = self.folder / f"{name}.rlxb"
        if not self.bundle.exists():
            rlx("compile", "--model", source_of(name), "--output", self.bundle)
        given = numpy.load(WORK / f"{name}.npz")
        rlx("infer", self.bundle, "--input", WORK / f"{name}.npz", "--output", WORK / f"{name}.ref.npz", "--quiet")
        self.inputs, self.truth = [], numpy.load(WORK / f"{name}.ref.npz")
        source = (self.folder / "c" / "kernel.c").read_text()
        names = {which: re.findall(r'^    \{"(.*?)", "', re.search(rf"_{which}\[\] = {{\n(.*?)\n}};", source, re.S)[1], re.M)
                 for which in ("inputs", "outputs")}
        for index, port in enumerate(names["inputs"]):
            self.inputs.append(WORK / f"{name}.in{index}.npy")
            numpy.save(self.inputs[-1], given[port])
        self.outputs = names["outputs"]

    def run(self, *command):
        """Runs a sample (main.c) and returns its outputs by name."""
        files = [WORK / f"{self.name}.{os.getpid()}.out{i}.npy" for i in range(len(self.outputs))]
        done = subprocess.run([*map(str, command), *self.inputs, *files], capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.returncode} {done.stdout}{done.stderr}"
        return {name: numpy.load(file) for name, file in zip(self.outputs, files)}

    def check(self, outputs):
        """The outputs have the truth's bits."""
        for name in self.outputs:
            want, have = self.truth[name], outputs[name]
            assert want.dtype == have.dtype and want.shape == have.shape, f"{name}: {have.dtype} {have.shape}, not {want.dtype} {want.shape}"
            if want.tobytes() != have.tobytes():
                off = numpy.abs(want.astype("f8") - have.astype("f8"))
                raise AssertionError(f"{self.name} {name}: {int((want != have).sum())} of {want.size} differ, by up to {off.max()}")
