"""RLX-IR written in Python: @rlx.module describes a model, @rlx.jit compiles a function of numpy arrays. rlx.NAME(...) is an operator of
docs/LANGUAGE.md. Needs numpy and the program `rlx`."""
import functools as _functools

import numpy as _np

from . import _text
from . import _trace as _tracing
from ._errors import CompileError, Error, TraceError, suggestion as _suggestion
from ._jit import Jit, Spec, jit, spec
from ._module import Graph, Module, distributed_pipeline, module, parallelize, read
from ._tensor import Tensor
from ._text import bfloat16

float16, float32, float64 = _np.float16, _np.float32, _np.float64
int8, int16, int32, int64 = _np.int8, _np.int16, _np.int32, _np.int64
uint8, uint16, uint32, uint64 = _np.uint8, _np.uint16, _np.uint32, _np.uint64
bool_ = _np.bool_

__all__ = ["CompileError", "Error", "Graph", "Jit", "Module", "Spec", "Tensor", "TraceError", "bfloat16", "bool_", "distributed_pipeline", "float16",
           "float32", "float64", "int16", "int32", "int64", "int8", "jit", "load", "module", "parallelize", "read", "spec", "uint16", "uint32",
           "uint64", "uint8"]


def load(file, key=None):
    """An array of a file: .safetensors or .npz (with a key), or .npy; relative to the traced program's folder."""
    path = _tracing.path_of(file)
    if path.endswith(".safetensors"):
        return _text.safetensors_read(path, key)
    found = _np.load(path, allow_pickle=False)
    if isinstance(found, _np.ndarray):
        return found
    with found:
        if key is None and len(found.files) == 1:
            key = found.files[0]
        if key not in found.files:
            raise TraceError(f"'{file}' has no array '{key}'.{_suggestion(str(key), found.files)} It has {', '.join(found.files[:8])}")
        return found[key]


@_functools.lru_cache(maxsize=None)  # kept here, not among the names of this file: some are those of built-in functions
def _operator(word):
    def operator(*args, **kwargs):
        return _tracing.current(f"rlx.{word}").call(word, args, kwargs)

    known = _tracing.arguments_of(word)
    entry = _tracing.OPERATORS.get(_tracing.WORDS.get(word, word))
    operator.__name__ = operator.__qualname__ = word
    operator.__doc__ = (f"{entry[4]}\n" if entry and entry[4] else "") + (f"Takes {', '.join(dict.fromkeys(known))}." if known else "")
    return operator


_WORDS = frozenset(_tracing.words())


def __getattr__(name):
    if name not in _WORDS:
        raise AttributeError(f"rlx has no operator '{name}'.{_suggestion(name, [*_WORDS, *__all__])} docs/LANGUAGE.md lists them")
    return _operator(name)


def __dir__():
    return sorted({*__all__, *_WORDS})
