"""Five programs that come with the library, each with a theorem."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from exactformer.programs.operators import Tokens, apply, indices, tokens
from exactformer.programs.program import Program
from exactformer.programs.selectors import aggregate, count, select

_same = select(tokens, tokens, "==")
_before = select(indices, indices, "<")
_so_far = select(indices, indices, "<=")
_length = count(select(indices, indices, lambda key, query: True))


def _distinct(given: Tokens) -> bool:
    """no token twice"""
    return len(set(given)) == len(given)


def _mirrored(length: int, index: int) -> Any:
    return length - 1 - index if index < length else None  # an index is below the length


def _bracketed(failed: int, depth: int) -> str:
    return "wrong" if failed else "balanced" if depth == 0 else "open"


def _share(some: int, all_: int) -> Any:
    return (Fraction(some, all_) if all_ else 0) if some <= all_ else None  # there are no more of some than of all


_smaller = count(select(tokens, tokens, "<"))
_opened = count(_so_far & select(tokens, "(", "=="))
_depth = apply(lambda opened, index: 2 * opened - (index + 1) if opened <= index + 1 else None, _opened, indices)
_failures = count(_so_far & select(_depth < 0, True, "=="))

PROGRAMS = {
    each.name: each
    for each in (
        Program(count(_same), ("a", "b", "c"), "histogram", "At every position, how many tokens are the same."),
        Program(
            aggregate(select(indices, apply(_mirrored, _length, indices), "=="), tokens), ("a", "b", "c"), "reverse",
            "The input, the last token first: the length is counted, and each position looks at its mirror image.",
        ),
        Program(
            aggregate(select(_smaller, indices, "=="), tokens), ("a", "b", "c", "d"), "sort",
            "Distinct tokens in order: each counts those before it, and position i looks at the one that counted i.", _distinct,
        ),
        Program(
            apply(_bracketed, _failures, _depth), ("(", ")"), "brackets",
            "After every bracket: balanced, open, or wrong, as the depth has been below 0.",
        ),
        Program(
            apply(_share, count(_before & _same), count(_before)), ("a", "b"), "fraction",
            "At every position, which fraction of the earlier tokens are the same.",
        ),
    )
}  # fmt: skip
