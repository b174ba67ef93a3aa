"""Where the SDKs of this tree are: librlx and its exercise in the builds, the Python package in sdk/python. Import this before rlx_client."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# librlx of the plain build: the sanitizers cannot be loaded into a Python without them. The exercise is built as the daemon is.
os.environ.setdefault("RLX_LIBRARY", str(pathlib.Path(os.environ["RLX"]).parent.parent / "sdk" / "librlx.so.0"))
EXERCISE = pathlib.Path(os.environ.get("SDK_EXERCISE", pathlib.Path(os.environ["RLXD"]).parent.parent / "tests" / "clients" / "sdk_exercise"))
sys.path.insert(0, str(ROOT / "sdk" / "python"))
