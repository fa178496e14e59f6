"""Circuits and theorems in worksheets: what they make, and one line for what is wrong with them."""

from __future__ import annotations

import pytest

import exactformer as xf
from exactformer.circuits import Circuit, Head
from exactformer.proofs import Lookup
from exactformer.worksheets import WorksheetError
from exactformer.worksheets.worksheet import example_text

INDUCTION = example_text("induction")
SIMILAR = example_text("similar")


def test_a_worksheet_makes_the_circuit_that_it_says() -> None:
    sheet = xf.loads(INDUCTION)
    assert sheet.circuit == Circuit(
        vocabulary=("!", "a", "b", "c"),
        length=6,
        stream={"token": "tokens", "position": "positions", "previous": "tokens", "output": "tokens"},
        codes={"token": "one-hot", "position": "one-hot"},
        layers=[
            [Head(query="position", key="position", offset=1, strength=100, value="token", to="previous")],
            [Head(query="token", key="previous", strength=100, value="token", to="output")],
        ],
        confidence=100,
    )
    assert sheet.rule == Lookup(((0, 1),), "strict")
    assert sheet.tokens == tuple("!abacb")


def test_the_theorem_may_be_left_out() -> None:
    start, end = INDUCTION.index("[theorem]"), INDUCTION.index("[input]")
    assert xf.loads(INDUCTION[:start] + INDUCTION[end:]).rule == Lookup(((0, 1),), "strict")


def test_numbers_are_taken_as_they_are_written() -> None:
    sheet = xf.loads(INDUCTION.replace("offset = 1, strength = 100", 'offset = 1, strength = "1/3"').replace(
        'from = "output", strength = 100', 'from = "output", strength = 0.1'
    ))  # fmt: skip
    assert sheet.circuit is not None
    assert sheet.circuit.layers[0][0].strength == xf.exact("1/3")
    assert sheet.circuit.confidence == xf.exact("1/10")


def test_changes_of_a_worksheet() -> None:
    sheet = xf.loads(INDUCTION)
    changed = sheet.changed(strength=xf.exact(7), length=9, mask="causal", hard=True)
    config = changed.model.config
    assert (config.length, config.mask, config.hard) == (9, "causal", True)
    assert changed.rule == Lookup(((0, 1),), "causal")
    assert changed.circuit is not None
    assert changed.circuit.layers[1][0].strength == 7
    assert sheet.model.config.mask == "strict"
    capstone = xf.load("capstone")
    assert capstone.changed(hard=True).model.config.hard
    with pytest.raises(WorksheetError, match="has no circuit, whose strength or length could be changed"):
        capstone.changed(strength=xf.exact(7))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('key = "previous"', 'key = "prevoius"', "circuit: layer 1, head 0: key: there is no subspace 'prevoius' (token"),
        ('key = "previous"', 'key = "position"', "circuit: layer 1, head 0: 'token' (4) is matched with 'position' (6)"),
        ('to = "output"', 'to = "previous"', "circuit: layer 1, head 0: writes to 'previous', as does layer 0, head 0"),
        ('key = "previous"', 'key = "output"', "circuit: layer 1, head 0: key reads 'output', to which nothing before this layer"),
        ('key = "previous"', "key = 3", "circuit.layers.1.heads.0.key is 3, not a subspace or a list of subspaces"),
        ('key = "previous"', "key = []", "circuit.layers.1.heads.0.key is a list of 0, not a subspace or a list of subspaces"),
        ('key = "previous", ', "", "circuit.layers.1.heads.0.key is missing"),
        ('key = "previous"', 'keys = "previous"', "circuit.layers.1.heads.0.key is missing (keys is there: did you mean that?)"),
        ("offset = 1", "offset = 1.5", "circuit.layers.0.heads.0.offset is 1.5, not a whole number"),
        ("offset = 1", "offset = 6", "circuit: layer 0, head 0: offset 6 is not a whole number from 0 to 5"),
        ("offset = 1, strength = 100", "offset = 1, strength = nan", "circuit.layers.0.heads.0.strength: 'nan' is not"),
        ("offset = 1, strength = 100", "offset = 1, strength = true", "circuit.layers.0.heads.0.strength is true, not a number"),
        ("length = 6", "length = 0", "circuit.length is 0, not a number from 1 to 512"),
        ("length = 6", "length = 100000", "circuit.length is 100000, not a number from 1 to 512"),
        ("length = 6", 'length = "6"', "circuit.length is '6', not a whole number"),
        ('mask = "strict"', 'mask = "lower"', "circuit.mask is 'lower', not one of causal, strict, none"),
        ('token = "one-hot"', 'token = "hot"', "circuit: codes.token: is 'hot': write one-hot, or 4 vectors of 4 numbers"),
        ('token = "one-hot"', "token = [[1], [1, 2]]", 'circuit.codes.token is neither "one-hot" nor a list of vectors'),
        ('token = "one-hot"', 'token = [["x"]]', "circuit.codes.token[0][0]: 'x' is not"),
        ('["!", "a", "b", "c"]', '["!", "a", "b", "a"]', "circuit: vocabulary: has the token 'a' twice"),
        ('["!", "a", "b", "c"]', "[]", "circuit"),
        ('["!", "a", "b", "c"]', '["!", ""]', "circuit.vocabulary is not a list of texts"),
        ('["!", "a", "b", "c"]', '"gpt2"', "circuit.vocabulary is not a list of texts"),
        ('previous = "tokens"', 'previous = "words"', "circuit: stream.previous: 'words' is neither tokens nor positions"),
        ('previous = "tokens"', "previous = 513", "circuit.stream.previous is 513; a subspace may have 512 dimensions"),
        ('from = "output"', 'from = "nowhere"', "circuit: predict: there is no subspace 'nowhere'"),
        ('from = "output"', 'from = "output", to = "b"', "circuit.predict.to is not a field of a worksheet"),
        ("match = [[0, 1]]", "match = [[0]]", "theorem.match is not a list of pairs such as [[0, 1]]"),
        ("match = [[0, 1]]", "match = [[0, -1]]", "theorem.match is not a list of pairs"),
        ("match = [[0, 1]]", "match = []", "theorem.match is not a list of pairs"),
        ("match = [[0, 1]]", "matches = [[0, 1]]", "theorem.matches is not a field of a worksheet (did you mean match?)"),
        ("match = [[0, 1]]", 'similar = "token"', "theorem.similar is 'token', which is not a subspace with a vector"),
        ("[theorem]", "[model]\ndim = 3\n[theorem]", "model is given, but it goes with weights, not with a circuit"),
        ("[[circuit.layers]]", "[circuit.layers]", "is not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(old: str, new: str, line: str) -> None:
    assert old in INDUCTION
    with pytest.raises(WorksheetError) as caught:
        xf.loads(INDUCTION.replace(old, new), "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_theorem_without_a_circuit_has_a_rule() -> None:
    with pytest.raises(WorksheetError, match=r"^mine.toml: theorem.rule is missing$"):
        xf.loads(example_text("capstone") + "\n[theorem]\nmatch = [[0, 1]]\n", "mine.toml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stream = { ", "stream = { " + ", ".join(f"s{n} = 512" for n in range(400)) + ", "),
        ('["!", "a", "b", "c"]', str([f"t{n}" for n in range(3000)])),
    ],
)
def test_a_circuit_that_would_take_much_memory_is_refused_first(old: str, new: str) -> None:
    with pytest.raises(WorksheetError, match=r"^mine.toml: circuit: its weights would have [\d,]+ entries; a circuit may have"):
        xf.loads(INDUCTION.replace(old, new).replace("'", '"'), "mine.toml")


def test_similar_vectors_must_fit_the_tokens() -> None:
    with pytest.raises(WorksheetError, match=r"circuit: codes.meaning: has the shape 4 × 5, not 5 × 5$"):
        xf.loads(SIMILAR.replace("  [0, 0, 0, 0, 1],          # car\n", ""))
