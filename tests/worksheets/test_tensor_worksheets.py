"""Worksheets whose weights are in a safetensors file beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from cli_runs import run
from exactformer.checkpoints.safetensors import tensors_as_bytes
from exactformer.messages import Refused
from exactformer.worksheets.theorem import Stated
from exactformer.worksheets.worksheet import example_text, loads
from exactformer.worksheets.writing import written as rewritten

RANDOM = np.random.default_rng(1)
SHAPES = {
    "W_E": (3, 2), "W_pos": (4, 2), "W_U": (2, 3), "blocks.0.attn.W_Q": (1, 2, 2), "blocks.0.attn.W_K": (1, 2, 2),
    "blocks.0.attn.W_V": (1, 2, 2), "blocks.0.attn.W_O": (1, 2, 2),
}  # fmt: skip
SHEET = """
title = "two numbers"
weights = "own.safetensors"
[model]
vocabulary = ["a", "b", "c"]
dim = 2
blocks = 1
positions = "table"
mask = "causal"
scale = "sqrt"
norm = "none"
unembedding = "own"
[input]
tokens = "a b"
"""


def written(folder: Path, text: str = SHEET, **changes: Any) -> Path:
    tensors = {name: RANDOM.standard_normal(shape) for name, shape in SHAPES.items()} | changes
    (folder / "own.safetensors").write_bytes(tensors_as_bytes({n: t for n, t in tensors.items() if t is not None}, {}))
    (folder / "sheet.toml").write_text(text)
    return folder / "sheet.toml"


def test_the_weights_are_those_of_the_file(tmp_path: Path) -> None:
    embedding = np.array([[1.0, 0.5], [2.0, 0.25], [0.1, 3.0]])
    model = xf.load(written(tmp_path, W_E=embedding)).model
    assert np.array_equal(model.weights.W_E, embedding)
    assert model.config.length == 4
    assert not model.weights.W_E.flags.writeable
    assert xf.load(tmp_path / "sheet.toml").trace("a b", "arb").token(1) in ("a", "b", "c")


def test_what_is_usual_may_be_missing(tmp_path: Path) -> None:
    text = SHEET.replace('norm = "none"', 'norm = "pre"\nepsilon = 1e-5')
    model = xf.load(written(tmp_path, text, **{"blocks.0.attn.W_O": None})).model
    assert [str(x) for x in model.weights.blocks[0].ln1.w] == ["1", "1"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"W_E": None}, "weights.W_E is missing"),
        ({"W_E": np.zeros((3, 3))}, "tensor 'W_E': has the shape 3 × 3, not 3 × 2"),
        ({"W_E": np.full((3, 2), np.nan)}, "tensor 'W_E': has an entry that is infinite or not a number"),
        ({"W_e": np.zeros(3)}, "tensor 'W_e': has no place in the model that the worksheet describes"),
        ({"W_U": np.zeros((2, 3), dtype=np.int64)}, "tensor 'W_U': has the dtype I64; floats are read"),
    ],
)
def test_tensors_that_do_not_fit(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refused) as refused:
        xf.load(written(tmp_path, **changes))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("../own.safetensors", "write a table of weights, or the name of a safetensors file"),
        ("/etc/passwd", "write a table of weights"),
        ("own.pth", "write a table of weights"),
        ("not-there.safetensors", "there is no such file"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, named: str, problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        xf.load(written(tmp_path, SHEET.replace("own.safetensors", named)))


def test_a_text_has_no_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page is given, or standard input, opens no files."""
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused, match="only a worksheet that is a file has beside it"):
        loads(SHEET)


@pytest.mark.parametrize(
    ("theorem", "problem"),
    [
        ('rule = "max"', "theorem.domain is missing"),
        ('rule = "largest"\ndomain = "vocabulary^2"', "rule 'largest'"),
        ('rule = "max"\ndomain = "z^2"', "'z' is not a token of the model"),
        ('rule = "rules.py:f"\ndomain = "a b"', "is not understood"),  # no code is named by a worksheet
        ('rule = "max"\ndomain = "a b"\nmatch = [[0, 1]]', "match is given, but it goes with a circuit"),
    ],
)
def test_theorems_that_cannot_be_read(tmp_path: Path, theorem: str, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        xf.load(written(tmp_path, f"{SHEET}[theorem]\n{theorem}\n"))
    assert problem in str(refused.value)


def test_a_theorem_goes_with_its_worksheet(tmp_path: Path) -> None:
    embedding = np.array([[9.0, 0.0], [0.0, 9.0], [1.0, 0.0]])
    text = SHEET + '[theorem]\nrule = "last"\ndomain = "{a b}^1..3"\n'
    still = {f"blocks.0.attn.W_{c}": np.zeros((1, 2, 2)) for c in "QKVO"}
    path = written(tmp_path, text, W_E=embedding, W_pos=np.zeros((4, 2)), W_U=np.eye(2, 3), **still)
    done = run("prove", str(path), "--count")
    assert (done.returncode, "right      14 of 14" in done.stdout) == (0, True)
    assert run("prove", str(path), "--rule", "first", "--count", "--format", "json").returncode == 0
    assert run("prove", str(path), "--domain", "{a b c}", "--count").stdout.count("wrong: c: says a, not c") == 1


def test_a_theorem_is_written_out_with_its_worksheet() -> None:
    text = example_text("capstone") + '\n[theorem]\nrule = "last"\ndomain = "{a b}^1..3"\n'
    assert loads(rewritten(loads(text))).theorem == Stated("last", "{a b}^1..3")
