"""The capstone: every value that the book gives, what it leaves open, and all twelve inputs."""

from __future__ import annotations

from itertools import product

import pytest

import exactformer as xf
from exactformer.model import InputError
from exactformer.trace import Trace

# blocks.0. is left out; a position's values in the order of the pipeline
POSITION_0 = {
    "embed": "1 0", "pos_embed": "0 0", "resid_pre": "1 0", "attn.q": "1 0", "attn.k": "1 0", "attn.v": "1 0",
    "attn.scores": "1 1", "attn.masked": "1 -inf", "attn.pattern": "1 0", "attn.z": "1 0", "attn.out": "1 0", "resid_mid": "2 0",
    "ln1.mean": "1", "ln1.centered": "1 -1", "ln1.var": "1", "ln1.std": "1", "ln1.out": "1 -1", "mlp.pre": "1 -1",
    "mlp.post": "1 0", "mlp.out": "1 0", "resid_post": "2 -1", "ln2.mean": "1/2", "ln2.centered": "3/2 -3/2", "ln2.var": "9/4",
    "ln2.std": "3/2", "ln2.out": "1 -1", "logits": "1 -1 0", "token": "a",
}  # fmt: skip
POSITION_1 = {
    "embed": "0 1", "pos_embed": "1 0", "resid_pre": "1 1", "attn.q": "1 1", "attn.scores": "1 2", "attn.masked": "1 2",
    "attn.pattern": "1/(1+e) e/(1+e)", "attn.z": "1 e/(1+e)", "resid_mid": "2 1+e/(1+e)", "ln1.out": "1 -1", "mlp.out": "1 0",
    "resid_post": "2 -1", "ln2.out": "1 -1", "logits": "1 -1 0", "token": "a",
}  # fmt: skip


@pytest.fixture(scope="module")
def capstone() -> Trace:
    return xf.load("capstone").trace("a b")


def step(trace: Trace, short: str) -> xf.Step:
    whole = short if short in ("embed", "pos_embed", "logits", "token", "probs") else f"blocks.0.{short}"
    return trace[whole]


@pytest.mark.parametrize(("position", "values"), [(0, POSITION_0), (1, POSITION_1)])
def test_every_value_of_the_book(capstone: Trace, position: int, values: dict[str, str]) -> None:
    for name, expected in values.items():
        assert " ".join(map(str, step(capstone, name).at(position)[0])) == expected, name


def test_position_0_is_exact_throughout(capstone: Trace) -> None:
    statuses = {v.status for s in capstone.steps if s.name != "probs" for v in s.at(0)[0] if hasattr(v, "status")}
    assert statuses == {"exact"}
    assert not any(v.recovered for v in capstone.logits[0])


def test_the_named_pattern_as_written_and_simplified(capstone: Trace) -> None:
    row = capstone["blocks.0.attn.pattern"][0, 1]
    assert [v.written for v in row] == ["e^1/(e^1+e^2)", "e^2/(e^1+e^2)"]
    assert [str(v) for v in row] == ["1/(1+e)", "e/(1+e)"]
    assert [v.status for v in row] == ["named", "named"]
    assert row[1].digits(20) == "0.73105857863000487925"


def test_what_the_book_leaves_open_is_recovered(capstone: Trace) -> None:
    for name in ("ln1.out", "logits"):
        row = step(capstone, name).at(1)[0]
        assert all(v.status == "exact" and v.recovered for v in row), name


def test_tokens_are_proved(capstone: Trace) -> None:
    assert [(out.token, out.proved, out.runner_up, str(out.margin)) for out in capstone.output] == [("a", True, "c", "1")] * 2
    assert capstone.token(1) == "a"
    assert capstone.decided


def test_stop_at_named_follows_the_books_rule() -> None:
    trace = xf.load("capstone").trace("a b", stop_at_named=True)
    assert trace.stopped == (None, "blocks.0.attn.pattern")
    assert trace.token(0) == "a"
    assert trace.token(1) is None
    assert [s.name for s in trace.shown(1)][-1] == "blocks.0.attn.pattern"
    assert trace.decided


@pytest.mark.parametrize("tokens", [p for n in (1, 2) for p in product("abc", repeat=n)], ids="".join)
def test_all_twelve_inputs_are_answered(tokens: tuple[str, ...]) -> None:
    trace = xf.load("capstone").trace(tokens)
    assert trace.decided
    for out in trace.output:
        undefined = out.token is None
        assert out.proved
        assert undefined == ("variance is 0" in out.why)
    if tokens[0] == "c":
        assert trace.token(0) is None
        assert trace["blocks.0.ln1.var"][0, 0] == 0


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [("a b c", "position 2: the token 'c' has no position"), ("a d", "position 1: the token 'd'"), ("", "empty"), ("  ", "empty")],
)
def test_inputs_that_do_not_fit(tokens: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        xf.load("capstone").trace(tokens)


def test_reads_name_steps_or_weights(capstone: Trace) -> None:
    known = {s.name for s in capstone.steps} | {name for name, _ in capstone.model.weights.named()} | {"tokens"}
    for s in capstone.steps:
        assert set(s.reads) <= known, s.name


def test_unknown_steps_are_named(capstone: Trace) -> None:
    with pytest.raises(KeyError, match="no step 'attn'"):
        capstone["attn"]
