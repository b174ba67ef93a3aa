"""The same bits from every target: C built by gcc and clang."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from cases import finish, run, test  # noqa: E402
from model import MODELS, WORK, Model, models_make, rlx  # noqa: E402

GCC = ["CC=gcc", "ARCH=-march=x86-64-v3"]
models = {}


def make(folder, *words):
    done = subprocess.run(["make", "-s", "-j2", "-C", folder, *words], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, f"make {' '.join(words)}:\n{done.stdout}{done.stderr}"


@test
def every_model_is_compiled_for_c():
    models_make()
    for name in MODELS:
        models[name] = Model(name, "--target", "x86_64,c")


@test
def c_by_gcc_gives_the_bits_of_rlx_infer():
    for name, model in models.items():
        make(model.folder / "c", *GCC)
        model.check(model.run(model.folder / "c" / "sample"))


@test
def c_by_clang_gives_the_bits_of_rlx_infer():
    for name in ("squeezenet", "minilm"):
        folder = models[name].folder / "c"
        make(folder, "clean")
        make(folder, "CC=clang-19", "ARCH=-march=x86-64-v4")
        models[name].check(models[name].run(folder / "sample"))


@test
def c_on_a_machine_without_fma_gives_the_bits_of_rlx_infer():
    folder = models["ocr_cls"].folder / "c"
    make(folder, "clean")
    make(folder, "ARCH=-march=x86-64")
    models["ocr_cls"].check(models["ocr_cls"].run(folder / "sample"))


@test
def the_same_compile_gives_the_same_files():
    rlx("compile", "--model", WORK / "ocr_cls.onnx", "--target", "c", "--output", WORK / "again", "--no-cache")
    for path in sorted((WORK / "again" / "c").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (models["ocr_cls"].folder / "c" / path.relative_to(WORK / "again" / "c")).read_bytes(), path


def refused(words, *parts, code=1):
    said = rlx("compile", "--output", WORK / "refused", *words, code=code)
    for part in parts:
        assert part in said, f"{part!r} is not in: {said}"


@test
def targets_that_are_not_there_are_refused_by_name():
    for name in ("cuda", "rocm", "opencl", "vulkan", "metal", "fpga"):
        refused(["--model", WORK / "ocr_cls.onnx", "--target", f"c,{name}"], f"target '{name}' is not there yet")
    refused(["--model", WORK / "ocr_cls.onnx", "--target", "avr"], "'avr' is no target", "x86_64, c")
    refused(["--model", WORK / "ocr_cls.onnx", "--freestanding"], "--target c --freestanding", code=2)
    assert not (WORK / "refused").exists()


if __name__ == "__main__":
    sys.exit(finish(*run()))
