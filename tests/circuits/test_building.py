"""Models from heads in words: the weights that come of them, and one line for each thing that does not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.circuits import Circuit, CircuitError, Head
from exactformer.numbers import exact

PREVIOUS = Head(query="position", key="position", offset=1, strength=100, value="token", to="previous")
INDUCTION = Head(query="token", key="previous", strength=100, value="token", to="output")
STREAM = {"token": "tokens", "position": "positions", "previous": "tokens", "output": "tokens"}
CIRCUIT = Circuit(
    vocabulary=("!", "a", "b", "c"),
    length=6,
    stream=STREAM,
    codes={"token": "one-hot", "position": "one-hot"},
    layers=((PREVIOUS,), (INDUCTION,)),
    confidence=100,
)


def test_the_weights_are_those_of_the_worksheet() -> None:
    ours, theirs = (dict(model.weights.named()) for model in (CIRCUIT.build(), xf.load("induction").model))
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    assert CIRCUIT.build().config == xf.load("induction").model.config


def test_every_entry_of_the_weights() -> None:
    """Token 0-3, position 4-9, previous 10-13, output 14-17."""
    expected: dict[str, dict[tuple[int, ...], int]] = {
        "W_E": {(t, t): 1 for t in range(4)},
        "W_pos": {(p, 4 + p): 1 for p in range(6)},
        "blocks.0.attn.W_Q": {(0, 4 + p, p - 1): 100 for p in range(1, 6)},
        "blocks.0.attn.W_K": {(0, 4 + p, p): 1 for p in range(6)},
        "blocks.0.attn.W_V": {(0, t, t): 1 for t in range(4)},
        "blocks.0.attn.W_O": {(0, t, 10 + t): 1 for t in range(4)},
        "blocks.1.attn.W_Q": {(0, t, t): 100 for t in range(4)},
        "blocks.1.attn.W_K": {(0, 10 + t, t): 1 for t in range(4)},
        "blocks.1.attn.W_V": {(0, t, t): 1 for t in range(4)},
        "blocks.1.attn.W_O": {(0, t, 14 + t): 1 for t in range(4)},
        "W_U": {(14 + t, t): 100 for t in range(4)},
    }
    for name, weights in CIRCUIT.build().weights.named():
        assert {place: value for place, value in np.ndenumerate(weights) if value != 0} == expected.pop(name)
    assert not expected


def test_names_of_directions() -> None:
    assert CIRCUIT.directions[3:6] == ("token:c", "position:0", "position:1")
    assert CIRCUIT.span("previous") == slice(10, 14)
    assert CIRCUIT.inside(0, 0, "q") == tuple(f"position:{n}" for n in range(6))
    assert CIRCUIT.inside(1, 0, "v") == ("token:!", "token:a", "token:b", "token:c")
    assert CIRCUIT.inside(1, 5, "v") == ()


def test_heads_side_by_side_pad_the_smaller() -> None:
    context = xf.load("context")
    assert context.circuit is not None
    config = context.model.config
    assert (config.heads, config.head_dim) == (2, 8)
    # the second layer has one head: the other one is zeros, and adds nothing
    assert all((weights[1] == 0).all() for name, weights in context.model.weights.named() if name.startswith("blocks.1."))
    assert context.circuit.inside(1, 0, "k") == tuple(f"{s}:{t}" for s in ("previous", "second") for t in "abcd")


def test_every_strength_at_once() -> None:
    weaker = CIRCUIT.stronger("3/2")
    assert [head.strength for layer in weaker.layers for head in layer] == [exact("3/2")] * 2
    assert weaker.confidence == 100
    assert CIRCUIT.layers[0][0].strength == 100


def test_codes_need_not_be_one_hot() -> None:
    vectors = [["3/5", "4/5"], [1, 0]]
    circuit = Circuit(
        vocabulary=("x", "y"), length=2, stream={"meaning": 2, "output": "tokens"}, codes={"meaning": vectors},
        layers=[[Head(query="meaning", key="meaning", strength=10, value="meaning", to="output")]], mask="causal",
    )  # fmt: skip
    scores = xf.run(circuit.build(), "x y")["blocks.0.attn.scores"][0]
    assert scores.tolist() == [[10, 6], [6, 10]]


def changed(**fields: Any) -> Circuit:
    circuit = replace(CIRCUIT, **fields)
    circuit.build()
    return circuit


def second(**fields: Any) -> dict[str, Any]:
    return {"layers": ((PREVIOUS,), (replace(INDUCTION, **fields),))}


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (second(key="prevoius"), "layer 1, head 0: key: there is no subspace 'prevoius' (token, position, previous, output)"),
        (second(query=("token", "x"), key=("previous", "token")), "layer 1, head 0: query: there is no subspace 'x'"),
        (second(to="nowhere"), "layer 1, head 0: to: there is no subspace 'nowhere'"),
        (second(value="position"), "layer 1, head 0: 'position' (6) is copied to 'output' (4): the sizes do not fit"),
        (second(query="position"), "layer 1, head 0: 'position' (6) is matched with 'previous' (4): the sizes do not fit"),
        (second(query=("token", "token")), "layer 1, head 0: query reads 2 subspaces, key 1: they are matched in pairs"),
        (second(to="previous"), "layer 1, head 0: writes to 'previous', as does layer 0, head 0: writes would overlap"),
        (second(to="token"), "layer 1, head 0: writes to 'token', as does the embedding: writes would overlap"),
        (second(key="output"), "layer 1, head 0: key reads 'output', to which nothing before this layer writes"),
        (second(offset=1), "layer 1, head 0: offset goes with positions alone, one subspace each"),
        (
            {"layers": ((PREVIOUS, replace(INDUCTION, key="previous")),)},
            "layer 0, head 1: key reads 'previous', to which nothing before this layer writes",
        ),
        ({"layers": ((replace(PREVIOUS, offset=6),), (INDUCTION,))}, "layer 0, head 0: offset 6 is not a whole number from 0 to 5"),
        ({"layers": ((replace(PREVIOUS, offset=-1),), (INDUCTION,))}, "layer 0, head 0: offset -1 is not a whole number"),
        ({"layers": ((PREVIOUS,), ())}, "layer 1: has no head"),
        ({"layers": ()}, "predict: nothing writes to 'output'"),
        ({"predict": "result"}, "predict: there is no subspace 'result'"),
        ({"predict": "position"}, "predict: 'position' has 6 dimensions, the vocabulary 4 tokens"),
        ({"codes": {"tokens": "one-hot"}}, "codes.tokens: there is no subspace 'tokens'"),
        ({"codes": {"token": "hot", "position": "one-hot"}}, "codes.token: is 'hot': write one-hot, or 4 vectors of 4 numbers"),
        ({"codes": {"token": [[1, 0]] * 4, "position": "one-hot"}}, "codes.token: has the shape 4 × 2, not 4 × 4"),
        ({"stream": STREAM | {"token": "letters"}}, "stream.token: 'letters' is neither tokens nor positions nor a number"),
        ({"stream": STREAM | {"token": 0}}, "stream.token: 0 is neither tokens nor positions nor a number of dimensions"),
        ({"stream": STREAM | {"token": True}}, "stream.token: True is neither tokens nor positions nor a number of dimensions"),
        ({"stream": STREAM | {"token": 3}}, "layer 0, head 0: 'token' (3) is copied to 'previous' (4): the sizes do not fit"),
        ({"length": 0}, "length: 0 is not a whole number of at least 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_a_line(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(CircuitError) as caught:
        changed(**fields)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_one_hot_codes_need_room() -> None:
    with pytest.raises(
        CircuitError, match=r"^codes.meaning: has 2 dimensions for 4 codes: write one-hot, or 4 vectors of 2 numbers$"
    ):
        changed(stream=STREAM | {"meaning": 2}, codes={"token": "one-hot", "position": "one-hot", "meaning": "one-hot"})


def test_a_strength_must_be_an_exact_number() -> None:
    with pytest.raises((TypeError, ValueError)):
        Head(query="token", key="token", strength=0.1, value="token", to="output")
    assert Head(query="token", key="token", strength="1e2", value="token", to="output").strength == 100
