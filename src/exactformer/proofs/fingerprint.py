"""What tells one computation from every other: all that the answers of its cases depend on, hashed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.hashing import Digest
from exactformer.model import Model
from exactformer.numbers import Number
from exactformer.numbers.spelling import spelled
from exactformer.proofs.domain import From, Places, Tokens

if TYPE_CHECKING:
    from exactformer.proofs.batches import Batches
    from exactformer.proofs.patterns import PatternClaim
    from exactformer.proofs.surveying import Survey


def fingerprint(model: str, cases: Iterable[Tokens], steps: int, arithmetic_name: str, positions: Places | None = None) -> str:
    """Of the answers to cases: this program's version, the arithmetic, how many tokens, or where, the model's fingerprint, all
    inputs."""
    from exactformer import __version__

    digest = Digest("exactformer proof").add(__version__, arithmetic_name, steps, model)
    if positions is not None:
        digest.add(_spelled(positions))
    for tokens in cases:
        digest.add(tokens)
    return digest.hexdigest()


def batches_fingerprint(model: str, batches: Batches, steps: int, positions: Places | None, loss: bool, last: str | None) -> str:
    """The same of batches of inputs; what is demanded of them is hashed with each."""
    from exactformer import __version__

    digest = Digest("exactformer proof by batches").add(__version__, steps, _spelled(positions), loss, last, model, batches.most)
    batches.add_to(digest)
    return digest.hexdigest()


def survey_fingerprint(model: str, survey: Survey, last: str | None) -> str:
    """The same of sets of inputs: the rule, the domain and the budget are hashed with them."""
    from exactformer import __version__

    digest = Digest("exactformer proof by sets").add(__version__, last, model)
    survey.add_to(digest)
    return digest.hexdigest()


def patterns_fingerprint(model: str, batches: Batches, claim: PatternClaim, alone: tuple[str, ...]) -> str:
    """The same of batches of sequences of which a pattern is claimed."""
    from exactformer import __version__

    bound, what = spelled([claim.bound]), (claim.block, claim.head, claim.back, claim.at_least)
    digest = Digest("exactformer proof of a pattern").add(__version__, alone, model, batches.most, *what, *bound)
    batches.add_to(digest)
    return digest.hexdigest()


def _spelled(positions: Places | None) -> tuple[str | int, ...] | None:
    return ("from", positions.first) if isinstance(positions, From) else positions


def model_fingerprint(model: Model) -> str:
    """Of a model: its configuration, the names of its tokens included, and all of its weights.

    >>> from exactformer.worksheets import load
    >>> model_fingerprint(load("capstone").model) == model_fingerprint(load("capstone").model)
    True
    """
    digest = Digest("exactformer model of a proof")
    for field in fields(model.config):
        value = getattr(model.config, field.name)
        entries = value if isinstance(value, tuple) else (value,)
        numbers = [entry for entry in entries if isinstance(entry, Number)]
        digest.add(field.name, len(numbers), *spelled(numbers) if numbers else [value])
    for name, weights in model.weights.named():
        digest.add(name, weights.dtype.str, tuple(weights.shape))
        _add(digest, weights)
    return digest.hexdigest()


def _add(digest: Digest, weights: Any) -> None:
    if weights.dtype == object:
        for number in spelled(weights.flat):
            digest.add(number)
    else:
        digest.add(np.ascontiguousarray(weights).reshape(-1).view(np.uint8).data)
