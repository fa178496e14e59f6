"""Tables of GELU at negative points, which follow from positive ones, and turns cut from longer tables (Lemmas 6 and 23)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb, arb_series
from limb_checks import as_arb, exact

from exactformer.certified import bounds, rotating, tables
from exactformer.certified.limbs import ulp
from exactformer.numbers.enclosure import precision


def series(kind: str, place: int, length: int) -> list[arb]:
    """GELU around a point, from its definition."""
    before, flint.ctx.cap = flint.ctx.cap, length
    try:
        x = arb_series([arb(place) / (1 << tables.GRID), 1], length)
        if kind == "gelu":
            found = x * (-x / arb(2).sqrt()).erfc() / 2
        else:
            inner = (x + x * x * x * (arb(44715) / 10**6)) * (2 / arb.pi()).sqrt()
            found = x * (2 * inner).exp() / (1 + (2 * inner).exp())
        return [found[k] for k in range(length)]
    finally:
        flint.ctx.cap = before


@pytest.fixture(params=[(kind, n) for kind in ("gelu", "gelu_tanh") for n in (6, 7)], ids=str)
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, tables.Table]:
    monkeypatch.setattr(tables, "_built", {})
    kind, n = request.param
    return kind, tables.activation_table(kind, n)


def worst(kind: str, table: tables.Table) -> tuple[float, float]:
    """The largest errors at points all over a table: of its limbs, in ulps, and of its floats, in what they may be off."""
    points = [*range(-3, 4), *range(table.first, -table.first + 1, 97), -table.first]
    in_limbs = in_floats = 0.0
    with precision(800):
        for point in points:
            true = series(kind, point, len(table.floats))
            for k, limbs in enumerate(table.limbs):
                error = abs(as_arb(exact(limbs[:, [point - table.first]])[0]) - true[k]) / ulp(len(limbs))
                in_limbs = max(in_limbs, float(error.upper()))
            for k, value in enumerate(table.floats[:, point - table.first].tolist()):
                error = abs(arb(value) - true[k]) / (2 * bounds.UNIT * abs(true[k]) + arb(2) ** -150)
                in_floats = max(in_floats, float(error.upper()))
    return in_limbs, in_floats


def test_every_entry_of_an_activation_is_right_on_both_sides(table: tuple[str, tables.Table]) -> None:
    in_limbs, in_floats = worst(*table)
    assert in_limbs <= 0.5 + 2.0**-10
    assert in_floats <= 1


@pytest.mark.parametrize("order", [0, 1, 3])
def test_an_order_that_is_not_mirrored_rightly_is_noticed(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    full = tables._mirrored
    monkeypatch.setattr(tables, "_built", {})
    monkeypatch.setattr(tables, "_mirrored", lambda x, k, bits: x if k == order else full(x, k, bits))
    assert worst("gelu_tanh", tables.activation_table("gelu_tanh", 6))[0] > 1


def turns() -> rotating.Turns:
    return rotating.Turns(lambda position, pair: arb(position) / (pair + 3), 4)


def off(table: Any, n: int, start: int) -> float:
    """The largest error of cosines and sines as vectors, in ulps of the last of n + 1 limbs."""
    with precision(900):
        errors = []
        for place in np.ndindex(table[0].shape[1:]):
            sine, cosine = (arb(start + place[0]) / (place[1] + 3)).sin_cos()
            a, b = (as_arb(exact(side[(slice(None), *place)][:, None])[0]) for side in table)
            errors.append(((a - cosine) ** 2 + (b - sine) ** 2).sqrt())
        return max(float(error.upper()) for error in errors) / ulp(n + 1)


def test_turns_that_are_cut_from_a_longer_table_are_right() -> None:
    held = turns()
    held.at(9, 0, 3)
    for n, start, stop in ((9, 0, 3), (4, 1, 9), (8, 60, 70), (12, 66, 68), (5, 0, 2)):
        table = held.at(n, start, stop)
        assert table[0].shape == (n + 1, stop - start, 4)
        assert off(table, n, start) <= bounds.TURN
    assert held._most == 12
    floats = held.at(0, 2, 5)
    assert np.allclose(floats[0], np.cos(np.arange(2, 5)[:, None] / (np.arange(4) + 3)))


def test_a_table_that_is_rounded_worse_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    full = tables.nearest_integer
    monkeypatch.setattr(rotating, "nearest_integer", lambda ball, bits: full(ball, bits - 1) * 2)
    assert off(turns().at(6, 0, 9), 6, 0) > bounds.TURN
    assert Fraction(bounds.TURN) ** 2 > 2 * (Fraction(bounds.CARRY) + Fraction(1, 2**21)) ** 2
