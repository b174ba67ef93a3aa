"""Runs a model with RLX: compiled here and run by `rlx infer`, or served by rlxd and asked through its client."""

import pathlib
import subprocess
import tempfile
import time

import numpy


class Model:
    """One compiled model. `rlx` is the path of the tool; bundles are kept in `folder`."""

    def __init__(self, rlx, onnx_path, folder):
        self.rlx = str(rlx)
        onnx_path = pathlib.Path(onnx_path)
        self.bundle = pathlib.Path(folder) / (onnx_path.stem + ".rlxb")
        started = time.monotonic()
        self._call("compile", "--model", onnx_path, "--target", "x86_64", "--output", self.bundle)
        self.compile_seconds = time.monotonic() - started
        self.infer_seconds = 0.0

    def __call__(self, name, array):
        """Feeds `array` as input `name`; returns the only output."""
        with tempfile.TemporaryDirectory() as folder:
            fed, answer = pathlib.Path(folder) / "in.npz", pathlib.Path(folder) / "out.npz"
            numpy.savez(fed, **{name: array})
            started = time.monotonic()
            self._call("infer", self.bundle, "--input", fed, "--output", answer)
            self.infer_seconds += time.monotonic() - started
            with numpy.load(answer) as arrays:
                return arrays[arrays.files[0]]

    def _call(self, *words):
        done = subprocess.run([self.rlx, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"rlx {words[0]} failed:\n{done.stderr or done.stdout}")


class ServedModel:
    """A model that a server has. `client` is an rlx_client.RLXClient."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        self.devices = set()

    def __call__(self, name, array):
        result = self.client.infer(self.name, {name: array})
        self.devices.add(result.device)
        return next(iter(result.values()))
