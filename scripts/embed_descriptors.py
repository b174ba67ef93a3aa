#!/usr/bin/env python3
"""Compiles .proto files with protoc into a FileDescriptorSet and writes it as C (proto/descriptors.h): embed_descriptors.py PROTOC ROOT OUTPUT PROTO..."""
import os
import subprocess
import sys
import tempfile


def main():
    protoc, root, output, *protos = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "set")
        names = [os.path.relpath(proto, root) for proto in protos]
        subprocess.run([protoc, "-I", ".", "--include_imports", f"--descriptor_set_out={path}", *names], check=True, cwd=root)
        with open(path, "rb") as file:
            data = file.read()
    rows = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "proto/descriptors.h"\n\nstatic const uint8_t descriptors[] = {\n' + ",\n".join(rows) + "};\n\n")
        file.write("const uint8_t *rlx_proto_descriptors(size_t *out_bytes)\n{\n    *out_bytes = sizeof descriptors;\n    return descriptors;\n}\n")


if __name__ == "__main__":
    main()
