"""The formulas of the checker, and that none of its constants may be less careful than it is."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flint import ctx
from formulas import CHECKS

import exactformer_check

SOURCE = Path(exactformer_check.__file__).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def precise() -> Any:
    before, ctx.prec = ctx.prec, 1500
    yield
    ctx.prec = before


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_formula(check: Callable[[Any], None]) -> None:
    check(exactformer_check)


MUTANTS = [  # what stands in the source, and what is a little less careful
    ("total + (1 << 63) >> 64", "total >> 64"),
    ("unit, halvings = bits + 64, 14 +", "unit, halvings = bits + 64, 60 +"),
    ("if y >> bits >= bits:", "if y >> bits >= bits // 2:"),
    ("total += -term if k & 1 else term", "total += term"),
    ("if sign > 0 or k & 2 == 0", "if sign > 0 or k & 2"),
    ("16 * arc(1, 5, -1, unit) - 4 * arc(1, 239", "16 * arc(1, 5, -1, unit) - 4 * arc(1, 238"),
    ("+ twos * arc(1, 3, 1, unit)", "+ (twos - 1) * arc(1, 3, 1, unit)"),
    ("sums[n & 1] += -term if n & 2 else term", "sums[n & 1] += term"),
    ("((c, s), (-s, c), (-c, -s), (s, -c))", "((c, s), (-s, c), (-c, s), (s, -c))"),
    ("44715 * (abs(x) ** 3", "44716 * (abs(x) ** 3"),
    ("math.isqrt((8 << 3 * bits + 64)", "math.isqrt((8 << 3 * bits + 63)"),
    ("while term or n <= square >> 2 * bits:", "while n <= square >> 2 * bits:"),
    ("// (2 * n + 1)", "// (2 * n + 2)"),
    ("more = 2 * whole + 8", "more = 0"),
    ("math.isqrt(2 * pi(bits + 64) << bits >> 64)", "math.isqrt(3 * pi(bits + 64) << bits >> 64)"),
    ("e = exp_minus(2 * abs(x)", "e = exp_minus(abs(x)"),
    ("(5 * r >> 2) + 1 + more", "(4 * r >> 2) + 1 + more"),
    ("(5 * r >> 2) + 1 + more", "(5 * r >> 2) + 1"),
    ("(2 * (largest([row]) >> x.bits) + 8)", "(1 * (largest([row]) >> x.bits) + 8)"),
    ("(2 * (largest([row]) >> x.bits) + 8)", "(2 * (largest([row]) >> x.bits) + 6)"),
    ("return math.isqrt(n) + 1", "return math.isqrt(n)"),
    ("n * (2**40 + 1) // (d * 2**8) + 1", "n * (2**40 - 1) // (d * 2**8)"),
    ("n * (2**40 + 1) // (d * 2**8) + 1", "n * (2**40 + 1) // (d * 2**9) + 1"),
    ("bias + fraction - step * self.low)", "bias + fraction - step * self.low - 1)"),
    ("self.size = step * (high + 1) - bias", "self.size = step * high - bias"),
    ("kept = found[zeros:] or [64]", "kept = found[zeros:][1:] or [64]"),
    ("self.good = high < 127 and", "self.good = True and"),
    ("self.good = high < 127 and self.scale < 1000", "self.good = high < 127"),
    ("zeros = 0 in found and tops.count(0) == self.floats().count(0.0)", "zeros = 0 in found"),
    ("need(w.good,", "need(True,"),
    ("need(all(map(math.isfinite, found)),", "need(True,"),
    ("if self.double or not self.low or len(known) > 128:", "if self.double or len(known) > 128:"),
    ("if self.double or not self.low or len(known) > 128:", "if self.double or not self.low:"),
    ("bytes(byte | 128 for byte in", "bytes(byte for byte in"),
    ("parts[3::4] = bytes(count)", "pass"),
    ("bytes(2 * known.index(top) if", "bytes(known.index(top) if"),
    ("bytes(byte >> 7 for byte in", "bytes(0 for byte in"),
    ("(-1 if top > 127 else 1) << e - 150", "1 << e - 150"),
    ("1) << e - 150 + self.scale if e > 1 else 0", "1) << e - 149 + self.scale if e > 1 else 0"),
    ("1) << e - 150 + self.scale if e > 1 else 0", "1) << max(0, e - 150 + self.scale)"),
    ("[number * power for power in powers].__getitem__", "[number * abs(power) for power in powers].__getitem__"),
    ("sums = list(map(add, sums, map(mul,", "sums = list(map(add, repeat(0), map(mul,"),
    ("return (rows, columns) if self.by_rows else (columns, rows)", "return rows, columns"),
    ("count = min(most, outputs - first)", "count = min(most, outputs)"),
    ("range(first, inputs * outputs, outputs)", "range(0, inputs * outputs, outputs)"),
    ("[first * inputs], count * inputs", "[0], count * inputs"),
    ("need(same, \"the witness has", "need(True, \"the witness has"),
    ("secrets.randbits(96) for _ in columns", "0 for _ in columns"),
    ("products[t :: len(rows)]", "products[:: len(rows)]"),
    ("wide[2::4], wide[3::4] = raw[0::2], raw[1::2]", "wide[2::4], wide[3::4] = raw[1::2], raw[0::2]"),
    ("+ terms.bit_length()) // 8 + 1", ") // 8 + 1"),
    ("(largest.bit_length() + size +", "(largest.bit_length() +"),
    ("half, starts = 1 << 8 * width - 1", "half, starts = 1 << 8 * width - 2"),
    ("offset = sum(1 << 8 * width * (t + 1) - 1", "offset = sum(1 << 8 * width * (t + 1) - 2"),
    ("math.isqrt(n * n * top // (d * d * bottom))", "math.isqrt(n * n * top // (d * bottom))"),
    ("-size if n < 0 else size", "size"),
    ("(steepest * radius >> 32) + 1 + 2 * root_up(size)", "(steepest * radius >> 33) + 1 + 2 * root_up(size)"),
    ("(steepest * radius >> 32) + 1 + 2 * root_up(size)", "(steepest * radius >> 32)"),
    ("lost = 1 + root_up(len(self.values[0])) if down else 0", "lost = 0"),
    ("list(map(add, x.radii, y.radii))", "list(map(max, x.radii, y.radii))"),
    ("radii = [norm_up(radii) for radii", "radii = [max(radii) for radii"),
    ("largest([a]) * s + largest([b]) * r + r * s", "largest([a]) * s + r * s"),
    ("largest([a]) * s + largest([b]) * r + r * s", "largest([b]) * r + r * s"),
    ("(moved >> bits) + 1 + root_up(len(a))", "(moved >> bits)"),
    ("math.isqrt(squares) // times - radius)", "math.isqrt(squares) // times)"),
    ("moved = (radius << bits) // sigma + 1 + 2 * root_up(d)", "moved = (radius << bits) // sigma + 1"),
    ("moved = (radius << bits) // sigma + 1 + 2 * root_up(d)", "moved = (radius << bits) // (2 * sigma) + 1 + 2 * root_up(d)"),
    ("math.floor(steepest * moved) + 1 + 2 * root_up(d)", "math.floor(steepest * moved)"),
    ("steepest, factors = max(map(abs, gains))", "steepest, factors = min(map(abs, gains))"),
    ("[Fraction(g) + unit for g in", "[Fraction(g) for g in"),
    ("need(root >> bits >= d and sigma,", "need(root >> bits >= d or sigma,"),
    ("top * d * times**2 * 4**bits", "top * d * times * 4**bits"),
    ("longest = norm_up(query) + radius", "longest = norm_up(query)"),
    ("max(longest * r + radius * n for", "max(longest * r for"),
    ("max(longest * r + radius * n for", "max(radius * n for"),
    ("wrong += 1 + math.ceil(3 * cap)", "wrong += 0"),
    (">> 2 * bits) + 3\n", ">> 2 * bits)\n"),
    ("((wrong + 2 * len(powers)) * max(v_norms[seen])", "(wrong * max(v_norms[seen])"),
    ("((wrong + 2 * len(powers)) * max(v_norms[seen])", "((2 * len(powers)) * max(v_norms[seen])"),
    ("max(v.radii[seen]) + spread + root_up(size)", "min(v.radii[seen]) + spread"),
    ("max(v.radii[seen]) + spread + root_up(size)", "spread + root_up(size)"),
    ("max(0, t + 1 - window) if window else 0", "max(0, t - window) if window else 0"),
    ("radius + (2 * norm_up(row) >> x.bits) + 1 + root_up(len(row))", "radius + 1 + root_up(len(row))"),
    ("radius + (2 * norm_up(row) >> x.bits) + 1 + root_up(len(row))", "radius + (2 * norm_up(row) >> x.bits)"),
    ("[b * c + a * s >> x.bits for", "[b * c - a * s >> x.bits for"),
    ("map(math.nextafter, ends, (0, math.inf))", "ends"),
    ("need(power == above,", "need(True,"),
    ("e = exp_minus(int(exponent * log(base, fine)), fine)", "e = exp_minus(int(2 * i / rope.width * log(base, fine)), fine)"),
    ("(norm * radius >> 32) + 3", "(norm * radius >> 33) + 3"),
    ("(norm * radius >> 32) + 3", "(norm * radius >> 32)"),
    ("own[t] = value - error\n", "own[t] = value\n"),
    ("max(rivals[t], value + error)", "max(rivals[t], value)"),
    ("max(rivals[t], value + error)", "value + error"),
    ("((4 * matrix.inputs + 8) * norm_up(row) >> 52) + 1", "(3 * norm_up(row) >> 52) + 1"),
    ("((4 * matrix.inputs + 8) * norm_up(row) >> 52) + 1", "0"),
    ("wider = Rows(x.values, list(map(add, x.radii, lost)), x.bits)", "wider = x"),
    ("wider = Rows(x.values, list(map(add, x.radii, lost)), x.bits)", "wider = Rows(x.values, list(lost), x.bits)"),
    ("[(y >> scale) + b for y in row]", "[(y >> scale + 1) + b for y in row]"),
    ("[(y >> scale) + b for y in row]", "[(y >> scale) for y in row]"),
    ("(product >> scale) + b, (norm", "(product >> scale), (norm"),
    ("values, norms = zip(*columns[first : first + size])", "values, norms = zip(*columns[:size])"),
    ("own = [y - 2 - 2 * math.ceil(3 * self.logit_cap) for y in own]", "own = [y + 40 for y in own]"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", range(len(MUTANTS)))
def test_a_careless_constant_is_noticed(mutant: int) -> None:
    old, new = MUTANTS[mutant]
    assert SOURCE.count(old) == 1, old
    module = types.ModuleType("mutant")
    exec(compile(SOURCE.replace(old, new), "mutant", "exec"), module.__dict__)  # noqa: S102
    for check in CHECKS:
        try:
            check(module)
        except Exception:
            return
    raise AssertionError(f"nothing notices {new!r} in the place of {old!r}")
