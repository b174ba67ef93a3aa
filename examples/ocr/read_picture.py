"""Reads the text in a picture: detection, orientation and recognition networks, all compiled and run by RLX.

    read_picture.py --rlx build/rlx --models FOLDER [--picture sample.png] [--output boxes.png]
    read_picture.py --url http://127.0.0.1:8080 --models FOLDER ...     asks rlxd, which serves them as detection, orientation, recognition

FOLDER holds the three .onnx files of rapidocr-onnxruntime 1.4.4 (run_ocr fetches them).
"""

import argparse
import pathlib
import time

import onnx
from PIL import Image, ImageDraw

import detection
import recognition
from engine import Model, ServedModel

DETECTION = "ch_PP-OCRv4_det_infer.onnx"
ORIENTATION = "ch_ppocr_mobile_v2.0_cls_infer.onnx"
RECOGNITION = "ch_PP-OCRv4_rec_infer.onnx"
SCORE_MIN = 0.5


def characters(path):
    """The recogniser's alphabet: one character a line in the model's metadata, and a space at the end."""
    for entry in onnx.load(path, load_external_data=False).metadata_props:
        if entry.key == "character":
            return entry.value.splitlines() + [" "]
    raise SystemExit(f"{path}: the model carries no alphabet")


def read(image, models, alphabet):
    """Picture -> list of (corners, text, confidence)."""
    detect, classify, recognise = models
    probability = detect("x", detection.preprocess(image))[0, 0]
    boxes = detection.boxes(probability, image.size)
    if not boxes:
        return []
    lines = [recognition.cut(image, corners) for corners, _ in boxes]
    lines, turned = recognition.turn_upright(lines, lambda batch: classify("x", batch))
    print(f"  {len(lines)} lines found, {turned} upside down")
    out = []
    for (corners, _), line in zip(boxes, lines):
        batch = recognition.to_input(line, recognition.line_width(line))[None]
        text, confidence = recognition.decode(recognise("x", batch)[0], alphabet)
        if confidence >= SCORE_MIN:
            out.append((corners, text, confidence))
    return out


def draw(image, found, path):
    out = image.copy()
    pen = ImageDraw.Draw(out)
    for number, (corners, _, _) in enumerate(found, 1):
        outline = [tuple(corner) for corner in corners]
        pen.line(outline + outline[:1], fill=(220, 30, 30), width=3)
        pen.text((outline[0][0] + 2, outline[0][1] - 14), str(number), fill=(220, 30, 30))
    out.save(path)


def compiled(arguments):
    arguments.bundles.mkdir(parents=True, exist_ok=True)
    models = []
    for name in (DETECTION, ORIENTATION, RECOGNITION):
        models.append(Model(arguments.rlx, arguments.models / name, arguments.bundles))
        print(f"  compiled {name} in {models[-1].compile_seconds:.2f} s")
    return models


def served(url):
    import rlx_client

    client = rlx_client.RLXClient(endpoints=[url], timeout=60.0)
    return [ServedModel(client, name) for name in ("detection", "orientation", "recognition")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--rlx")
    where.add_argument("--url")
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--picture", default=pathlib.Path(__file__).with_name("sample.png"))
    parser.add_argument("--bundles", default="bundles", type=pathlib.Path)
    parser.add_argument("--output", default="boxes.png")
    arguments = parser.parse_args()

    image = Image.open(arguments.picture).convert("RGB")
    models = served(arguments.url) if arguments.url else compiled(arguments)
    started = time.monotonic()
    found = read(image, models, characters(arguments.models / RECOGNITION))
    elapsed = time.monotonic() - started
    print(f"\nThe picture says ({elapsed:.2f} s):\n")
    for number, (_, text, confidence) in enumerate(found, 1):
        print(f"  {number:2}  {confidence:.3f}  {text}")
    draw(image, found, arguments.output)
    print(f"\nBoxes drawn in {arguments.output}")
    if not found:
        raise SystemExit("no text found")


if __name__ == "__main__":
    main()
