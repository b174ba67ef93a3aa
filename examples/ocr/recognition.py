"""Text lines: cutting them out of the picture, the network input of classifier and recogniser, and decoding."""

import numpy
from PIL import Image

LINE_HEIGHT = 48
CLASSIFIER_WIDTH = 192
UPSIDE_DOWN_THRESHOLD = 0.9


def cut(image, corners):
    """The quadrilateral of a line, straightened; lines taller than wide are turned."""
    top_left, top_right, bottom_right, bottom_left = corners
    width = round(max(numpy.hypot(*(top_right - top_left)), numpy.hypot(*(bottom_right - bottom_left))))
    height = round(max(numpy.hypot(*(bottom_left - top_left)), numpy.hypot(*(bottom_right - top_right))))
    quad = [*top_left, *bottom_left, *bottom_right, *top_right]
    line = image.transform((max(width, 1), max(height, 1)), Image.QUAD, quad, Image.BICUBIC)
    return line.rotate(90, expand=True) if height >= 1.5 * width else line


def to_input(line, width):
    """PIL line -> float32 [3,48,width] in [-1,1], padded with zeros on the right."""
    scaled = min(width, max(1, -(-LINE_HEIGHT * line.width // line.height)))
    pixels = numpy.asarray(line.resize((scaled, LINE_HEIGHT), Image.BILINEAR), numpy.float32)[:, :, ::-1]
    out = numpy.zeros((3, LINE_HEIGHT, width), numpy.float32)
    out[:, :, :scaled] = ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return out


def turn_upright(lines, classify):
    """Turns the lines by 180 degrees that the classifier takes for upside down. Returns the lines and how many were turned."""
    chances = classify(numpy.stack([to_input(line, CLASSIFIER_WIDTH) for line in lines]))
    turned = [chance[1] > UPSIDE_DOWN_THRESHOLD for chance in chances]
    return [line.rotate(180) if flip else line for line, flip in zip(lines, turned)], sum(turned)


def line_width(line):
    """Input width of a line: its own at height 48, at least 320, as the network was trained."""
    return max(320, int(numpy.ceil(LINE_HEIGHT * line.width / line.height)))


def decode(probabilities, characters):
    """CTC greedy decoding of [T,classes]: merges repeats, drops the blank (class 0). Returns text and mean confidence."""
    best = probabilities.argmax(1)
    keep = best != 0
    keep[1:] &= best[1:] != best[:-1]
    if not keep.any():
        return "", 0.0
    return "".join(characters[index - 1] for index in best[keep]), float(probabilities.max(1)[keep].mean())
