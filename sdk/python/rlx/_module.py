"""Modules: a traced graph as text, as the canonical text of `rlx dump`, as a bundle, and as a function on numpy arrays."""
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import zipfile

import numpy as np

from . import _caller, _program, _text
from ._errors import Error, TraceError
from ._trace import Trace, tracing

SCHEMA = 2


class Graph:
    """What a trace made. `text` is RLX-IR; tensors that are large stand in `store`."""

    def __init__(self, trace, version=SCHEMA, modules=()):
        self.trace = trace
        self.version = version
        self.modules = list(modules)  # Graphs that remote calls name; they stand in front
        self._folder = None
        self._bundle = None
        self._lock = threading.Lock()

    @property
    def name(self):
        return self.trace.name

    def _parts(self):
        """(text, origin) of every line."""
        for graph in [*self.modules, self]:
            attributes = graph.trace.attributes
            head = " { " + _text.fields(attributes.items(), lambda v: graph.trace.text(v, None)) + " }" if attributes else ""
            yield f"module {graph.name if _text.WORD.match(graph.name) else _text.string(graph.name)}{head};", None
            yield "", None
            yield from zip(graph.trace.lines, graph.trace.origins)
            yield "", None

    @property
    def text(self):
        """RLX-IR in SSA form, as traced; large constants are references to a file that `save` writes."""
        return "".join(f"{line}\n" for line in [f"rlx.ir {self.version};", *(line for line, _ in self._parts())]).rstrip("\n") + "\n"

    def save(self, path):
        """Writes the text to `path` (.rlxir) and its large constants beside it."""
        path = pathlib.Path(path)
        for graph in [*self.modules, self]:
            if graph.trace.store.arrays:
                graph.trace.store.write(path.parent / graph.trace.store.file)
        path.write_text(self.text, encoding="utf-8")
        return path

    def _saved(self):
        """The text in a folder of its own, with the texts that remote calls name."""
        if self._folder is None:
            folder = tempfile.TemporaryDirectory(prefix="rlx-")
            path = self.save(pathlib.Path(folder.name) / f"{_text.file_word(self.name)}.rlxir")
            for function in self.trace.functions:
                for end in (".rlx", ".rlxir"):
                    beside = pathlib.Path(self.trace.folder) / f"{function}{end}"
                    if _text.WORD.match(function) and beside.is_file() and not (path.parent / beside.name).exists():
                        shutil.copy(beside, path.parent)
            self._folder = folder
        return pathlib.Path(self._folder.name) / f"{_text.file_word(self.name)}.rlxir"

    def _run(self, *words):
        with self._lock:
            path = self._saved()
        return _program.run([path if word is self else word for word in words], path, [None, *(origin for _, origin in self._parts())])

    def dump(self, *options):
        """The canonical text, as `rlx dump` prints it. Options are the program's: dump("--after", "fuse")."""
        return self._run("dump", self, *options)

    def compile(self, output, *options):
        """Compiles into a bundle, `output`. Options are the program's: compile("m.rlxb", "--opt-level", "2")."""
        self._run("compile", "--model", self, "--output", output, *options)
        return pathlib.Path(output)

    def run(self, inputs):
        """Outputs by name, in their order, of inputs by name. Compiled at the first call."""
        path = self._saved_bundle()
        with tempfile.TemporaryDirectory(prefix="rlx-") as folder:
            given, made = pathlib.Path(folder) / "in.npz", pathlib.Path(folder) / "out.npz"
            with zipfile.ZipFile(given, "w") as archive:
                for name, value in inputs.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.ascontiguousarray(value).reshape(np.shape(value)), allow_pickle=False)
            _program.run(["infer", path, "--input", given, "--output", made, "--quiet"])
            with np.load(made) as found:
                return {name: found[name] for name in found.files}

    def _saved_bundle(self):
        if self._bundle is None:
            with self._lock:
                path = self._saved()
            self._bundle = self.compile(path.with_suffix(".rlxb"))
        return self._bundle


class Module:
    """A function below @rlx.module. It is traced when its graph is first asked for; called with arrays, it computes."""

    def __init__(self, function, version, seed, attributes):
        self.function, self.version, self.seed, self.attributes = function, version, seed, attributes
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function
        self._traced = None
        self._tracing = False

    def __repr__(self):
        return f"<rlx module {self.__name__}>"

    @property
    def graph(self):
        if self._traced is None:
            if self.function.__code__.co_argcount + self.function.__code__.co_kwonlyargcount > 0:
                name = self.function.__code__.co_varnames[0]
                raise TraceError(f"a module has no parameters. Make its inputs in the body: {name} = rlx.tensor(shape=[...], dtype=\"float32\"); "
                                 "a function of arrays is @rlx.jit")
            if self._tracing:
                raise TraceError(f"the module `{self.__name__}` needs itself")
            self._tracing = True
            try:
                self._traced, self._structure = trace(self.function, (), {}, self.attributes, self.version, self.seed)
            finally:
                self._tracing = False
        return self._traced

    @property
    def text(self):
        return self.graph.text

    def save(self, path):
        return self.graph.save(path)

    def dump(self, *options):
        return self.graph.dump(*options)

    def compile(self, output, *options):
        return self.graph.compile(output, *options)

    def __call__(self, *args, **kwargs):
        declared = self.graph.trace.inputs
        names = [name for name, _, _ in declared]
        if len(args) > len(names):
            raise TypeError(f"{self.__name__} has {len(names)} inputs ({', '.join(names)}), and {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given or name not in names:
                raise TypeError(f"{self.__name__} has the inputs {', '.join(names)}: '{name}' is {'given twice' if name in given else 'none'}")
            given[name] = value
        for name, _, dtype in declared:
            if name not in given:
                raise TypeError(f"{self.__name__} needs the input '{name}'")
            if not isinstance(given[name], (np.ndarray, np.generic)):
                given[name] = np.asarray(given[name], dtype)
        return self._structure(self.graph.run(given))


def structure_of(result):
    """The function that makes what the program returned, of a graph's outputs in their order."""
    if isinstance(result, dict):
        keys = list(result)
        return lambda found: dict(zip(keys, found.values()))
    if isinstance(result, (list, tuple)):
        return lambda found: tuple(found.values())
    return lambda found: next(iter(found.values()))


def trace(function, args, kwargs, attributes, version, seed, inputs=None):
    """Runs the function; the Graph, and how results are put together. `seed`: of np.random meanwhile; None leaves it alone.
    `inputs(trace)` makes the arguments instead of `args`."""
    code = function.__code__
    folder = os.path.dirname(os.path.abspath(code.co_filename)) if os.path.exists(code.co_filename) else os.getcwd()
    made = Trace(function.__name__, attributes, code, folder, _text.Store(f"{_text.file_word(function.__name__)}.safetensors"))
    state = np.random.get_state() if seed is not None else None
    if seed is not None:
        np.random.seed(seed)
    try:
        with tracing(made):
            if inputs is not None:
                args, kwargs = inputs(made)
            result, names_of = _caller.run(function, args, kwargs)
            made.finish(result, names_of)
    finally:
        if state is not None:
            np.random.set_state(state)
    return Graph(made, version, _called(function, made)), structure_of(result)


def _called(function, made):
    """Graphs of modules of the same program that remote calls name."""
    found = []
    for name in made.functions:
        module = function.__globals__.get(name)
        if isinstance(module, Module) and module.function is not function:
            found += [graph for graph in [*module.graph.modules, module.graph] if graph not in found]
    return found


def module(function=None, *, version=SCHEMA, seed=0, **attributes):
    """@rlx.module, or @rlx.module(version=2, seed=0, accuracy="default"): the function below is a model. Its body makes the inputs
    (rlx.tensor), calls operators and returns the outputs. np.random is seeded while it is traced."""
    def decorate(function):
        if isinstance(function, Module):
            raise TraceError("@rlx.module stands twice")
        if not callable(function) or not hasattr(function, "__code__"):
            raise TraceError("@rlx.module stands above a function: @rlx.module, below it `def name():`")
        return Module(function, version, seed, attributes)
    return decorate if function is None else decorate(function)


def _not_yet(name):
    def decorator(*_, **__):
        raise Error(f"@{name} cannot be compiled by this version. Remove it")
    return decorator


parallelize, distributed_pipeline = _not_yet("parallelize"), _not_yet("distributed_pipeline")


class _Numpy:
    """numpy for a file of the module form: np.load reads beside the file."""

    def __init__(self, folder):
        self._folder = folder

    def __getattr__(self, name):
        return getattr(np, name)

    def load(self, file, *args, **kwargs):
        return np.load(os.path.join(self._folder, file), *args, **kwargs)


def read(path):
    """Runs a file of the module form (.rlx) as Python; its last module, which is the one that `rlx compile` compiles."""
    path = pathlib.Path(path).resolve()
    space = {"__name__": path.stem, "__file__": str(path), "rlx": sys.modules[__package__], "np": _Numpy(str(path.parent)),
             "parallelize": parallelize, "distributed_pipeline": distributed_pipeline}
    state = np.random.get_state()
    np.random.seed(0)
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    finally:
        np.random.set_state(state)
    modules = [value for value in space.values() if isinstance(value, Module)]
    if not modules:
        raise TraceError(f"'{path}' has no module. Write a function: `@rlx.module`, below it `def name():`, and its body indented")
    return max(modules, key=lambda module: module.function.__code__.co_firstlineno)
