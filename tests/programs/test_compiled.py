"""Programs compiled: the model says what the program says on all inputs, and what is wrong is refuted where it is wrong."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.programs import damaged_model, float_leads, try_program

import exactformer as xf
from exactformer.programs import PROGRAMS, Program, aggregate, count, indices, select, tokens
from exactformer.programs.compiling import answer
from sampling import parts

LENGTHS = {"histogram": 3, "reverse": 3, "sort": 3, "brackets": 3, "fraction": 3}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_five_programs_are_proved_soft_and_hard(name: str) -> None:
    program, length = PROGRAMS[name], LENGTHS[name]
    inputs = len(program.inputs(length))
    soft, hard = program.prove(length), program.prove(length - 1, hard=True)
    assert (soft.verdict, soft.sequences, soft.arithmetic) == ("proved", inputs, "certified")
    assert (hard.verdict, hard.sequences, hard.arithmetic) == ("proved", len(program.inputs(length - 1)), "exact")
    assert f"those of the program {name} (BOS, then 1 to {length} tokens over" in soft.statement


def test_pytorch_says_the_same() -> None:
    torch_peer = pytest.importorskip("torch_peer")
    for program in PROGRAMS.values():
        model = program.model(3)
        for given in program.inputs(3)[-8:]:
            assert torch_peer.said(model, given)[1:] == list(map(answer, program(given[1:]))), given


def test_codes_are_exactly_0_and_1() -> None:
    """The MLP takes leaks away, where they are no more than is tolerated: in exact numbers nothing is left of them."""
    trace = PROGRAMS["histogram"].worksheet(3).trace("BOS a b a")
    assert any(entry.status == "named" for entry in trace["blocks.0.attn.z"].values.flat)
    assert trace["logits"].values[3].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]  # BOS a b c 0 1 2 3
    assert trace.token(3) == "2"


@pytest.mark.parametrize("strength", [4, 7])
def test_a_program_that_is_off_by_one_is_refuted_where_it_differs(strength: int) -> None:
    program = PROGRAMS["histogram"]
    wrong = Program(count(select(tokens, tokens, "==") & select(indices, indices, "<=")), "abc", "wrong")
    report = wrong.prove(3, model=program.model(3, strength))
    differ = [given for given in program.inputs(3) if program(given[1:]) != wrong(given[1:])]
    assert report.counts == {"proved": 39 - len(differ), "refuted": len(differ), "undecided": 0}
    assert {failure.tokens for failure in report.failures} <= set(differ)


def test_damaged_weights_are_refuted_where_floats_see_it() -> None:
    rng, program, seen = random.Random(5), PROGRAMS["histogram"], 0
    for _ in range(12):
        model = damaged_model(program.model(2), rng)
        leads = float_leads(model, program.rule(2), program.inputs(2))
        if min(map(abs, leads.values())) > 1e-6:
            report = program.prove(2, model=model)
            assert report.counts["refuted"] == sum(lead < 0 for lead in leads.values())
            assert report.counts["undecided"] == 0
            seen += report.verdict == "refuted"
    assert seen > 2


@pytest.mark.parametrize("seed", parts(3, 40, few=4))
def test_programs_drawn_at_random(seed: int) -> None:
    counts = Counter[str]()
    assert try_program(random.Random(seed), counts) == []
    assert counts["proved at a strength that is enough by the lemma"] == 1


def test_the_smallest_strength_is_proved_and_one_less_is_not() -> None:
    program = PROGRAMS["histogram"]
    *_, found = program.strengths(4)
    assert (found.strength, found.report.verdict if found.report else "") == (3, "proved")
    assert found.below is not None
    weak = program.prove(4, strength=2)
    assert weak.verdict == "refuted"
    assert found.below.tokens in {failure.tokens for failure in weak.failures}
    assert found.below.position is not None


def leaked(program: Program, length: int, strength: int, leak: Any) -> Any:
    """What the pattern of a head gives to positions that are not chosen, by the trace of the model."""
    compiler = program.compiled(length)
    node = next(node for node in compiler.nodes if id(node) in compiler.mixings)
    trace = xf.run(program.model(length, strength), leak.tokens)
    row = trace["blocks.0.attn.pattern"][0, leak.position]
    chosen = {j + 1 for j in node.selector.chosen(leak.tokens[1:], {})[leak.position - 1]}
    score = compiler.mixings[id(node)].score
    chosen |= {0} if score == 1 or not chosen else set()
    return sum((row[j] for j in range(len(row)) if j not in chosen), xf.exact(0))


PREVIOUS = Program(aggregate(select(indices, indices, lambda key, query: key + 1 == query), tokens, default="a"), "ab", "previous")
SAME_PLACE = Program(aggregate(select(indices, indices, "=="), tokens), "ab", "copy")


@pytest.mark.parametrize(
    ("program", "text"), [(PROGRAMS["histogram"], "1/(1+e^6)"), (PREVIOUS, "3/(3+e^3)"), (SAME_PLACE, "3/(3+e^6)")]
)
def test_the_largest_leak_is_that_of_the_trace(program: Program, text: str) -> None:
    (leak,) = program.leaks(3, 6)
    assert leak.exactly
    assert leak.weight == leaked(program, 3, 6, leak)
    if program is not PROGRAMS["histogram"]:
        assert str(leak.weight) == text
    for given in program.inputs(3):  # in floats, no input leaks more
        pattern = xf.run(program.model(3, 6), given, "float64")["blocks.0.attn.pattern"][0]
        node = program.output
        for i, chosen in enumerate(node.selector.chosen(given[1:], {})):  # type: ignore[attr-defined]
            score = program.compiled(3).mixings[id(node)].score
            meant = [j + 1 for j in chosen] + ([0] if score == 1 or not chosen else [])
            assert 1 - pattern[i + 1, meant].sum() <= leak.weight.to_float() + 1e-12


def test_a_leak_below_the_smallest_strength_is_said_of_exact_codes_alone() -> None:
    first, second = PROGRAMS["sort"].leaks(4, 3)
    assert first.exactly
    assert not first.harmless
    assert not second.exactly
    assert "where codes are exact" in str(second)
    assert all(leak.harmless for leak in PROGRAMS["sort"].leaks(4))


@pytest.mark.parametrize("name", ["histogram", "sort", "fraction"])
def test_the_worksheet_is_the_model(name: str) -> None:
    sheet = PROGRAMS[name].worksheet(2)
    again = xf.loads(sheet.text, "again")
    assert again.model.config == sheet.model.config
    for (one, mine), (other, read) in zip(sheet.model.weights.named(), again.model.weights.named(), strict=True):
        assert one == other
        assert np.array_equal(mine, read)
    assert (again.tokens, again.title) == (sheet.tokens, name)


def test_a_table_of_positions_in_a_word_has_no_length() -> None:
    text = re.sub("(?m)^W_pos = .*$", 'W_pos = "zeros"', PROGRAMS["histogram"].worksheet(2).text)
    with pytest.raises(xf.WorksheetError, match=r"W_pos.*write a list of rows"):
        xf.loads(text)


def test_a_worksheet_changes_with_its_program() -> None:
    sheet = PROGRAMS["reverse"].worksheet(2)
    longer = sheet.changed(length=3, strength=9)
    assert (longer.length, longer.strength, longer.model.config.length) == (3, 9, 4)
    assert sheet.changed(hard=True).model.config.hard
    assert sheet.changed(hard=True).leaks() == []
    with pytest.raises(xf.WorksheetError, match="--mask: which positions look at which is what the program says"):
        sheet.changed(mask="causal")
