"""Values as RLX-IR text (docs/IR.md): words, numbers, lists, dictionaries and tensors; large tensors go to a .safetensors file."""
import json
import math
import re
import struct

import numpy as np

from ._errors import TraceError, suggestion

INLINE_BYTES = 1024
FILL_BYTES = 1 << 20
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
NAME = re.compile(r"[A-Za-z0-9_./~$@-]+\Z")

# numpy's name: (RLX's, that of safetensors)
DTYPES = {
    "float32": ("f32", "F32"), "float64": ("f64", "F64"), "float16": ("f16", "F16"), "bfloat16": ("bf16", "BF16"),
    "int8": ("i8", "I8"), "int16": ("i16", "I16"), "int32": ("i32", "I32"), "int64": ("i64", "I64"),
    "uint8": ("u8", "U8"), "uint16": ("u16", "U16"), "uint32": ("u32", "U32"), "uint64": ("u64", "U64"), "bool": ("bool", "BOOL"),
}
_ALIASES = {short: name for name, (short, _) in DTYPES.items()} | {"bool_": "bool", "float": "float64", "double": "float64", "int": "int64",
                                                                    "single": "float32", "half": "float16"}


class BFloat16:
    """The element type bfloat16, which numpy does not have."""

    def __repr__(self):
        return "rlx.bfloat16"


bfloat16 = BFloat16()


class Array:
    """Constant data with its type by name; numpy's arrays but for bfloat16, whose `data` are the bits as uint16."""

    def __init__(self, dtype, data):
        self.dtype = dtype
        self.data = data

    @property
    def key(self):
        """Equal arrays have equal keys."""
        return self.dtype, self.data.shape, self.data.tobytes()


def dtype_name(dtype):
    """numpy's name of an element type given as a type, a dtype or a word."""
    if isinstance(dtype, BFloat16):
        return "bfloat16"
    name = _ALIASES.get(dtype, dtype) if isinstance(dtype, str) else None
    if name is None:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            raise TraceError(f"{dtype!r} is no element type; write \"float32\" or np.float32") from None
    if name not in DTYPES:
        raise TraceError(f"there is no element type '{name}' in RLX.{suggestion(name, DTYPES)} It has {', '.join(DTYPES)}")
    return name


def is_dtype(value):
    return isinstance(value, (BFloat16, np.dtype)) or (isinstance(value, type) and (issubclass(value, np.generic) or value in (bool, int, float)))


def array_of(value, dtype=None):
    """An Array of an array, a list or a number."""
    if isinstance(value, Array):
        if dtype is None or dtype == value.dtype:
            return value
        value = (value.data.astype(np.uint32) << 16).view(np.float32) if value.dtype == "bfloat16" else value.data
    try:
        data = np.asarray(value)
    except ValueError as error:
        raise TraceError(f"this list is no array: {error}. Every row of an array has the same length") from None
    if data.dtype == object:
        raise TraceError("an array of objects cannot be a constant. Elements are numbers; tensors of the graph are joined by rlx.concat")
    if data.dtype.byteorder not in "=|<":
        data = data.astype(data.dtype.newbyteorder("="))
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(data.astype(np.float32)).view(np.uint32).reshape(data.shape)
        rounded = np.where(np.isnan(data), np.uint32(0x7fc0), (bits + np.uint32(0x7fff) + ((bits >> 16) & 1)) >> 16)
        return Array("bfloat16", rounded.astype(np.uint16))
    name = dtype_name(data.dtype)
    if dtype is not None and dtype != name:
        data, name = data.astype(dtype), dtype
    return Array(name, np.array(data, order="C"))  # a copy: the program may change its own


def string(text):
    def escape(match):
        c = match.group(0)
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}.get(c) or f"\\x{ord(c):02x}"
    return '"' + re.sub(r'[\x00-\x1f\x7f"\\]', escape, text) + '"'


def reference(name):
    return "%" + (name if NAME.match(name) else string(name))


def number(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise TraceError(f"{value} does not fit into 64 bits")
        return str(value)
    return repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def fields(items, value):
    return ", ".join(f"{key if WORD.match(key) else string(key)} = {value(item)}" for key, item in items)


class Store:
    """Tensors that stand beside the text; `file` is the name that the text has for them."""

    def __init__(self, file):
        self.file = file
        self.arrays = {}

    def tensor(self, array, name):
        """The tensor's text; it is stored when it is large or has elements that decimals cannot say."""
        data, short = array.data, DTYPES[array.dtype][0]
        head = f"{short}[{','.join(map(str, data.shape))}]"
        plain = array.dtype != "bfloat16" and (data.dtype.kind != "f" or bool(np.isfinite(data).all()))
        if plain and data.size >= 4 and data.nbytes <= FILL_BYTES and data.tobytes() == data.reshape(-1)[:1].tobytes() * data.size:
            return f"{head}{{fill={number(data.reshape(-1)[0].item())}}}"
        if plain and data.nbytes <= INLINE_BYTES:
            return f"{head}{{{', '.join(number(item) for item in data.reshape(-1).tolist())}}}"
        key = f"{name}.{len(self.arrays)}"
        self.arrays[key] = array
        return f"{head}{{file={string(self.file)}, key={string(key)}}}"

    def write(self, path):
        header, at = {}, 0
        for key, array in self.arrays.items():
            header[key] = {"dtype": DTYPES[array.dtype][1], "shape": list(array.data.shape), "data_offsets": [at, at + array.data.nbytes]}
            at += array.data.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for array in self.arrays.values():
                file.write(array.data.tobytes())


def safetensors_read(path, key):
    """One tensor of a .safetensors file, as an Array."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        header.pop("__metadata__", None)
        if key is None and len(header) == 1:
            key = next(iter(header))
        if key not in header:
            raise TraceError(f"'{path}' has no array '{key}'.{suggestion(key or '', header)} It has {', '.join(sorted(header)[:8])}")
        entry = header[key]
        name = next((n for n, (_, code) in DTYPES.items() if code == entry["dtype"]), None)
        if name is None:
            raise TraceError(f"'{key}' of '{path}' has elements of type {entry['dtype']}, which RLX has not; convert it before")
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        data = np.frombuffer(file.read(end - begin), "uint16" if name == "bfloat16" else name).reshape(entry["shape"])
    return Array(name, data) if name == "bfloat16" else data.copy()


def file_word(name):
    """A name as that of a file."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "module"
