"""The answer of an inference."""
import collections.abc
import ctypes

from . import _library
from .tensors import output_view


class Call:
    """A call of librlx; freed when nothing refers to it any more."""

    __slots__ = ("handle", "client", "keep")

    def __init__(self, handle, client, keep):
        self.handle = handle
        self.client = client  # whose library state must outlive the call
        self.keep = keep      # arrays that the call reads or writes

    def __del__(self):
        if self.handle:
            _library.call_free(self.handle)
            self.handle = None


def _text(function, call):
    return function(call.handle).decode("utf-8", "replace")


class InferResult(collections.abc.Mapping):
    """Output arrays by name, in the model's order. They lie in the memory that received them: nothing was copied.

    device: where it ran ("cpu:0"), "" if the server did not tell. queue_ns, kernel_ns: the server's times, 0 if not told."""

    def __init__(self, call, given):
        self._call = call
        self._arrays = {}
        tensor = _library.Tensor()
        for index in range(_library.call_output_count(call.handle)):
            name = _library.call_output(call.handle, index, ctypes.byref(tensor)).decode("utf-8", "replace")
            array = given.get(name)
            shape = tuple(tensor.dims[:tensor.rank])
            self._arrays[name] = array if array is not None and array.shape == shape else output_view(call, tensor)

    device = property(lambda self: _text(_library.call_device, self._call))
    model_version = property(lambda self: _text(_library.call_model_version, self._call))
    id = property(lambda self: _text(_library.call_id, self._call))
    endpoint = property(lambda self: _text(_library.call_endpoint, self._call))
    queue_ns = property(lambda self: _library.call_queue_ns(self._call.handle))
    kernel_ns = property(lambda self: _library.call_kernel_ns(self._call.handle))

    def __getitem__(self, name):
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"the answer has no output '{name}', it has {', '.join(self._arrays)}") from None

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __repr__(self):
        arrays = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in self._arrays.items())
        return f"InferResult({arrays}; device={self.device!r}, model_version={self.model_version!r})"
