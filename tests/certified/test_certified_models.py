"""Certified passes of whole models against the independent balls of Arb and the exact arithmetic: every step inside its radius."""

from __future__ import annotations

import random as python_random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.enclosures import arb_steps, worst_ratio
from flint import arb
from small_models import gpt2_shaped, moved_model

from exactformer.arithmetics import arithmetic
from exactformer.certificates import Prepared, prove_token, prove_tokens
from exactformer.certified import CertifiedArithmetic, bounds, weights
from exactformer.checkpoints import open_checkpoint
from exactformer.model import ConfigError, InputError, Model, forward
from exactformer.model.arithmetics import ball_functions
from exactformer.model.arithmetics.arb import decide
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision
from exactformer.worksheets import load
from random_models import random_model
from sorter import sorter

NANO = Path(__file__).parents[2].parent / "shared" / "data" / "gpt-nano-sort" / "hf"
SCHEDULES = ((4,), (6,), (0,), (7, 5, 4), (5, 0, 0), (8, 7, 6, 5, 4), (6, 5, 5, 0, 0))


@pytest.mark.parametrize("kind", ["initial", "trained"])
@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu", "relu"])
def test_every_step_is_inside(kind: str, activation: str) -> None:
    model = gpt2_shaped(kind, len(activation), activation=activation)
    ids = [3, 96, 3, 41, 0]
    peer = arb_steps(model, ids)
    assert all(0 < worst_ratio(model, ids, schedule, peer) <= 1 for schedule in SCHEDULES)


@pytest.mark.parametrize(("dim", "heads"), [(6, 2), (10, 1), (9, 3)])
def test_any_head_size(dim: int, heads: int) -> None:
    model = gpt2_shaped("trained", 5, blocks=1, dim=dim, heads=heads, mlp=7, vocabulary=11)
    peer = arb_steps(model, [1, 2, 10])
    assert 0 < worst_ratio(model, [1, 2, 10], (5,), peer) <= 1


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats(dtype: Any) -> None:
    model = gpt2_shaped("trained", 2, blocks=1, dtype=dtype)
    peer = arb_steps(model, [5, 6, 7])
    assert all(0 < worst_ratio(model, [5, 6, 7], schedule, peer) <= 1 for schedule in ((5,), (0,)))


def moved_ratio(size: float) -> float:
    """All steps from a stream that is somewhere in its ball: the worst over models, schedules and ways to move."""
    ratios = []
    for seed in range(4):
        activation = ("gelu_tanh", "gelu", "relu", "identity")[seed]
        model = gpt2_shaped(("initial", "trained")[seed % 2], seed, blocks=1, activation=activation)
        ids = [1, 50, 50]
        peer = arb_steps(moved_model(model, seed, size, len(ids)), ids, 200)
        ratios += [worst_ratio(model, ids, schedule, peer, size) for schedule in ((4,), (0,))]
    return max(ratios)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.1])
def test_what_moves_the_stream_is_followed(size: float) -> None:
    assert 0 < moved_ratio(size) <= 1


@pytest.mark.parametrize("what", ["norm", "norm_through", "column_sizes"])
def test_a_norm_that_is_too_small_is_refuted(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the lemmas 16 to 18 in whole passes."""
    full = getattr(weights.Matrix, what)
    monkeypatch.setattr(weights.Matrix, what, lambda *given: full(*given) * 1e-3)
    assert moved_ratio(1e-6) > 1


@pytest.mark.parametrize("seed", range(12))
def test_rational_models(seed: int) -> None:
    """Every option of small worksheets: post-norm, no norm, other masks and scales, ε = 0; with weights that are no floats."""
    rng = python_random.Random(seed)
    model = random_model(rng, hard=False, late_mask=False)
    ids = [rng.randrange(len(model.config.vocabulary)) for _ in range(4)]
    _, (expected,) = decide(model, ids, positions=[-1], cap_bits=512)
    result = prove_token(model, ids)
    assert result.proved == expected.proved or result.ties
    if result.proved and expected.proved:
        assert result.token == expected.index
        low, high = result.margin or (Fraction(0), Fraction(0))
        assert float(low) <= float(expected.margin.upper())
        assert float(expected.margin.lower()) <= float(high) + 1e-30


def test_capstone_agrees_with_exact() -> None:
    model = load("capstone").model
    ids = model.ids(("a", "b"))
    logits = forward(model, ids, arithmetic("exact"), lambda step: step.values)
    certified = CertifiedArithmetic()
    balls = forward(model, ids, certified, lambda step: step.values)
    for place in np.ndindex(*logits.shape):
        low, high = balls.enclosure(place)
        assert exact(f"{low.numerator}/{low.denominator}") <= logits[place] <= exact(f"{high.numerator}/{high.denominator}")
    assert [c.index for c in certified.choose(balls)] == [c.index for c in arithmetic("exact").choose(logits)]


@pytest.mark.skipif(not NANO.is_dir(), reason="skipped: ../shared/data/gpt-nano-sort is not there")
@pytest.mark.parametrize("letters", [[2, 0, 1, 1, 0, 2], [0, 0, 0, 0, 0, 0], [2, 2, 1, 0, 1, 2]])
def test_nano_sort_is_proved(letters: list[int]) -> None:
    sorts(open_checkpoint(NANO).model, letters)


@pytest.mark.parametrize("letters", [[2, 0, 1], [0, 0, 0], [2, 1, 1]])
def test_a_network_that_sorts_is_proved(letters: list[int], tmp_path: Path) -> None:
    sorts(open_checkpoint(sorter(tmp_path / "sorter")).model, letters)


def sorts(model: Model, letters: list[int]) -> None:
    results = list(prove_tokens(model, letters, len(letters), prepared=Prepared(model)))
    assert [r.token for r in results] == sorted(letters)
    assert all(r.margin is not None and r.margin[0] > 0 for r in results)
    _, (choice,) = decide(model, letters, positions=[-1])
    margin = results[0].margin
    assert margin is not None
    assert float(margin[0]) <= float(choice.margin.upper())
    assert float(choice.margin.lower()) <= float(margin[1])


def test_a_model_of_middle_size() -> None:
    """4 blocks, dimension 256, 5,000 tokens, 16 positions; limb by limb and in floats the same token."""
    model = gpt2_shaped("trained", 1, blocks=4, dim=256, heads=4, mlp=1024, vocabulary=5000)
    ids = np.random.default_rng(3).integers(0, 5000, 16).tolist()
    prepared = Prepared(model)
    result = prove_token(model, ids, prepared=prepared)
    assert result.proved
    assert result.margin is not None
    assert result.margin[0] > 0
    long = prove_token(model, ids, prepared=prepared, schedule=(max(result.schedule) + 2,) * 9)
    assert long.token == result.token
    assert long.margin is not None
    assert result.margin[0] <= long.margin[0] <= long.margin[1] <= result.margin[1]
    for short, narrow in zip(result.top, long.top, strict=True):
        assert short.low <= narrow.low <= narrow.high <= short.high
    floats = forward(model, ids, arithmetic("float64"), lambda step: step.values)[-1]
    assert all(float(e.low) - 1e-9 <= floats[e.token] <= float(e.high) + 1e-9 for e in long.top)
    assert int(np.argmax(floats)) == result.token


def test_keys_and_values_are_kept() -> None:
    model = gpt2_shaped("trained", 4)
    with_cache = [r.token for r in prove_tokens(model, [5, 6, 7], 5)]
    prefix, without = [5, 6, 7], []
    for _ in range(5):
        token = prove_token(model, prefix).token
        assert token is not None
        prefix.append(token)
        without.append(token)
    assert with_cache == without


def test_equal_rows_of_the_unembedding_end_as_a_tie() -> None:
    model = gpt2_shaped("trained", 0, vocabulary=7)
    best = prove_token(model, [1, 2]).token
    assert best is not None
    other = (best + 3) % 7
    table = model.weights.W_E.copy()
    table[other] = table[best]
    result = prove_token(replace(model, weights=replace(model.weights, W_E=table)), [1, 2])
    first, second = sorted((best, other))
    assert (result.token, result.ties, result.attempts) in {(first, (second,), 1), (first, (second,), 2)}


def test_what_cannot_be_told_apart_is_undecided() -> None:
    """Two logits that are equal, though their rows are not: only the sum counts."""
    model = load("capstone").model
    table = model.weights.W_E
    result = prove_token(model, model.ids(("a",)), cap=5)
    assert table.dtype == object
    assert result.proved or "may be as large" in result.why
    close = gpt2_shaped("trained", 0, vocabulary=7, dtype=np.float64)
    winner = prove_token(close, [1, 2]).token
    assert winner is not None
    rows = close.weights.W_E.copy()
    rows[(winner + 1) % 7] = rows[winner] * (1 - 2.0**-52)
    near = replace(close, weights=replace(close.weights, W_E=rows))
    assert prove_token(near, [1, 2], cap=4).why.startswith("undecided")
    assert prove_token(near, [1, 2]).token in (winner, (winner + 1) % 7)


def test_a_tie_that_rows_do_not_show_is_given_up_after_few_passes_with_a_word_about_each() -> None:
    """Rows that differ only where the final norm is 0: equal logits, which no number of limbs tells apart."""
    model = gpt2_shaped("trained", 0, vocabulary=7)
    final = model.weights.ln_final
    assert final is not None
    w, b, rows = final.w.copy(), final.b.copy(), model.weights.W_E.copy()
    w[2] = b[2] = 0
    model = replace(model, weights=replace(model.weights, ln_final=replace(final, w=w, b=b)))
    winner = prove_token(model, [1, 2]).token
    assert winner is not None
    other = next(n for n in range(7) if n not in (winner, 1, 2))
    rows[other] = rows[winner]
    rows[other, 2] += 1
    said: list[str] = []
    found = prove_token(replace(model, weights=replace(model.weights, W_E=rows)), [1, 2], progress=said.append, cap=19)
    assert (found.token, found.why) == (None, "undecided: 1 more logits may be as large as the largest")
    assert set(found.schedule) == {19}
    assert 2 < found.attempts < 12
    assert said[-1] == f"logits of pass {found.attempts}, up to 19 limbs"
    assert "logits" in said  # of the first pass


def test_bad_input_is_one_line() -> None:
    model = gpt2_shaped("initial", vocabulary=5)
    for ids, said in (([], "empty"), ([0, 5], "position 1"), ([0] * 65, "position 64")):
        with pytest.raises(InputError, match=said):
            prove_token(model, ids)
    with pytest.raises(ConfigError, match="hard"):
        prove_token(_hard(model), [0])


def _hard(model: Model) -> Model:
    return replace(model, config=replace(model.config, hard=True))


@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh"])
def test_slopes_are_proved(kind: str) -> None:
    """Lemma 17: balls that cover [−12, 12]; beyond, s(1 − s) ≤ e^−2v (or the density) leaves next to nothing."""
    low, high = bounds.SLOPES[kind]
    with precision(128):
        slope = ball_functions.slope(kind, None)
        cells = [slope(arb(arb(2 * i + 1) / 2**10, 2.0**-10)) for i in range(-12 * 2**9, 12 * 2**9)]
        assert all(cell.lower() > low and cell.upper() < high for cell in cells)
        assert abs(slope(arb(12)) - 1) < 1e-9
        assert abs(slope(arb(-12))) < 1e-9


def test_every_line_of_a_trace_has_balls_and_a_formula() -> None:
    model = gpt2_shaped("trained", 3, blocks=1)
    ops, names, ids = arithmetic("certified"), [], [1, 2, 3]

    def note(step: Any) -> Any:
        name, value = step.name, step.values
        shown = ops.shown(value)
        assert all(type(entry) is arb or entry is MASKED for entry in shown.flat)
        assert step.formula
        names.append(name)
        return value

    logits = forward(model, ids, ops, note)
    assert names == list(arb_steps(model, ids))
    with precision(200):
        assert all(float(abs(row_sum - 1).upper()) < 1e-6 for row_sum in ops.softmax(logits).balls().sum(axis=1))


@pytest.mark.parametrize("config", [{"positions": "none"}, {"final_norm": False}, {"mask": "strict"}, {"mask": "none"}])
def test_other_wirings(config: dict[str, Any]) -> None:
    model = gpt2_shaped("trained", 8, blocks=2)
    dropped = {"positions": {"W_pos": None}, "final_norm": {"ln_final": None}}.get(next(iter(config)), {})
    changed = Model(replace(model.config, **config), replace(model.weights, **dropped))
    ids = [4, 5, 6, 7]
    result = prove_token(changed, ids)
    _, (expected,) = decide(changed, ids, positions=[-1])
    assert (result.token, result.proved) == (expected.index, True)
    peer = arb_steps(changed, ids)
    assert 0 < worst_ratio(changed, ids, (5,), peer) <= 1


def test_a_norm_that_divides_by_zero_is_undecided_and_not_a_crash() -> None:
    from exactformer.worksheets import example_text, loads

    model = loads(example_text("capstone").replace('norm = "post"', 'norm = "pre"'), "pre").model
    result = prove_token(model, [2])
    assert result.token is None
    assert result.why


def test_where_later_positions_change_earlier_ones_nothing_is_kept() -> None:
    """Without a mask, keys and values of two blocks would be those of a shorter input: each token must be that of the whole one."""
    from exactformer.model.cache import Cache

    rng, asked = python_random.Random(11), 0
    while asked < 12:
        model = random_model(rng, mask="none", blocks=2, unembedding="own", norm="pre", length=6, positions="table")
        found = list(prove_tokens(model, [0, 0], 3))
        for each in found:
            if each.token is not None:
                whole = prove_token(model, each.ids)
                assert whole.token == each.token
                assert whole.top[0].low <= each.top[0].high
                assert each.top[0].low <= whole.top[0].high
                asked += 1
    with pytest.raises(InputError, match="nothing may be kept"):
        prove_token(model, [0, 0], cache=Cache())
