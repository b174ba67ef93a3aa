"""The `rlx` program: where it is, how it is asked, what it says when it refuses."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import warnings

from ._errors import CompileError, Error


def path():
    """$RLX, `rlx` in the path, or that of a build beside this source."""
    for candidate in (os.environ.get("RLX"), shutil.which("rlx"), pathlib.Path(__file__).resolve().parents[3] / "build/cli/rlx"):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise Error("the program `rlx` is not there. Install it, or name it in the environment: RLX=/path/to/rlx")


def run(words, text=None, origins=None):
    """Runs the program; what it printed. `text` is the path of a traced text and `origins` the Python line of each of its lines: errors
    name those."""
    done = subprocess.run([path(), *map(str, words), "--diagnostics", "json"], capture_output=True, text=True)
    found = [_with_origin(entry, text, origins) for entry in _diagnostics(done.stderr)]
    errors = [entry for entry in found if entry["severity"] == "error"]
    if done.returncode != 0:
        message = "\n".join(map(_text, errors)) or done.stderr.strip() or f"rlx {words[0]} ended with code {done.returncode}"
        raise CompileError(message, errors)
    for entry in found:
        if entry["severity"] == "warning":
            warnings.warn(_text(entry), stacklevel=4)
    return done.stdout


def _diagnostics(printed):
    found = []
    for line in printed.splitlines():
        try:
            found += json.loads(line)["diagnostics"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _with_origin(entry, text, origins):
    place = None
    if origins is not None:
        own = entry.get("file") == str(text) and entry.get("line")
        named = re.search(re.escape(pathlib.Path(text).name) + r":(\d+)", entry.get("message", "")) if not own else None
        line = entry["line"] if own else int(named.group(1)) if named else 0
        place = origins[line - 1] if 0 < line <= len(origins) else None
    return {**entry, "python": place}


def _text(entry):
    place = entry["python"] or (f"{entry['file']}:{entry['line']}" if entry.get("file") and entry.get("line") else entry.get("file") or "rlx")
    lines = [f"{place}: {entry['severity']} {entry['code']}: {entry['message']}"]
    lines += [f"  {key}: {entry[key]}" for key in ("expected", "fix") if entry.get(key)]
    return "\n".join(lines)
