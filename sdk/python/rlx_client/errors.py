"""What can go wrong, by gRPC status. `code` is the number of an RLX error (1402 for RLX-1402), or 0 when the server told none."""


class RLXError(Exception):
    """Base of all errors of this package."""

    status = 2
    status_name = "UNKNOWN"

    def __init__(self, text, code=0, status=None):
        self.code = code
        self.text = text
        if status is not None:
            self.status = status
        super().__init__(f"RLX-{code}: {text}" if code else f"{self.status_name}: {text}")


class Cancelled(RLXError):
    status, status_name = 1, "CANCELLED"


class InvalidArgument(RLXError, ValueError):
    """The request is wrong: a name, a type, a shape or a value."""
    status, status_name = 3, "INVALID_ARGUMENT"


class DeadlineExceeded(RLXError, TimeoutError):
    """Connecting, transfer or computing took longer than allowed; the text says which."""
    status, status_name = 4, "DEADLINE_EXCEEDED"


class NotFound(RLXError, LookupError):
    """The server has no such model, version or region."""
    status, status_name = 5, "NOT_FOUND"


class AlreadyExists(RLXError):
    status, status_name = 6, "ALREADY_EXISTS"


class ResourceExhausted(RLXError):
    """A limit was reached, or the deadline cannot be met: the server refused the request before working on it."""
    status, status_name = 8, "RESOURCE_EXHAUSTED"


class FailedPrecondition(RLXError):
    status, status_name = 9, "FAILED_PRECONDITION"


class OutOfRange(RLXError):
    status, status_name = 11, "OUT_OF_RANGE"


class Unimplemented(RLXError):
    status, status_name = 12, "UNIMPLEMENTED"


class Internal(RLXError):
    status, status_name = 13, "INTERNAL"


class Unavailable(RLXError, ConnectionError):
    """No endpoint can be reached, or the servers are stopping."""
    status, status_name = 14, "UNAVAILABLE"


class DataLoss(RLXError):
    status, status_name = 15, "DATA_LOSS"


_BY_STATUS = {cls.status: cls for cls in (Cancelled, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, ResourceExhausted,
                                          FailedPrecondition, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss)}


def error_of(error):
    """The exception for a filled error structure of librlx."""
    cls = _BY_STATUS.get(error.status, RLXError)
    return cls(error.text.decode("utf-8", "replace"), error.code, error.status)
