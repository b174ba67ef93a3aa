"""Errors of the tracer."""
import difflib


class Error(Exception):
    """Anything that goes wrong in rlx."""


class TraceError(Error, TypeError):
    """A program that cannot become a graph; the message says what to write instead."""


class CompileError(Error):
    """The `rlx` program refused. `diagnostics` has one dictionary for each error: code, message, expected, fix, and `python`, the line of
    the Python program that it is about ("model.py:12"; None where there is none)."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


def suggestion(word, known):
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""
