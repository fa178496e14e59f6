"""Certificates of models that say other tokens than they read: claims are ids of outputs, which are fed back by their names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exactformer.certificates import certify, prove_tokens, verify
from exactformer.certificates.audit import audit
from exactformer.certificates.comparison import compare
from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.numbers.formats import FORMATS
from exactformer.referee.outputs import Engine, Given, OutputsError
from exactformer.worksheets import loads
from own_outputs import renamed, small, sums

ORDER = [2, 0, 3, 1]


def test_ids_are_those_of_outputs() -> None:
    model = loads(sums()).model
    (found,) = prove_tokens(model, [3, 5, 4, 6], 1, top=9)
    assert found.token == 2
    assert sorted(entry.token for entry in found.top) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", [6, 36])
def test_tokens_that_follow_are_read_by_their_names(seed: int) -> None:
    model = small(seed=seed)
    other = renamed(model, ORDER)
    plain = certify(model, [0, 1], 4)
    certificate = certify(other, [0, 1], 4)
    names = [other.config.spoken[claim.token] for claim in certificate.tokens if claim.token is not None]
    assert names == [model.config.vocabulary[claim.token] for claim in plain.tokens if claim.token is not None]
    assert len(set(names)) > 1
    assert not verify(certificate, other).problems
    assert audit(other, [0, 1], certificate.tokens).agrees
    assert verify(certificate, model).problems[0].place == "model.sha256"
    assert verify(replace(plain, model=certificate.model), other).problems


def test_what_cannot_be_fed_back_is_certified_for_one_token() -> None:
    model = small(("a", "b", "no", "yes"))
    certificate = certify(model, [0, 1], 1)
    assert not verify(certificate, model).problems
    with pytest.raises(Refused, match="the output 'no' is not in the vocabulary"):
        certify(model, [0, 1], 2)
    longer = replace(certificate, tokens=certificate.tokens * 2)
    (problem,) = verify(longer, model).problems
    assert (problem.place, "cannot be fed back" in problem.text) == ("tokens", True)


def test_outputs_that_are_other_tokens_have_other_certificates() -> None:
    """As many outputs as tokens, and the very same weights: what is fed back is not the same."""
    plain = small(seed=6)
    crossed = Model(replace(plain.config, outputs=("b", "a", "c", "=")), plain.weights)
    certificate = certify(plain, [0, 1], 3)
    assert verify(certificate, crossed).problems[0].place == "model.sha256"


def test_engines_are_judged_by_as_many_logits_as_there_are_outputs() -> None:
    model = small(("no", "yes"))
    engine = Engine("mine", FORMATS["float32"], [Given((0, 1), 1, logits=np.zeros((1, 2)))])
    assert engine.checked(model) is engine
    with pytest.raises(OutputsError, match="logits: have the shape 1 × 4, where the model says 2 tokens"):
        Engine("mine", FORMATS["float32"], [Given((0, 1), 1, logits=np.zeros((1, 4)))]).checked(model)
    fed = Given((0, 1, 1), 1, tokens=(1, 0), fed_back=True)
    with pytest.raises(OutputsError, match="the model says other tokens than it reads: answers of 1 token alone can be judged"):
        Engine("mine", FORMATS["float32"], [fed]).checked(model)


def test_floats_are_compared_after_the_tokens_that_were_read() -> None:
    other = renamed(small(seed=6), ORDER)
    claims = certify(other, [0, 1], 2).tokens
    assert claims[0].token is not None
    (errors,) = compare(
        other, [0, 1, other.fed_back(claims[0].token)], ("float64",), proved={1: claims[0].token, 2: claims[1].token}
    )
    assert [position for position, _, _ in errors.tokens] == [1, 2]
    assert all(said == proved for _, said, proved in errors.tokens)
