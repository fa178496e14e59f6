"""The lemma on tokens that a model treats alike: tried out by renaming inputs, and never claimed where it is false."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from benchmarks.trials import symmetry

import exactformer as xf
from exactformer.circuits import Circuit, Head, interchangeable
from exactformer.model import Model
from exactformer.model.changing import with_weights
from plain_pass import PlainPass

TOKENS = ("a", "b", "c", "d")


def random_circuit(rng: random.Random) -> Circuit:
    """One or two layers of heads that match tokens or positions, some with codes that set tokens apart."""
    stream: dict[str, Any] = {"token": "tokens", "position": "positions", "one": "tokens", "two": "tokens", "output": "tokens"}
    codes: dict[str, Any] = {"token": "one-hot", "position": "one-hot"}
    if rng.random() < 0.5:  # tokens of one parity have the same code
        stream["parity"] = 2
        codes["parity"] = [[int(n % 2 == 0), int(n % 2 == 1)] for n in range(4)]
    strength = lambda: rng.choice((1, 2, "1/2", 100))  # noqa: E731
    first = [
        Head(query="position", key="position", offset=n + 1, strength=strength(), value="token", to=to)
        for n, to in enumerate(rng.sample(("one", "two"), rng.randint(1, 2)))
    ]
    kinds = [("token", first[0].to), ("token", "token")] + ([("parity", "parity")] if "parity" in stream else [])
    reads = rng.sample(kinds, rng.randint(1, len(kinds)))
    last = Head(query=tuple(q for q, _ in reads), key=tuple(k for _, k in reads), strength=strength(), value="token", to="output")
    mask = rng.choice(("strict", "causal", "none"))
    return Circuit(
        vocabulary=TOKENS, length=4, stream=stream, codes=codes, layers=(first, (last,)), mask=mask, hard=rng.random() < 0.5
    )  # type: ignore[arg-type]


def renamed(tokens: tuple[str, ...], names: dict[str, str]) -> tuple[str, ...]:
    return tuple(names[token] for token in tokens)


def renamings(classes: Any) -> list[dict[str, str]]:
    """Every permutation of the vocabulary within classes."""
    found = [{}]
    for members in classes:
        found = [old | dict(zip(members, new, strict=True)) for old in found for new in permutations(members)]
    return found  # type: ignore[return-value]


def last_logits(model: Model, tokens: tuple[str, ...], plain: PlainPass | None) -> dict[str, Any]:
    if plain is not None:
        return dict(zip(TOKENS, plain(tokens)["logits"][-1], strict=True))
    return dict(zip(TOKENS, xf.run(model, tokens).logits[-1], strict=True))


def test_renaming_the_input_renames_the_logits() -> None:
    rng = random.Random(4)
    sizes = set()
    for _ in range(20):
        circuit = random_circuit(rng)
        model = circuit.build()
        classes = interchangeable(model, circuit)
        sizes.add(tuple(sorted(len(members) for members in classes)))
        tokens = tuple(rng.choice(TOKENS) for _ in range(rng.randint(2, 4)))
        before = last_logits(model, tokens, None)
        for names in rng.sample(renamings(classes), min(4, len(renamings(classes)))):
            after = last_logits(model, renamed(tokens, names), None)
            assert all(after[names[token]] == before[token] for token in TOKENS)
    assert {(4,), (2, 2)} <= sizes


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("induction", (("!", "a", "b", "c"),)),
        ("context", (("a", "b", "c", "d"),)),
        ("skip", (("a", "b", "c", "d"),)),
        ("similar", (("cat",), ("kitten",), ("sat",), ("ran",), ("car",))),
    ],
)
def test_classes_of_the_examples(name: str, classes: Any) -> None:
    sheet = xf.load(name)
    assert interchangeable(sheet.model, sheet.circuit) == classes
    longer = sheet.changed(length=9)
    assert interchangeable(longer.model, longer.circuit) == classes
    assert interchangeable(sheet.model, None) == tuple((token,) for token in sheet.model.config.vocabulary)


def test_models_that_the_lemma_does_not_speak_of_have_no_classes() -> None:
    circuit = random_circuit(random.Random(1))
    model = circuit.build()
    biased = replace(model, weights=replace(model.weights, b_U=xf.array([1, 0, 0, 0])))
    assert interchangeable(biased, circuit) == tuple((token,) for token in TOKENS)
    capstone = xf.load("capstone").model
    assert all(len(members) == 1 for members in interchangeable(capstone, None))


def damaged(rng: random.Random, model: Model) -> Model:
    """One entry of one weight changed; mostly one that is not 0."""
    name, weights = rng.choice([(name, weights) for name, weights in model.weights.named()])
    places = [place for place, value in np.ndenumerate(weights) if value != 0 or rng.random() < 0.05]
    place = rng.choice(places)
    value = rng.choice([v for v in (0, 1, -1, "1/2", 3) if weights[place] != xf.exact(v)])
    return with_weights(model, [f"{name}[{','.join(map(str, place))}] = {value}"])


def test_hundreds_of_damaged_models_are_never_called_symmetric_where_logits_differ() -> None:
    """With hard attention all logits are rational, so a second pass, on fractions, can say for sure."""
    rng = random.Random(44)
    sheet = xf.load("induction").changed(hard=True, length=4)
    assert sheet.circuit is not None
    vocabulary = sheet.circuit.vocabulary
    broken = 0
    for _ in range(220):
        model = damaged(rng, sheet.model)
        classes = interchangeable(model, sheet.circuit)
        broken += len(classes) > 1
        plain = PlainPass(model, rational=True)
        names = rng.choice(renamings(classes))
        for _ in range(3):
            tokens = tuple(rng.choice(vocabulary) for _ in range(rng.randint(1, 4)))
            before = dict(zip(vocabulary, plain(tokens)["logits"][-1], strict=True))
            after = dict(zip(vocabulary, plain(renamed(tokens, names))["logits"][-1], strict=True))
            assert all(after[names[token]] == before[token] for token in vocabulary), (classes, tokens)
    assert broken > 110  # a damage of what holds a token does break the classes


def test_what_sets_tokens_apart_is_not_overlooked() -> None:
    """The other direction: where two tokens are treated differently, they are in different classes."""
    rng = random.Random(45)
    sheet = xf.load("induction").changed(hard=True, length=4)
    assert sheet.circuit is not None
    vocabulary = sheet.circuit.vocabulary
    apart = 0
    for _ in range(30):
        model = damaged(rng, sheet.model)
        plain, classes = PlainPass(model, rational=True), interchangeable(model, sheet.circuit)
        for one, other in (("!", "a"), ("b", "c")):
            names = {token: token for token in vocabulary} | {one: other, other: one}
            for _ in range(4):
                tokens = tuple(rng.choice(vocabulary) for _ in range(4))
                before = dict(zip(vocabulary, plain(tokens)["logits"][-1], strict=True))
                after = dict(zip(vocabulary, plain(renamed(tokens, names))["logits"][-1], strict=True))
                if any(after[names[token]] != before[token] for token in vocabulary):
                    apart += 1
                    assert not any(one in members and other in members for members in classes)
    assert apart > 15


def test_one_damaged_entry_sets_one_token_apart() -> None:
    sheet = xf.load("induction")
    model = with_weights(sheet.model, ["blocks.1.attn.W_V[0,1,1] = 0"])
    assert interchangeable(model, sheet.circuit) == (("!", "b", "c"), ("a",))
    model = with_weights(sheet.model, ["blocks.0.attn.W_Q[0,5,0] = 7"])  # position 1 looks elsewhere: tokens remain alike
    assert interchangeable(model, sheet.circuit) == (("!", "a", "b", "c"),)
    assert Fraction(7) == model.weights.blocks[0].attn.W_Q[0, 5, 0].fraction


def test_claims_about_models_drawn_at_random() -> None:
    """Some of those that `python -m benchmarks.trials symmetry` tries: norms, MLPs, biases, wrong circuits, damaged entries."""
    tried = list(symmetry.trials(60, seed=1))
    assert [result.failed for result in tried if result.failed] == []
    assert sum(bool(result.claimed) for result in tried) > 15
    assert sum(bool(result.differing) for result in tried) > 15
    assert not any(result.claimed for result in tried if not result.plain)
