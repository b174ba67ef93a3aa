"""Clients: what is common, and the one that waits."""
import concurrent.futures
import ctypes
import functools
import itertools
import json
import threading
import weakref

from . import _library, tensors
from .errors import Cancelled, InvalidArgument, error_of
from .result import Call, InferResult

_WAIT_MS = 200  # how long Ctrl-C may have to wait


def _ms(seconds, what):
    if seconds is None:
        return 0
    if not 0 < seconds <= 4294967:
        raise InvalidArgument(f"{what} is {seconds} s; it must be above 0, or None", 1702)
    return max(1, int(seconds * 1000))


def _bytes(text):
    return None if text is None else str(text).encode()


def _hint(schedule_hint):
    """(preferred devices, output location) of a hint; unknown keys are a mistake."""
    hint = dict(schedule_hint or {})
    devices = hint.pop("preferred_devices", None)
    location = hint.pop("output_location", None)
    if hint:
        raise InvalidArgument(f"schedule_hint has no key {', '.join(map(repr, hint))}; known: preferred_devices, output_location", 1609)
    if devices is not None and not isinstance(devices, str):
        devices = ",".join(devices)
    return _bytes(devices), _bytes(location)


class _Pending:
    __slots__ = ("finish", "call", "given")


def _done(reference, context, _call):
    """A call with a callback is done; on a thread of the library."""
    handle = reference()
    if handle is None:
        return
    with handle.lock:
        pending = handle.pending.pop(context, None)
    if pending is not None:
        pending.finish(pending)


class _Handle:
    """The client of librlx. Calls and memory refer to it, so it goes last."""

    handle = None

    def __init__(self, endpoints, options):
        urls = (ctypes.c_char_p * len(endpoints))(*[endpoint.encode() for endpoint in endpoints])
        handle, error = ctypes.c_void_p(), _library.Error()
        if _library.create(urls, len(endpoints), ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error)) != 0:
            raise error_of(error)
        self.handle = handle.value
        self.lock = threading.Lock()
        self.pending = {}
        self.streams = set()
        self.numbers = itertools.count(1)
        self.done = _library.DONE(functools.partial(_done, weakref.ref(self)))  # kept as long as the library may call it

    def close(self):
        handle, self.handle = self.handle, None
        if handle:
            for stream in list(self.streams):
                stream.close()
            _library.destroy(handle)

    def __del__(self):
        self.close()


class BaseStream:
    """Many requests on one stream of one endpoint (ModelStreamInfer). Made by `client.stream()`; close it, or use `with`."""

    def __init__(self, client):
        self._client = client
        self._handle = client._open()
        stream, error = ctypes.c_void_p(), _library.Error()
        if _library.stream_open(self._handle.handle, ctypes.byref(stream), ctypes.byref(error)) != 0:
            raise error_of(error)
        self._stream = stream.value
        self._handle.streams.add(self)

    def _open(self):
        if not self._stream:
            raise Cancelled("the stream is closed", 1408)
        return self._stream

    def close(self):
        """Nothing more is submitted; what is open is answered."""
        stream, self._stream = self._stream, None
        if stream:
            self._handle.streams.discard(self)
            _library.stream_close(stream)


class BaseClient:
    """Connections to endpoints and what can be asked of them. Use RLXClient, or AsyncRLXClient."""

    def __init__(self, endpoints, timeout=30.0, *, connect_timeout=5.0, transfer_timeout=None, compute_timeout=None, max_in_flight=1024,
                 max_answer_bytes=0, ca=None, certificate=None, key=None, server_name=None, insecure=False, memory_socket=None):
        if isinstance(endpoints, str):
            endpoints = [endpoints]
        options = _library.Options(ctypes.sizeof(_library.Options), max_in_flight)
        options.timeouts = self._timeouts(timeout, connect_timeout, transfer_timeout, compute_timeout)
        options.answer_bytes_max = max_answer_bytes
        options.ca, options.certificate, options.key = _bytes(ca), _bytes(certificate), _bytes(key)
        options.server_name, options.insecure, options.memory_socket = _bytes(server_name), bool(insecure), _bytes(memory_socket)
        self.endpoints = list(endpoints)
        self._handle = _Handle(self.endpoints, options)
        self._types = {}  # (model, version) -> {input: dtype}, for Python numbers

    @staticmethod
    def _timeouts(total, connect, transfer, compute):
        return _library.Timeouts(_ms(total, "timeout"), _ms(connect, "connect_timeout"), _ms(transfer, "transfer_timeout"),
                                 _ms(compute, "compute_timeout"))

    def _open(self):
        if self._handle is None or not self._handle.handle:
            raise Cancelled("the client is closed", 1408)
        return self._handle

    # ---- inference ----

    def _arrays(self, model_name, model_version, inputs):
        """Name -> array for every input. Python numbers take the type that the model wants."""
        types = self._types.get((model_name, model_version), {})
        arrays = {}
        for name, value in inputs.items():
            dtype = None if tensors.is_typed(value) else types.get(name) or tensors.default_dtype(value)
            arrays[name] = tensors.array_of(name, value, dtype)
        return arrays

    def _needs_types(self, model_name, model_version, inputs):
        return (model_name, model_version) not in self._types and not all(tensors.is_typed(value) for value in inputs.values())

    def _learn_types(self, model_name, model_version, metadata):
        self._types[model_name, model_version] = {entry["name"]: tensors.DTYPE_BY_NAME.get(entry.get("datatype"))
                                                  for entry in metadata.get("inputs", [])}

    def _submit(self, arrays, model_name, model_version, schedule_hint, outputs, timeouts, request_id, priority, finish,
                stream=None):
        """Sends. `finish` None: the caller waits. Returns (call, given output arrays)."""
        handle = self._open()
        send = functools.partial(_library.submit, handle.handle) if stream is None else functools.partial(_library.stream_submit, stream._open())
        given = dict(outputs) if hasattr(outputs, "items") else dict.fromkeys(outputs or ())
        slots, places = (_library.Input * len(arrays))(), (_library.Output * len(given))()
        for slot, (name, array) in zip(slots, arrays.items()):
            tensors.input_fill(slot, name, array, handle)
        for slot, (name, array) in zip(places, given.items()):
            tensors.output_fill(slot, name, array, handle)
        devices, location = _hint(schedule_hint)
        request = _library.Request(ctypes.sizeof(_library.Request), priority, model_name.encode(), _bytes(model_version), _bytes(request_id),
                                   slots, len(arrays), len(given), places, devices, location, timeouts)
        call, out, error = Call(None, handle, (arrays, given)), ctypes.c_void_p(), _library.Error()
        context = None
        if finish is not None:
            pending = _Pending()
            pending.finish, pending.call, pending.given = finish, call, given
            context = next(handle.numbers)
            with handle.lock:
                handle.pending[context] = pending
                # The library may call back before `call.handle` is set: the lock makes it wait.
                status = send(ctypes.byref(request), handle.done, context, ctypes.byref(out), ctypes.byref(error))
                call.handle = out.value if status == 0 else None
                if status != 0:
                    del handle.pending[context]
        else:
            status = send(ctypes.byref(request), None, None, ctypes.byref(out), ctypes.byref(error))
            call.handle = out.value if status == 0 else None
        if status != 0:
            raise error_of(error)
        return call, given

    @staticmethod
    def _outcome(call, given):
        """The result of a call that is done, or its exception."""
        error = _library.Error()
        if _library.call_wait(call.handle, 0, ctypes.byref(error)) != 0:
            raise error_of(error)
        return InferResult(call, given)

    # ---- the protocol's small calls ----

    def _ask(self, question, model=None, version=None, timeout=None, endpoint=-1):
        handle = self._open()
        text, error = ctypes.c_void_p(), _library.Error()
        status = _library.ask(handle.handle, endpoint, question, _bytes(model), _bytes(version), _ms(timeout, "timeout"), ctypes.byref(text),
                              ctypes.byref(error))
        if status != 0:
            raise error_of(error)
        return self._json(text)

    @staticmethod
    def _json(text):
        try:
            return json.loads(ctypes.string_at(text.value).decode("utf-8", "replace"))
        finally:
            _library.text_free(text)

    def state(self):
        """This client's own view of its endpoints, without a call."""
        text, error = ctypes.c_void_p(), _library.Error()
        if _library.state(self._open().handle, ctypes.byref(text), ctypes.byref(error)) != 0:
            raise error_of(error)
        return self._json(text)

    def empty(self, shape, dtype="float32"):
        """An array in memory shared with the rlxd on this machine: as an input, or in `outputs`, it is never copied. Zeroed."""
        return tensors.shared_array(self._open(), shape, dtype)

    def _close(self):
        if self._handle is not None:
            self._handle.close()


class RLXStream(BaseStream):
    """`submit` and `infer` as the client's, on the stream.

        with client.stream() as stream:
            futures = [stream.submit("resnet18", {"input": array}) for array in arrays]
            results = [future.result() for future in futures]
    """

    def submit(self, model_name, inputs, *arguments, **options):
        return self._client.submit(model_name, inputs, *arguments, **options, _stream=self)

    def infer(self, model_name, inputs, *arguments, **options):
        return self.submit(model_name, inputs, *arguments, **options).result()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class RLXClient(BaseClient):
    """Sends requests and waits. May be used from many threads; while one waits, the GIL is free.

        client = RLXClient(endpoints=["http://gpu-node-01:8080", "http://gpu-node-02:8080"], timeout=30.0)
        result = client.infer("resnet18", {"input": array})
        result["output"], result.device
    """

    def infer(self, model_name, inputs, schedule_hint=None, outputs=None, timeout=None, *, connect_timeout=None, transfer_timeout=None,
              compute_timeout=None, model_version=None, request_id=None, priority=0):
        """inputs: arrays, numpy scalars and Python numbers by name. outputs: names, or arrays by name that are written in place; None: all.
        schedule_hint: {"preferred_devices": [...], "output_location": "cpu:0"}, a wish. Times in seconds; None: the client's."""
        timeouts = self._timeouts(timeout, connect_timeout, transfer_timeout, compute_timeout)
        if self._needs_types(model_name, model_version, inputs):
            self._learn_types(model_name, model_version, self.metadata(model_name, model_version, timeout=timeout))
        arrays = self._arrays(model_name, model_version, inputs)
        call, given = self._submit(arrays, model_name, model_version, schedule_hint, outputs, timeouts, request_id, priority, None)
        while _library.call_wait(call.handle, _WAIT_MS, None) == -1:
            pass
        return self._outcome(call, given)

    def submit(self, model_name, inputs, schedule_hint=None, outputs=None, timeout=None, *, connect_timeout=None, transfer_timeout=None,
               compute_timeout=None, model_version=None, request_id=None, priority=0, _stream=None):
        """As infer, but returns a concurrent.futures.Future at once."""
        timeouts = self._timeouts(timeout, connect_timeout, transfer_timeout, compute_timeout)
        if self._needs_types(model_name, model_version, inputs):
            self._learn_types(model_name, model_version, self.metadata(model_name, model_version, timeout=timeout))
        future = concurrent.futures.Future()

        def finish(pending):
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(self._outcome(pending.call, pending.given))
            except BaseException as error:  # belongs to who asks for the result
                future.set_exception(error)

        self._submit(self._arrays(model_name, model_version, inputs), model_name, model_version, schedule_hint, outputs, timeouts, request_id,
                     priority, finish, _stream)
        return future

    def stream(self):
        """Many requests on one stream: an RLXStream."""
        self._open()
        return RLXStream(self)

    def is_live(self, timeout=None):
        return bool(self._ask(_library.SERVER_LIVE, timeout=timeout).get("live", False))

    def is_ready(self, model_name=None, model_version=None, timeout=None):
        """Of the server, or of a model."""
        if model_name is None:
            return bool(self._ask(_library.SERVER_READY, timeout=timeout).get("ready", False))
        return bool(self._ask(_library.MODEL_READY, model_name, model_version, timeout).get("ready", False))

    def metadata(self, model_name=None, model_version=None, timeout=None):
        """Of the server, or of a model: names, types and shapes of its inputs and outputs."""
        if model_name is None:
            return self._ask(_library.SERVER_METADATA, timeout=timeout)
        return self._ask(_library.MODEL_METADATA, model_name, model_version, timeout)

    def statistics(self, model_name=None, model_version=None, timeout=None):
        return self._ask(_library.STATISTICS, model_name, model_version, timeout).get("model_stats", [])

    def models(self, timeout=None):
        """What the repository has, with state and reason."""
        return self._ask(_library.INDEX, timeout=timeout).get("models", [])

    def load(self, model_name, timeout=None):
        """On every endpoint."""
        for endpoint in range(len(self.endpoints)):
            self._ask(_library.LOAD, model_name, timeout=timeout, endpoint=endpoint)
        self._types = {key: types for key, types in self._types.items() if key[0] != model_name}

    def unload(self, model_name, timeout=None):
        """On every endpoint."""
        for endpoint in range(len(self.endpoints)):
            self._ask(_library.UNLOAD, model_name, timeout=timeout, endpoint=endpoint)
        self._types = {key: types for key, types in self._types.items() if key[0] != model_name}

    def close(self):
        """Open calls end with Cancelled. Results stay valid."""
        self._close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
