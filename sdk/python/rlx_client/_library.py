"""librlx through ctypes: the functions and structures of sdk/c/rlx.h, one to one. Foreign calls release the GIL."""
import ctypes
import os
import pathlib

RANK_MAX = 8


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int32), ("code", ctypes.c_int32), ("text", ctypes.c_char * 1408)]


class Timeouts(ctypes.Structure):
    _fields_ = [("total_ms", ctypes.c_uint32), ("connect_ms", ctypes.c_uint32), ("transfer_ms", ctypes.c_uint32), ("compute_ms", ctypes.c_uint32)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("in_flight_max", ctypes.c_uint32), ("timeouts", Timeouts), ("answer_bytes_max", ctypes.c_uint64),
                ("ca", ctypes.c_char_p), ("certificate", ctypes.c_char_p), ("key", ctypes.c_char_p), ("server_name", ctypes.c_char_p),
                ("insecure", ctypes.c_int32), ("memory_socket", ctypes.c_char_p)]


class Tensor(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * RANK_MAX), ("data", ctypes.c_void_p)]


class Input(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", Tensor), ("memory", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Output(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("memory", ctypes.c_void_p),
                ("offset", ctypes.c_uint64)]


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("priority", ctypes.c_uint32), ("model", ctypes.c_char_p), ("version", ctypes.c_char_p),
                ("id", ctypes.c_char_p), ("inputs", ctypes.POINTER(Input)), ("n_inputs", ctypes.c_int32), ("n_outputs", ctypes.c_int32),
                ("outputs", ctypes.POINTER(Output)), ("preferred_devices", ctypes.c_char_p), ("output_location", ctypes.c_char_p),
                ("timeouts", Timeouts)]


DONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

SERVER_LIVE, SERVER_READY, MODEL_READY, SERVER_METADATA, MODEL_METADATA, STATISTICS, INDEX, LOAD, UNLOAD = range(9)


def _load():
    """RLX_LIBRARY, else beside this file (as in the wheel), else where the system finds it."""
    named = os.environ.get("RLX_LIBRARY")
    if named:
        return ctypes.CDLL(named)
    beside = pathlib.Path(__file__).with_name("librlx.so.0")
    if beside.exists():
        return ctypes.CDLL(str(beside))
    try:
        return ctypes.CDLL("librlx.so.0")
    except OSError as error:
        raise ImportError("librlx.so.0 is not found: install the wheel, or name the file in RLX_LIBRARY") from error


library = _load()

_VOID, _INT, _TEXT, _POINTER = None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
_ERROR = ctypes.POINTER(Error)
_OUT = ctypes.POINTER(ctypes.c_void_p)


def _declare(name, result, *arguments):
    function = getattr(library, "rlx_client_" + name)
    function.restype = result
    function.argtypes = arguments
    return function


create = _declare("create", _INT, ctypes.POINTER(_TEXT), _INT, ctypes.POINTER(Options), _OUT, _ERROR)
destroy = _declare("destroy", _VOID, _POINTER)
submit = _declare("submit", _INT, _POINTER, ctypes.POINTER(Request), _POINTER, _POINTER, _OUT, _ERROR)
stream_open = _declare("stream_open", _INT, _POINTER, _OUT, _ERROR)
stream_submit = _declare("stream_submit", _INT, _POINTER, ctypes.POINTER(Request), _POINTER, _POINTER, _OUT, _ERROR)
stream_close = _declare("stream_close", _VOID, _POINTER)
call_wait = _declare("call_wait", _INT, _POINTER, _INT, _ERROR)
call_cancel = _declare("call_cancel", _VOID, _POINTER)
call_free = _declare("call_free", _VOID, _POINTER)
call_output_count = _declare("call_output_count", _INT, _POINTER)
call_output = _declare("call_output", _TEXT, _POINTER, _INT, ctypes.POINTER(Tensor))
call_device = _declare("call_device", _TEXT, _POINTER)
call_model_version = _declare("call_model_version", _TEXT, _POINTER)
call_id = _declare("call_id", _TEXT, _POINTER)
call_endpoint = _declare("call_endpoint", _TEXT, _POINTER)
call_queue_ns = _declare("call_queue_ns", ctypes.c_uint64, _POINTER)
call_kernel_ns = _declare("call_kernel_ns", ctypes.c_uint64, _POINTER)
ask = _declare("ask", _INT, _POINTER, _INT, _INT, _TEXT, _TEXT, ctypes.c_uint32, _OUT, _ERROR)
state = _declare("state", _INT, _POINTER, _OUT, _ERROR)
text_free = _declare("text_free", _VOID, _POINTER)
memory_create = _declare("memory_create", _INT, _POINTER, ctypes.c_uint64, _OUT, _ERROR)
memory_address = _declare("memory_address", _POINTER, _POINTER)
memory_free = _declare("memory_free", _VOID, _POINTER)
version = _declare("version", _TEXT)
