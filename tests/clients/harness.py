"""What the clients' tests share. A test takes the shared server, or none."""
import os
import pathlib

from cases import test  # noqa: F401: for the tests
from program import until  # noqa: F401

MODELS = pathlib.Path(os.environ["RLX_TEST_MODELS"])


def bundles(*names):
    return {name: MODELS / f"{name}.rlxb" for name in names}


def expect_error(call, status, *words):
    """Calls; expects a gRPC error of tritonclient or grpcio with `status` ("INVALID_ARGUMENT") and all words in its message."""
    try:
        call()
    except Exception as error:  # the clients have no common class
        code = error.code() if callable(getattr(error, "code", None)) else error.status()
        text = error.details() if callable(getattr(error, "details", None)) else error.message()
        code = code.name if hasattr(code, "name") else str(code)
        assert code.removeprefix("StatusCode.") == status, f"status {code}, expected {status}: {text}"
        for word in words:
            assert word in text, f"'{word}' is not in: {text}"
        return text
    raise AssertionError(f"no error, expected {status}")
