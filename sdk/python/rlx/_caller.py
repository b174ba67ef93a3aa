"""What the program that is traced calls its values: variables that the running statement sets, and those that a `return` names."""
import ast
import dis
import functools
import linecache
import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_SKIPPED = {"CACHE", "NOP", "EXTENDED_ARG", "RESUME", "NOT_TAKEN"}
_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}


def frame_of():
    """The innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=1024)
def _instructions(code):
    return [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]


def _index(frame):
    """The instruction that runs in the frame: the last one that begins at or before f_lasti, which may stand at a cache behind it."""
    code, low, high = _instructions(frame.f_code), 0, len(_instructions(frame.f_code))
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if code[middle].offset <= frame.f_lasti else (low, middle)
    return low


def comparison(frame):
    """The mark of the comparison that runs, "<" for 1 < x; None where none does."""
    instruction = _instructions(frame.f_code)[_index(frame)]
    return str(instruction.argval).removeprefix("bool(").rstrip(")") if instruction.opname == "COMPARE_OP" else None


def stands_right(frame, value):
    """The value is the right operand of the comparison that runs: the variable that was read last holds it."""
    last = _instructions(frame.f_code)[_index(frame) - 1]
    name = last.argval[-1] if isinstance(last.argval, tuple) else last.argval
    return last.opname.startswith("LOAD_FAST") and frame.f_locals.get(name) is value


def _names(instruction):
    """Variables that an instruction sets."""
    if instruction.opname not in _STORES:
        return []
    if instruction.opname == "STORE_FAST_STORE_FAST":
        return list(instruction.argval)
    return [instruction.argval[0] if isinstance(instruction.argval, tuple) else instruction.argval]


def targets(frame):
    """Names of the variables that take the result of what the frame runs, `["y"]` in `y = f(x)`; None where none does directly."""
    code = _instructions(frame.f_code)
    at = _index(frame) + 1
    while at < len(code) and code[at].opname in ("JUMP_FORWARD", "PRECALL"):  # y = a if condition else b
        if code[at].opname == "PRECALL":
            at += 1
            continue
        goal = code[at].argval
        at = next((i for i, one in enumerate(code) if one.offset >= goal), len(code))
    if at >= len(code):
        return None
    if code[at].opname == "UNPACK_SEQUENCE":
        wanted, names = code[at].arg, []
        while len(names) < wanted and at + 1 < len(code) and _names(code[at + 1]):
            names += _names(code[at + 1])
            at += 1
        return names if len(names) == wanted else None
    names = _names(code[at])
    # Two stores in a row belong to `a, b = f(), g()`, whose values are none of the line's own.
    if len(names) != 1 or (at + 1 < len(code) and code[at].opname != "STORE_FAST_LOAD_FAST" and _names(code[at + 1])):
        return None
    return names


@functools.lru_cache(maxsize=64)
def _returns(text):
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Return)]
    except (SyntaxError, ValueError):
        return []


def _returned(frame_place, count, held):
    """Names behind a `return a, b`, in order, None for what is no variable; without the source, variables that hold the values."""
    filename, line, variables = frame_place
    for node in _returns("".join(linecache.getlines(filename))):
        if node.lineno <= line <= node.end_lineno:
            if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != count:
                return [None] * count
            return [item.id if isinstance(item, ast.Name) else None for item in node.value.elts]
    return [next((name for name, value in variables.items() if value is item), None) for item in held]


def run(function, args, kwargs):
    """Calls the function; its result, and a function that names the items of a returned tuple."""
    place = []
    before = sys.getprofile()

    def watch(frame, event, _):
        if event == "return" and frame.f_code is function.__code__:
            place[:] = [frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)]

    sys.setprofile(watch)
    try:
        result = function(*args, **kwargs)
    finally:
        sys.setprofile(before)
    return result, lambda items: _returned(place, len(items), items) if place else [None] * len(items)
