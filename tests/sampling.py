"""Trials drawn at random: some of them in every run of the tests, all of them in `make test-large`."""

from __future__ import annotations

from typing import Any

import pytest


def counts(few: int, all_: int) -> list[Any]:
    """How many are tried."""
    return [few, pytest.param(all_, marks=pytest.mark.large)]


def parts(first: int, last: int, few: int) -> list[Any]:
    """The numbers of the parts, of which a few are tried in every run."""
    return [pytest.param(n, marks=() if n < first + few else pytest.mark.large) for n in range(first, last)]
