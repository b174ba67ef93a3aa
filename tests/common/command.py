"""The program as a user calls it: rlx(...) runs it, expect(...) says how it must have ended and what it must have said."""
import os
import subprocess

RLX = os.environ["RLX"]


def rlx(*words, **options):
    return subprocess.run([RLX, *map(str, words)], capture_output=True, text=True, timeout=300, **options)


def said(done):
    return done.stdout + done.stderr


def expect(done, code, *words):
    """Gives `done` back."""
    assert done.returncode == code, f"exit code {done.returncode}, expected {code}: {said(done)}"
    for word in words:
        assert word in said(done), f"'{word}' is not in: {said(done)}"
    return done
