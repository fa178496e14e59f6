"""Trials that are drawn by their numbers, in several processes: each from a seed of its own, so that one can be tried again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from exactformer.proofs.runner import run as computed


def drawn(
    tried: Callable[[random.Random], Any], what: str, number: int, seed: int = 0, workers: int | None = 1
) -> Iterator[dict[str, Any]]:
    """The fields of what each trial found, a dataclass. What `failed` is named with `what` was drawn: its number and the seed."""
    for _, found in computed(partial(_one, tried, what), [(seed, n) for n in range(number)], fingerprint="", workers=workers):
        yield found


def _one(tried: Callable[[random.Random], Any], what: str, place: tuple[int, int]) -> dict[str, Any]:
    seed, n = place
    found = tried(random.Random(f"{seed} {n}"))
    return asdict(replace(found, failed=tuple(f"{what} {n} of seed {seed}: {line}" for line in found.failed)))
