"""Temperature, top-k and top-p on the page: exact probabilities, and cuts that are proved or said undecided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb

from exactformer.decoding import DecodingError
from exactformer.numbers import Undefined, array, exact
from exactformer.web import tasks
from exactformer.web.distributions import MOST, distribution, strategy_of
from exactformer.web.sources import RequestError


def asked(**question: Any) -> dict[str, Any]:
    return tasks.run("distribution", {"source": {"example": "capstone"}, "position": 1} | question)


def probabilities(found: dict[str, Any]) -> list[str | None]:
    return [token["probability"] and token["probability"]["text"] for token in found["tokens"]]


def balls(*rows: tuple[float, float]) -> Any:
    return np.array([[arb(mid, radius) for mid, radius in rows]], dtype=object)


def test_probabilities_are_closed_forms_in_the_order_of_the_logits() -> None:
    found = asked()
    assert [token["token"] for token in found["tokens"]] == ["a", "c", "b"]
    assert probabilities(found) == ["e^2/(1+e+e^2)", "e/(1+e+e^2)", "1/(1+e+e^2)"]
    assert (found["kept"], found["proved"], found["ordered"], found["why"]) == (3, True, True, "")


def test_a_temperature_is_a_fraction() -> None:
    assert probabilities(asked(temperature="1/2"))[0] == "e^4/(1+e^2+e^4)"
    assert asked(temperature="0.5") == asked(temperature="1/2")


def test_what_is_cut_off_has_no_probability() -> None:
    assert probabilities(asked(top_k=2)) == ["e/(1+e)", "1/(1+e)", None]
    assert probabilities(asked(top_p="9/10")) == ["e/(1+e)", "1/(1+e)", None]  # 0.665 + 0.245 ≥ 0.9
    assert probabilities(asked(top_p="1/2")) == ["1", None, None]
    assert probabilities(asked(temperature="0")) == ["1", None, None]


def test_a_cut_that_balls_cannot_tell_is_undecided() -> None:
    overlapping = balls((1, 0.1), (1.05, 0.1), (-3, 0))
    found = distribution(overlapping, strategy_of("1", 1, None), str, 0)
    assert (found["kept"], found["proved"], found["ordered"]) == (None, False, False)
    assert found["why"].startswith("top-k 1: undecided")
    cut = distribution(overlapping, strategy_of("1", None, "1/2"), str, 0)
    assert cut["why"].startswith("top-p 1/2: undecided")
    assert all(token["probability"] for token in cut["tokens"])  # nothing is cut off where that is undecided


def test_floats_prove_nothing() -> None:
    found = distribution(np.array([[0.0, 1.0]]), strategy_of("1", None, None), str, 0)
    assert (found["proved"], found["ordered"]) == (False, False)


def test_of_many_tokens_the_largest() -> None:
    row = array([[exact(i) for i in range(3 * MOST)]])
    found = distribution(row, strategy_of("1", None, None), str, 0)
    assert [token["id"] for token in found["tokens"]] == list(range(3 * MOST - 1, 2 * MOST - 1, -1))
    assert found["size"] == 3 * MOST


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ({"temperature": "-1"}, "temperature: -1 is negative"),
        ({"temperature": "1/1000"}, "temperature: 1/1000 is neither 0 nor from 1/100 to 100"),
        ({"temperature": "warm"}, "temperature: 'warm' is not"),
        ({"top_p": "0"}, "top-p: 0 is not above 0 and at most 1"),
        ({"position": 2}, "position: 2 is none of 0 to 1"),
        ({"source": {"example": "length4"}}, "source: the model has no logits"),
    ],
)
def test_what_makes_no_sense_is_one_line(question: dict[str, Any], line: str) -> None:
    with pytest.raises((RequestError, DecodingError)) as told:
        asked(**question)
    assert str(told.value).startswith(line)
    assert "\n" not in str(told.value)


def test_undefined_logits_are_said_to_be_so() -> None:
    row = np.array([[exact(1), Undefined("0/0")]], dtype=object)
    with pytest.raises(RequestError, match="position 0: undefined: 0/0"):
        distribution(row, strategy_of("1", None, None), str, 0)
