#!/usr/bin/env python3
"""Sums up a meson testlog.json as "PASSED FAILED SKIPPED", by test case where cmocka printed its cases.

A program that failed without naming a failed case (it crashed, hung or leaked) counts as one failed case more.
"""
import json
import re
import sys


def cases(entry):
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    passed = len(re.findall(r"^\[       OK \] ", text, re.M))
    failed = len(set(re.findall(r"^\[  FAILED  \] (?!\d+ test)(\S+)", text, re.M)))
    skipped = len(set(re.findall(r"^\[  SKIPPED \] (?!\d+ test)(\S+)", text, re.M)))
    if entry["result"] == "SKIP":
        skipped = max(skipped, 1)
    elif entry["result"] in ("OK", "EXPECTEDFAIL"):
        passed = max(passed, 1)
    else:
        failed = max(failed, 1)
    return passed, failed, skipped


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        rows = [cases(json.loads(line)) for line in log if line.strip()]
    print(*(sum(column) for column in zip(*rows)) if rows else (0, 1, 0))


if __name__ == "__main__":
    main()
