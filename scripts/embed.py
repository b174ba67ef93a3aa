#!/usr/bin/env python3
"""Writes a file's bytes as a C array: scripts/embed.py FILE NAME HEADER."""
import pathlib
import sys

source, name, header = sys.argv[1:]
data = pathlib.Path(source).read_bytes()
rows = [",".join(str(byte) for byte in data[at:at + 40]) for at in range(0, len(data), 40)]
pathlib.Path(header).write_text(f"/* Generated from {pathlib.Path(source).name}. */\nstatic const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "};\n")
