#!/usr/bin/env python3
"""Checks who includes whom: arrows between folders go one way only. Prints every breach as FILE:LINE and exits 1 if there is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder -> folders (or single headers) of ours that its files may include, besides their own.
FOLDERS = {
    "base": [],
    "proto": ["base/"],
    "bundle": ["base/", "proto/"],
    "kernels": ["base/"],
    "ir": ["base/", "proto/", "bundle/", "kernels/"],
    "exec": ["base/", "bundle/", "kernels/abi.h", "kernels/params", "kernels/kernel_list.h"],
    "trace": ["base/", "bundle/", "exec/", "kernels/abi.h", "kernels/kernel_list.h", "kernels/params_custom.h"],
    "target": ["base/", "bundle/", "kernels/", "exec/"],
    "rpc": ["base/", "proto/"],
    "rpc/tls": ["base/"],
    "rpc/local": ["base/"],
    "rpc/message": ["base/", "proto/", "rpc/slice.h"],
    "rpc/client": ["base/", "rpc/slice.h", "rpc/tls/"],
    "rpc/server": ["base/", "rpc/slice.h", "rpc/tls/", "rpc/local/unix_socket.h"],
    "rpc/http": ["base/", "rpc/slice.h"],
    "daemon": ["base/", "proto/", "bundle/", "exec/", "kernels/abi.h", "rpc/", "trace/"],
    "daemon/actor": ["base/"],
    "daemon/config": ["base/"],
    "daemon/json": ["base/"],
    "daemon/memory": ["base/", "rpc/local/handover.h", "rpc/local/unix_socket.h"],
    "daemon/models": ["base/", "bundle/", "exec/"],
    "daemon/pool": ["base/", "bundle/", "exec/", "trace/", "daemon/actor/", "daemon/memory/", "daemon/models/"],
    "daemon/node": ["base/", "bundle/", "exec/", "rpc/", "trace/", "daemon/actor/", "daemon/memory/", "daemon/models/", "daemon/pool/"],
    "daemon/oip": ["base/", "proto/", "rpc/", "daemon/node/"],
    "daemon/rest": ["base/", "rpc/", "daemon/json/", "daemon/memory/", "daemon/node/"],
    "gss": ["base/", "proto/"],
    "gss/core": ["base/", "proto/guard.h", "proto/wire.h"],
    "sim": ["base/", "daemon/actor/", "gss/core/"],
    "sdk": ["base/", "proto/", "rpc/"],
    "cli": ["rpc/", "target/", "trace/", "base/", "proto/", "bundle/", "kernels/", "ir/", "exec/"],
    "cli/ctl": ["base/", "rpc/", "cli/version.h"],
}
# folder -> headers of libraries that it may include. Headers of libc are those that this Python knows not to be any library's.
LIBRARIES = {
    "base": ["zlib.h", "sodium.h", "xxhash.h", "yaml.h"],
    "proto": ["protobuf-c/"],
    "bundle": ["sodium.h", "protobuf-c/"],
    "kernels": [],
    "ir": ["protobuf-c/", "xxhash.h"],
    "exec": [],
    "trace": [],
    "target": ["zlib.h"],
    "rpc": ["uv.h", "nghttp2", "openssl", "microhttpd"],
    "rpc/tls": ["openssl"],
    "rpc/local": [],
    "rpc/message": [],
    "rpc/client": ["uv.h", "nghttp2", "openssl"],
    "rpc/server": ["uv.h", "nghttp2", "openssl"],
    "rpc/http": ["uv.h", "microhttpd"],
    "daemon": ["uv.h", "jansson.h", "protobuf-c/"],
    "daemon/actor": [],
    "daemon/config": [],
    "daemon/json": [],
    "daemon/memory": ["uv.h"],
    "daemon/models": ["uv.h"],
    "daemon/pool": ["uv.h"],
    "daemon/node": ["uv.h"],
    "daemon/oip": ["protobuf-c/"],
    "daemon/rest": ["jansson.h"],
    "gss": [],
    "gss/core": [],
    "sim": [],
    "sdk": ["uv.h", "nghttp2", "openssl", "protobuf-c/"],
    "cli": ["uv.h", "jansson.h", "openssl"],
    "cli/ctl": ["jansson.h", "openssl"],
}
KNOWN_LIBRARIES = ["zlib.h", "sodium", "xxhash.h", "yaml.h", "protobuf-c", "uv.h", "nng", "ucp", "uct", "ucs", "nghttp2", "openssl",
                   "microhttpd", "jansson.h", "zstd", "jpeglib", "cmocka"]
# Kernels are freestanding: these headers are all they get. string.h for memcpy, memset, memmove and memcmp, which the code image supplies.
FREESTANDING = ["string.h", "stddef.h", "stdint.h", "stdbool.h", "limits.h", "float.h"]
# Written into the build folder, or into the folder of a target.
GENERATED = ["rlx_custom.h", "image_v3.h", "image_v4.h", "source_index.h", "kernel.h", "cli/version.h", "daemon/status_page.h"]
# Pure folders: no clock, thread, socket or file; randomness is a parameter.
PURE = {"gss/core": ["inttypes.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"],
        "daemon/actor": ["stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"]}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def kernel_sources():
    names = set()
    for listing in (ROOT / "kernels").glob("sources_*.txt"):
        names.update(line.strip() for line in listing.read_text().splitlines() if line.strip())
    return {ROOT / "kernels" / name for name in names}


def breach(folder, is_kernel, style, name):
    """Why `name` may not be included, or None."""
    if style == "<":
        if folder in PURE and name not in PURE[folder]:
            return f"{folder}/ is pure"
        if is_kernel and name not in FREESTANDING:
            return "kernels are freestanding"
        known = any(name.startswith(library) for library in KNOWN_LIBRARIES)
        if known and not any(name.startswith(library) for library in LIBRARIES[folder]):
            return f"{folder}/ may not use this library"
        return None
    if name in GENERATED:
        return None
    if "/" not in name:
        return "write the path from the root"
    if name.startswith(folder + "/"):
        return None
    if is_kernel:
        return "kernels include only kernels/"
    if folder in PURE and name == "base/clock.h":
        return f"{folder}/ is pure"
    if not any(name.startswith(allowed) for allowed in FOLDERS[folder]):
        return f"{folder}/ may include only {', '.join(FOLDERS[folder]) or 'itself'}"
    return None


def main():
    kernels = kernel_sources()
    breaches = 0
    files = set()
    for folder in FOLDERS: # files of a folder within another answer to the rules of both
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            files.add(path)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and breach(folder, path in kernels, match[1], match[2])
                if reason:
                    breaches += 1
                    print(f"{path.relative_to(ROOT)}:{number}: {match[2]}: {reason}")
    print(f"layering: {len(files)} files, {breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
