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
        self.inner = check.Tensor(None, 0, kind, shape)
        width = self.inner.width
        self.inner.raw = lambda first, count: raw[first * width : (first + count) * width]
        self.values = [Fraction(x) for x in struct.unpack(f"<{len(values)}{code}", raw)]


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
        y = check.activated(x, check.relu)
        for row, before, after in zip(x.values, x.radii, y.radii, strict=True):
            most = max(map(abs, row)) >> 40
            least(after, exactly(Fraction(7, 4) * before) + (2 * most + 8) * arb(24).sqrt())


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
            found = check.Weights(kind, raw)
            for x, n in zip(xs, found.integers(), strict=True):
                assert Fraction(x) * 2**found.scale == n
                assert abs(n) < 2**found.size
            parted(found)
            assert found.size <= 53 + spread + 34
    tiny = [0.0, 1e-42, -0.5, -0.0]
    found = check.Weights("F32", struct.pack("<4f", *tiny))
    assert found.floats[1] > 0
    assert found.integers() == [Fraction(x) * 2**found.scale for x in found.floats]
    parted(found)
    parted(check.Weights("F32", struct.pack("<3f", 0.0, -0.0, 0.0)))
    floats = [sign << 31 | exponent << 23 | exponent * 35 for sign in (0, 1) for exponent in range(2, 254)]
    for some in (floats, floats[9:130], floats[252:]):  # the first have too many bytes for keys
        parted(check.Weights("F32", struct.pack(f"<{len(some)}I", *some)))
    for bad in (math.inf, math.nan, -math.inf):
        for kind, code in packed.items():
            _refused(check, lambda kind=kind, code=code, bad=bad: check.Weights(kind, struct.pack(f"<2{code}", 1, bad)))


def parted(found: Any) -> None:
    """Parts times powers are the integers, and `dots` adds them up."""
    numbers = [3**n + (n == 0) * 2**70000 for n in range(len(found.floats))]  # so large that they are taken a few at a time
    integers = found.integers()
    places = [range(len(numbers))] * 2
    whole = sum(n * number for n, number in zip(integers, numbers, strict=True))
    assert found.dots(numbers, places) == [whole, whole]
    assert [part * found.powers[key] for part, key in zip(found.parts, found.keys, strict=True)] == integers
    uneven = range(1, len(numbers), 2)
    assert found.dots(numbers[: len(uneven)], [uneven]) == [
        sum(integers[i] * number for i, number in zip(uneven, numbers[: len(uneven)], strict=True))
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
    for column in columns:
        found = check.float_norm_up([float(x) for x in column])
        assert float((size(column) * 2**32 - found).upper()) < 0
        assert float((found - size(column) * 2**32).lower()) < 2
    for by_rows, shape in ((True, (3, 4)), (False, (4, 3))):
        held = Held(check, [float(x) for x in held.values], shape)
        matrix = check.Matrix(held.inner, by_rows)
        x = rows(check, rng, 3, 4, 50, 0, 100)
        cut = columns if by_rows else [held.values[j::3] for j in range(3)]
        for (product, w, floats), column in zip(check.computed(x, matrix), cut, strict=True):
            assert product == [sum(a * b for a, b in zip(row, column, strict=True)) * 2**w.scale for row in x.values]
            assert list(map(Fraction, floats)) == list(column)
        parts = check.linear(x, matrix, None, check.computed, [1, 2])
        for part, cut_to in zip(parts, (cut[:1], cut[1:]), strict=True):
            for radius, before in zip(part.radii, x.radii, strict=True):
                norm = size([w for column in cut_to for w in column])
                least(radius, norm * before + 2 * arb(len(cut_to)).sqrt())


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
        n.head, n.names, n.logit_cap, n.dim = "words", {"head": "lm_head"}, cap, 4
        most = table.inner.weights()
        largest = Fraction(2) ** (most.size - most.scale)
        assert max(map(abs, table.values)) < largest
        x = rows(check, rng, 2, 4, 40, 1)
        x.radii[1] = 1 << 20
        for t, row in enumerate(x.values):
            values, errors = [], []
            for i in range(5):
                w = table.values[4 * i : 4 * i + 4]
                value = sum(a * b for a, b in zip(w, row, strict=True)) / 2**40 + bias.values[i]
                values.append(exactly(value))
                errors.append(2 * exactly(largest * x.radii[t]) / arb(2) ** 40)
            token = max(range(5), key=lambda i: float(values[i].mid()))
            matrix = check.Matrix(table.inner, True)
            found = n.exact_leads(x.taken([t]), [token], matrix)[0]
            if not cap:
                bare = [exactly(Fraction(0))] * 5
                for i in range(5):
                    bare[i] = values[i] - exactly(bias.values[i])
                best = max(range(5), key=lambda i: float(bare[i].mid()))
                rival = max((bare[i] for i in range(5) if i != best), key=lambda a: float(a.mid()))
                shown = check.float_leads(x.taken([t]), [best], matrix)[0]
                sums = Fraction(sum(map(abs, row)), 2**40) * largest * 12 / 2**52
                bound = bare[best] - rival - 2 * (errors[0] + exactly(sums))
                assert float((exactly(shown) - bound).lower()) <= 0
                assert float((bound - exactly(shown)).lower()) < 4 * float(errors[0].mid()) + 1e-12
                sharp = check.float_leads(check.Rows([row], [0], 40), [best], matrix)[0]  # floats alone
                assert float((exactly(sharp) - (bare[best] - rival - 1.9 * exactly(sums))).lower()) <= 0
            low, high = (
                values[token] - errors[token],
                max((values[i] + errors[i] for i in range(5) if i != token), key=lambda a: float(a.mid())),
            )
            if cap:
                low, high = (exactly(cap) * (y / exactly(cap)).tanh() for y in (low, high))
            bound = low - high - 4 / arb(2) ** 40
            assert float((exactly(found) - bound).lower()) <= 0
            assert float((bound - exactly(found)).lower()) < 40 / 2**40 + 2 * float(errors[0].mid())


ctx.prec = 1500
