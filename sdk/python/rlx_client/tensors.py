"""Between numpy and librlx: element types, scalars, shared memory, and views of what a call owns."""
import ctypes
import weakref

import numpy as np

from . import _library
from .errors import InvalidArgument, error_of

try:  # numpy has no bfloat16 of its own
    import ml_dtypes
    _BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    _BFLOAT16 = None

_BF16 = 4
_TYPE_OF = {np.dtype(name): number for name, number in (
    ("float32", 1), ("float64", 2), ("float16", 3), ("int8", 5), ("int16", 6), ("int32", 7), ("int64", 8), ("uint8", 9), ("uint16", 10),
    ("uint32", 11), ("uint64", 12), ("bool", 13))}
_DTYPE_OF = {number: dtype for dtype, number in _TYPE_OF.items()}
if _BFLOAT16 is not None:
    _TYPE_OF[_BFLOAT16] = _BF16
_DTYPE_OF[_BF16] = _BFLOAT16 if _BFLOAT16 is not None else np.dtype("uint16")  # without ml_dtypes: the bits

DTYPE_BY_NAME = {"FP32": np.float32, "FP64": np.float64, "FP16": np.float16, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32,
                 "INT64": np.int64, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "BOOL": np.bool_}
if _BFLOAT16 is not None:
    DTYPE_BY_NAME["BF16"] = _BFLOAT16


def is_typed(value):
    """A numpy array or scalar says its type; a Python number or list takes the model's."""
    return isinstance(value, (np.ndarray, np.generic))


def array_of(name, value, dtype=None):
    """A C-contiguous little-endian array of a type that the protocol has."""
    try:
        array = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"input '{name}' is no tensor: {error}", 1403) from error
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if array.dtype not in _TYPE_OF:
        raise InvalidArgument(f"input '{name}' has type {array.dtype}, which has no counterpart; convert it, for example with "
                              "array.astype(numpy.float32)", 1403)
    if array.ndim > _library.RANK_MAX:
        raise InvalidArgument(f"input '{name}' has {array.ndim} dimensions, a tensor has at most {_library.RANK_MAX}", 1402)
    return array


def default_dtype(value):
    """For Python values where the model's type is not known."""
    array = np.asarray(value)
    return np.float32 if array.dtype == np.float64 else array.dtype


class Memory:
    """Shared memory of a client; freed when nothing refers to it any more."""

    def __init__(self, owner, size):
        handle, error = ctypes.c_void_p(), _library.Error()
        if _library.memory_create(owner.handle, size, ctypes.byref(handle), ctypes.byref(error)) != 0:
            raise error_of(error)
        self.owner = owner
        self.handle = handle.value
        self.address = _library.memory_address(handle)
        self.size = size
        self._finalizer = weakref.finalize(self, _library.memory_free, handle)

    @property
    def __array_interface__(self):
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, False)}


class SharedArray(np.ndarray):
    """An array in memory that an rlxd on this machine uses in place. Slices that are contiguous stay shared; results of arithmetic do not."""

    memory = None

    def __array_finalize__(self, source):
        memory = getattr(source, "memory", None)
        if memory is not None and self.size and memory.address <= self.__array_interface__["data"][0] < memory.address + memory.size:
            self.memory = memory


def shared_array(owner, shape, dtype):
    dtype = np.dtype(dtype)
    memory = Memory(owner, max(1, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize))
    flat = np.asarray(memory)
    array = np.frombuffer(flat.data, dtype=dtype, count=int(np.prod(shape, dtype=np.int64))).reshape(shape).view(SharedArray)
    array.memory = memory
    return array


def place_of(array, owner):
    """(memory handle, offset) of a shared array, or (None, 0)."""
    memory = getattr(array, "memory", None)
    if memory is None or memory.owner is not owner or not array.flags.c_contiguous:
        return None, 0
    return memory.handle, array.__array_interface__["data"][0] - memory.address


def input_fill(slot, name, array, owner):
    """Writes an array into a structure of librlx; the array must outlive the call."""
    slot.name = name.encode()
    tensor = slot.tensor
    tensor.type = _TYPE_OF[array.dtype]
    tensor.rank = array.ndim
    for axis, extent in enumerate(array.shape):
        tensor.dims[axis] = extent
    tensor.data = array.ctypes.data
    slot.memory, slot.offset = place_of(array, owner)


def output_fill(slot, name, array, owner):
    slot.name = name.encode()
    if array is None:
        return
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or not array.flags.writeable:
        raise InvalidArgument(f"output '{name}' needs a writable, C-contiguous array to be written into", 1617)
    slot.bytes = array.nbytes
    slot.memory, slot.offset = place_of(array, owner)
    if slot.memory is None:
        slot.data = array.ctypes.data


class _Bytes:
    """Memory of a call, as numpy sees it; keeps the call."""

    __slots__ = ("call", "__array_interface__")

    def __init__(self, call, dtype, shape, address):
        self.call = call
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False)}


def output_view(call, tensor):
    """An array on the call's memory, without a copy."""
    dtype = _DTYPE_OF.get(tensor.type)
    if dtype is None:
        return None
    shape = tuple(tensor.dims[:tensor.rank])
    if 0 in shape or not tensor.data:
        return np.empty(shape, dtype)
    if dtype == _BFLOAT16:
        return np.asarray(_Bytes(call, np.dtype("uint16"), shape, tensor.data)).view(dtype)
    return np.asarray(_Bytes(call, dtype, shape, tensor.data))
