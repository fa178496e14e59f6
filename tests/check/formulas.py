"""Each formula of the checker by itself, against Arb and fractions. A function takes the module, so that mutants can be tried.

Whole passes do not show a missing small term, as radii are lazy. So every radius is compared with the bound of its lemma in
docs/checker.md, evaluated exactly, where each of its terms counts.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq, fmpz

BITS = (32, 48, 100, 333)
CHECKS: list[Callable[[Any], None]] = []


def check(function: Callable[[Any], None]) -> Callable[[Any], None]:
    CHECKS.append(function)
    return function


def exactly(x: int | Fraction) -> Any:
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


def off(found: int, true: Any, bits: int) -> float:
    """By how many ulps, at most."""
    return float(abs(arb(fmpz(found)) - true * arb(2) ** bits).upper())


def least(radius: int, bound: Any) -> None:
    """The radius is no less than the bound of the lemma, and not far above it."""
    assert float((bound - radius).upper()) <= 0, (radius, bound)
    assert radius <= 1.5 * float(bound.upper()) + 20, (radius, bound)


def size(row: Any) -> Any:
    return exactly(sum(Fraction(x) ** 2 for x in row)).sqrt()


def points(bits: int, count: int, largest: float) -> list[int]:
    rng = random.Random(bits)
    return [0, 1, 2, (1 << bits) - 1, 1 << bits] + [
        int(rng.uniform(0, 1) ** 3 * largest * 2**30) << bits >> 30 for _ in range(count)
    ]


def rows(check: Any, rng: random.Random, count: int, width: int, bits: int, radius: int, spread: int = 1) -> Any:
    values = [[rng.randrange(-spread << bits, spread << bits) for _ in range(width)] for _ in range(count)]
    return check.Rows(values, [radius + t for t in range(count)], bits)


class Held:
    """Floats where the checker expects a tensor."""

    def __init__(self, check: Any, values: list[float], shape: tuple[int, ...], kind: str = "F32") -> None:
        code = {"F32": "f", "F64": "d"}[kind]
        raw = struct.pack(f"<{len(values)}{code}", *values)
        self.inner = check.Tensor(None, 0, kind, shape, "held")
        width = self.inner.width
        self.inner.raw = lambda first, count: raw[first * width : (first + count) * width]
        self.values = [Fraction(x) for x in struct.unpack(f"<{len(values)}{code}", raw)]


def alone(check: Any) -> Any:
    """Work that is done in this process."""
    return check.Work(None, 1)


@check
def exponentials(check: Any) -> None:
    for bits in BITS:
        for y in points(bits, 40, bits + 3):
            assert off(check.exp_minus(y, bits), (-exactly(Fraction(y, 1 << bits))).exp(), bits) < (0.75 if y >> bits < bits else 1)
        assert check.exp_minus(0, bits) == 1 << bits
    assert check.exp_minus(3 << 12000, 12000) < 1 << 12000


@check
def constants(check: Any) -> None:
    for unit in (96, 200, 461):
        assert off(check.pi(unit), arb.pi(), unit) < 20 * unit
        for number in (Fraction(1), Fraction(10000), Fraction(123456, 10), Fraction(10**30)):
            assert off(check.log(number, unit), exactly(number).log(), unit) < 204 * unit
        for top, bottom, sign, true in ((1, 3, 1, exactly(Fraction(1, 3)).atanh()), (1, 4, -1, exactly(Fraction(1, 4)).atan())):
            assert off(check.arc(top, bottom, sign, unit), true, unit) < unit
        quarter = check.pi(unit) // 2
        for angle in points(unit, 12, 40):
            c, s = check.cos_sin(angle, unit, quarter)
            true = exactly(Fraction(angle, 1 << unit))
            assert max(off(c, true.cos(), unit), off(s, true.sin(), unit)) < 2**15 + 40 * 20 * unit


def true_activation(name: str, x: Any) -> Any:
    if name == "relu":
        return x if x > 0 else arb(0)
    if name == "silu":
        return x / (1 + (-x).exp())
    if name == "gelu":
        return x / 2 * (1 + (x / arb(2).sqrt()).erf())
    return x / 2 * (1 + ((2 / arb.pi()).sqrt() * (x + exactly(Fraction(44715, 10**6)) * x**3)).tanh())


@check
def activations(check: Any) -> None:
    for bits in BITS:
        xs = [x for y in points(bits, 12, 20) for x in (y, -y)]
        for name in ("relu", "silu", "gelu", "gelu_new"):
            for x, found in zip(xs, check.ACTIVATIONS[name](xs, bits), strict=True):
                true = true_activation(name, exactly(Fraction(x, 1 << bits)))
                assert off(found, true, bits) < 2 * (abs(x) >> bits) + 8, (name, bits, x)
        for cap in (Fraction(30), Fraction(5, 2)):
            for x in xs:
                true = exactly(cap) * (exactly(Fraction(x, 1 << bits)) / exactly(cap)).tanh()
                assert off(check.capped(x, cap, bits), true, bits) < 1 + 3 * cap


@check
def activated(check: Any) -> None:
    for radius in (0, 1001):
        x = rows(check, random.Random(1), 2, 24, 40, radius, 5)
        y = check.activated(x, check.relu, alone(check))
        for row, before, after in zip(x.values, x.radii, y.radii, strict=True):
            most = max(map(abs, row)) >> 40
            least(after, exactly(Fraction(5, 4) * before) + (2 * most + 8) * arb(24).sqrt())


@check
def weights(check: Any) -> None:
    rng = random.Random(2)
    packed = {"F64": "d", "F32": "f", "F16": "e"}
    for kind, smallest in (("F64", -300), ("F32", -149), ("F16", -24), ("BF16", -100)):
        for spread in (3, 20, 45):
            high = rng.randrange(0, 10)
            xs = [0.0] + [
                rng.choice((1, -1)) * rng.uniform(1, 2) * 2.0 ** rng.uniform(max(high - spread, smallest), high) for _ in range(60)
            ]
            if kind == "BF16":
                raw = b"".join(struct.pack("<f", x)[2:] for x in xs)
                xs = [struct.unpack("<f", b"\0\0" + raw[i : i + 2])[0] for i in range(0, len(raw), 2)]
            else:
                raw = struct.pack(f"<{len(xs)}{packed[kind]}", *xs)
                xs = list(struct.unpack(f"<{len(xs)}{packed[kind]}", raw))
            parted(check.Weights(kind, raw, len(xs), 1, True), xs)
            assert check.Weights(kind, raw, len(xs), 1, True).size <= 53 + spread + 34
            padded = [*xs, 0.0, -0.0, 0.0]  # 64 numbers, or four columns of 16
            raw += bytes(3 * len(raw) // len(xs))
            for by_rows in (True, False):
                w = check.Weights(kind, raw, 16, 4, by_rows)
                columns, inputs = w.lines()
                for j, column in enumerate(columns):
                    assert padded[column] == (padded[16 * j : 16 * j + 16] if by_rows else padded[j::4])
                for i, line in enumerate(inputs):
                    assert padded[line] == (padded[i::16] if by_rows else padded[4 * i : 4 * i + 4])
                for column, norm in zip(columns, check.norms(w.floats()[line] for line in columns), strict=True):
                    true = size(padded[column]) * 2**32
                    assert float((true - norm).upper()) < 0
                    assert float((norm - true - true / 2**30).lower()) < 2
    tiny = [0.0, 1e-42, -0.5, -0.0]
    tiny = list(struct.unpack("<4f", struct.pack("<4f", *tiny)))
    assert tiny[1] > 0
    smallest = [2.0**-149 * n for n in (1, 2, 3, 2**23 - 1, 2**23, 2**23 + 1, 2**24 - 1, 2**24, 2**25 + 4)]
    floats = [sign << 31 | exponent << 23 | exponent * 35 for sign in (0, 1) for exponent in range(254)]
    every = list(struct.unpack(f"<{len(floats)}f", struct.pack(f"<{len(floats)}I", *floats)))
    for xs in (
        tiny,
        smallest,
        [-0.0, 2.0**-120, -(2.0**-149)],
        [0.0, -0.0, 0.0],
        [0.0, 0.5, -0.0],
        every,
        every[9:130],
        every[252:],
        [x for x in every if abs(x) >= 2**-125],
    ):
        parted(check.Weights("F32", struct.pack(f"<{len(xs)}f", *xs), len(xs), 1, True), xs)
    for bad in (math.inf, math.nan, -math.inf):
        for kind, code in packed.items():
            assert not check.Weights(kind, struct.pack(f"<2{code}", 1, bad), 2, 1, True).good
            inner = check.Tensor(None, 0, kind, (2, 1), "held")
            inner.raw = lambda first, count, code=code, bad=bad: struct.pack(f"<2{code}", 1, bad)
            _refused(check, inner.floats)
            _refused(check, lambda inner=inner: list(check.Matrix(inner, True).pieces()))
    for kind, small in (("F64", 2.0**-960), ("F64", 1e-320)):
        assert not check.Weights(kind, struct.pack("<2d", 1, small), 2, 1, True).good


def parted(w: Any, xs: list[float]) -> None:
    """Parts times powers are the integers, and `dots` adds them up."""
    assert w.good
    parts, keys, powers = w.parts()
    integers = [part * powers[key] for part, key in zip(parts, keys, strict=True)]
    assert integers == [Fraction(x) * 2**w.scale for x in xs]
    assert max(map(abs, integers)) < 2**w.size
    assert max(map(abs, parts)) < 2**24 or powers == [1]
    numbers = [3**n for n in range(len(xs))]
    products = [n * number for n, number in zip(integers, numbers, strict=True)]
    assert w.dots(numbers, [slice(n, n + 1) for n in range(len(xs))]) == [sum(products)]
    half = len(xs) // 2
    pairs = [slice(n, half + n + 1, half) for n in range(half)]
    assert w.dots(numbers[:half], pairs) == [
        sum(n * number for n, number in zip(integers[first : first + half], numbers[:half], strict=True)) for first in (0, half)
    ]


def _refused(check: Any, call: Callable[[], Any]) -> None:
    try:
        call()
    except check.Refused:
        return
    raise AssertionError("accepted")


@check
def tensors(check: Any) -> None:
    rng = random.Random(3)
    held = Held(check, [rng.gauss(0, 1) for _ in range(12)], (3, 4))
    for square in (Fraction(1), Fraction(48), Fraction(9, 4)):
        for x, n in zip(held.values, held.inner.rounded(40, square), strict=True):
            assert 0 <= float((abs(exactly(x)) * exactly(square).sqrt() * 2**40 - abs(n)).mid()) < 1
            assert n * x >= 0
    columns = [held.values[i : i + 4] for i in range(0, 12, 4)]
    before, check.CHUNK = check.CHUNK, 8  # so that a matrix is read in pieces
    for by_rows, shape in ((True, (3, 4)), (False, (4, 3))):
        held = Held(check, [float(x) for x in held.values], shape)
        matrix = check.Matrix(held.inner, by_rows)
        assert len(list(matrix.pieces())) == 2
        x = rows(check, rng, 3, 4, 50, 0, 100)
        cut = columns if by_rows else [held.values[j::3] for j in range(3)]
        kept = bytearray()
        for (product, scale, norm), column in zip(check.products(x, matrix, alone(check), None, kept.extend), cut, strict=True):
            assert product == [sum(a * b for a, b in zip(row, column, strict=True)) * 2**scale for row in x.values]
            assert float((size(column) * 2**32 - norm).upper()) < 0
        witnessed(check, x, matrix, bytes(kept))
        bias = Held(check, [rng.gauss(0, 1) for _ in range(3)], (3,))
        parts = check.linear(x, check.products(x, matrix, alone(check)), bias.inner, [1, 2])
        outputs = [list(zip(*part.values, strict=True)) for part in parts]
        for output, column, b in zip([*outputs[0], *outputs[1]], cut, bias.values, strict=True):
            for row, found in zip(x.values, output, strict=True):
                assert abs(sum(a * w for a, w in zip(row, column, strict=True)) + b * 2**50 - found) < 2
        for part, cut_to in zip(parts, (cut[:1], cut[1:]), strict=True):
            for radius, before_it in zip(part.radii, x.radii, strict=True):
                norm = size([w for column in cut_to for w in column])
                least(radius, norm * before_it + 2 * arb(len(cut_to)).sqrt())
    check.CHUNK = before


def witnessed(check: Any, x: Any, matrix: Any, kept: bytes) -> None:
    """What was kept is taken, and nothing that differs from it."""
    from io import BytesIO

    def read(witness: bytes) -> list[Any]:
        return list(check.products(x, matrix, alone(check), BytesIO(witness)))

    assert read(kept) == list(check.products(x, matrix, alone(check)))
    _refused(check, lambda: read(kept[:-1]))
    for n in range(0, len(kept), 7):
        _refused(check, lambda n=n: read(kept[:n] + bytes([kept[n] ^ 1]) + kept[n + 1 :]))


@check
def sizes(check: Any) -> None:
    """Of sums of products, at their largest."""
    for largest in (1, 2**40 - 1, 2**41):
        for bits in (1, 24, 50):
            for terms in (1, 7, 8, 3072):
                width = check.entry_bytes(largest, bits, terms)
                assert largest * (2**bits - 1) * terms < 1 << 8 * width - 1
                assert width <= (largest.bit_length() + bits + terms.bit_length()) // 8 + 2
    assert check.entries((1 << 15).to_bytes(2, "little") + (5).to_bytes(2, "little"), 2) == [0, 5 - (1 << 15)]


@check
def streams(check: Any) -> None:
    rng = random.Random(4)
    x, y = rows(check, rng, 3, 5, 60, 81), rows(check, rng, 3, 5, 60, 70)
    for before, after in zip(x.radii, x.with_bits(55).radii, strict=True):
        least(after, exactly(Fraction(before, 32)) + arb(5).sqrt())
    assert x.with_bits(70).radii == [r << 10 for r in x.radii]
    assert [[a << 10 for a in row] for row in x.values] == x.with_bits(70).values
    assert all(0 <= Fraction(a, 32) - b < 1 for a, b in zip(x.values[0], x.with_bits(55).values[0], strict=True))
    for r, s, t in zip(x.radii, y.radii, check.added(x, y).radii, strict=True):
        least(t, arb(r + s))
    for r, s, t in zip(x.radii, y.radii, check.side_by_side([x, y]).radii, strict=True):
        least(t, size([r, s]))
    wide = check.Rows(x.values, [1 << 40] * 3, 60)
    assert wide.trimmed().bits < 60
    product = check.times(wide, y)
    for n, radius in enumerate(product.radii):
        a, b = (max(map(abs, part.values[n])) for part in (wide, y))
        bound = Fraction(a * y.radii[n] + b * wide.radii[n] + y.radii[n] * wide.radii[n], 1 << 60)
        least(radius, exactly(bound) + arb(5).sqrt())
    assert all(0 <= Fraction(a * b, 1 << 60) - c < 1 for a, b, c in zip(x.values[0], y.values[0], product.values[0], strict=True))


@check
def norms(check: Any) -> None:
    rng = random.Random(5)
    d, bits = 6, 50
    gain, bias = (Held(check, [rng.gauss(1, 1) for _ in range(d)], (d,)) for _ in range(2))
    for centred in (True, False):
        for unit in (0, 1):
            for epsilon in (Fraction(0), Fraction(1, 1000)):
                for radius, spread in ((0, 1), (1 << 46, 1), (1 << 30, 9)):
                    x = rows(check, rng, 2, d, bits, radius, spread)
                    y = check.norm(x, gain.inner, bias.inner, epsilon, centred, unit)
                    gains = [g + unit for g in gain.values]
                    for row, r, out, after in zip(x.values, x.radii, y.values, y.radii, strict=True):
                        mean = Fraction(sum(row), d) if centred else 0
                        u = [Fraction(a - mean, 1 << bits) for a in row]
                        sigma = exactly(sum(a * a for a in u) / d + epsilon).sqrt()
                        for a, g, b, found in zip(u, gains, bias.values, out, strict=True):
                            true = exactly(a * g) / sigma + exactly(b)
                            assert off(found, true, bits) < 2 * abs(g) + 2
                        nearest = max(0, Fraction(str(size(u).mid().str(30, radius=False))) - Fraction(r, 1 << bits))
                        smallest = exactly(nearest**2 / d + epsilon).sqrt()
                        steepest = exactly(max(map(abs, gains)))
                        least(after, steepest * (r / smallest * (1 - arb(2) ** -30) + 2 * arb(d).sqrt()) + 2 * arb(d).sqrt())
    for row, radius, centred in (([5] * d, 7, True), ([1 << bits] * d, 9 << bits, False)):
        x = check.Rows([row], [radius], bits)
        _refused(check, lambda x=x, centred=centred: check.norm(x, gain.inner, None, Fraction(0), centred, 0))


@check
def attentions(check: Any) -> None:
    rng = random.Random(6)
    bits, width = 44, 4
    for cap in (None, Fraction(3, 2)):
        for window in (0, 2):
            for radius in (0, 1 << 35):
                q, k, v = (rows(check, rng, 4, width, bits, radius + n, 3) for n in range(3))
                square = Fraction(1, 4)
                out = check.attention(q.taken([1, 3]), k, v, square, cap, window, [1, 3])
                for t, row, after in zip((1, 3), out.values, out.radii, strict=True):
                    seen = range(max(0, t + 1 - window) if window else 0, t + 1)
                    scores, wrong = [], Fraction(0)
                    real = [Fraction(a, 1 << bits) for a in q.values[t]]
                    for s in seen:
                        dot = sum(a * Fraction(b, 1 << bits) for a, b in zip(real, k.values[s], strict=True))
                        score = exactly(dot / 2)
                        scores.append(exactly(cap) * (score / exactly(cap)).tanh() if cap else score)
                        norms = [Fraction(int(float(size(part).lower()))) for part in (q.values[t], k.values[s])]
                        moved = (norms[0] + q.radii[t]) * k.radii[s] + q.radii[t] * norms[1]
                        wrong = max(wrong, moved / 2 / (1 << bits))
                    dots = [abs(sum(map(lambda a, b: a * b, q.values[t], k.values[s]))) >> 2 * bits for s in seen]
                    wrong += max(dots) + 1 + (1 + 3 * cap if cap else 0)
                    total = sum((x.exp() for x in scores), arb(0))
                    share = [x.exp() / total for x in scores]
                    for j, found in enumerate(row):
                        true = sum((p * v.values[s][j] for p, s in zip(share, seen, strict=True)), arb(0))
                        assert abs(float((true - found).mid())) < float(wrong + 2 * len(seen)) * 8 + 1
                    spread = (
                        (wrong + 2 * len(seen)) * max(Fraction(int(float(size(v.values[s]).lower()))) for s in seen) / (1 << bits)
                    )
                    least(after, exactly(max(v.radii[s] for s in seen) + spread) + arb(width).sqrt())


@check
def turns(check: Any) -> None:
    from types import SimpleNamespace

    rng, bits = random.Random(7), 40
    rope = SimpleNamespace(base=Fraction(10000), width=4, kind="default", factor=Fraction(1))
    table = check.Turns(rope, "ideal", 6, bits)
    x = rows(check, rng, 6, 6, bits, 55, 1 << 38)
    y = table.turned(x)
    for t in range(6):
        for i, angle in enumerate((arb(t), arb(t) / 100)):
            a, b = x.values[t][i], x.values[t][i + 2]
            slack = float(size([a, b]).upper()) * 2.0**-bits * 0.75 + 1
            assert off(y.values[t][i], a * angle.cos() - b * angle.sin(), 0) < slack
            assert off(y.values[t][i + 2], b * angle.cos() + a * angle.sin(), 0) < slack
        assert y.values[t][4:] == x.values[t][4:]
        least(y.radii[t], x.radii[t] + 2 * size(x.values[t]) / arb(2) ** bits + arb(6).sqrt())


@check
def frequencies(check: Any) -> None:
    """Of the stored reading: powers are rounded to float32 once, and refused where float64 does not say how."""
    from types import SimpleNamespace

    for base, width in ((10000, 64), (Fraction(5, 2), 10), (1000000, 128)):
        found = check.stored_frequencies(SimpleNamespace(base=Fraction(base), width=width, kind="default", factor=Fraction(1)), 300)
        for i, f in enumerate(found):
            exponent = Fraction(struct.unpack("<f", struct.pack("<f", 2 * i / width))[0])
            power = exactly(base) ** exactly(exponent)
            single = Fraction(struct.unpack("<f", struct.pack("<f", float(power.mid())))[0])
            assert Fraction(f, 1 << 300) == Fraction(struct.unpack("<f", struct.pack("<f", 1 / float(single)))[0])
            assert float(abs(power - exactly(single)).upper()) <= 2.0**-24 * float(power.mid())
    for base, width in ((2474.658203125, 64), (19.998353958129883, 80), (1013682.0, 96)):
        rope = SimpleNamespace(base=Fraction(base), width=width, kind="default", factor=Fraction(1))
        _refused(check, lambda rope=rope: check.stored_frequencies(rope, 300))


@check
def logits(check: Any) -> None:
    """The lead that is shown is the bound of the lemma."""
    rng = random.Random(8)
    for cap in (None, Fraction(2)):
        table, bias = (
            Held(check, [rng.gauss(0, 1) for _ in range(20)], (5, 4)),
            Held(check, [rng.gauss(0, 1) for _ in range(5)], (5,)),
        )
        n = check.Network()
        n.tensors = {"words.weight": table.inner, "lm_head.bias": bias.inner}
        n.head, n.names, n.logit_cap, n.dim, n.work = "words", {"head": "lm_head"}, cap, 4, alone(check)
        matrix = check.Matrix(table.inner, True)
        rows_of = [table.values[4 * i : 4 * i + 4] for i in range(5)]
        for bits, radius in ((40, 1), (40, 1 << 20), (58, 0), (59, 3)):
            row = rows(check, rng, 1, 4, bits, 0).values[0]
            lost = size(row) * 24 / arb(2) ** 52  # by sums in floats, as a radius
            for exact in (True, False):
                values = [
                    exactly(Fraction(sum(a * b for a, b in zip(w, row, strict=True))) / 2**bits + b)
                    for w, b in zip(rows_of, bias.values, strict=True)
                ]
                errors = [size(w) * (radius + (0 if exact else lost)) / arb(2) ** bits for w in rows_of]
                token = max(range(5), key=lambda i: float(values[i].mid()))
                x = check.Rows([row], [radius], bits)
                found = (
                    n.led(x, [token], check.products(x, matrix, n.work))[0]
                    if exact
                    else n.leads(x, [token], [Fraction(-(10**9))])[0]
                )
                low = values[token] - errors[token]
                high = max((values[i] + errors[i] for i in range(5) if i != token), key=lambda a: float(a.mid()))
                if cap:
                    low, high = (exactly(cap) * (y / exactly(cap)).tanh() for y in (low, high))
                bound = low - high - 4 / arb(2) ** bits
                slack = (
                    0 if exact else float((max(map(size, rows_of), key=float) * lost).mid()) / 2**bits
                )  # what roundings really do
                assert float((exactly(found) - bound).lower()) <= slack / 3
                assert float((bound - exactly(found)).lower()) < 40 / 2**bits + slack / 3


ctx.prec = 1500
