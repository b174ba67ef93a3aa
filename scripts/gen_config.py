#!/usr/bin/env python3
"""Writes the table of keys in docs/SERVING.md from `rlxd --help-config` (RLX_BUILD or build). `--check` writes nothing and exits 1 when the
table is not current."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "SERVING.md"
RLXD = pathlib.Path(os.environ.get("RLX_BUILD", ROOT / "build")) / "daemon/rlxd"
HEAD = "| key | default | meaning |\n|---|---|---|\n"


def table():
    lines = subprocess.run([str(RLXD), "--help-config"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    rows = [re.match(r"(\S+)\s+(\S+)\s+(.*)", line).groups() for line in lines]
    return HEAD + "".join(f"| `{key}` | {default} | {meaning.replace('|', chr(92) + '|')} |\n" for key, default, meaning in rows)


def main():
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(re.escape(HEAD) + r"(?:\|.*\n)*", text)
    wanted = text[:found.start()] + table() + text[found.end():]
    if sys.argv[1:] == ["--check"]:
        if wanted != text:
            sys.exit("docs/SERVING.md is not current: run scripts/gen_config.py")
        return
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
