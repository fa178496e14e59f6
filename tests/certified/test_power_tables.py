"""Tables of e^x: every entry against Arb (Lemmas 8 and 9). Most are products of two that Arb has computed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from limb_checks import as_arb, exact

from exactformer.certified import bounds, tables
from exactformer.certified.limbs import ulp
from exactformer.certified.tables import FINE, FLOAT_LEAST, GRID, TOP, Powers
from exactformer.numbers.enclosure import precision


@pytest.fixture(params=[6, 25])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Powers:
    monkeypatch.setattr(tables, "_built", {})
    return tables.powers(request.param)


def off(values: np.ndarray, exponents: list[Fraction], n: int) -> float:
    """The largest error of entries in n limbs, in ulps."""
    with precision(700):
        errors = [abs(as_arb(a) - as_arb(x).exp()) for a, x in zip(exact(values[:n]), exponents, strict=True)]
        return max(float(error.upper()) for error in errors) / ulp(n)


def test_every_entry_in_limbs(table: Powers) -> None:
    count = table.limbs.shape[1]
    assert table.first + count > TOP
    places = np.unique([*range(0, count, 997), *range(count - 300, count)])
    points = [Fraction(table.first + int(place), 1 << GRID) for place in places]
    assert points[0] <= FLOAT_LEAST
    for n in (table.n, 4):
        assert off(table.limbs[:, places], points, n) <= bounds.ENTRY
    steps = np.unique([*range(0, 2 * FINE + 1, 101), FINE - 1, FINE, FINE + 1, 2 * FINE])
    for n in (table.n, 4):
        assert off(table.fine[:, steps], [Fraction(int(step) - FINE, 1 << 21) for step in steps], n) <= bounds.ENTRY


def test_every_float_is_right_to_two_units(table: Powers) -> None:
    places = np.arange(0, len(table.floats), 13)
    with precision(300):
        for place in places.tolist():
            true = (arb(place) / (1 << GRID) + FLOAT_LEAST).exp()
            assert abs(arb(float(table.floats[place])) - true) < true * (2 * bounds.UNIT)


def test_a_limb_more_is_needed_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of entries that are cut at once are off by more than an entry may be."""
    full = tables._crossed
    monkeypatch.setattr(tables, "_built", {})
    monkeypatch.setattr(
        tables,
        "_crossed",
        lambda rows, columns, n: np.concatenate([full(rows, columns, n - 1), np.zeros((1, len(rows) * len(columns)))]),
    )
    table = tables.powers(6)
    count = table.limbs.shape[1]
    places = np.arange(count - 300, count)
    assert off(table.limbs[:, places], [Fraction(table.first + int(place), 1 << GRID) for place in places], 6) > bounds.ENTRY
