"""Random programs in the module form: what a person may write of inputs, constants, operators, functions, loops, names and outputs."""
import random

UNARY = "relu sigmoid tanh abs neg exp sqrt erf gelu softplus hard_swish floor ceil sign identity mish reciprocal leaky_relu elu".split()
HELPERS = """
def dense(x, width, act=True):
    w = np.random.randn({inner}, width).astype(np.float32) * 0.1
    y = x @ w
    if act:
        return rlx.relu(y + np.zeros(width, np.float32))
    return y


def gate(x, scale=2.0):
    s = rlx.sigmoid(x * scale)
    return x * s


def twice(x):
    y = gate(x)
    return gate(y, scale=0.5) + x
"""


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = []
        self.values = []  # (name, shape); all of float32
        self.count = 0
        self.inner = self.r.choice([3, 4, 5])

    def name(self):
        """A new name, or one that is set again."""
        if self.values and self.r.random() < 0.2:
            name = self.r.choice(self.values)[0]
            self.values = [v for v in self.values if v[0] != name]
            return name
        self.count += 1
        return self.r.choice(["x", "y", "hidden", "relu", "add", "w", "Out", "t_1"]) + (str(self.count) if self.r.random() < 0.8 else "_" + "abcdefg"[self.count % 7])

    def set(self, expression, shape):
        # the expression reads before the name is chosen: `x = f(x)` is allowed
        name = self.name()
        self.lines.append(f"{name} = {expression}")
        self.values = [v for v in self.values if v[0] != name] + [(name, shape)]

    def pick(self, rank=None, known=False):
        found = [v for v in self.values if (rank is None or len(v[1]) == rank) and not (known and "batch" in v[1])]
        return self.r.choice(found) if found else None

    def number(self):
        return self.r.choice(["1", "2.5", "-3", "0.1", "1e-3", "True", "1 / 3", "np.pi", "2 ** 3"])

    def array(self, shape):
        """An array that goes with `shape`, at most as wide."""
        last = shape[-1:] if shape and isinstance(shape[-1], int) else []
        inside = ", ".join(map(str, last))
        return self.r.choice([f"np.ones([{inside}], np.float32)", f"np.full([{inside}], 0.25, np.float32)", f"np.random.randn({inside or 1}).astype(np.float32)",
                              f"np.zeros([{inside}], dtype=np.float32)", f"(np.arange({last[0] if last else 1}) / 7).astype(np.float32)",
                              f"np.random.rand({inside or 1}).astype(np.float32) - np.float32(0.5)"])

    # statements; each returns False when nothing fits

    def unary(self):
        name, shape = self.pick()
        op = self.r.choice(UNARY)
        extra = {"leaky_relu": ", alpha=0.2", "elu": ", alpha=1.5"}.get(op, "") if self.r.random() < 0.5 else ""
        operand = self.r.choice([name, f"{name} + {self.number()}", f"-{name}", f"rlx.tanh({name})"])
        self.set(f"rlx.{op}({self.r.choice(['', '', 'input='])}{operand}{extra})", shape)

    def binary(self):
        name, shape = self.pick()
        mark = self.r.choice("+-*/")
        other = self.r.choice([self.number(), self.number(), self.array(shape), name, f"({name} {self.r.choice('+*')} {self.number()})"])
        self.set(self.r.choice([f"{name} {mark} {other}", f"{other} {mark} {name}", f"rlx.add({name}, {other})", f"rlx.maximum({other}, {name})",
                                f"{name} ** 2", f"({name} {mark} {other}) {self.r.choice('+*')} {name}"]), shape)

    def update(self):
        name, shape = self.pick()
        self.lines.append(f"{name} {self.r.choice(['+=', '*=', '-=', '/='])} {self.r.choice([self.number(), self.array(shape), name])}")

    def choose(self):
        name, shape = self.pick()
        mark = self.r.choice(["<", "<=", ">", ">=", "==", "!="])
        left, right = (name, "0.5") if self.r.random() < 0.6 else ("0.5", name)
        if self.r.random() < 0.5:
            self.lines.append(f"mask = {left} {mark} {right}")
            self.set(f"rlx.where(mask, {name}, {self.number()})", shape)
        else:
            self.set(f"rlx.where(rlx.logical_not({left} {mark} {right}), {name}, {name} * 2)", shape)

    def ternary(self):
        name, shape = self.pick()
        self.set(f"rlx.exp({name}) if {self.r.choice(['True', 'False', 'len(SIZES) > 2', 'SIZES[0] == 9'])} else {name} - {self.number()}", shape)

    def matmul(self):
        found = self.pick()
        name, shape = found
        if len(shape) < 1 or shape[-1] == "batch":
            return False
        wide = self.r.randint(1, 6)
        weight = f"np.random.randn({shape[-1]}, {wide}).astype(np.float32)"
        if len(shape) == 1:
            return False
        self.set(self.r.choice([f"{name} @ {weight}", f"rlx.matmul({name}, {weight})", f"rlx.matmul(a={name}, b=rlx.constant(value={weight}))"]), shape[:-1] + [wide])

    def index(self):
        name, shape = self.pick()
        if not shape or "batch" in shape:
            return False
        parts, left = [], []
        for extent in shape[:self.r.randint(1, len(shape))]:
            kind = self.r.random()
            if kind < 0.35:
                parts.append(str(self.r.randrange(-extent, extent)))
            elif kind < 0.6:
                parts.append(":")
                left.append(extent)
            elif kind < 0.8:
                begin = self.r.randrange(extent)
                parts.append(f"{begin}:")
                left.append(extent - begin)
            elif kind < 0.9:
                parts.append("::2")
                left.append((extent + 1) // 2)
            else:
                parts.append("::-1")
                left.append(extent)
        if all(part == ":" for part in parts):
            return False
        self.set(f"{name}[{', '.join(parts)}]", left + shape[len(parts):])

    def move(self):
        name, shape = self.pick()
        if not shape or "batch" in shape:
            return False
        total = 1
        for extent in shape:
            total *= extent
        kind = self.r.randrange(7)
        if kind == 0:
            self.set(self.r.choice([f"{name}.reshape(-1)", f"{name}.reshape([{total}])", f"rlx.reshape({name}, [-1])"]), [total])
        elif kind == 1:
            self.set(self.r.choice([f"{name}.T", f"rlx.transpose({name})"]), shape[::-1])
        elif kind == 2 and len(shape) > 1:
            perm = list(range(len(shape)))
            self.r.shuffle(perm)
            self.set(self.r.choice([f"{name}.transpose({', '.join(map(str, perm))})", f"rlx.transpose({name}, perm={perm})"]), [shape[i] for i in perm])
        elif kind == 3 and total < 500:
            axis = self.r.randrange(len(shape))
            self.set(f"rlx.concat([{name}, {name} * 2], axis={axis})", [e * (1 + (i == axis)) for i, e in enumerate(shape)])
        elif kind == 4:
            self.set(f"rlx.pad({name}, {[1] * len(shape) + [0] * len(shape)}, 0.5)", [e + 1 for e in shape])
        elif kind == 5 and shape[0] > 1:
            first, second = self.name(), "rest"
            self.lines.append(f"{first}, {second} = rlx.split({name}, [1, {shape[0] - 1}], axis=0)")
            self.values = [v for v in self.values if v[0] not in (first, second)] + [(first, [1] + shape[1:]), (second, [shape[0] - 1] + shape[1:])]
        else:
            self.set(f"rlx.gather({name}, [0, {shape[-1] - 1}], axis={len(shape) - 1})", shape[:-1] + [2])

    def reduce(self):
        name, shape = self.pick()
        if len(shape) < 2:
            return False
        kind = self.r.randrange(4)
        if kind == 0:
            op = self.r.choice(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"])
            keep = self.r.random() < 0.5
            self.set(f"rlx.{op}({name}, axes=[-1], keepdims={self.r.choice([1, 'True']) if keep else 0})", shape[:-1] + [1] * keep)
        elif kind == 1:
            self.set(f"rlx.softmax({name}{self.r.choice(['', ', axis=-1', ', dim=1'])})", shape)
        elif kind == 2 and shape[-1] != "batch":
            name2 = self.name()
            self.lines.append(f"{name2}, {self.r.choice(['_', 'where_'])} = rlx.top_k({name}, 1)")
            self.values = [v for v in self.values if v[0] != name2] + [(name2, shape[:-1] + [1])]
        elif isinstance(shape[-1], int):
            self.set(f"rlx.layer_norm({name}, np.ones({shape[-1]}, np.float32), {self.array([shape[-1]])}, eps=1e-6)", shape)

    def image(self):
        found = self.pick(rank=4)
        if found is None or found[1][2] < 3 or found[1][3] < 3 or not isinstance(found[1][1], int):
            return False
        name, (n, c, h, w) = found
        kind = self.r.randrange(5)
        if kind == 0:
            out = self.r.randint(1, 5)
            weight = f"np.random.randn({out}, {c}, 3, 3).astype(np.float32)"
            more = self.r.choice(["", ", tile_layout={\"output\": [1, 1, 2, 2]}", ", compute_schedule={\"vectorize_dim\": \"width\"}"])
            bias = self.r.choice(["", f", np.zeros({out}, np.float32)"])
            self.set(f"rlx.conv2d({name}, {weight}{bias}, {self.r.choice(['padding', 'pads'])}=[1, 1]{more})", [n, out, h, w])
        elif kind == 1:
            self.set(f"rlx.{self.r.choice(['max_pool', 'avg_pool', 'max_pool2d'])}({name}, kernel=[2, 2], strides=[2, 2])", [n, c, (h - 2) // 2 + 1, (w - 2) // 2 + 1])
        elif kind == 2:
            self.set(f"rlx.batch_norm({name}{self.r.choice(['', ', eps=1e-3'])})", [n, c, h, w])
        elif kind == 3:
            self.set(f"rlx.normalize({name}, mean={[0.5] * c}{self.r.choice(['', f', std={[0.25] * c}'])})", [n, c, h, w])
        else:
            self.set(f"rlx.resize({name}, size=[{h}, {w + 1}])", [n, c, h, w + 1])

    def helper(self):
        name, shape = self.pick()
        if len(shape) > 1 and shape[-1] == self.inner and self.r.random() < 0.5:
            wide = self.r.randint(1, 6)
            self.set(f"dense({name}, {wide}{self.r.choice(['', ', act=False'])})", shape[:-1] + [wide])
        else:
            self.set(f"{self.r.choice(['gate', 'twice'])}({name})", shape)

    def loop(self):
        name, shape = self.pick()
        if self.r.random() < 0.5:
            self.lines += [f"for i in range({self.r.randint(1, 3)}):", f"    {name} = rlx.relu({name} + i)"]
        else:
            self.lines += ["for i, size in enumerate(SIZES):", "    if i % 2 == 0:", f"        {name} = {name} * size", "    else:",
                           f"        {name} = gate({name}) - {self.array(shape)}"]

    def constant(self):
        kind = self.r.randrange(4)
        if kind == 0:
            self.set("rlx.constant(value=[1, 2.5, -3])", [3])
        elif kind == 1:
            self.set("rlx.constant(value=[[1, 2], [3, 4]], dtype=\"float32\")", [2, 2])
        elif kind == 2:
            self.set("rlx.constant(value=np.random.randn(4, 3), dtype=np.float32, memory_affinity={\"location\": \"HBM\"})", [4, 3])
        else:
            self.set("rlx.constant(0.5)", [])

    def cast(self):
        name, shape = self.pick()
        self.set(self.r.choice([f"rlx.cast({name}.astype(\"float64\") * 2, to=\"float32\")", f"rlx.cast({name}, to=np.int32).astype(np.float32)",
                                f"rlx.clip({name}, min=-1, max=6.0)", f"rlx.clip({name}, 0.0)"]), shape)

    def outputs(self):
        chosen = self.r.sample(self.values, min(len(self.values), self.r.randint(1, 4)))
        kind = self.r.randrange(4)
        if kind == 0:
            return f"return {chosen[0][0]}"
        if kind == 1:
            return f"return {chosen[0][0]} + 1"
        if kind == 2:
            return "return {" + ", ".join(f'"result {i}": {name}' for i, (name, _) in enumerate(chosen)) + ', "k": np.arange(3)}'
        return "return " + ", ".join(name if self.r.random() < 0.7 else f"{name} * 2" for name, _ in chosen) + ("," if len(chosen) == 1 else "")

    def text(self):
        for i in range(self.r.randint(1, 3)):
            shape = self.r.choice([["batch", self.inner], [2, 3, 6, 6], [4, self.inner], [2, 3, self.inner], [5]])
            more = self.r.choice(["", ", dtype=\"float32\"", ", dtype=rlx.float32", ", location=\"DDR\""])
            shown = "[" + ", ".join(f'"{e}"' if isinstance(e, str) else str(e) for e in shape) + "]"
            self.set(f"rlx.tensor(shape={shown}{more})", shape)
        kinds = [self.unary, self.binary, self.binary, self.update, self.choose, self.ternary, self.matmul, self.index, self.move, self.move, self.reduce,
                 self.image, self.image, self.helper, self.loop, self.constant, self.cast]
        wanted = len(self.lines) + self.r.randint(3, 14)
        while len(self.lines) < wanted:
            self.r.choice(kinds)()
        self.lines.append(self.outputs())
        head = self.r.choice(["@rlx.module(version=2)", f"@rlx.module(version=2, seed={self.r.randrange(2**32)})", "@rlx.module(version=2, accuracy=\"careful\")"])
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"SIZES = [2, 3, {self.inner}]\n{HELPERS.format(inner=self.inner)}\n\n{head}\ndef generated():\n{body}"


def program(seed):
    return Program(seed).text()
