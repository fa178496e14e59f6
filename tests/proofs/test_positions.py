"""Answers read at positions of the input: in every arithmetic, for inputs of several lengths, where later tokens are read."""

from __future__ import annotations

import random

import pytest

from exactformer.model import Model, forward
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.proofs import From, Sequences, prove
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Tokens, places_of
from random_models import random_model

FLOATS = FloatArithmetic("float64")


def models() -> list[Model]:
    rng = random.Random(11)
    return [random_model(rng, mask=mask, blocks=2, length=3, norm="none", final_norm=False) for mask in ("none", "none", "causal")]


def said(model: Model, tokens: Tokens) -> list[str]:
    """What floats say at every position: with leads that are wide, it is the truth."""
    return [model.config.vocabulary[int(i)] for i in forward(model, model.ids(tokens), FLOATS).argmax(axis=1)]


@pytest.mark.parametrize("arithmetic", ["certified", "exact", "arb"])
@pytest.mark.parametrize("model", models())
@pytest.mark.parametrize("positions", [From(0), From(1), (0,), (1,)])
def test_all_positions_are_proved_and_one_that_is_wrong_is_found(
    model: Model, positions: From | tuple[int, ...], arithmetic: str
) -> None:
    domain = [tokens for tokens in Sequences(model.config.vocabulary[:2], 3, 2) if len(tokens) == 3 or tokens[0] != tokens[1]]
    odd = domain[-1]

    def rule(tokens: Tokens) -> list[str]:
        return [said(model, tokens)[place] for place in places_of(positions, len(tokens))]

    def changed(tokens: Tokens) -> list[str]:
        right = rule(tokens)
        other = next(token for token in model.config.vocabulary if token != right[-1])
        return [*right[:-1], other] if tokens == odd else right

    whole = prove(model, domain, rule, positions=positions, arithmetic_name=arithmetic, workers=1, last="exact")
    assert whole.counts == {"proved": len(domain), "refuted": 0, "undecided": 0}
    refuted = prove(model, domain, changed, positions=positions, arithmetic_name=arithmetic, workers=1, last="exact")
    assert refuted.counts == {"proved": len(domain) - 1, "refuted": 1, "undecided": 0}
    (failure,) = refuted.failures
    assert (failure.tokens, failure.position) == (odd, places_of(positions, 3)[-1])
    assert failure.right == (changed(odd)[-1],)
    assert failure.token == rule(odd)[-1]


def test_a_first_position_that_some_inputs_have_not_is_refused() -> None:
    with pytest.raises(RunError, match="give a position of every input, from 0 to 0"):
        prove(models()[0], Sequences(("a", "b"), 3), lambda tokens: ["a"], positions=From(1), workers=1)
