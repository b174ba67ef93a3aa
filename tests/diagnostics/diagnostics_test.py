#!/usr/bin/env python3
"""Wrong programs and what `rlx dump` says about them. Files of cases/ hold many: a title behind `####`, the program, and behind `----` the
output; the file's name says the form (NAME.rlx.txt, NAME.rlxir.txt). `{data}` in a program is a folder with arrays in files.

Every program must be refused (exit code 1) with that very output, and again as JSON with the same places. --update writes the outputs anew:
read them before you keep them. Prints "N passed, N failed, N skipped" last."""
import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy

RLX = os.environ["RLX"]
CASES = pathlib.Path(__file__).parent / "cases"
# What is refused by passes, not by the reader: the model as they leave it is asked for.
OPTIONS = {"refused": ["--after", "layout"]}
# Codes whose mistakes may come as a warning only.
WARNINGS = {"2024", "2025"}


def read(path):
    """[(title, program, output)] of a file."""
    cases = []
    for part in path.read_text(encoding="utf-8").split("#### ")[1:]:
        title, _, rest = part.partition("\n")
        program, _, output = rest.partition("----\n")
        cases.append((title, program, output))
    return cases


def write(path, cases):
    path.write_text("".join(f"#### {title}\n{program}----\n{output}" for title, program, output in cases), encoding="utf-8")


def data_make(folder):
    numpy.save(folder / "weight.npy", numpy.zeros((4, 3), numpy.float32))
    numpy.savez(folder / "two.npz", a=numpy.zeros(2), b=numpy.ones(3))
    header = b'{"layer1.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"layer2.weight":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}'
    (folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(12))
    (folder / "broken.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(11))
    (folder / "text.npy").write_text("no array\n")
    (folder / "link.npy").symlink_to(folder / "weight.npy")


def run(folder, number, form, program, *options):
    """What is printed about a program, and the exit code. Control characters are written as escapes in the program: \\x00."""
    place = folder / str(number)
    place.mkdir(exist_ok=True)
    if not any(place.iterdir()):
        data_make(place)
    text = re.sub(r"<(x[0-9a-f]{2})>", lambda m: "\0" + m[1], program)
    raw = re.sub(rb"\0x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())
    (place / f"m.{form}").write_bytes(raw)
    done = subprocess.run([RLX, "dump", f"m.{form}", *OPTIONS.get(number.split(".")[0], []), *options], cwd=place, capture_output=True, timeout=60)
    return done.stderr.decode("utf-8", "backslashreplace"), done.returncode


def check(folder, number, form, case):
    """What is wrong with a case, and its output."""
    title, program, wanted = case
    text, code = run(folder, number, form, program)
    places = re.findall(r"^m\.\w+:(\d+):(\d+): (error|warning|note) RLX-(\d+)", text, re.M)
    if code < 0 or "ERROR: " in text or code > 1:
        return f"ends with {code}: {text[:400]}", text
    if code == 0 and not any(place[2] == "warning" and place[3] in WARNINGS for place in places):
        return "is accepted", text
    if "internal error" in text.lower() or "RLX-1203" in text or "RLX-1099" in text:
        return f"is an internal error: {text[:400]}", text
    answer, _ = run(folder, number, form, program, "--diagnostics", "json")
    try:
        found = json.loads(answer)["diagnostics"]
    except ValueError:
        return f"gives no JSON: {answer[:200]}", text
    if [(str(f.get("line")), str(f.get("column")), f["severity"], f["code"][4:]) for f in found if "line" in f] != places:
        return "has other places as JSON", text
    if text != wanted:
        return f"says\n{text}instead of\n{wanted}", text
    return None, text


def main():
    update = "--update" in sys.argv
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(folder)
        for path in sorted(CASES.glob("*.txt")):
            form = path.name.split(".")[1]
            cases = read(path)
            places = [folder / f"{path.stem}-{i}" for i in range(len(cases))]
            answers = list(pool.map(lambda pair: check(folder, pair[0].name, form, pair[1]), zip(places, cases)))
            if update:
                write(path, [(title, program, answers[i][1]) for i, (title, program, _) in enumerate(cases)])
            for (title, _, _), (fault, _) in zip(cases, answers):
                if words and not any(word in f"{path.name} {title}" for word in words):
                    continue
                passed += fault is None
                failed += fault is not None
                if fault is not None and not (update and fault.startswith("says")):
                    print(f"FAIL {path.name}: {title}: {fault}")
        titles = [title for path in CASES.glob("*.txt") for title, _, _ in read(path)]
        assert len(set(titles)) == len(titles), f"two cases have one title: {sorted(t for t in titles if titles.count(t) > 1)}"
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
