"""Tests as functions: @test registers, run() runs them and counts. A test takes the shared server, or none."""
import os
import pathlib
import sys
import time
import traceback

MODELS = pathlib.Path(os.environ["RLX_TEST_MODELS"])
TESTS = []


def test(function):
    TESTS.append(function)
    return function


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


def until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def run(server):
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    passed = failed = 0
    for function in TESTS:
        if wanted and not any(word in f"{function.__module__}.{function.__name__}" for word in wanted):
            continue
        name = f"{function.__module__.removesuffix('_test')}: {function.__name__.replace('_', ' ')}"
        began = time.monotonic()
        try:
            function(*([server] if function.__code__.co_argcount else []))
            passed += 1
            print(f"ok   {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:  # a test may fail in any way; the others still run
            failed += 1
            print(f"FAIL {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
    return passed, failed
