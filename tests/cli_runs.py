"""The program in this process: starting another takes far longer than most of what is asked of it."""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from exactformer.cli import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def quiet(said: str) -> str:
    """Without the signs of life that are given on a slow machine."""
    return re.sub(r"(?m)^exactformer: \d+ s, .*\n", "", said)


def run(*args: str, stdin: bytes = b"") -> Done:
    """A command, and what it says, without signs of life."""
    out, err, given = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BytesIO(stdin))
    status = 0
    asked = patch.multiple(sys, argv=["exactformer", *args], stdin=given)
    with asked, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return Done(status, out.getvalue(), quiet(err.getvalue()))


def refused(*args: str, stdin: bytes = b"") -> str:
    """The one line that bad input gets."""
    done = run(*args, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert done.stderr.startswith("exactformer: ")
    return done.stderr.removeprefix("exactformer: ").rstrip("\n")
