"""Every sentence of a story says what the numbers say: weights are read out of it and compared with a pass of another kind."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import exactformer as xf
from exactformer.trace import Trace
from exactformer.worksheets import Worksheet
from plain_pass import PlainPass

CIRCUITS = ("induction", "similar", "context", "skip")
TOLD = ("embed", "pos_embed", "q", "k", "v", "scores", "masked", "pattern", "z", "out", "probs")
NUMBER = r"-?\d[\d./e-]*(?: [+-] [\d.e-]+)?"


def variants() -> list[tuple[str, Worksheet]]:
    sheets = [(name, xf.load(name)) for name in CIRCUITS]
    sheets += [(f"{name}, causal", xf.load(name).changed(mask="causal")) for name in ("induction", "context")]
    sheets += [("hard", xf.load("induction").changed(hard=True)), ("weak", xf.load("induction").changed(strength=xf.exact(2)))]
    return sheets


VARIANTS = pytest.mark.parametrize(("name", "sheet"), variants(), ids=lambda value: value if isinstance(value, str) else "")


def says(text: str, value: Any, number: Any) -> bool:
    """Is the text this value, to all the digits that it gives?"""
    if re.fullmatch(r"-?\d+(/\d+)?", text):  # exact
        return bool(abs(value - number(Fraction(text))) < number(Fraction(1, 10**200)))
    match = re.fullmatch(r"(?:(\S+) ([+-]) )?(\S+)", text)
    assert match, text
    distance = Fraction(match[3]) * (-1 if match[2] == "-" else 1)
    half = Fraction(Decimal(5).scaleb(int(Decimal(match[3]).as_tuple().exponent) - 1))
    return bool(abs(value - number(Fraction(match[1] or 0) + distance)) <= number(half))


def test_the_comparison_of_this_file_can_tell() -> None:
    plain = PlainPass(xf.load("induction").model, 250).number
    assert says("1 - 7.44e-44", plain(1 - Fraction("7.4401e-44")), plain)
    assert not says("1 - 7.44e-44", plain(1 - Fraction("7.4460e-44")), plain)
    assert not says("1", plain(1 - Fraction("7.44e-44")), plain)
    assert says("0.731", plain(Fraction("0.73105")), plain)
    assert not says("0.731", plain(Fraction("0.7316")), plain)


def expected_row(steps: dict[str, Any], plain: PlainPass, kind: str, name: str, head: int, position: int) -> list[Any]:
    if kind == "probs":
        return plain.probabilities(steps["logits"][position])
    value = steps[name]
    return value[position] if kind in ("embed", "pos_embed", "out") else value[head][position]  # type: ignore[no-any-return]


def check_mixture(sentence: str, row: list[Any], labels: tuple[str, ...], plain: PlainPass) -> None:
    if sentence == "nothing":
        assert all(value <= 0 for value in row)
        return
    parts, _, rest = sentence.partition(", and at most ")
    told: set[str] = set()
    for part in parts.split(", "):
        match = re.fullmatch(rf"(\S+)(?: \(({NUMBER})\))?", part)
        assert match, part
        assert says(match[2] or "1", row[labels.index(match[1])], plain.number), part
        told.add(match[1])
    others = [value for label, value in zip(labels, row, strict=False) if label not in told and value > 0]
    assert bool(rest) == bool(others)
    if rest:
        assert says(rest.removesuffix(" of anything else"), max(others), plain.number)
        assert max(others) * 1000 <= max(row)


def check_pattern(sentence: str, row: list[Any], trace: Trace, plain: PlainPass) -> None:
    if sentence == "looks nowhere":
        assert all(value == 0 for value in row)
        return
    looks, _, leak = sentence.removeprefix("attends to ").partition("; ")
    looked = re.findall(rf'position (\d+) "(\S+)" with weight ({NUMBER})', looks)
    assert looked
    for place, token, weight in looked:
        assert trace.tokens[int(place)] == token
        assert says(weight, row[int(place)], plain.number), (weight, row[int(place)])
    rest = {j: value for j, value in enumerate(row) if str(j) not in {place for place, _, _ in looked} and value > 0}
    if leak == "nothing leaks":
        assert not rest
        return
    match = re.fullmatch(rf'the largest leak is ({NUMBER}), to position (\d+) "(\S+)"', leak)
    assert match, leak
    assert says(match[1], max(rest.values()), plain.number)
    assert rest[int(match[2])] == pytest.approx(max(rest.values()), rel=1e-30)
    assert trace.tokens[int(match[2])] == match[3]


@VARIANTS
def test_every_sentence_agrees_with_another_pass(name: str, sheet: Worksheet) -> None:
    trace = sheet.trace()
    assert sheet.circuit is not None
    plain = PlainPass(sheet.model, 250)
    steps, told = plain(trace.tokens), 0
    for step in trace.steps:
        kind = step.name.rpartition(".")[2]
        if kind not in TOLD or step.name.endswith("resid_pre"):
            continue
        for position, text in step.remarks:
            match = re.fullmatch(r'(?:head (\d+) of )?position (\d+) "(\S+)" (.*)', text)
            if match is None:
                assert text == f"position {position} may look nowhere: its weights are zeros"
                continue
            assert (int(match[2]), match[3]) == (position, trace.tokens[position])
            head, sentence = int(match[1] or 0), match[4]
            told += 1
            if kind == "masked":
                hidden = [j for j in range(len(trace.tokens)) if not sheet.model.config.sight_at(0).sees(position, j)]
                assert [int(j) for j in re.findall(r"\d+", sentence)] == hidden
                continue
            row = expected_row(steps, plain, kind, step.name, head, position)
            if kind == "pattern":
                check_pattern(sentence, row, trace, plain)
            elif kind in ("scores", "probs"):
                names = re.findall(rf'(?:position (\d+) )?"?([^\s":]+)"?: ({NUMBER})', sentence)
                assert names or (sentence == "scores 0 with all" and max(row) <= 0)
                for place, token, weight in names:
                    at = int(place) if place else trace.model.config.vocabulary.index(token)
                    assert says(weight, row[at], plain.number), sentence
                if names:
                    assert max(row) in [row[int(p) if p else trace.model.config.vocabulary.index(t)] for p, t, _ in names]
            else:
                verb = "is|looks for|offers|would hand over|collects|writes"
                check_mixture(re.sub(rf"^({verb}) ", "", sentence), row, step.labels[head if step.by_head else 0], plain)
    heads = sum(len(layer) for layer in sheet.circuit.layers)
    # q, k, v, scores, masked, pattern, z of every head that is there; out of every layer; embed, pos_embed, probs
    assert told >= len(trace.tokens) * (7 * heads + len(sheet.circuit.layers) + 3)


def test_no_probability_that_is_not_1_is_called_1() -> None:
    trace = xf.load("induction").changed(hard=True).trace()
    assert [text for position, text in trace["probs"].remarks if position == 4] == ['position 4 "c" expects a: 1 - 2.78e-11']
    weak = xf.load("induction").changed(strength=xf.exact(7)).trace()
    sentences = [text for step in weak.steps for _, text in step.remarks]
    assert not any("1.00" in text for text in sentences)


def test_a_story_is_told_of_exact_passes_alone() -> None:
    trace = xf.load("induction").trace(arithmetic="float64")
    assert trace["blocks.0.attn.pattern"].remarks == ((0, "position 0 may look nowhere: its weights are zeros"),)
    assert trace["embed"].labels == (xf.load("induction").circuit.directions,)  # type: ignore[union-attr]
