"""The induction head of the lecture: its table of logits, what ≈1 and ≈0 hide, and under which mask each of its claims holds."""

from __future__ import annotations

import subprocess
import sys

import pytest

import exactformer as xf
from children import PATIENCE
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import exp
from exactformer.numbers.digits import digits, fixed_decimals
from exactformer.trace import Trace

# As printed in the lecture, "Layer 2: Attention Logits".
TABLE = """
0.0 100.0 0.0 0.0 0.0 0.0
0.0 0.0 100.0 0.0 100.0 0.0
0.0 0.0 0.0 100.0 0.0 0.0
0.0 0.0 100.0 0.0 100.0 0.0
0.0 0.0 0.0 0.0 0.0 100.0
0.0 0.0 0.0 100.0 0.0 0.0
"""
E100 = exp(100)


@pytest.fixture(scope="module")
def strict() -> Trace:
    return xf.load("induction").trace()


@pytest.fixture(scope="module")
def causal() -> Trace:
    return xf.load("induction").changed(mask="causal").trace()


def test_all_36_logits_of_layer_2_are_those_of_the_lecture(strict: Trace) -> None:
    printed = [line.split() for line in TABLE.strip().splitlines()]
    assert [[fixed_decimals(value, 1) for value in row] for row in strict["blocks.1.attn.scores"][0]] == printed


def test_the_command_prints_the_table() -> None:
    program = [sys.executable, "-c", "from exactformer.cli import main; main()"]
    command = ["trace", "induction", "--step", "blocks.1.attn.scores", "--decimals", "1"]
    done = subprocess.run([*program, *command], capture_output=True, text=True, timeout=PATIENCE, check=True)
    title, header, *rows = done.stdout.splitlines()
    assert title.startswith("blocks.1.attn.scores = ")
    assert header.split() == ["!", "a", "b", "a", "c", "b"]
    assert [row.split() for row in rows] == [
        [token, *line.split()] for token, line in zip("!abacb", TABLE.strip().splitlines(), strict=True)
    ]


def test_closed_forms_behind_the_printed_ones_and_zeros(strict: Trace) -> None:
    first = strict["blocks.0.attn.pattern"][0]
    assert first[3, 2] == E100 / (E100 + 2)
    assert str(first[3, 2]) == "e^100/(2+e^100)"
    for i in range(2, 6):
        assert first[i, i - 1] == E100 / (E100 + (i - 1))
        assert all(first[i, j] == 1 / (E100 + (i - 1)) for j in range(i - 1))
    second = strict["blocks.1.attn.scores"][0]
    assert second[5, 3] == 100 * E100 / (E100 + 2)
    assert second[1, 4] == 100 * (1 + E100) / (E100 + 3)  # position 4 has seen two a: one before it, one far before
    assert second[0, 1] == 100
    assert second[0, 0] == 0


def test_the_leak_is_proved_to_its_digits(strict: Trace) -> None:
    seen = strict["blocks.0.attn.pattern"][0, 3, 2]
    assert digits(1 - seen, 3) == "7.44e-44"
    assert xf.exact("7.4e-44") < 1 - seen < xf.exact("7.5e-44")
    shown = [text for position, text in strict["blocks.0.attn.pattern"].remarks if position == 3]
    assert shown == [
        'position 3 "a" attends to position 2 "b" with weight 1 - 7.44e-44; the largest leak is 3.72e-44, to position 0 "!"'
    ]


def test_entry_0_0_under_each_mask(strict: Trace, causal: Trace) -> None:
    # "Position 0 attends to itself" holds under the causal mask, and then entry (0, 0) of layer 2 is 100, not 0.
    assert strict["blocks.0.attn.pattern"][0, 0, 0] == 0
    assert strict["blocks.1.attn.scores"][0, 0, 0] == 0
    assert strict["blocks.1.attn.masked"][0, 0, 0] is MASKED
    assert causal["blocks.0.attn.pattern"][0, 0, 0] == 1
    assert causal["blocks.1.attn.scores"][0, 0, 0] == 100
    assert causal["blocks.1.attn.pattern"][0, 0, 0] == 1
    printed = [line.split() for line in TABLE.strip().splitlines()]
    differing = {
        (i, j) for i in range(6) for j in range(6) if fixed_decimals(causal["blocks.1.attn.scores"][0, i, j], 1) != printed[i][j]
    }
    assert differing == {(0, 0)}


def test_the_prediction_at_every_position_is_proved(strict: Trace) -> None:
    assert strict.decided
    assert [out.token for out in strict.output] == ["!", "!", "!", "b", "a", "a"]
    assert strict.output[0].ties == ("a", "b", "c")  # nothing to look at
    assert strict.output[5].ties == ()  # after the last b comes a
    assert strict.output[5].margin > xf.exact("99.999")
    probability = strict["probs"][5, 1]
    assert xf.exact("1.11e-43") < 1 - probability < xf.exact("1.12e-43")
