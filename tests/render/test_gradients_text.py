"""The text of a backward pass keeps to its width, as that of a trace does, and says the same at every width."""

from __future__ import annotations

import random
import re

import pytest

import exactformer as xf
from exactformer import painting
from exactformer.render import gradients
from exactformer.trace import Gradient, gradient, run
from exactformer.worksheets import example_text
from random_models import random_model, random_tokens


@pytest.fixture(scope="module")
def wide() -> Gradient:
    chance = random.Random(4)
    model = random_model(
        chance, dims=(8,), norm="none", final_norm=False, positions="none", mlp=8, activation="relu", blocks=1, unembedding="tied"
    )
    trace = run(model, random_tokens(chance, model, 3), "float64", "Eight dimensions")
    return gradient(trace, model.config.vocabulary[:1] * 3)


@pytest.fixture(scope="module")
def named() -> Gradient:
    return gradient(xf.load("capstone").trace("a b"), "a a")


def rows_of(shown: str) -> list[str]:
    """The rows of all matrices in order, however they are broken."""
    return re.findall(r"\([^=]*?\)(?=\n)", re.sub(r",\n\s+", ", ", shown))


@pytest.mark.parametrize("width", [80, 100, 200])
def test_rows_keep_to_the_width(wide: Gradient, width: int) -> None:
    shown = gradients.text(wide, width=width)
    rows = [line for line in shown.splitlines() if line.startswith("  ")]
    assert max(map(len, rows)) <= width
    assert any(len(line) > width - 30 for line in rows)


def test_a_narrow_text_is_broken_and_says_the_same(wide: Gradient) -> None:
    narrow, broad = gradients.text(wide, width=80), gradients.text(wide, width=10_000)
    assert narrow.count("\n") > broad.count("\n")
    assert rows_of(narrow) == rows_of(broad)
    assert len(rows_of(broad)) > 50


def test_proved_digits_are_broken_too(named: Gradient) -> None:
    rows = gradients.text(named, digits=100, width=90).splitlines()
    assert any("≈ (" in line and line.endswith(",") for line in rows)


def test_colour_does_not_count(named: Gradient) -> None:
    coloured = gradients.text(named, digits=60, paint=painting.coloured, width=80)
    assert "\x1b[36m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == gradients.text(named, digits=60, width=80)


def test_rows_continue_below_their_first_entry(wide: Gradient) -> None:
    lines = gradients.text(wide, width=80).splitlines()
    broken = next(n for n, line in enumerate(lines) if line.startswith("  ") and line.endswith(","))
    first = lines[broken].index("(") + 1
    assert lines[broken + 1].startswith(" " * first)
    assert lines[broken + 1][first] != " "


def test_a_long_label_stands_above_its_row() -> None:
    token = "x" * 60
    sheet = xf.loads(example_text("length4").replace('"I"', f'"{token}"').replace("I will", f"{token} will"))
    lines = gradients.text(gradient(sheet.trace(), upstream=xf.array([[2] * 4, *[[1] * 4] * 3])), width=80).splitlines()
    place = lines.index(f"  {token}")
    assert lines[place + 1] == " " * 8 + "  (2, 2, 2, 2)"
    assert lines[place + 2] == "  will" + " " * 5 + "  (1, 1, 1, 1)"


def test_the_weights_after_a_step_keep_to_the_width(wide: Gradient) -> None:
    descent = xf.descend(wide, xf.exact("1/10"))
    lines = gradients.descent_lines(descent, "1/10", 12, 80)
    assert all(len(line) <= 80 or ", " not in line for line in lines)
    assert sum(line.endswith(",") for line in lines) > 10


def test_a_title_cannot_break_out_of_markdown() -> None:
    trace = run(xf.load("length4").model, "I will work .", title="<b>T</b> # `x`")
    shown = gradients.markdown(gradient(trace, upstream=xf.array([[1] * 4] * 4)))
    assert shown.startswith(r"# \<b\>T\</b\> \# \`x\`: the gradient")
