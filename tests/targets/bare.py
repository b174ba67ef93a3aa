"""Freestanding C on bare metal, under qemu-system: linked with bare/start.c and one of MACHINES. No libc, no operating system."""
import dataclasses
import re
import shutil
import subprocess

import numpy

from cases import Skip
from model import CACHED, ROOT

HERE = ROOT / "tests" / "targets" / "bare"


@dataclasses.dataclass
class Machine:
    title: str
    compiler: list   # the program and what says which machine
    archiver: str
    linker: list     # the command up to the objects
    libraries: list
    source: str
    emulator: list   # up to the image's path


MACHINES = [
    Machine("RISC-V", ["clang-19", "--target=riscv64-unknown-elf", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-Wno-pass-failed"],
            "llvm-ar-19", ["ld.lld-19", "-T", HERE / "virt.ld", "--gc-sections"], [], "riscv.c",
            ["qemu-system-riscv64", "-machine", "virt", "-m", "64M", "-display", "none", "-serial", "stdio", "-bios", "none", "-kernel"]),
    # 64-bit division is the compiler's own library.
    Machine("Cortex-M7", ["arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "-mthumb"], "arm-none-eabi-ar",
            ["arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "-mthumb", "-nostdlib", "-T", HERE / "mps2.ld",
             "-Wl,--gc-sections"], ["-lgcc"], "cortex_m.c",
            ["qemu-system-arm", "-machine", "mps2-an500", "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config",
             "enable=on,target=native", "-kernel"]),
]


def fnv1a(data):
    digest = 0xcbf29ce484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001b3 % 2**64
    return digest


def run(model, machine):
    """What the machine printed, as a dictionary: error, code and constants, writable, stack used (bytes), digest."""
    for tool in (machine.compiler[0], machine.emulator[0]):
        if shutil.which(tool) is None:
            raise Skip(f"there is no {tool}, and it could not be installed")
    folder, port = model.folder / "c", model.outputs[0]
    compiler, arch = machine.compiler[0], [str(word) for word in machine.compiler[1:]]
    subprocess.run(["make", "-s", "-C", folder, "clean"], check=True)
    subprocess.run(["make", "-s", "-j2", "-C", folder, f"CC={CACHED}{compiler}", f"AR={machine.archiver}", f"ARCH={' '.join(arch)}"], check=True)
    (folder / "input.bin").write_bytes(numpy.load(model.inputs[0]).tobytes())
    name = re.search(r"int (\w+)_run", (folder / "kernel.h").read_text())[1]
    objects = []
    for source in ("start.c", machine.source, "input.S"):
        objects.append(source.rsplit(".", 1)[0] + ".o")
        subprocess.run([compiler, *arch, "-O2", "-ffreestanding", f"-DBARE_RUN={name}_run", f"-DOUTPUT_BYTES={model.truth[port].nbytes}", "-I.", "-c",
                        HERE / source, "-o", objects[-1]], cwd=folder, check=True)
    subprocess.run([*machine.linker, "-o", "bare.elf", *objects, "librlx_kernel.a", *machine.libraries], cwd=folder, check=True)
    done = subprocess.run([*machine.emulator, folder / "bare.elf"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"the machine ended with {done.returncode}: {done.stdout}{done.stderr}"
    return dict(line.rsplit(" ", 1) for line in (done.stdout + done.stderr).splitlines() if " " in line)  # semihosting writes to the second
