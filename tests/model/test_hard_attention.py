"""Hard attention: equal weights for the largest scores, everything rational, and the limit of ever stronger heads."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Number, exact
from plain_pass import PlainPass
from random_models import random_model, random_tokens

CIRCUITS = ("induction", "similar", "context", "skip")


@pytest.mark.parametrize("mask", ["strict", "causal", "none"])
@pytest.mark.parametrize("name", CIRCUITS)
def test_every_number_is_exact_and_every_pattern_is_shared_equally(name: str, mask: Any) -> None:
    trace = xf.load(name).changed(hard=True, mask=mask).trace()
    for step in trace.computed:
        assert all(type(value) is Exact or value is MASKED for value in step.values.flat), step.name
    for block in range(2):
        pattern, masked = (trace[f"blocks.{block}.attn.{what}"].values for what in ("pattern", "masked"))
        for place in np.ndindex(pattern.shape[:2]):
            weights = [value.fraction for value in pattern[place]]
            seen = [(j, score.fraction) for j, score in enumerate(masked[place]) if score is not MASKED]
            largest = [j for j, score in seen if score == max(s for _, s in seen)]
            assert weights == [Fraction(int(j in largest), max(1, len(largest))) for j in range(len(weights))]


@pytest.mark.parametrize("name", CIRCUITS)
def test_the_pass_is_that_of_fractions(name: str) -> None:
    sheet = xf.load(name).changed(hard=True)
    rng = random.Random(50)
    plain = PlainPass(sheet.model, rational=True)
    for _ in range(5):
        tokens = tuple(rng.choice(sheet.model.config.vocabulary) for _ in range(rng.randint(1, 6)))
        steps, trace = plain(tokens), xf.run(sheet.model, tokens)
        for step in ("blocks.0.attn.pattern", "blocks.1.attn.scores", "blocks.1.attn.pattern", "logits"):
            found = [value.fraction for value in trace[step].values.flat]
            assert found == list(np.array(steps[step], dtype=object).flat), step


@pytest.mark.parametrize("name", CIRCUITS)
def test_it_is_the_limit_of_strength(name: str) -> None:
    sheet = xf.load(name)
    hard, steps = sheet.changed(hard=True).trace(), [f"blocks.{block}.attn.pattern" for block in (0, 1)]

    def apart(strength: int) -> list[Number]:
        soft = sheet.changed(strength=exact(strength)).trace()
        return [abs(a - b) for step in steps for a, b in zip(hard[step].values.flat, soft[step].values.flat, strict=True)]

    assert all(distance < exact("1e-60") for distance in apart(400))
    assert any(distance > exact("1e-3") for distance in apart(4))


def test_induction_at_strength_200_is_hard_to_60_decimals() -> None:
    sheet = xf.load("induction")
    hard, soft = sheet.changed(hard=True).trace(), sheet.changed(strength=exact(200)).trace()
    for step in ("blocks.0.attn.pattern", "blocks.1.attn.pattern", "logits"):
        for a, b in zip(hard[step].values.flat, soft[step].values.flat, strict=True):
            assert abs(a - b) < exact("1e-60")
    assert hard.token(5) == soft.token(5) == "a"


@pytest.mark.parametrize("name", CIRCUITS)
def test_floats_agree(name: str) -> None:
    sheet = xf.load(name).changed(hard=True)
    exactly = np.array([[value.to_float() for value in row] for row in sheet.trace().logits])
    for arithmetic in ("float64", "float32"):
        assert np.allclose(sheet.trace(arithmetic=arithmetic).logits, exactly, rtol=1e-5)


def test_random_models_of_heads() -> None:
    """Scores of any size and sign, ties, several heads: the rows of the pattern follow from those of the scores."""
    rng = random.Random(51)
    shared = 0
    for _ in range(25):
        model = random_model(rng, norm="none", final_norm=False, mlp=0, hard=True, scale="none", positions="table")
        trace = xf.run(model, random_tokens(rng, model))
        for block in range(model.config.blocks):
            pattern, masked = (trace[f"blocks.{block}.attn.{what}"].values for what in ("pattern", "masked"))
            for place in np.ndindex(pattern.shape[:2]):
                scores = {j: score.fraction for j, score in enumerate(masked[place]) if score is not MASKED}
                largest = {j for j, score in scores.items() if score == max(scores.values())}
                shared += len(largest) > 1
                weights = [value.fraction for value in pattern[place]]
                assert weights == [Fraction(int(j in largest), max(1, len(largest))) for j in range(len(weights))]
    assert shared > 10


def test_named_scores_are_compared_by_proof() -> None:
    """With a scale of 1/√2 scores are named; equal ones share, and unequal ones do not, whatever floats would say."""
    rng = random.Random(52)
    for _ in range(10):
        model = random_model(rng, norm="none", final_norm=False, mlp=0, hard=True, scale="sqrt", dims=(2,), positions="table")
        trace = xf.run(model, random_tokens(rng, model))
        for block in range(model.config.blocks):
            for value in trace[f"blocks.{block}.attn.pattern"].values.flat:
                assert type(value) is Exact
                assert value == 0 or (1 / value).fraction.denominator == 1
