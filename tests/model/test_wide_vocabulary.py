"""The arithmetic `exact` over a vocabulary so large that logits are balls."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import exactformer as xf
from exactformer.model import Config, Model, Weights
from exactformer.model.arithmetics.wide import WIDE
from exactformer.trace import gradient, run


def _model(logit_cap: str | None, lead: Fraction) -> Model:
    """Position t has the logits of its token's row; token 0 leads token 1 by so much."""
    embeddings = np.full((WIDE, 1), xf.exact(1))
    unembeddings = xf.array([[Fraction(n % 7, 8) for n in range(WIDE)]])
    unembeddings[0, 0], unembeddings[0, 1] = xf.exact(1 + lead), xf.exact(1)
    config = Config(
        vocabulary=tuple(f"t{n}" for n in range(WIDE)), dim=1, blocks=0, norm="none", mask="causal", scale="none",
        unembedding="own", logit_cap=None if logit_cap is None else xf.exact(logit_cap),
    )  # fmt: skip
    return Model(config, Weights(W_E=embeddings, W_U=unembeddings))


@pytest.mark.parametrize("lead", [Fraction(1, 3), Fraction(1, 10**50)])  # the second is seen with more than 128 bits only
def test_capped_logits_are_balls_around_the_truth(lead: Fraction) -> None:
    trace = run(_model("3/2", lead), ("t5",), "exact")
    with ctx.workprec(400):
        limit = arb(3) / 2
        for column, logit in ((0, 1 + lead), (1, Fraction(1)), (12, Fraction(5, 8))):
            truth = limit * (arb(logit.numerator) / logit.denominator / limit).tanh()
            assert trace["logits"].values[0, column].overlaps(truth)
    assert trace.token(0) == "t0"


def test_equal_logits_are_not_decided_by_rounding() -> None:
    assert run(_model("3/2", Fraction(0)), ("t5",), "exact").token(0) is None


def test_a_gradient_is_refused_in_a_line() -> None:
    trace = run(_model(None, Fraction(1)), ("t5",), "exact")
    with pytest.raises(xf.Refused, match="exact: over 2,048 tokens logits are enclosures; gradients go with arb"):
        gradient(trace, "t0")
