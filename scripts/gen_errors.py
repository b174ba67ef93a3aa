#!/usr/bin/env python3
"""Writes docs/ERRORS.md from base/error_list.h. `--check` writes nothing and exits 1 when the file is not current."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "base" / "error_list.h"
PAGE = ROOT / "docs" / "ERRORS.md"
RANGES = [(1000, "Command line and files"), (1100, "ONNX import"), (1200, "IR and shapes"), (1300, "Bundle"), (1400, "Execution"),
          (1500, "Configuration"), (1600, "Serving"), (1700, "Clients"), (1800, "Profiling"), (1900, "Targets"),
          (2000, "RLX-IR text"), (2100, "State service")]
STRING = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
ROW = re.compile(r"^RLX_ERROR\((\w+),\s*(\d+),\s*RLX_(\w+),\s*" + r",\s*".join([STRING] * 3) + r"\)", re.M)


def text(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def page():
    source = LIST.read_text(encoding="utf-8")
    rows = [(int(m[2]), m[3], text(m[4]), text(m[5]), text(m[6])) for m in ROW.finditer(source)]
    if len(rows) != len(re.findall(r"^RLX_ERROR\(", source, re.M)):
        sys.exit("gen_errors: a row of base/error_list.h is not understood")
    lost = [number for number, *_ in rows if not any(start <= number < start + 100 for start, _ in RANGES)]
    if lost:
        sys.exit(f"gen_errors: RLX-{lost[0]} is in no range of RANGES")
    lines = ["# Error codes", "",
             "Every error names a stable code; `rlx explain RLX-1234` prints its row. Made from `base/error_list.h` by `scripts/gen_errors.py`.",
             "The status is the canonical code that a server answers with."]
    for start, title in RANGES:
        lines += ["", f"## {title} (RLX-{start}..RLX-{start + 99})", "", "| code | status | what | cause | fix |", "|---|---|---|---|---|"]
        for number, status, what, cause, fix in sorted(rows):
            if start <= number < start + 100:
                cells = [cell.replace("|", "\\|") for cell in (what, cause, fix)]
                lines.append(f"| RLX-{number} | {status} | {cells[0]} | {cells[1]} | {cells[2]} |")
    return "\n".join(lines) + "\n"


def main():
    wanted = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
            sys.exit("docs/ERRORS.md is not current: run scripts/gen_errors.py")
        return
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
