#!/usr/bin/env python3
"""Builds the kernel code image of one ISA: position-independent, relocation-free, no writable data, entry points by offset.

Every kernel source is compiled by clang, linked by lld with a linker script of our own, and the loadable bytes are written as a flat file
that runs wherever it is mapped (read and execute). Anything that would need a loader is refused with the name of what caused it: relocations
left, a global offset table, writable or zero-initialised data, undefined symbols, a kernel of kernels/kernel_list.h that no source defines.

The same sources and tools give the same bytes. Objects are cached (in --objects, else beside the output) by the digest of
preprocessed source, flags and compiler.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COMMON = ("-O3 -std=gnu17 -ffp-contract=off -fno-math-errno -ffreestanding -fPIC -fvisibility=hidden -fno-jump-tables -fno-plt "
          "-fno-stack-protector -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ident -fcf-protection=none -fno-common "
          "-Wall -Wextra -Werror -Wno-missing-prototypes -Wno-psabi -Wno-unknown-warning-option").split()
ISA = {"v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
# Sources that the executor calls only where the CPU has more than the image's ISA: by the end of their names.
EXTENDED = {"v4": {"_vnni": ["-mavx512vnni"]}}

LINKER_SCRIPT = """
SECTIONS {
  . = 0;
  .text : ALIGN(64) { *(.text .text.*) }
  .rodata : ALIGN(64) { *(.rodata .rodata.*) }
  .image_end : { BYTE(0) }
  .data : { *(.data .data.* .tdata .tdata.* .data.rel.ro .data.rel.ro.*) }
  .bss : { *(.bss .bss.* .tbss .tbss.* COMMON) }
  .got : { *(.got .got.plt .igot .igot.plt) }
  .rela.dyn : { *(.rela.dyn .rela.plt .rela.*) }
  .dynsym : { *(.dynsym) }
  .gnu.hash : { *(.gnu.hash) }
  .hash : { *(.hash) }
  .dynstr : { *(.dynstr) }
  .dynamic : { *(.dynamic) }
  .init_array : { *(.init_array .init_array.* .ctors .fini_array .dtors) }
  /DISCARD/ : { *(.comment .note .note.* .eh_frame .eh_frame_hdr .llvm_addrsig) }
}
"""
REFUSED = [".data", ".bss", ".got", ".rela.dyn", ".init_array"]


class Refusal(Exception):
    """What is wrong with the sources or the tools, for the user."""


def run(command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refusal(f"{os.path.basename(command[0])} failed:\n{done.stderr.strip()}")
    return done.stdout


def include_flags(options):
    return [flag for folder in options.include for flag in ("-I", folder)]


def kernel_list(options):
    """The kernels that must be there: {name: number}."""
    probe = "#define RLX_KERNEL(id, number, flags) KERNEL id number\n#include <kernels/kernel_list.h>\n"
    text = run([options.clang, "-E", "-P", "-x", "c", *include_flags(options), "-"], stdin=probe)
    kernels = {}
    for name, number in re.findall(r"KERNEL (\w+) (\d+)", text):
        if int(number) in kernels.values() or name in kernels:
            raise Refusal(f"kernels/kernel_list.h: kernel {name} or number {number} stands twice")
        kernels[name] = int(number)
    return kernels


def compile_one(source, options, flags, cache):
    """Compiles one source, or takes its object from the cache. Returns (object path, headers read)."""
    base = [options.clang, *flags, *include_flags(options)]
    text = run([*base, "-E", source])
    version = options.clang_version
    name = os.path.splitext(os.path.basename(source))[0]
    key = hashlib.sha256("\0".join([version, *flags, text]).encode()).hexdigest()[:32]
    path = os.path.join(cache, f"{name}-{key}.o")
    headers = sorted(set(re.findall(r'^# \d+ "([^"<]+)"', text, re.M)))
    if not os.path.exists(path):
        partial = f"{path}.{os.getpid()}.tmp"
        run([*base, "-c", source, "-o", partial])
        os.replace(partial, path)
    return path, headers


class Elf:
    """What this script needs of a 64-bit little-endian ELF file: sections and symbols."""

    def __init__(self, data):
        self.data = data
        shoff, = struct.unpack_from("<Q", data, 40)
        entsize, count, names = struct.unpack_from("<HHH", data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * entsize) for i in range(count)]
        strings = raw[names][4]
        self.sections = [dict(name=self.text(strings + r[0]), type=r[1], flags=r[2], addr=r[3], offset=r[4], size=r[5], link=r[6])
                         for r in raw]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def section(self, name):
        return next((s for s in self.sections if s["name"] == name), None)

    def symbols(self):
        table = self.section(".symtab")
        if table is None:
            return []
        strings = self.sections[table["link"]]["offset"]
        result = []
        for at in range(table["offset"] + 24, table["offset"] + table["size"], 24):
            name, info, other, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            result.append(dict(name=self.text(strings + name), kind=info & 15, bind=info >> 4, section=section, value=value, size=size))
        return result


def blame(elf, section_name):
    """Symbols that lie in a section, for the error message."""
    index = next(i for i, s in enumerate(elf.sections) if s["name"] == section_name)
    names = sorted(s["name"] for s in elf.symbols() if s["section"] == index and s["name"])
    return ", ".join(names[:8]) or "no named symbol"


def check_elf(elf):
    for name in REFUSED:
        section = elf.section(name)
        if section is not None and section["size"] > 0:
            raise Refusal(f"the image would need {name} ({section['size']} bytes: {blame(elf, name)}). "
                          "Kernels may not have writable globals, tables of pointers or anything else that needs a loader.")
    undefined = sorted(s["name"] for s in elf.symbols() if s["section"] == 0 and s["name"])
    if undefined:
        raise Refusal(f"undefined symbols: {', '.join(undefined[:8])}. Kernels call nothing outside the image.")


def flat_image(elf):
    end = elf.section(".image_end")["addr"]
    image = bytearray(end)
    for name in (".text", ".rodata"):
        section = elf.section(name)
        if section is not None and section["size"] > 0:
            if section["addr"] + section["size"] > end:
                raise Refusal(f"section {name} lies past the end of the image")
            image[section["addr"]:section["addr"] + section["size"]] = elf.data[section["offset"]:section["offset"] + section["size"]]
    loaded = [s["name"] for s in elf.sections
              if s["flags"] & 2 and s["size"] > 0 and s["addr"] < end and s["name"] not in (".text", ".rodata")]
    if loaded:
        raise Refusal(f"sections {', '.join(loaded)} lie inside the image")
    return bytes(image)


def entries(elf, kernels):
    found = {s["name"][len("rlx_kernel_"):]: s["value"] for s in elf.symbols()
             if s["name"].startswith("rlx_kernel_") and s["kind"] == 2 and s["section"] != 0 and s["bind"] == 1}
    missing = sorted(set(kernels) - set(found))
    if missing:
        raise Refusal(f"no source defines kernel {', '.join(missing[:12])}: see kernels/kernel_list.h and kernels/sources_*.txt")
    return sorted((number, found[name]) for name, number in kernels.items())


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def index_text(options, image, rows):
    lines = ["/* Generated by scripts/kernel_image.py; included by kernels/image.c. */",
             f"#define RLX_IMAGE_PATH \"{os.path.abspath(options.output)}\"",
             f"#define RLX_IMAGE_BYTES {len(image)}",
             f"#define RLX_IMAGE_DIGEST \"{hashlib.blake2b(image, digest_size=32).hexdigest()}\"",
             "#define RLX_IMAGE_ENTRIES \\"]
    lines += [f"    RLX_IMAGE_ENTRY({number}, {offset}) \\" for number, offset in rows]
    return "\n".join(lines) + "\n\n"


def build(options):
    flags = COMMON + ISA[options.isa]
    options.clang_version = run([options.clang, "--version"]).splitlines()[0]
    cache = os.path.join(os.path.dirname(os.path.abspath(options.output)), f"kernel_objects_{options.isa}")
    objects = options.objects or cache
    os.makedirs(cache, exist_ok=True)
    os.makedirs(objects, exist_ok=True)
    kernels = kernel_list(options)
    sources = sorted(set(options.sources)) + [os.path.join(HERE, "../kernels/image_memory.c")]

    def compile_source(source):
        extra = [flag for end, more in EXTENDED.get(options.isa, {}).items() if source.endswith(f"{end}.c") for flag in more]
        return compile_one(source, options, flags + extra, objects)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        compiled = list(pool.map(compile_source, sources))
    script = os.path.join(cache, "image.ld")
    elf_path = os.path.join(cache, "image.elf")
    write(script, LINKER_SCRIPT.encode())
    run([options.lld, "-pie", "--no-dynamic-linker", "-z", "norelro", "-z", "nognustack", "--build-id=none", "--no-undefined", "-Bsymbolic",
         "--no-rosegment", "--orphan-handling=place", "--icf=none", "-T", script, "-o", elf_path, *[path for path, _ in compiled]])
    with open(elf_path, "rb") as file:
        elf = Elf(file.read())
    check_elf(elf)
    image = flat_image(elf)
    write(options.output, image)
    write(options.index, index_text(options, image, entries(elf, kernels)).encode())
    if options.depfile:
        needed = sorted({os.path.abspath(h) for _, headers in compiled for h in headers} | {os.path.abspath(__file__)})
        write(options.depfile, f"{options.output}: {' '.join(needed)}\n".encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--lld", default="ld.lld-19")
    parser.add_argument("--isa", choices=sorted(ISA), required=True)
    parser.add_argument("--include", "--include-dir", dest="include", action="append", required=True, help="may stand several times")
    parser.add_argument("--output", required=True, help="the flat image")
    parser.add_argument("--index", required=True, help="C header with size and entry points")
    parser.add_argument("--depfile")
    parser.add_argument("--objects", help="where objects are cached; several builds may share the folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sources", nargs="+", required=True)
    try:
        build(parser.parse_args())
    except Refusal as refusal:
        sys.exit(f"kernel_image.py: {refusal}")


if __name__ == "__main__":
    main()
