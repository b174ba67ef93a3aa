"""Tests as functions: @test registers one, run() runs them in order and counts. Words of the command line choose those that contain one."""
import sys
import time
import traceback

TESTS = []


class Skip(Exception):
    """Raised by a test that cannot be run here; says why."""


def test(function):
    TESTS.append(function)
    return function


def _wanted(name):
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return not words or any(word in name or word in name.replace(" ", "_") for word in words)


def run(given=None, over=lambda: None):
    """Runs the tests; those that take an argument get `given`. What `over` says after a failure (why no other test can succeed) ends the run.
    Returns how many passed, failed and were skipped."""
    passed = failed = skipped = 0
    for function in TESTS:
        module = "" if function.__module__ == "__main__" else f"{function.__module__.removesuffix('_test')}: "
        name = f"{module}{function.__name__.replace('_', ' ')}"
        if not _wanted(name):
            continue
        began = time.monotonic()
        try:
            function(*([given] if function.__code__.co_argcount else []))
            passed += 1
            print(f"ok   {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Skip as reason:
            skipped += 1
            print(f"skip {name}: {reason}", flush=True)
        except Exception:  # a test may fail in any way; the others still run
            failed += 1
            print(f"FAIL {name} ({time.monotonic() - began:.1f} s)", flush=True)
            traceback.print_exc(file=sys.stdout)
            if (reason := over()) is not None:
                print(f"the rest is not run: {reason}")
                break
    return passed, failed, skipped


def finish(passed, failed, skipped):
    """Prints the sum that a run ends with; the exit code."""
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
