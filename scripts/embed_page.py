#!/usr/bin/env python3
"""Joins page.html with its style and script and writes it as C: two strings, before and after the data: embed_page.py NAME OUTPUT HTML CSS JS...
The scripts are joined in one scope.
The page says @STYLE@, @SCRIPT@ and @DATA@ where they go."""
import pathlib
import sys

CHUNK = 2000  # compilers need not take longer string literals


def literal(text):
    lines = []
    data = text.encode()
    for start in range(0, len(data), CHUNK // 4):
        part = data[start:start + CHUNK // 4]
        lines.append('    "' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in part) + '"')
    return "\n".join(lines)


def main():
    name, output, *paths = sys.argv[1:]
    page, style, *scripts = (pathlib.Path(path).read_text(encoding="utf-8") for path in paths)
    script = '"use strict";\n(() => {\n' + "".join(scripts) + "})();\n"
    assert "</" not in style, "a style must not end itself"
    assert "</script" not in script.lower(), "a script must not end itself"
    page = page.replace("@STYLE@", style).replace("@SCRIPT@", script)
    assert page.count("@DATA@") == 1
    assert "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page, "the page refers to nothing outside itself"
    head, tail = page.split("@DATA@")
    pathlib.Path(output).write_text(f"/* Made by scripts/embed_page.py. */\nstatic const char {name}_head[] =\n{literal(head)};\n"
                                    f"static const char {name}_tail[] =\n{literal(tail)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
