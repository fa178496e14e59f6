"""Every command on worksheets without positions, that of the documentation included, and on the built-in examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import exactformer as xf
from cli_runs import run
from exactformer.worksheets import Input, examples

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
SINUSOIDAL = """
title = "Positions without a table"
[model]
vocabulary = ["a", "b"]
dim = 2
blocks = 1
norm = "pre"
epsilon = 1e-5
mask = "causal"
scale = "sqrt"
positions = "sinusoidal"
unembedding = "own"
[weights]
W_E = [[1, 0], [0, 1]]
W_U = [[1, 2], [3, "1/2"]]
[[weights.blocks]]
attn = { W_Q = "identity", W_K = "identity", W_V = "identity" }
[input]
tokens = "a b"
"""


@pytest.fixture(params=["page", "sinusoidal"])
def sheet(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A worksheet of a model that has no longest input."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = SINUSOIDAL
    if request.param == "page":
        (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert xf.load(path).model.config.length is None
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ["certify", "--max", "3"],
        ["certify", "--max", "2", "--audit", "--compare", "float32"],
        ["generate", "--max", "2"],
        ["generate", "--max", "2", "--arithmetic", "float64"],
        *(["trace", "--arithmetic", name] for name in ("exact", "arb", "certified", "float64", "float32")),
        ["prove", "--schedule", "flash"],
        ["prove", "--length", "2", "--rule", "sorted", "--workers", "1"],
        ["budget", "--lengths", "2,5"],
        ["circuits"],
    ],
    ids=" ".join,
)
def test_a_worksheet_without_positions_goes_through_every_command(sheet: str, command: list[str]) -> None:
    name, *options = command
    done = run(name, sheet, *options)
    assert (done.returncode, done.stderr) == (1 if "sorted" in options else 0, "")


def test_a_worksheet_without_positions_is_proved_on_the_page(sheet: str) -> None:
    """What `exactformer serve mine.toml` answers with, in its process of the model."""
    from exactformer.web.certified_worker import Prover

    told: list[dict[str, object]] = []
    prover = Prover(sheet, told.append)
    assert told[-1]["state"] == "ready"
    ids = Input().of(prover.worksheet)
    for given in ({}, {"ids": " ".join(map(str, ids))}, {"prompt": " ".join(prover.worksheet.tokens)}):
        found = prover.token(**given, tokens=2, number=2)
        assert [token["id"] for token in found["given"]] == ids
        assert found["token"] is not None
        assert prover.certificate(**given, tokens=2)["text"].startswith("{")


@pytest.mark.parametrize("example", sorted(set(examples()) - {"length4", "poster"}))
def test_examples_are_certified(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run("certify", example)
    assert (done.returncode, done.stderr) == (0, "")
    assert ", proved" in done.stdout
