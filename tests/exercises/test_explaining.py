"""Hints and derivations: what they say, and that every line of a derivation is equal to the number."""

from __future__ import annotations

import re

import numpy as np
import pytest

from exactformer.exercises import find_cell, judged
from exactformer.exercises.cell import Cell
from exactformer.exercises.explaining import derivation, hints, question
from exactformer.exercises.slips import slips
from exactformer.numbers import Exact, Named, closed_form
from exactformer.trace import gradient
from exactformer.worksheets import load


def test_a_score_is_explained_with_its_numbers() -> None:
    cell = find_cell(load("capstone").trace(), "blocks.0.attn.scores[0, 1, 1]")
    assert hints(cell) == (
        "Dot products of queries and keys: attn.scores = attn.q · attn.kᵀ.",
        "It is made from row 1 of attn.q: 1, 1; row 1 of attn.k: 1, 1.",
        "With the numbers put in: 1·1 + 1·1.",
    )
    assert derivation(cell) == ("attn.scores = attn.q · attn.kᵀ", "attn.scores[0, 1, 1] = 1·1 + 1·1", "= 2")


def test_shared_keys_are_those_of_the_group() -> None:
    cell = find_cell(load("llama").trace(), "blocks.0.attn.shared_v[1, 1, 1]")
    assert "attn.v[0, 1, 1]" in hints(cell)[1]


def test_sums_weights_and_gradients_have_hints_too() -> None:
    trace = load("capstone").trace()
    row = find_cell(trace, "sum blocks.0.attn.pattern[0, 1]")
    assert question(row).startswith("What is the sum of the row blocks.0.attn.pattern[0, 1]")
    assert derivation(row)[1:] == ("sum attn.pattern[0, 1] = (1/(1+e)) + (e/(1+e))", "= e^1/(e^1+e^2)+e^2/(e^1+e^2)", "= 1")
    graded = gradient(trace, "b a")
    back = find_cell(trace, "grad.logits[1, 0]", graded)
    assert hints(back)[0].startswith("Gradient: ∂logits = ")
    assert derivation(find_cell(trace, "W_E[0, 0]"))[-1] == "W_E[0, 0] = 1"


def equal_lines(cell: Cell) -> int:
    """How many lines say that something is equal to the number, all of which are read again."""
    count = 0
    for line in derivation(cell)[1:]:
        form = re.sub(r"^.*?= ", "", line, count=1)
        if "= " in line and "max(" not in form and "SiLU" not in form and "≈" not in line:
            assert closed_form(form) == cell.value, (cell.name, line)
            count += 1
    return count


@pytest.mark.parametrize("example", ["capstone", "length4"])
def test_every_line_of_a_derivation_is_equal_to_the_number(example: str) -> None:
    trace, count = load(example).trace(), 0
    for step in trace.steps:
        index = tuple(n - 1 for n in step.values.shape)
        if isinstance(step.values[index], Exact | Named):
            count += equal_lines(find_cell(trace, f"{step.name}[{', '.join(map(str, index))}]"))
    assert count > 15


def test_rounded_numbers_are_not_called_equal() -> None:
    cell = find_cell(load("llama").trace(), "blocks.0.ln2.rms[1, 0]")
    assert hints(cell)[-1] == "With the numbers put in, rounded: √(2.51235815384)."
    assert derivation(cell)[1] == "ln2.rms[1, 0] ≈ √(2.51235815384)"


def test_no_hint_is_the_answer() -> None:
    trace = load("capstone").trace()
    for step in trace.steps:
        for index in np.ndindex(*step.values.shape):
            cell = Cell(trace, step, index)
            if isinstance(cell.value, Named):
                assert all(f": {cell.value}." not in hint for hint in hints(cell)), cell.name


def test_every_slip_of_a_pass_ends_in_a_value_of_its_own_kind() -> None:
    trace, names = load("capstone").trace(), set()
    for step in trace.steps:
        index = tuple(n - 1 for n in step.values.shape)
        cell = Cell(trace, step, index)
        for slip in slips(cell):
            names.add(slip.name)
            if isinstance(slip.value, Exact | Named) and slip.value != cell.value:
                assert not judged(str(slip.value), cell).right
    assert {"sign", "transposed", "row-before", "no-mask", "no-root", "n-minus-1", "rounded-early", "softmax-without-e"} <= names
