"""Tensors of a trace: operators of Python on them become statements; what would need their elements is refused with what to write instead."""
from . import _caller
from ._errors import TraceError
from ._operators import OPERATORS

_CHOOSE = "Compute both sides and choose: rlx.where(condition, a, b)"
_MIRROR = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal",
           "not_equal": "not_equal"}
_MARKS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}

_UFUNCS = {"add": ("add", "+"), "subtract": ("sub", "-"), "multiply": ("mul", "*"), "divide": ("div", "/"), "true_divide": ("div", "/"),
           "matmul": ("matmul", "@"), "power": ("pow", "**"), "remainder": ("mod", "%"), "less": ("less", "<"), "less_equal": ("less_equal", "<="),
           "greater": ("greater", ">"), "greater_equal": ("greater_equal", ">="), "equal": ("equal", "=="), "not_equal": ("not_equal", "!=")}
_NUMPY = {"absolute": "abs", "negative": "neg", "maximum": "max", "minimum": "min", "floor_divide": "floor", "rint": "round", "isnan": "is_nan",
          "isinf": "is_inf"}


class Tensor:
    """A value of a graph that is being made. It has no data: it is what a run will compute."""

    __hash__ = object.__hash__

    def __init__(self, trace, name):
        self.trace = trace
        self.name = name

    def __repr__(self):
        return f"<rlx tensor %{self.name}>"

    @property
    def T(self):
        return self.trace.lone("transpose", [self])

    def reshape(self, *shape, **named):
        return self.trace.lone("reshape", [self, _axes("reshape", shape, named, "shape")])

    def transpose(self, *axes, **named):
        if not axes and not named:
            return self.trace.lone("transpose", [self])
        return self.trace.lone("transpose", [self], [("perm", _axes("transpose", axes, named, "axes"))])

    def astype(self, dtype):
        return self.trace.lone("cast", [self], [("to", dtype)])

    def __getitem__(self, key):
        return self.trace.index(self, key)

    def __pos__(self):
        return self

    def __neg__(self):
        return self.trace.lone("neg", [self])

    def __pow__(self, other, modulo=None):
        return self.trace.binary("pow", self, other, "**")

    def __rpow__(self, other, modulo=None):
        return self.trace.binary("pow", other, self, "**")

    def __array_ufunc__(self, ufunc, method, *operands, **named):
        """array + tensor, whose left side is numpy's; its other functions are refused."""
        if method == "__call__" and not named and ufunc.__name__ in _UFUNCS:
            word, mark = _UFUNCS[ufunc.__name__]
            return self.trace.binary(word, *operands, mark)
        word = ufunc.__name__ if ufunc.__name__ in OPERATORS else _NUMPY.get(ufunc.__name__)
        raise TraceError(f"np.{ufunc.__name__} cannot compute with {self!r}. " +
                         (f"Write rlx.{word}(...)" if word else "Operators on tensors are functions of rlx; docs/LANGUAGE.md lists them"))

    def __array_function__(self, function, types, args, kwargs):
        raise TraceError(f"np.{function.__name__} cannot compute with {self!r}. Operators on tensors are functions of rlx: rlx.concat([a, b], "
                         "axis=0), rlx.reshape(x, [2, -1]); docs/LANGUAGE.md lists them")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("shape", "size", "ndim", "dtype"):
            raise AttributeError(f"a tensor has no '{name}' while its program is traced: extents and types are known when it is compiled. "
                                 "rlx.shape(x) gives extents as a tensor")
        word = f"reduce_{name}" if f"reduce_{name}" in OPERATORS else name
        hint = f"Operators are functions: rlx.{word}(x, ...)" if word in OPERATORS else "Operators are functions of rlx; docs/LANGUAGE.md lists them"
        raise AttributeError(f"a tensor has no '{name}'. {hint}")

    def __setitem__(self, key, value):
        raise TraceError("a tensor never changes. rlx.where(condition, a, b), rlx.concat and rlx.scatter_elements make new ones")


def _axes(method, values, named, name):
    if named:
        values = tuple(named.pop(name, None) for _ in range(1 if name in named else 0))
    if named or not values:
        raise TraceError(f"{method} takes a shape, and nothing else: x.{method}(2, -1)")
    return list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else list(values) if len(values) > 1 else values[0]


def _arithmetic(word, mark):
    def method(self, other):
        return self.trace.binary(word, self, other, mark)

    def reflected(self, other):
        return self.trace.binary(word, other, self, mark)
    return method, reflected


def _comparison(word, mark):
    def method(self, other):
        # Python asks x > 1 when the program says 1 < x; the instruction knows.
        frame = _caller.frame_of()
        written = _MARKS.get(_caller.comparison(frame), word)
        same = _MIRROR[word] == word and not isinstance(other, Tensor) and _caller.stands_right(frame, self)
        if same or (written != word and _MIRROR[written] == word):
            return self.trace.binary(written, other, self, mark)
        return self.trace.binary(word, self, other, mark)
    return method


def _refusing(message):
    def method(self, *_):
        raise TraceError(message.replace("{x}", repr(self)))
    return method


for _name, _word, _mark in (("add", "add", "+"), ("sub", "sub", "-"), ("mul", "mul", "*"), ("truediv", "div", "/"), ("matmul", "matmul", "@"),
                            ("mod", "mod", "%")):
    _method, _reflected = _arithmetic(_word, _mark)
    setattr(Tensor, f"__{_name}__", _method)
    setattr(Tensor, f"__r{_name}__", _reflected)

for _name, _mark in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(Tensor, f"__{_name}__", _comparison(_MARKS[_mark], _mark))

for _name, _message in {
    "bool": "a condition is a constant, and {x} is a tensor: its elements are not known while the program is traced. " + _CHOOSE +
            "; `and`, `or` and `not` are rlx.logical_and, rlx.logical_or and rlx.logical_not",
    "iter": "a loop runs over constants, and {x} is a tensor. Operators work on whole tensors: rlx.relu(x), x + y, rlx.reduce_sum(x, axes); "
            "rlx.split gives parts, `a, b = rlx.split(x, [1, 1], axis=0)`",
    "len": "a tensor has no length while its program is traced; rlx.shape(x) gives extents as a tensor",
    "float": "{x} is a tensor and no number: its elements are not known while the program is traced. Keep computing with tensors; " + _CHOOSE,
    "int": "{x} is a tensor and no number: its elements are not known while the program is traced. Keep computing with tensors; " + _CHOOSE,
    "index": "{x} is a tensor and no integer: loops and indices need constants. Elements are picked by rlx.gather(x, indices, axis=...)",
    "complex": "{x} is a tensor and no number",
    "array": "{x} is a tensor and no array: functions of numpy cannot compute with it. Write rlx.exp(x) for np.exp(x), and so on",
    "contains": "tensors have no `in`. Write rlx.equal(a, b)",
    "invert": "tensors have no `~`. Write rlx.logical_not(x), or rlx.bit_not(x) for integers",
    "abs": "tensors have no abs(). Write rlx.abs(x)", "round": "tensors have no round(). Write rlx.round(x)",
    "divmod": "tensors have no divmod(). Write rlx.floor(a / b) and a % b",
}.items():
    setattr(Tensor, f"__{_name}__", _refusing(_message))

for _name, _message in {
    "floordiv": "`//`. Write rlx.floor(a / b)", "and": "`&`. Write rlx.logical_and(a, b), or rlx.bit_and(a, b) for integers",
    "or": "`|`. Write rlx.logical_or(a, b), or rlx.bit_or(a, b) for integers",
    "xor": "`^`. Write rlx.logical_xor(a, b), or rlx.bit_xor(a, b) for integers; a power is `**`",
    "lshift": "`<<`. Write rlx.bit_shift(a, b, direction=\"LEFT\")", "rshift": "`>>`. Write rlx.bit_shift(a, b, direction=\"RIGHT\")",
}.items():
    setattr(Tensor, f"__{_name}__", _refusing(f"tensors have no operator {_message}"))
    setattr(Tensor, f"__r{_name}__", _refusing(f"tensors have no operator {_message}"))
