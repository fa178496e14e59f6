"""A network whose answers are known beforehand, read from its folder: it sorts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactformer.checkpoints import open_checkpoint
from exactformer.trace import run
from sorter import INPUTS, LENGTH, sorter


def test_it_sorts(tmp_path: Path) -> None:
    model = open_checkpoint(sorter(tmp_path / "sorter"), ("A", "B", "C")).model
    for letters in INPUTS:
        tokens = ["ABC"[letter] for letter in letters]
        for _ in range(LENGTH):
            next_token = run(model, tokens, "float64").token(len(tokens) - 1)
            assert next_token is not None
            tokens.append(next_token)
        assert tokens[LENGTH:] == sorted(tokens[:LENGTH])


def test_its_head_looks_at_the_letters_alone_and_equally(tmp_path: Path) -> None:
    trace = run(open_checkpoint(sorter(tmp_path / "sorter")).model, list("20100"), "float64")
    wanted = [1 / LENGTH] * LENGTH + [0] * (5 - LENGTH)
    np.testing.assert_allclose(trace["blocks.0.attn.pattern"].values[0][LENGTH:], [wanted] * 2, atol=1e-15)
