"""Small models and the command line, for tests of what certified passes tell."""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from gpt2_files import small_config, small_tensors, write_folder

from exactformer import cli
from exactformer.checkpoints import open_checkpoint
from exactformer.cli import certify
from exactformer.model import Model

cli.commands.add_command(certify.command)
PROGRAM = "from exactformer import cli; from exactformer.cli import certify; cli.commands.add_command(certify.command); cli.main()"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*args: str) -> Done:
    """exactformer certify with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["exactformer", "certify", *args]), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(
        code, out.getvalue(), re.sub(r"(?m)^exactformer: \d+ s, .*\n", "", err.getvalue())
    )  # signs of life of a slow machine


def write_model(
    folder: Path, tensors: dict[str, Any] | None = None, positions: int = 16, vocabulary: int = 40, dtype: str = "F32"
) -> Path:
    """Two blocks of width 8."""
    sizes = {"layers": 2, "dim": 8, "inner": 32, "positions": positions, "vocabulary": vocabulary}
    config = small_config(n_embd=8, n_positions=positions, vocab_size=vocabulary)
    given = small_tensors(**sizes) | (tensors or {})
    if dtype == "BF16":
        given = {name: np.asarray(values, dtype=np.float32).view(np.uint32) >> 16 for name, values in given.items()}
    return write_folder(folder, config, given, dtype)


def small_model(folder: Path, **changes: Any) -> Model:
    return open_checkpoint(write_model(folder, **changes)).model
