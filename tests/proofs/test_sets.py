"""Counts by sets of inputs, against counts input by input; some of those that `python -m benchmarks.trials sets` tries."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials import sets as trials
from flint import arb

from exactformer.certified import one_layer as layers
from exactformer.certified.one_layer import ShapeError, Tables, one_layer
from exactformer.proofs import Product, Sequences, bounding, prove, summing
from exactformer.proofs.bounding import Bounding
from exactformer.proofs.boxes import Counter, Root, Sets, roots
from exactformer.proofs.chunks import RunError
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.fitting import Fitted
from exactformer.proofs.searching import search
from exactformer.worksheets import load
from sampling import counts

SEED = 18


@pytest.mark.parametrize("number", counts(12, 100))
def test_counts_by_sets_surround_or_meet_those_one_by_one(number: int) -> None:
    found = list(trials.trials(number, SEED))
    assert not [line for each in found for line in each.failed]
    assert 0 < sum(each.counts - each.met for each in found) < sum(each.met for each in found)  # budgets do end


def test_roots_are_all_inputs_once() -> None:
    choices = [(0, 2), (1, 2, 3), (0, 1, 2, 3)]
    rules = {"max": max, "min": min, "first": lambda x: x[0], "last": lambda x: x[-1]}
    for word, rule in rules.items():
        for root in roots(word, choices, 4):
            same = [x for x in product(*choices) if x[-1] == root.last and rule(x) == root.answer]
            assert root.size == len(same)


@pytest.mark.parametrize("several", [False, True])
def test_cuts_lose_no_input_and_have_none_twice(several: bool) -> None:
    root = Root(1, 3, np.ones((3, 5), dtype=bool) & (np.arange(5) != 2), True)
    counter, random = Counter(root), np.random.default_rng(SEED)
    every = counter.settled(root.whole)
    for _ in range(12):
        wide = every.high > every.low
        rows = np.flatnonzero(wide.any(axis=1))
        some = every.of(rows)
        place = (random.random(some.low.shape) * wide[rows]).argmax(axis=1)
        at = random.integers(some.low[np.arange(len(rows)), place], some.high[np.arange(len(rows)), place])
        rest = np.setdiff1d(np.arange(len(every)), rows)
        parts = some.peeled(place, at, random.random(len(rows)) < 0.5) if several else some.cut(place, at)
        every = every.of(rest).joined(counter.settled(parts))
        assert int(counter.sizes(every).sum()) == root.size
    assert sorted(counter.every(every)) == sorted(counter.every(root.whole))
    inputs = [tuple(x) for x in counter.inputs(every)]
    assert len(set(inputs)) == len(inputs) == root.size
    assert all(x[-1] == 1 and 3 in x[:-1] and 2 not in x[:-1] for x in inputs)


def test_sizes_beyond_64_bits_are_exact() -> None:
    root = Root(0, 9, np.ones((40, 10), dtype=bool), True)
    assert root.size == 10**40 - 9**40 == int(Counter(root).sizes(root.whole)[0])


def made(leads: list[list[float]], weights: list[list[float]]) -> Tables:
    """Tables of one head and two tokens, from terms: of token 1 over token 0 at each position."""
    says = np.zeros((1, len(leads), 2, 2))
    says[0, :, :, 1] = leads
    return Tables(np.array([weights]), says, np.array([np.abs(says).max()]))


def right(tables: Tables) -> bool:
    root = Root(1, 1, np.ones((tables.weights.shape[1] - 1, 2), dtype=bool), False)
    return bool(Bounding(tables, root, root.answer).at_root.right[0])


def rounded_away() -> Tables:
    """300 terms that a sum in floats loses: it is 200 · 2^−53 there, and −100 · 2^−53 in truth."""
    tiny = 2.0**-53
    leads = [[1 + 2.0**-20] * 2, *[[-1.0, -1.0]] * 300, [-(1 + 2.0**-20 - 200 * tiny)] * 2]
    return made(leads, [[1.0, 1.0], *[[tiny, tiny]] * 300, [1.0, 1.0]])


def test_roundings_of_sums_are_allowed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = rounded_away()
    pairs = zip(tables.weights[0, :, 0].tolist(), tables.says[0, :, 0, 1].tolist(), strict=True)
    assert sum(Fraction(weight) * Fraction(lead) for weight, lead in pairs) < 0
    assert not right(tables)
    monkeypatch.setattr(bounding, "SUM", 0)
    assert right(tables)


def test_roundings_of_tables_are_allowed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead of 30u between entries of about 1: less than tables and sums are off by, and more than sums alone."""
    tied = made([[30 * 2.0**-53] * 2], [[1.0, 1.0]])
    tied = Tables(tied.weights, tied.says + 1.0, np.array([1.01]))
    assert not right(tied)
    monkeypatch.setattr(bounding, "TERM", 0)
    assert right(tied)


def test_nothing_is_said_of_weights_that_are_all_but_0(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made([[1.0, 1.0]] * 2, [[2.0**-510] * 2] * 2)
    assert not right(tables)
    monkeypatch.setattr(bounding, "FLOOR", 0.0)
    assert right(tables)


def test_shares_of_several_heads_are_bounded_from_both_sides() -> None:
    """Random tables: whatever is said of a set holds, as fractions, for each of its inputs; and single inputs are decided."""
    random, said = np.random.default_rng(SEED), 0
    for _ in range(40):
        says = random.standard_normal((2, 3, 3, 3)) + 1.2 * (np.arange(3) == 2)
        tables = Tables(random.random((2, 3, 3)), says, np.array([9.0, 9.0]))
        root = Root(1, 2, np.ones((2, 3), dtype=bool), False)
        bound = Bounding(tables, root, root.answer)
        leads = [lead(tables, [*ids, 1], 2) for ids in product(range(3), repeat=2)]
        assert not bound.at_root.right[0] or min(leads) > 0
        assert not bound.at_root.wrong[0] or max(leads) < 0
        found = search(bound, root, 100)
        assert (found.right, found.wrong) == (sum(x > 0 for x in leads), sum(x < 0 for x in leads))
        said += bool(bound.at_root.right[0])
    assert 5 < said < 35


def lead(tables: Tables, ids: list[int], answer: int) -> Fraction:
    """Of the answer over the best other token, in fractions."""
    logits = [Fraction(0)] * 3
    for weights, says in zip(tables.weights, tables.says, strict=True):
        w = [Fraction(float(weights[place, token])) for place, token in enumerate(ids)]
        for v in range(3):
            logits[v] += sum(x * Fraction(float(says[place, ids[place], v])) for place, x in enumerate(w)) / sum(w)
    return logits[answer] - max(logit for v, logit in enumerate(logits) if v != answer)


def test_floats_beside_their_ball_are_refused() -> None:
    wide = np.array([arb(1, 2.0**-50)], dtype=object)
    with pytest.raises(ShapeError, match="beyond what floats hold"):
        layers._floats(wide)
    assert layers._floats(np.array([arb(1) / 3], dtype=object))[0] == 1 / 3


@pytest.mark.parametrize(("word", "times"), [("max", 30), ("first", 10)])
def test_sums_are_counted(word: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the two counts is the true one; with a coarse grid and without its slack it is not."""
    random = np.random.default_rng(SEED)

    def outside() -> int:
        count = 0
        for _ in range(times):
            tables = Tables(random.random((1, 4, 4)), random.standard_normal((1, 4, 4, 4)), np.array([8.0]))
            for root in roots(word, [(0, 1, 2, 3)] * 4, 4):
                bound = Bounding(tables, root, root.answer)
                true = search(bound, root, 10**6)
                if bound.terms.shape[-1] == 2:  # one other token: the counts are of it alone
                    low, high = summing.misled(bound, root)
                    count += not low <= true.wrong <= high
                    assert summing._STEPS < 100 or high - low <= 2
        return count

    assert not outside()
    monkeypatch.setattr(summing, "_STEPS", 8)
    assert not outside()
    real = np.floor
    monkeypatch.setattr(summing.np, "floor", lambda x: real(x) + 1)  # terms rounded up
    assert outside()


def question(name: str) -> tuple[Any, Any]:
    model = load(name).model
    return model, Fitted(read_rule("max"), model.config.vocabulary)


def drawn(length: int = 4) -> Any:
    import random

    return trials.drawn_model(random.Random(3), 6, length, False)


def test_a_budget_bounds_and_a_larger_one_meets() -> None:
    model = drawn()
    names = model.config.vocabulary
    rule, domain = Fitted(read_rule("max"), names), Product((names,) * 4)
    few, many = (prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=budget) for budget in (1, 10**6))
    every = prove(model, domain, rule, arithmetic_name="certified", workers=1)
    assert many.counts == every.counts
    assert many.sets is not None
    assert few.counts["proved"] <= every.counts["proved"] <= few.sequences - few.counts["refuted"]
    lengths = prove(model, Sequences(names, 3), rule, arithmetic_name="certified", workers=1, sets=10**6)
    assert lengths.counts == prove(model, Sequences(names, 3), rule, arithmetic_name="certified", workers=1).counts


def test_a_journal_goes_on_and_is_refused_where_it_cannot_be(tmp_path: Path) -> None:
    model = drawn(3)
    names, journal = model.config.vocabulary, tmp_path / "journal"
    rule, domain = Fitted(read_rule("min"), names), Product((names,) * 3)

    def proved(budget: int = 1000) -> Any:
        return prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=budget, journal=journal)

    first = proved()
    again = proved()
    assert first.counts == again.counts
    assert again.resumed == again.cases == first.cases
    with pytest.raises(Exception, match="another proof"):
        proved(999)


def test_networks_rules_and_domains_that_have_no_sets_are_refused() -> None:
    model, rule = question("capstone")
    with pytest.raises(ShapeError, match="one attention layer and nothing else"):
        prove(model, Sequences(("a", "b"), 2), rule, arithmetic_name="certified", workers=1, sets=10)
    model = drawn(2)
    names = model.config.vocabulary
    with pytest.raises(RunError, match="max, min, first, last"):
        prove(model, Sequences(names, 2), Fitted(read_rule("majority"), names), arithmetic_name="certified", workers=1, sets=10)
    with pytest.raises(RunError, match="not for lists"):
        prove(model, [("a", "b")], Fitted(read_rule("max"), names), arithmetic_name="certified", workers=1, sets=10)


def test_one_layer_is_the_network() -> None:
    from exactformer.model import forward
    from exactformer.model.arithmetics.floats import FloatArithmetic

    model = drawn(3)
    layer = one_layer(model, 3)
    for ids in ([0, 1, 2], [5, 5, 0]):
        tables, places = layer.of(ids[-1]), np.arange(3)
        weights, says = tables.weights[:, places, ids, None], tables.says[:, places, ids]
        found = ((weights * says).sum(axis=1) / weights.sum(axis=1)).sum(axis=0)
        assert np.allclose(found, forward(model, ids, FloatArithmetic("float64"))[-1], rtol=1e-12)


FOUR = Path(__file__).parents[2] / "training/maxima/results/four/worksheet.toml"


@pytest.mark.large
def test_all_sequences_of_four_numbers_below_64() -> None:
    """16,777,216 inputs, minutes of work one by one; by sets with a tenth of the rows at most."""
    model, rule = question(str(FOUR))
    domain = Product((model.config.vocabulary,) * 4)
    by_sets = prove(model, domain, rule, arithmetic_name="certified", sets=2_000_000)
    assert by_sets.counts == prove(model, domain, rule, arithmetic_name="certified").counts
    assert by_sets.sets is not None
    assert by_sets.sets < 64**4 / 10


def test_sequences_of_ten_numbers_below_64() -> None:
    """64^10 inputs: those that end with 12, as all would take seconds."""
    model, rule = question(str(FOUR.parents[4] / "src/exactformer/models/largest-of-ten/worksheet.toml"))
    names = model.config.vocabulary
    report = prove(model, Product((*(names,) * 9, ("12",))), rule, arithmetic_name="certified", workers=1, sets=100_000)
    assert report.sequences == 64**9
    assert report.counts["undecided"] == 0
    assert [failure.token for failure in report.failures] == ["43"] * report.counts["refuted"]


def test_sets_are_plain_data() -> None:
    low = np.zeros((2, 1), dtype=np.int32)
    both = Sets(low, low + 3, np.zeros(2, dtype=bool))
    assert len(both.joined(both)) == 4
    assert len(both.of(np.array([0]))) == 1
