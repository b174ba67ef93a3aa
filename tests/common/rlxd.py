"""An rlxd on a free port with a repository of its own.

    with Rlxd(bundles={"sum": "sum.rlxb"}) as server:
        server.url            # "127.0.0.1:PORT", for gRPC and HTTP alike

The program is named by RLXD. `bundles` maps names to files, which are copied into the repository folder `server.models`. An rlxd that is not
stopped by its test is stopped with the block, and must end well."""
import os
import pathlib
import shutil
import signal
import tempfile

from program import Program


class Rlxd(Program):
    def __init__(self, bundles=None, words=(), environment=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rlxd-test-"))
        self.models = self.folder / "models"
        self.models.mkdir()
        for name, path in (bundles or {}).items():
            self.add(name, path)
        super().__init__(self.command(words), environment)

    def command(self, words):
        return [os.environ["RLXD"], "--models", self.models, "--devices", "auto", "--host", "127.0.0.1", "--port", "0", *words]

    def start(self, words=()):
        """Again, after it ended."""
        self.launch(self.command(words))

    def add(self, name, path):
        """Puts a bundle into the repository, whole or not at all."""
        shutil.copy(path, self.models / f".{name}.part")
        os.replace(self.models / f".{name}.part", self.models / f"{name}.rlxb")

    @property
    def url(self):
        return self.origin.split("//")[1]

    def get(self, path, timeout=10):
        return self.fetch(path, timeout=timeout)

    def __exit__(self, kind, error, trace):
        code = None
        try:
            code = self.process.poll()
            if code is None:
                code = self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None and code not in (0, 4, -signal.SIGKILL):
            raise RuntimeError(f"rlxd ended with {code}\n{self.log()}")
        super().__exit__(kind, error, trace)
