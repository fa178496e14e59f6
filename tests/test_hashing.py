"""Hashes of several things: different things never go in as the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactformer.hashing import Digest

SEPARATORS = st.text(alphabet="a\0\n :0\ud800", max_size=3)
FIELDS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 12) | SEPARATORS | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


def typed(value: Any) -> Any:
    """Told apart as data is: 1 is not True."""
    return (type(value), tuple(map(typed, value)) if isinstance(value, tuple) else value)


@given(one=st.lists(FIELDS, max_size=3), other=st.lists(FIELDS, max_size=3))
def test_hashes_are_equal_for_equal_fields_alone(one: list[Any], other: list[Any]) -> None:
    same = [typed(field) for field in one] == [typed(field) for field in other]
    assert (Digest("x").add(*one).hexdigest() == Digest("x").add(*other).hexdigest()) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("a", "b")], [("a\0b",)]),
        ([("\n",), ("\n\n",)], [("\n\n",), ("\n",)]),
        ([("a",), ()], [(), ("a",)]),
        (["ab", "c"], ["a", "bc"]),
        ([("a", "b")], ["a", "b"]),
        ([12, 3], [1, 23]),
        (["text 1:a"], ["a"]),
        ([b"a"], ["a"]),
        ([None], ["None"]),
        ([10**5000], [10**5000 + 1]),
    ],
)
def test_what_separators_would_confuse(one: list[Any], other: list[Any]) -> None:
    assert Digest("x").add(*one).hexdigest() != Digest("x").add(*other).hexdigest()
    assert Digest("x").add(*one).hexdigest() != Digest("y").add(*one).hexdigest()


def test_what_has_no_one_spelling_is_not_hashed() -> None:
    for value in (0.5, {"a": 1}, {"a"}, object()):
        with pytest.raises(TypeError, match="is not hashed here"):
            Digest("x").add(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [2, 4])
def test_parts_have_the_size_that_was_said(size: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        Digest("x").add_bytes(size, [b"a", memoryview(b"bc")])
