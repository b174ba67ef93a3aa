"""A trace: the statements that a Python function makes while it runs on tensors without data. One graph, one thread, one run."""
import contextlib
import os
import threading

import numpy as np

from . import _caller, _text
from ._errors import TraceError, suggestion
from ._operators import ANNOTATIONS, ATTRIBUTES, OPERATORS, WORDS
from ._tensor import Tensor

_local = threading.local()

# Words of this package and those of the text, where they differ.
_SPACES = {"tensor": ("tensor", "alloc"), "scalar": ("tensor", "alloc"), "constant": ("tensor", "constant"), "logical_and": ("rlxc", "and"),
           "logical_or": ("rlxc", "or"), "logical_not": ("rlxc", "not"), "logical_xor": ("rlxc", "xor")}
# Words that the text has beside the operators: operands and attributes by name.
COMPOUNDS = {
    "batch_norm": "input scale bias mean variance epsilon momentum training_mode", "normalize": "input mean std",
    "postprocess": "input kind axis k keepdims largest sorted select_last_index", "custom_op": "name inputs function",
    "remote_call": "target function args inputs", "resize": "size",
}


class Trace:
    def __init__(self, name, attributes, code, folder, store):
        self.name, self.attributes, self.code, self.folder, self.store = name, attributes, code, folder, store
        self.lines = []      # of text, one for each statement
        self.origins = []    # "model.py:12" of each line
        self.inputs = []     # (name, shape, numpy's name of the type)
        self.outputs = []    # names
        self.functions = []  # that remote calls name
        self._counts = {}    # of names, as the reader of the module form counts them
        self._hoisted = {}   # Array.key: name

    # Names: a value is called as its variable, x.1 when that is set again; what no variable holds as its operator, add.1. In a
    # function that the traced one calls, the function's name stands in front.

    def _name(self, name, numbered, frame):
        base = name
        if frame is not None and frame.f_code is not self.code:
            base = f"{frame.f_code.co_name.strip('<>')}.{name}"
        made, count = base, self._counts.get(base, 0)
        if not numbered and count == 0:
            self._counts[base] = 1
            return base
        while True:
            count += numbered
            made = f"{base}.{count}"
            count += not numbered
            if self._counts.get(made, 0) == 0:
                break
        self._counts[base] = count
        self._counts[made] = 1
        return made

    def emit(self, word, operands, attributes=(), wanted=None, frame=None):
        """A statement; the Tensor, or the list of Tensors where several variables take it. `operands` and `attributes` are text."""
        space, callee = _SPACES.get(word, ("rlxc", word))
        names = []
        for target in wanted or [None]:
            names.append(None if target == "_" else self._name(target or callee, target is None, frame))
        made = [Tensor(self, name) for name in names]
        left = ", ".join("_" if name is None else _text.reference(name) for name in names)
        body = ", ".join([*operands, *(f"{key}={value}" for key, value in attributes)])
        self._line(f"{left} = {space}::{callee}({body});", frame)
        return made if len(made) > 1 else made[0]

    def _line(self, text, frame):
        self.lines.append(text)
        self.origins.append(f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else None)

    # Values as text.

    def hoist(self, array, frame, name=None):
        """The Tensor of a constant; equal arrays are one constant."""
        if array.key not in self._hoisted:
            made = self._name(name or "constant", name is None, frame)
            self._line(f"{_text.reference(made)} = tensor::constant({self.store.tensor(array, made)});", frame)
            self._hoisted[array.key] = made
        return Tensor(self, self._hoisted[array.key])

    def text(self, value, frame):
        if isinstance(value, Tensor):
            if value.trace is not self:
                raise TraceError(f"{value!r} belongs to another trace. A tensor lives while its function is traced: make it in this function, "
                                 "or pass an array")
            if value.name is None:
                raise TraceError("a result that `_` took is used; give it a name")
            return _text.reference(value.name)
        if value is None:
            return "_"
        if isinstance(value, (np.ndarray, np.generic, _text.Array)):
            return _text.reference(self.hoist(_text.array_of(value), frame).name)
        if isinstance(value, (bool, int, float)):
            return _text.number(value)
        if isinstance(value, str):
            return _text.string(value)
        if _text.is_dtype(value):
            return _text.DTYPES[_text.dtype_name(value)][0]
        if isinstance(value, (list, tuple, range)):
            return "[" + ", ".join(self.text(self._plain(item), frame) for item in value) + "]"
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise TraceError("keys of dictionaries are strings")
            return "{" + _text.fields(value.items(), lambda item: self.text(self._plain(item), frame)) + "}"
        raise TraceError(f"a value is {type(value).__name__}, which a graph cannot hold. It takes tensors, arrays, numbers, strings, lists and "
                         "dictionaries")

    @staticmethod
    def _plain(item):
        """Integers of numpy, as arithmetic on shapes gives them, are integers within lists."""
        return int(item) if isinstance(item, np.integer) else item

    # Statements.

    def call(self, word, args, kwargs):
        frame = _caller.frame_of()
        wanted = _caller.targets(frame)
        if word == "constant":
            return self._constant(args, dict(kwargs), wanted, frame)
        check_arguments(word, args, kwargs)
        declared = OPERATORS.get(WORDS.get(word, word), (0, 0, "", "", ""))[3].split()
        integers = {attribute.split(":")[0] for attribute in declared}
        operands = [self.text(value, frame) for value in args]
        attributes = [(key, self.text(self._plain(value) if key in integers else value, frame)) for key, value in kwargs.items()]
        if word == "scalar":
            attributes.append(("shape", "[]"))
        if word == "remote_call" and isinstance(kwargs.get("function"), str):
            self.functions.append(kwargs["function"])
        made = self.emit(word, operands, attributes, wanted, frame)
        if word in ("tensor", "scalar") and isinstance(made, Tensor):
            self.inputs.append((made.name, tuple(kwargs.get("shape", ())), _text.dtype_name(kwargs.get("dtype", "float32"))))
        return made

    def _constant(self, args, kwargs, wanted, frame):
        if len(args) + ("value" in kwargs) != 1:
            raise TraceError("rlx.constant needs one value: rlx.constant(value=np.zeros((64, 3, 7, 7), np.float32)); what comes from outside is "
                             "rlx.tensor(shape=[...])")
        value = args[0] if args else kwargs.pop("value")
        dtype = kwargs.pop("dtype", None)
        if isinstance(value, Tensor):
            raise TraceError("a tensor of the graph is used as it is; constants are numbers, lists and arrays")
        if value is None or isinstance(value, (str, dict)):
            raise TraceError(f"the value of a constant is {type(value).__name__}; write an array (np.zeros((64, 3, 7, 7))), a list or a number")
        loose = not isinstance(value, (np.ndarray, np.generic, _text.Array))
        array = _text.array_of(value, None if dtype is None else _text.dtype_name(dtype))
        if loose and dtype is None and array.dtype == "float64":
            array = _text.array_of(array, "float32")
        made = self._name((wanted or ["constant"])[0], wanted is None, frame)
        attributes = "".join(f", {key}={self.text(item, frame)}" for key, item in kwargs.items())
        self._line(f"{_text.reference(made)} = tensor::constant({self.store.tensor(array, made)}{attributes});", frame)
        return Tensor(self, made)

    def binary(self, word, a, b, mark):
        frame = _caller.frame_of()
        wanted = _caller.targets(frame)
        for value in (a, b):
            if not isinstance(value, (Tensor, np.ndarray, np.generic, bool, int, float, _text.Array)):
                hint = "make an array of it: np.array([...])" if isinstance(value, (list, tuple)) else "operands are tensors, arrays and numbers"
                raise TraceError(f"`{mark}` cannot take {type(value).__name__} beside a tensor; {hint}")
        operands = [self.text(a, frame), self.text(b, frame)]
        if word != "not_equal":
            return self.emit(word, operands, (), wanted, frame)
        return self.emit("not", [self.text(self.emit("equal", operands, (), None, frame), frame)], (), wanted, frame)

    def lone(self, word, operands, attributes=()):
        """A statement whose operands and attributes are values."""
        frame = _caller.frame_of()
        return self.emit(word, [self.text(value, frame) for value in operands], [(key, self.text(value, frame)) for key, value in attributes],
                         _caller.targets(frame), frame)

    def index(self, tensor, key):
        """x[0, 2:]: one slice, and a gather for each axis that has one index."""
        frame = _caller.frame_of()
        wanted = _caller.targets(frame)
        parts = key if isinstance(key, tuple) else (key,)
        slicing, picks = [[], [], [], []], []
        for axis, part in enumerate(parts):
            if isinstance(part, slice):
                for column, number in zip(slicing, _slice(part, axis)):
                    column.extend(number)
            else:
                picks.append((axis, _integer(part, "an index")))
        if slicing[2]:
            tensor = self.emit("slice", [self.text(tensor, frame), *(self.text(column, frame) for column in slicing)], (),
                               None if picks else wanted, frame)
        for done, (axis, at) in enumerate(picks):
            operand = self.text(np.array(at, np.int64), frame)
            tensor = self.emit("gather", [self.text(tensor, frame), operand], [("axis", str(axis - done))],
                               wanted if done + 1 == len(picks) else None, frame)
        return tensor

    def finish(self, result, names_of):
        """Outputs: `return x` is `output`, a dictionary names them, several values have their variables' names."""
        if isinstance(result, dict):
            pairs = list(result.items())
        elif isinstance(result, (list, tuple)):
            names = names_of(list(result)) if isinstance(result, tuple) else [None] * len(result)
            pairs = [(name or f"output_{i}", value) for i, (name, value) in enumerate(zip(names, result))]
        else:
            pairs = [("output", result)]
        if result is None or not pairs:
            raise TraceError(f"`{self.name}` returns nothing. End it with `return x`, or `return {{\"name\": x}}` to name the output")
        texts = []
        for i, (name, value) in enumerate(pairs):
            if not isinstance(name, str) or not isinstance(value, (Tensor, np.ndarray, np.generic, bool, int, float, _text.Array)):
                raise TraceError(f"an output is {type(value).__name__}. Return a tensor, several (`return a, b`), or a dictionary of names and "
                                 "tensors")
            name = f"output_{i}" if name in self.outputs else name
            if not isinstance(value, Tensor):
                value = self.hoist(_text.array_of(value), None, name)
            self.outputs.append(name)
            texts.append(f"{_text.string(name)}: {self.text(value, None)}")
        self._line(f"return {', '.join(texts)};", None)


def _integer(value, what):
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, Tensor):
        raise TraceError(f"{what} is a tensor. Elements that a tensor names are picked by rlx.gather(x, indices, axis=...)")
    raise TraceError(f"{what} is {'...' if value is Ellipsis else type(value).__name__}. An index is an integer, or a slice begin:end; axes are "
                     "added by rlx.reshape")


def _slice(part, axis):
    """Starts, ends, axes, steps of one slice, each a list of one number or, for `:`, of none; the greatest integer is the open end."""
    if part.start is None and part.stop is None and part.step is None:
        return [], [], [], []
    step = 1 if part.step is None else _integer(part.step, "a step")
    if step == 0:
        raise TraceError("a slice cannot step by 0")
    first = (0 if step > 0 else 2**63 - 1) if part.start is None else _integer(part.start, "the begin of a slice")
    last = (2**63 - 1 if step > 0 else -2**63) if part.stop is None else _integer(part.stop, "the end of a slice")
    return [first], [last], [axis], [step]


def words():
    """Every operator that rlx.NAME calls."""
    return [*(set(OPERATORS) - {"if", "loop", "and", "or", "not"}), *WORDS, *COMPOUNDS, *_SPACES]


def arguments_of(word):
    """Names of operands and attributes of rlx.WORD; None: any."""
    known = COMPOUNDS.get(word, "").split()
    entry = OPERATORS.get(WORDS.get(word, _SPACES.get(word, ("", word))[1]))
    if entry is not None:
        attributes = [attribute.split(":")[0] for attribute in entry[3].split()]
        known = [*known, *(entry[2].split() or []), *attributes, *(short for short, name in ATTRIBUTES.items() if name in attributes), "x"]
    return [*known, *ANNOTATIONS, "node"] if known else None


def check_arguments(word, args, kwargs):
    if word in ("tensor", "scalar"):
        if args or (word == "tensor" and "shape" not in kwargs):
            raise TraceError(f"rlx.{word} takes its arguments by name: rlx.tensor(shape=[1, 3, 224, 224], dtype=\"float32\")")
        return
    known = arguments_of(word)
    for key in kwargs:
        if known is not None and key not in known:
            raise TraceError(f"rlx.{word} has no '{key}'.{suggestion(key, known)} It takes {', '.join(dict.fromkeys(known))}")


def current(what):
    trace = getattr(_local, "trace", None)
    if trace is None:
        raise TraceError(f"{what} makes an operator of a graph, and no graph is being made. Call it in a function below @rlx.module or @rlx.jit")
    return trace


@contextlib.contextmanager
def tracing(trace):
    before, _local.trace = getattr(_local, "trace", None), trace
    try:
        yield trace
    finally:
        _local.trace = before


def path_of(file):
    """A file as a traced program names it: relative to the program's folder."""
    trace = getattr(_local, "trace", None)
    return os.path.join(trace.folder, file) if trace is not None else file
