"""Text detection: picture -> network input, and probability map -> boxes.

The network (PP-OCRv4 detection) gives the probability that a pixel belongs to the shrunk core of a text line. Cores are connected
components; each gets its rectangle of least area, which is grown back by area * ratio / perimeter
(Liao et al., Real-time Scene Text Detection with Differentiable Binarization, AAAI 2020).
"""

import numpy
from PIL import Image, ImageDraw

SHORT_SIDE = 736  # the network's training scale
CORE_THRESHOLD = 0.3
BOX_THRESHOLD = 0.5
UNCLIP_RATIO = 1.6
SIDE_MIN = 3


def preprocess(image):
    """PIL RGB image -> float32 [1,3,H,W] in [-1,1], sides multiples of 32."""
    width, height = image.size
    scale = max(1.0, SHORT_SIDE / min(width, height))
    size = [max(32, round(side * scale / 32) * 32) for side in (width, height)]
    pixels = numpy.asarray(image.resize(size, Image.BILINEAR), numpy.float32)[:, :, ::-1]
    return ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def components(mask):
    """Connected components (8 neighbours) of a boolean map: a list of arrays of (row, column)."""
    runs = []  # (row, first, last); runs of one row that touch a run of the row above join its set
    parent = []

    def find(index):
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    above = []
    for row in range(mask.shape[0]):
        edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], mask[row].view(numpy.int8), [0]))))
        here = []
        for first, last in zip(edges[::2], edges[1::2] - 1):
            index = len(runs)
            runs.append((row, first, last))
            parent.append(index)
            here.append(index)
            for other in above:
                if runs[other][1] <= last + 1 and runs[other][2] >= first - 1:
                    parent[find(other)] = find(index)
        above = here
    sets = {}
    for index, (row, first, last) in enumerate(runs):
        columns = numpy.arange(first, last + 1)
        sets.setdefault(find(index), []).append(numpy.stack([numpy.full_like(columns, row), columns], 1))
    return [numpy.concatenate(parts) for parts in sets.values()]


def convex_hull(points):
    """Andrew's monotone chain over (x, y) points."""
    points = sorted(map(tuple, numpy.unique(points, axis=0)))
    if len(points) < 3:
        return numpy.array(points, float)

    def half(sequence):
        chain = []
        for point in sequence:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) > 0:
                    break
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return numpy.array(half(points) + half(points[::-1]), float)


def least_rectangle(points):
    """Rectangle of least area around (x, y) points: corners [4,2] in order, and its shorter side. One side lies on a hull edge."""
    hull = convex_hull(points)
    best = None
    for start, end in zip(hull, numpy.roll(hull, -1, 0)):
        length = numpy.hypot(*(end - start))
        if length == 0:
            continue
        along = (end - start) / length
        across = numpy.array([-along[1], along[0]])
        u, v = hull @ along, hull @ across
        area = (u.max() - u.min()) * (v.max() - v.min())
        if best is None or area < best[0]:
            best = (area, along, across, u.min(), u.max(), v.min(), v.max())
    if best is None:
        return None, 0.0
    _, along, across, u0, u1, v0, v1 = best
    corners = numpy.array([along * u + across * v for u, v in ((u0, v0), (u1, v0), (u1, v1), (u0, v1))])
    return corners, min(u1 - u0, v1 - v0)


def clockwise(corners):
    """Corners from the top left, clockwise: the two leftmost are top left and bottom left."""
    by_x = corners[numpy.argsort(corners[:, 0], kind="stable")]
    left = by_x[:2][numpy.argsort(by_x[:2, 1], kind="stable")]
    right = by_x[2:][numpy.argsort(by_x[2:, 1], kind="stable")]
    return numpy.array([left[0], right[0], right[1], left[1]])


def grow(corners):
    """Moves every side of a rectangle out by area * ratio / perimeter."""
    width, height = numpy.hypot(*(corners[1] - corners[0])), numpy.hypot(*(corners[2] - corners[1]))
    distance = width * height * UNCLIP_RATIO / (2 * (width + height))
    along, across = (corners[1] - corners[0]) / width, (corners[2] - corners[1]) / height
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return numpy.array([corner + distance * (a * along + b * across) for corner, (a, b) in zip(corners, signs)])


def mean_inside(probability, corners):
    mask = Image.new("1", probability.shape[::-1])
    ImageDraw.Draw(mask).polygon([tuple(corner) for corner in corners], fill=1)
    inside = numpy.asarray(mask)
    return float(probability[inside].mean()) if inside.any() else 0.0


def boxes(probability, size):
    """Probability map [H,W] -> list of (corners [4,2] in pixels of the picture, score), top to bottom."""
    mask = probability > CORE_THRESHOLD
    mask[1:] |= mask[:-1].copy()
    mask[:, 1:] |= mask[:, :-1].copy()
    scale = numpy.array(size) / probability.shape[::-1]
    found = []
    for points in components(mask):
        corners, side = least_rectangle(points[:, ::-1])
        if side < SIDE_MIN:
            continue
        corners = clockwise(corners)
        score = mean_inside(probability, corners)
        if score >= BOX_THRESHOLD:
            found.append((numpy.clip(grow(corners) * scale, 0, size), score))
    return sorted(found, key=lambda box: (round(box[0][:, 1].mean() / 10), box[0][0][0]))
