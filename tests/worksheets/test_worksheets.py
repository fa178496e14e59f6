"""Worksheets: what they say, and one clear line for each way in which they can be wrong."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

import exactformer as xf
from exactformer.worksheets import WorksheetError

CAPSTONE = (files("exactformer.worksheets") / "examples" / "capstone.toml").read_text(encoding="utf-8")
EVERYTHING = """
[model]
vocabulary = ["x", "the end"]
dim = 4
heads = 2
blocks = 1
norm = "pre"
epsilon = 1e-5
final_norm = true
mask = "strict"
scale = "sqrt"
positions = "sinusoidal"
mlp = 2
activation = "gelu"
unembedding = "own"

[weights]
W_E = [[0.3, "1/3", 1, -2], [1e-2, 0, 0, 1_000]]
W_U = [[1, 0], [0, 1], [1, 1], [0.5, 0]]
b_U = [0, "1/7"]
ln_final = { w = [1, 2, 3, 4] }

[[weights.blocks]]
ln1 = { b = [0.5, 0, 0, 0] }
[weights.blocks.attn]
W_Q = [[[1, 0], [0, 1], [1, 1], [0, 0]], [[1, 0], [0, 1], [1, 1], [0, 0]]]
W_K = [[[1, 0], [0, 1], [1, 1], [0, 0]], [[1, 0], [0, 1], [1, 1], [0, 0]]]
W_V = [[[1, 0], [0, 1], [1, 1], [0, 0]], [[1, 0], [0, 1], [1, 1], [0, 0]]]
b_Q = [[1, 2], [3, 4]]
[weights.blocks.mlp]
W_in = [[1, 0], [0, 1], [1, 1], [0, 0]]
W_out = [[1, 0, 0, 0], [0, 1, 0, 0]]
b_in = [0.25, 0.75]

[input]
tokens = ["x", "the end"]
"""


def test_a_worksheet_with_every_option() -> None:
    worksheet = xf.loads(EVERYTHING)
    weights = dict(worksheet.model.weights.named())
    assert [str(v) for v in weights["W_E"].flat] == ["3/10", "1/3", "1", "-2", "1/100", "0", "0", "1000"]
    assert str(worksheet.model.config.epsilon) == "1/100000"
    assert [str(v) for v in weights["ln_final.b"]] == ["0"] * 4
    assert weights["blocks.0.attn.W_O"].shape == (2, 2, 4)
    assert worksheet.tokens == ("x", "the end")
    trace = worksheet.trace()
    assert trace.decided
    assert trace["blocks.0.attn.q"].values.shape == (2, 2, 2)


def test_multiples_of_the_identity() -> None:
    worksheet = xf.loads(CAPSTONE.replace('W_Q = "identity"', 'W_Q = "1/2 identity"'))
    assert [str(v) for v in worksheet.model.weights.blocks[0].attn.W_Q.flat] == ["1/2", "0", "0", "1/2"]


WRONG = {
    "a missing field": ("dim = 2\n", "", "model.dim is missing"),
    "a missing table": ("[input]\n", "[inputs]\n", "input is missing (inputs is there: did you mean that?)"),
    "a misspelt field": ("epsilon", "epsilom", "model.epsilom is not a field of a worksheet (did you mean epsilon?)"),
    "an unknown weight": ("W_pos =", "W_p = [1]\nW_pos =", "weights.W_p is not a field"),
    "a wrong shape": (
        "[[1, 0], [0, 1], [1, 1]]",
        "[[1, 0], [0, 1], [1]]",
        "weights.W_E[2] is a list of 1, where a list of 2 belongs",
    ),
    "too few rows": ("[[1, 0], [0, 1], [1, 1]]", "[[1, 0], [0, 1]]", "weights.W_E is a list of 2, where a list of 3 belongs"),
    "a NaN": ("[[1, 0], [0", "[[nan, 0], [0", "weights.W_E[0][0]: 'nan' is not a number"),
    "an infinity": ("[[1, 0], [0", "[[-inf, 0], [0", "weights.W_E[0][0]: '-inf' is not a number"),
    "a huge exponent": ("[[1, 0], [0", "[[1e999999999, 0], [0", "weights.W_E[0][0]: the exponent"),
    "a fraction by zero": ("[[1, 0], [0", '[["1/0", 0], [0', "divides by zero"),
    "a truth value": ("[[1, 0], [0", "[[true, 0], [0", "weights.W_E[0][0] is true, not a number"),
    "a date": ("[[1, 0], [0", "[[2020-01-01, 0], [0", "weights.W_E[0][0] is 2020-01-01, not a number"),
    "words for a matrix": ('W_in = "identity"', 'W_in = "eye"', "weights.blocks.0.mlp.W_in is 'eye'"),
    "a wrong choice": ('norm = "post"', 'norm = "rms"', "model.norm is 'rms', not one of none, pre, post"),
    "a text for a number": ("dim = 2", 'dim = "two"', "model.dim is 'two', not a whole number"),
    "a negative ε": ("epsilon = 0", "epsilon = -1", "model.epsilon -1 is negative"),
    "too few blocks": ("blocks = 1", "blocks = 2", "weights.blocks has 1 entries, but model.blocks is 2"),
    "a giant": ("dim = 2", "dim = 20000000", "weights.W_E would have 60,000,000 entries"),
    "a duplicate token": ('["a", "b", "c"]', '["a", "b", "a"]', "model.vocabulary has the token 'a' twice"),
    "no TOML": ("[model]", "[model", "is not TOML"),
    "tokens of another type": ('tokens = "a b"', "tokens = 3", "input.tokens is neither"),
    "an activation without MLP": ("mlp = 2\n", "", "model.activation is given, but it goes with an mlp"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_worksheets_get_one_line_that_names_the_field(case: str) -> None:
    before, after, problem = WRONG[case]
    assert before in CAPSTONE
    with pytest.raises(WorksheetError) as caught:
        xf.loads(CAPSTONE.replace(before, after, 1), "sheet.toml")
    message = str(caught.value)
    assert message.startswith("sheet.toml: ")
    assert problem in message
    assert "\n" not in message


def test_files_are_measured_before_they_are_read(tmp_path: Path) -> None:
    giant = tmp_path / "giant.toml"
    with giant.open("wb") as file:
        file.truncate(2**30)  # sparse: a gigabyte that takes no room
    with pytest.raises(WorksheetError, match="1,073,741,824 bytes"):
        xf.load(giant)


@pytest.mark.parametrize(
    ("content", "problem"), [(b"\xff\xfe", "not UTF-8"), (b"x = " + b"[" * 100_000, "nested too deeply"), (b"", "missing")]
)
def test_files_from_strangers(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(WorksheetError, match=problem):
        xf.load(path)


def test_unknown_names_list_the_examples(tmp_path: Path) -> None:
    with pytest.raises(WorksheetError, match="capstone"):
        xf.load("no-such-thing")
    with pytest.raises(xf.CheckpointError, match=r"has no model\.safetensors"):
        xf.load(tmp_path)


def test_every_example_loads_and_is_decided() -> None:
    for name in xf.examples():
        worksheet = xf.load(name)
        assert worksheet.title
        assert worksheet.about
        assert worksheet.trace().decided
