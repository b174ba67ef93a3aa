#!/usr/bin/env python3
"""Writes sdk/python/rlx/_operators.py, the tracer's table of operators, from ir/op_list.h and the words of ir/text/names.c.

    scripts/gen_operators.py [--check]      (--check: writes nothing, exits 1 when the file is not what it would be)"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "sdk/python/rlx/_operators.py"
HEAD = '''"""Operators of RLX-IR. Written by scripts/gen_operators.py from ir/op_list.h and ir/text/names.c: change those and run it."""

# name: (least operands, most operands, operands by name, attributes as "name:type[=default]", what it does)
OPERATORS = {
'''


def text_of(literal):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal))


def fields_of(call):
    """The arguments of a macro call, split at commas outside strings."""
    return [field.strip() for field in re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^",])+', call)]


def operators(text):
    """(name, least, most, attributes, doc) in the order of the list."""
    found = []
    elementwise = {"UNARY": (1, 1), "BINARY": (2, 2)}
    for kind, (least, most) in elementwise.items():
        body = re.search(rf"#define RLX_OPS_{kind}\(X\)((?:.*\\\n)*.*\n)", text).group(1)
        for name, attributes in re.findall(r'X\((\w+), "([^"]*)"\)', body):
            found.append((name, least, most, attributes, "element-wise" if most == 1 else "element-wise, broadcasting"))
    for line in text.splitlines():
        if line.startswith("RLX_OP("):
            name, _, least, most, _, _, attributes, doc = fields_of(line[len("RLX_OP("):line.rindex(")")])
            found.append((name, int(least), int(most), text_of(attributes), text_of(doc)))
    return found


def table_of(text, name):
    return re.search(rf"\}} {name}\[\] = \{{\n(.*?)\n\}};", text, re.S).group(1)


def generated():
    names = (ROOT / "ir/text/names.c").read_text()
    internal = set(re.findall(r"kind == RLX_OP_(\w+)", re.search(r"static bool is_internal\(.*?\n\}", names, re.S).group(0)))
    padded = set(re.findall(r"case RLX_OP_(\w+):", re.search(r"bool rlx_op_has_padding\(.*?\n\}", names, re.S).group(0)))
    operands = dict(re.findall(r'\{RLX_OP_(\w+), "([^"]*)"\}', table_of(names, "operands")))
    lines = []
    for name, least, most, attributes, doc in operators((ROOT / "ir/op_list.h").read_text()):
        if name in internal:
            continue
        words = operands.get(name, "input" if most == 1 else "a b" if most == 2 else "")
        attributes = (attributes + " padding:is").strip() if name in padded else attributes
        lines.append(f"    {name!r}: ({least}, {most}, {words!r}, {attributes!r}, {doc!r}),\n")
    out = HEAD + "".join(lines) + "}\n\n# other words for operators\nWORDS = {\n"
    for word, name in re.findall(r'\{"(\w+)", RLX_OP_(\w+), \d\}', table_of(names, "words")):
        out += f"    {word!r}: {name!r},\n"
    out += "}\n\n# other words for attributes\nATTRIBUTES = {\n"
    for word, name in re.findall(r'\{"(\w+)",\s+"(\w+)"\}', table_of(names, "attributes")):
        out += f"    {word!r}: {name!r},\n"
    notes = re.search(r"op_notes\[\] = \{(.*?)\};", (ROOT / "ir/text/build_annotation.c").read_text(), re.S).group(1)
    return out + "}\n\n# what any operator may carry\nANNOTATIONS = (\n" + "".join(f"    {n!r},\n" for n in re.findall(r'"(\w+)"', notes)) + ")\n"


def main():
    text = generated()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
    elif not TARGET.exists() or TARGET.read_text() != text:
        sys.exit(f"{TARGET.relative_to(ROOT)} is not current: run scripts/gen_operators.py")


if __name__ == "__main__":
    main()
