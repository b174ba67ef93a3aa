"""Freestanding C on bare metal: linked with bare/start.c, run by qemu-system-riscv64 (machine virt). No libc, no operating system."""
import re
import subprocess

import numpy

from model import ROOT

HERE = ROOT / "tests" / "targets" / "bare"
CLANG = ["clang-19", "--target=riscv64-unknown-elf", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-O2", "-ffreestanding", "-nostdlib"]


def fnv1a(data):
    digest = 0xcbf29ce484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001b3 % 2**64
    return digest


def run(model):
    """What the machine printed, as a dictionary: error, code and constants, writable, stack used (bytes), digest."""
    folder, port = model.folder / "c", model.outputs[0]
    bytes_ = model.truth[port].nbytes
    subprocess.run(["make", "-s", "-j2", "-C", folder, f"CC={CLANG[0]} {CLANG[1]}", "AR=llvm-ar-19", f"ARCH={' '.join(CLANG[2:5])} -Wno-pass-failed"],
                   check=True)
    (folder / "input.bin").write_bytes(numpy.load(model.inputs[0]).tobytes())
    name = re.search(r"int (\w+)_run", (folder / "kernel.h").read_text())[1]
    subprocess.run([*CLANG, f"-DBARE_RUN={name}_run", f"-DOUTPUT_BYTES={bytes_}", "-I.", "-c", HERE / "start.c", "-o", "start.o"], cwd=folder, check=True)
    subprocess.run([*CLANG, "-c", HERE / "input.S", "-o", "input.o"], cwd=folder, check=True)
    subprocess.run(["ld.lld-19", "-T", HERE / "virt.ld", "--gc-sections", "-o", "bare.elf", "start.o", "input.o", "librlx_kernel.a"],
                   cwd=folder, check=True)
    done = subprocess.run(["qemu-system-riscv64", "-machine", "virt", "-m", "64M", "-display", "none", "-serial", "stdio", "-bios", "none",
                           "-kernel", folder / "bare.elf"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"the machine ended with {done.returncode}: {done.stdout}{done.stderr}"
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
