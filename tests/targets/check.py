"""The same bits from every target: C built by gcc and clang, libraries for other machines under qemu-user, LLVM's bitcode, WebAssembly."""
import pathlib
import shutil
import subprocess
import sys

import numpy
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import bare  # noqa: E402
import browser  # noqa: E402
from cases import Skip, finish, run, test  # noqa: E402
from model import CACHED, MODELS, ROOT, WORK, Model, models_make, rlx  # noqa: E402

# The models that run on every target.
CROSS = ["resnet18_stem", "ocr_cls"] if "--all" not in sys.argv else ["resnet18_stem", *MODELS]
TARGETS = ["c", "llvm", "wasm", "aarch64", "riscv64"]
GCC = [f"CC={CACHED}gcc", "ARCH=-march=x86-64-v3"]
models = {}


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Skip(f"there is no {tool}, and it could not be installed")


def make(folder, *words):
    need("make")
    done = subprocess.run(["make", "-s", "-j2", "-C", folder, *words], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, f"make {' '.join(words)}:\n{done.stdout}{done.stderr}"


@test
def every_model_is_compiled_for_c():
    for name in ["resnet18_stem", *MODELS]:
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
        make(folder, f"CC={CACHED}clang-19", "ARCH=-march=x86-64-v4")
        models[name].check(models[name].run(folder / "sample"))


@test
def c_on_a_machine_without_fma_gives_the_bits_of_rlx_infer():
    folder = models["ocr_cls"].folder / "c"
    make(folder, "clean")
    make(folder, f"CC={CACHED}gcc", "ARCH=-march=x86-64")
    models["ocr_cls"].check(models["ocr_cls"].run(folder / "sample"))


def cross_check(target, compiler, *emulator, library="librlx_kernel", names=CROSS):
    """The library linked into the sample, run under qemu-user."""
    need(compiler, emulator[0])
    for name in names:
        folder = models[name].folder / target
        built = subprocess.run([compiler, "-O2", "-static", f"-I{folder}", "-o", folder / "sample", folder / "main.c", folder / f"{library}.a"],
                               capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        models[name].check(models[name].run(*emulator, folder / "sample"))


@test
def all_targets_are_made_in_one_run():
    for name, targets in [("ocr_cls", "all"), *((name, ",".join(["x86_64", *TARGETS])) for name in CROSS)]:
        models[name] = Model(name, "--target", targets, "--determinism", "stable")
        assert models[name].bundle.stat().st_size > 0
        for target in TARGETS:
            assert f"{models[name].folder}/{target}: " in models[name].said, models[name].said


def chain_make():
    """A model that is one chain of twelve element-wise operations."""
    names = [f"t{i}" for i in range(13)]
    nodes = [onnx.helper.make_node("Sin" if i % 2 else "Cos", [names[i]], [names[i + 1]], f"n{i}") for i in range(12)]
    port = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 500]) for name in (names[0], names[-1])]
    graph = onnx.helper.make_graph(nodes, "chain", port[:1], port[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), WORK / "chain.onnx")
    numpy.savez(WORK / "chain.npz", **{names[0]: numpy.linspace(-9, 9, 500, dtype="f4").reshape(1, 500)})


@test
def kernels_kept_from_an_earlier_compile_give_the_same_files():
    chain_make()
    words = ["--target", "all", "--determinism", "stable"]
    folders = [Model("chain", *words, *more).folder.rename(WORK / f"chain.{i}") for i, more in enumerate((["--no-cache"], [], []))]
    kept = {path: path.read_bytes() for path in (WORK / "cache" / "objects").iterdir()}
    for path, data in kept.items():
        path.write_bytes(data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1:])
    folders.append(Model("chain", *words).folder)
    for path, data in kept.items():
        path.write_bytes(data)
    files = sorted(path.relative_to(folders[0]) for path in folders[0].rglob("*") if path.is_file())
    assert pathlib.Path("riscv64/librlx_kernel.a") in files, files
    for path in files:
        assert len({(folder / path).read_bytes() for folder in folders}) == 1, path


@test
def aarch64_under_qemu_gives_the_bits_of_rlx_infer():
    cross_check("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static")


@test
def riscv64_under_qemu_gives_the_bits_of_rlx_infer():
    cross_check("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64-static", "-cpu", "rv64,v=false")


@test
def riscv64_with_vectors_of_any_width_gives_the_bits_of_rlx_infer():
    for bits in (128, 256, 512):
        cross_check("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64-static", "-cpu", f"rv64,v=true,vext_spec=v1.0,vlen={bits}",
                    library="librlx_kernel_rvv")


@test
def llvm_bitcode_gives_the_bits_of_rlx_infer():
    for name in CROSS:
        folder = models[name].folder / "llvm"
        built = subprocess.run(["clang-19", "-O2", "-I.", "-Wa,-I.", "-o", "sample", "main.c", "kernel.bc", "weights.S"], cwd=folder,
                               capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        models[name].check(models[name].run(folder / "sample"))


def on_bare_metal(model, machine):
    said = bare.run(model, machine)
    assert said["error"] == "0" and said["digest"] == f"{bare.fnv1a(model.truth[model.outputs[0]].tobytes()):x}", f"{machine.title}: {said}"
    return said


@test
def a_real_model_runs_on_bare_metal_with_the_bits_of_rlx_infer():
    model = Model("openwakeword__embedding_model", "--target", "x86_64,c", "--freestanding")
    for machine in bare.MACHINES:
        said = on_bare_metal(model, machine)
        print(f"     {machine.title}: code, constants and input {said['code and constants']} bytes, arena and output {said['writable']}, "
              f"stack {said['stack used']}", flush=True)


@test
def a_fusion_that_breaks_a_constraint_is_undone_for_that_target_only():
    chain_make()
    plain, bare_model = Model("chain", "--target", "x86_64,c"), Model("chain", "--target", "x86_64,c", "--freestanding")
    assert "is not fused into" not in plain.said and "is not fused into" in bare_model.said, bare_model.said
    assert "c --freestanding: 'n" in (bare_model.folder / "c" / "README.md").read_text()
    assert "1 steps" in bare_model.said, "the bundle's program stays as it was"
    for machine in bare.MACHINES:
        on_bare_metal(bare_model, machine)


@test
def keep_leaves_readable_files_and_a_library_beside_the_bundle():
    kept = Model("ocr_cls", "--target", "x86_64,c", "--keep")
    for name in ("kernel.c", "kernel.h", "kernel.ll", "kernel.bc", "librlx_kernel.so"):
        assert (kept.folder / name).stat().st_size > 0, name
    subprocess.run(["gcc", "-O2", f"-I{kept.folder}", "-o", kept.folder / "sample", kept.folder / "c" / "main.c", kept.folder / "librlx_kernel.so",
                    f"-Wl,-rpath,{kept.folder}"], check=True)
    kept.check(kept.run(kept.folder / "sample"))


@test
def wasm_with_and_without_simd_gives_the_same_bits_near_rlx_infer():
    for name in CROSS:
        model, folder = models[name], models[name].folder / "wasm"
        scale = max(float(numpy.abs(model.truth[port].astype("f8")).max()) for port in model.outputs)
        simd, scalar = (wasm_run(model, folder / f"{form}.wasm") for form in ("kernel", "kernel_scalar"))
        for port in model.outputs:
            assert simd[port].tobytes() == scalar[port].tobytes(), f"{name} {port}: SIMD and scalar differ"
            off = float(numpy.abs(simd[port].astype("f8") - model.truth[port].astype("f8")).max())
            assert off <= 1e-5 * max(scale, 1), f"{name} {port}: {off} away, of {scale}"


@test
def wasm_in_chromium_gives_the_bits_of_node():
    if browser.chromium() is None:
        raise Skip("there is no Chromium (apt-get install chromium)")
    for name in CROSS:
        folder = models[name].folder / "wasm"
        for form in ("kernel", "kernel_scalar"):
            want = wasm_run(models[name], folder / f"{form}.wasm")
            assert browser.run(models[name], folder / f"{form}.wasm") == [want[port].tobytes() for port in models[name].outputs], f"{name} {form}"


@test
def wasm_is_refused_where_bits_must_be_strict():
    refused(["--model", WORK / "ocr_cls.onnx", "--target", "wasm"], "no fused multiply-add", "--determinism stable")


@test
def the_same_compile_gives_the_same_files():
    rlx("compile", "--model", WORK / "ocr_cls.onnx", "--target", "c", "--output", WORK / "again", "--no-cache")
    for path in sorted((WORK / "again" / "c").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (models["ocr_cls"].folder / "c" / path.relative_to(WORK / "again" / "c")).read_bytes(), path


def custom_make():
    """A model that calls user code, which includes a header; its folder."""
    folder = WORK / "custom"
    (folder / "inc").mkdir(parents=True, exist_ok=True)
    (folder / "inc" / "plate.h").write_text("#define PLATE 1\n")
    source = (ROOT / "examples" / "climate" / "physics_update.c").read_text()
    (folder / "user.c").write_text(f'#include "inc/plate.h"\n#if PLATE\n{source}\n#endif\n')
    text = (ROOT / "examples" / "climate.rlx").read_text()
    (WORK / "climate.rlx").write_text(text.replace("1000", "40"))
    numpy.savez(WORK / "climate.npz", T=280 + numpy.random.default_rng(3).standard_normal((40, 40)), dt=numpy.array(0.01))
    return folder


@test
def user_code_goes_along_to_every_target():
    custom = ["--custom", f"physics_update={custom_make() / 'user.c'}"]
    model = Model("climate", "--target", "all", "--determinism", "stable", *custom)
    models["climate"] = model
    make(model.folder / "c", *GCC)
    model.check(model.run(model.folder / "c" / "sample"))
    model.check(wasm_run(model, model.folder / "wasm" / "kernel.wasm"))
    for target, compiler, emulator in (("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static"),
                                       ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64-static")):
        cross_check(target, compiler, emulator, names=["climate"])


@test
def user_code_that_cannot_go_along_is_refused_with_the_reason():
    folder = custom_make()
    shutil.copy(ROOT / "examples" / "climate" / "physics_update.f90", folder)
    words = ["--model", WORK / "climate.rlx", "--target", "c", "--custom"]
    refused([*words, f"physics_update={folder / 'physics_update.f90'}"], "RLX-1902", "is Fortran", "compile for x86_64 alone")
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "user.c").write_text((folder / "user.c").read_text().replace('"inc/', '"../inc/'))
    refused([*words, f"physics_update={folder / 'sub' / 'user.c'}"], "RLX-1902", '"../inc/plate.h"', "own folder")


def wasm_run(model, module):
    """The outputs that a server-side engine (node) computes."""
    need("node")
    files = [path.with_suffix(".bin") for path in model.inputs]
    results = [WORK / f"{model.name}.wasm{i}.bin" for i in range(len(model.outputs))]
    for path, raw in zip(model.inputs, files):
        raw.write_bytes(numpy.load(path).tobytes())
    done = subprocess.run(["node", module.parent / "run.mjs", module, *files, *results], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {port: numpy.frombuffer(raw.read_bytes(), model.truth[port].dtype).reshape(model.truth[port].shape)
            for port, raw in zip(model.outputs, results)}


def refused(words, *parts, code=1):
    said = rlx("compile", "--output", WORK / "refused", *words, code=code)
    for part in parts:
        assert part in said, f"{part!r} is not in: {said}"


@test
def targets_that_are_not_there_are_refused_by_name():
    for name, what in (("cuda", "PTX"), ("rocm", "AMD"), ("opencl", "OpenCL C"), ("vulkan", "SPIR-V"), ("metal", "Metal shaders"), ("fpga", "VHDL")):
        refused(["--model", WORK / "ocr_cls.onnx", "--target", f"c,{name}"], "RLX-1901", f"target '{name}' (", what, ") is not there yet",
                "x86_64, c")
    refused(["--model", WORK / "ocr_cls.onnx", "--target", "avr"], "'avr' is no target", "x86_64, c")
    refused(["--model", WORK / "ocr_cls.onnx", "--target", "arm64"], "'arm64' is no target", "Did you mean 'aarch64'?")
    for words in (["--tune"], ["--tune-from", "log"]):
        refused(["--model", WORK / "ocr_cls.onnx", "--target", "c,wasm", *words], "tuning is for x86_64", code=2)
    refused(["--model", WORK / "ocr_cls.onnx", "--freestanding"], "--target c --freestanding", code=2)
    assert not (WORK / "refused").exists()


if __name__ == "__main__":
    models_make()
    sys.exit(finish(*run()))
