"""Balls in a trace: every digit that is printed is proved, and JSON's bounds are around the value."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from ball_ends import ends
from exactformer.arithmetics import arithmetic
from exactformer.numbers import Named
from exactformer.render.json import document
from exactformer.render.json import value as as_json
from exactformer.render.values import show
from exactformer.trace import Trace
from exactformer.worksheets import load


def test_a_trace_of_balls() -> None:
    sheet = load("capstone")
    balls, right = sheet.trace("a b", "arb"), sheet.trace("a b")
    assert [out.token for out in balls.output] == [out.token for out in right.output]
    assert balls.decided
    assert arithmetic("arb").name == balls.arithmetic == "arb"
    assert "0.731058578630" in str(balls)
    assert "ahead of c by 1 (proved)" in str(balls)
    assert printed_values(balls, right) > 50


def printed_values(balls: Trace, right: Trace) -> int:
    """Every value that JSON prints is around the exact one, and its text is the exact one's digits."""
    checked = 0
    for ours, theirs in zip(json.loads(json.dumps(document(balls, 9)))["steps"], right.steps, strict=True):
        for printed, value in zip(np.array(ours["values"], dtype=object).flat, theirs.values.flat, strict=True):
            if printed["status"] == "ball":
                low, high = Fraction(printed["low"]), Fraction(printed["high"])
                enclosure = value.enclosure(80)
                assert low <= enclosure.high
                assert enclosure.low <= high
                if isinstance(value, Named):
                    assert printed["text"] == value.digits(9)
                checked += 1
    return checked


def test_printed_balls() -> None:
    assert [show(arb(text)).text for text in ("1", "0.125", "0", "-40")] == ["1", "0.125", "0", "-40"]
    assert [show(arb(text), 6).text for text in ("2.5 +/- 0.001", "2.5 +/- 0.1", "204 +/- 2")] == [
        "2.50",
        "[2.39, 2.61]",
        "[201, 207]",
    ]
    assert show(arb("2.5 +/- 0.1")).status == "ball"
    wide = as_json(arb(0, 1), 3)  # Arb rounds a radius up
    assert wide == {"status": "ball", "text": "[-1.01, 1.01]", "low": "-1.01", "high": "1.01"}
    far = as_json((-(arb(10) ** 9)).exp(), 3)
    assert (far["low"], far["high"]) == (None, None)
    assert "magnitude" in far["why"]
    assert "e-434294482" in far["text"]


def test_every_number_in_a_ball_rounds_to_what_is_printed() -> None:
    rng = random.Random(2)
    rounded = 0
    for _ in range(600):
        x = Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**5))
        radius = 2.0 ** -rng.randint(1, 40)
        ball = arb(fmpq(x.numerator, x.denominator)) + arb(rng.uniform(-radius, radius), radius)
        text = show(ball, 8).text
        low, high = map(Fraction, (text.strip("[]").split(", ") * 2)[:2])
        slack = 0 if text.startswith("[") else unit(text) / 2
        assert low - slack <= ends(ball)[0]
        assert ends(ball)[1] <= high + slack
        rounded += slack > 0
    assert rounded > 400


def unit(text: str) -> Fraction:
    """The value of one in the last place."""
    mantissa, _, exponent = text.partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
