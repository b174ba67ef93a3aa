"""@rlx.jit: a function of arrays, traced and compiled for the shapes it is called with."""
import functools
import inspect
import threading

import numpy as np

from . import _text
from ._errors import TraceError
from ._module import SCHEMA, Graph, trace
from ._tensor import Tensor

_STATIC = (bool, int, float, str, bytes, type(None))


class Spec:
    """An array that is not there yet: extents (numbers, or names of symbols: "batch") and an element type."""

    def __init__(self, shape, dtype="float32"):
        self.shape = tuple(shape)
        self.dtype = _text.dtype_name(dtype)
        for extent in self.shape:
            if not isinstance(extent, (int, np.integer, str)) or isinstance(extent, bool) or (not isinstance(extent, str) and extent < 0):
                raise TraceError(f"an extent is {extent!r}; extents are integers, or names such as \"batch\"")

    def __repr__(self):
        return f"rlx.spec({list(self.shape)}, \"{self.dtype}\")"

    def __eq__(self, other):
        return isinstance(other, Spec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))


def spec(shape, dtype="float32"):
    return Spec(shape, dtype)


def _flatten(name, value, arrays):
    """The argument's key: arrays become Specs, numbered into `arrays` by name; what is constant stands as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        arrays[name] = value
        return Spec(value.shape, value.dtype)
    if isinstance(value, Spec):
        arrays[name] = None
        return value
    if isinstance(value, _STATIC):
        return type(value), value
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_flatten(f"{name}.{i}", item, arrays) for i, item in enumerate(value))
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return dict, tuple((key, _flatten(f"{name}.{key}", item, arrays)) for key, item in value.items())
    if isinstance(value, Tensor):
        raise TraceError(f"the argument `{name}` is a tensor of a graph. Within a traced function, call the plain function: f.__wrapped__(x)")
    raise TraceError(f"the argument `{name}` is {type(value).__name__}. Arguments are numpy arrays, which become inputs, and numbers, strings, "
                     "lists and dictionaries, which are constants")


def _rebuild(made, name, key):
    """The argument as the traced function sees it."""
    if isinstance(key, Spec):
        shape = "[" + ", ".join(_text.string(e) if isinstance(e, str) else str(e) for e in key.shape) + "]"
        tensor = made.emit("tensor", [], [("shape", shape), ("dtype", _text.DTYPES[key.dtype][0])], [name])
        made.inputs.append((tensor.name, key.shape, key.dtype))
        return tensor
    kind, value = key
    if kind is dict:
        return {word: _rebuild(made, f"{name}.{word}", item) for word, item in value}
    if kind in (list, tuple):
        return kind(_rebuild(made, f"{name}.{i}", item) for i, item in enumerate(value))
    return value


class Jit:
    """A function below @rlx.jit. Each combination of shapes, types and constants is traced and compiled once."""

    def __init__(self, function, attributes):
        if not callable(function) or not hasattr(function, "__code__"):
            raise TraceError("@rlx.jit stands above a function")
        functools.update_wrapper(self, function)
        self._function, self._attributes = function, attributes
        self._signature = inspect.signature(function)
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in self._signature.parameters.values()):
            raise TraceError(f"`{function.__name__}` takes any number of arguments; inputs of a graph have names. Name them, or take a list")
        self._cache = {}
        self._lock = threading.RLock()  # a traced function may call others of its kind on arrays

    def __repr__(self):
        return f"<rlx jit {self.__name__}>"

    def _bind(self, args, kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arrays = {}
        return tuple((name, _flatten(name, value, arrays)) for name, value in bound.arguments.items()), arrays

    def _made(self, key):
        with self._lock:
            if key not in self._cache:
                def inputs(made):
                    values = {name: _rebuild(made, name, item) for name, item in key}
                    by_name = {n: values.pop(n) for n, p in self._signature.parameters.items() if p.kind == p.KEYWORD_ONLY and n in values}
                    return tuple(values.values()), by_name
                self._cache[key] = trace(self._function, (), {}, self._attributes, SCHEMA, None, inputs)
            return self._cache[key]

    def trace(self, *args, **kwargs) -> Graph:
        """The graph for arguments like these: arrays or rlx.spec(shape, dtype). It has text, dump(), save(path), compile(path)."""
        return self._made(self._bind(args, kwargs)[0])[0]

    def __call__(self, *args, **kwargs):
        key, arrays = self._bind(args, kwargs)
        missing = [name for name, value in arrays.items() if value is None]
        if missing:
            raise TraceError(f"`{missing[0]}` is a spec, and there is nothing to compute; {self.__name__}.trace(...) takes specs")
        graph, structure = self._made(key)
        return structure(graph.run(arrays))


def jit(function=None, **attributes):
    """@rlx.jit, or @rlx.jit(accuracy="careful"): the function below is traced with its arguments' shapes, compiled by `rlx`, and computes on
    numpy arrays. Python runs once per combination of shapes; constants and arrays of the surrounding program are taken as they are then."""
    return Jit(function, attributes) if function is not None else lambda function: Jit(function, attributes)
