"""Many sequences at once: Lemmas 31 to 33, and whole passes against balls."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import arb

from certified.small_models import gpt2_shaped
from exactformer.certificates import Prepared
from exactformer.certificates.many import at_once, logits_at
from exactformer.certified import batch, bounds, together
from exactformer.certified.ball import Ball
from exactformer.certified.choosing import leads
from exactformer.certified.losses import cross_entropies
from exactformer.certified.together import Rows
from exactformer.model import Config, InputError, Model, Weights, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.sight import Sight
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision

RANDOM = np.random.default_rng(7)


def rows_of(mid: Any, radius: float) -> Rows:
    return Rows(mid, np.linalg.norm(mid, axis=-1) * bounds.UP, np.full(mid.shape[:-1], radius))


def attention(q: Any, k: Any, v: Any, sight: Sight, factor: float) -> Any:
    """In extended precision where there is one: movements are far above either's rounding."""
    q, k, v = (a.astype(np.longdouble) for a in (q, k, v))
    scores = np.where(sight.seen(q.shape[2], k.shape[2]), np.einsum("bhtw,bhsw->bhts", q, k) * factor, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhts,bhsw->bhtw", powers / powers.sum(axis=-1, keepdims=True), v)


def somewhere(rows: Rows) -> Any:
    """As far away as the radius allows, in a random direction."""
    way = RANDOM.standard_normal(rows.mid.shape)
    return rows.mid + way / np.linalg.norm(way, axis=-1, keepdims=True) * rows.radius[..., None] * 0.999


def worst_ratio(trials: int = 60) -> float:
    """How far attention moves, over its bound, at worst; the radii are far above rounding."""
    worst = 0.0
    for trial in range(trials):
        others, width, length = int(RANDOM.integers(1, 6)), int(RANDOM.integers(1, 4)), int(RANDOM.integers(1, 3))
        length = min(length, others)
        size = 10.0 ** RANDOM.uniform(-1, 0.7)
        q, k, v = (RANDOM.standard_normal((64, 1, n, width)) * size for n in (length, others, others))
        if trial % 3 == 0:
            v += 30 * RANDOM.standard_normal((64, 1, 1, width))  # values with much in common: differences matter
        radii = [10.0 ** RANDOM.uniform(-9, -6) * (RANDOM.random() < 0.7) for _ in range(3)]
        parts = [rows_of(a, r) for a, r in zip((q, k, v), radii, strict=True)]
        sight, factor = Sight("causal"), 1 / math.sqrt(width)
        z, bound = together.attend(*parts, sight, factor, None)
        true = attention(*map(somewhere, parts), sight, factor)
        worst = max(worst, float((np.linalg.norm((true - z).astype(float), axis=-1) / bound).max()))
    return worst


def test_attention_stays_within_its_bound() -> None:
    assert 0.3 < worst_ratio() <= 1


@pytest.mark.parametrize("what", ["values", "tilt", "spread"])
def test_a_smaller_bound_would_be_wrong(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of the bound is needed: without it, a movement is found that is larger."""
    error = together._error

    def smaller(q: Rows, k: Rows, v: Rows, shares: together.Shares, z: Any) -> Any:
        if what == "values":
            v = Rows(v.mid, v.size, 0 * v.radius)
        elif what == "tilt":
            shares = replace(shares, factor=0.0)
        else:
            v = Rows(v.mid, 0 * v.size, v.radius)
        return error(q, k, v, shares, z)

    monkeypatch.setattr(together, "_error", smaller)
    assert worst_ratio() > 1


def test_rounding_of_attention_against_balls() -> None:
    """Without radii, z is as near to the true one as Lemma 14 says, also of saturated and of equal scores."""
    for scale in (0.0, 1.0, 30.0):
        q, k, v = (RANDOM.standard_normal((5, 2, n, 3)) * scale + 1 for n in (1, 4, 4))
        z, bound = together.attend(*(rows_of(a, 0.0) for a in (q, k, v)), Sight("causal"), 0.5, None)
        with precision(200):
            for b, h in np.ndindex(5, 2):
                scores = [sum((arb(x) * arb(y) for x, y in zip(q[b, h, 0], key, strict=True)), arb(0)) / 2 for key in k[b, h]]
                powers = [(score - scores[0]).exp() for score in scores]
                true = [
                    sum((p * arb(row[i]) for p, row in zip(powers, v[b, h], strict=True)), arb(0)) / sum(powers, arb(0))
                    for i in range(3)
                ]
                off = math.sqrt(sum(float(abs(t - arb(x))) ** 2 for t, x in zip(true, z[b, h, 0], strict=True)))
                assert off <= bound[b, h, 0] < 1e-8


def models() -> list[Model]:
    shapes: list[dict[str, Any]] = [
        {}, {"mask": "none"}, {"mask": "strict", "window": 2}, {"score_cap": exact(5), "logit_cap": exact(20)},
        {"activation": "relu"}, {"activation": "gelu"}, {"embedding_scale": "sqrt", "parallel": True},
    ]  # fmt: skip
    return [gpt2_shaped(kind, seed, vocabulary=7, **shape) for seed, shape in enumerate(shapes) for kind in ("initial", "trained")]


@pytest.mark.parametrize("model", models())
def test_logits_of_a_batch_enclose_those_of_balls(model: Model) -> None:
    ids = np.sort(RANDOM.integers(0, 7, (12, 4)), axis=0)
    found = {position: (logits, rows) for position, logits, rows in logits_at(Prepared(model), ids, [1, 3])}
    for n in range(0, 12, 5):
        for position, (logits, rows) in found.items():
            tokens = ids[n] if model.config.mask == "none" else ids[n, : position + 1]
            true = forward(model, tokens.tolist(), ArbArithmetic(200))[position]
            for token, value in enumerate(true):
                low, high = logits.enclosure((rows[n], token))
                with precision(200):
                    assert arb(low.numerator) / low.denominator <= value <= arb(high.numerator) / high.denominator
    assert max(float(logits.radius.max()) for logits, _ in found.values()) < 1e-4


def test_beginnings_that_sequences_share_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = gpt2_shaped("initial", vocabulary=3), []
    embed = batch.BatchArithmetic.embed
    monkeypatch.setattr(
        batch.BatchArithmetic, "embed", lambda self, table, ids: rows.append(np.size(ids)) or embed(self, table, ids)
    )
    ids = np.stack(np.meshgrid(*[range(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    list(logits_at(Prepared(model), ids, [2]))
    assert rows[::2] == [3, 9, 27]  # of tokens; positions are looked up once each
    assert rows[1::2] == [1, 1, 1]


def test_a_model_without_blocks() -> None:
    config = Config(vocabulary=("a", "b"), dim=2, blocks=0, norm="none", mask="causal", scale="none")
    model = Model(config, Weights(W_E=np.array([[1.0, 0.5], [0.25, 2.0]])))
    ((position, logits, rows),) = logits_at(Prepared(model), np.array([[0, 1], [1, 0]]), [1])
    assert (position, rows.tolist()) == (1, [0, 1])
    assert np.allclose(logits.mid, [[1.25, 4.0625], [1.25, 1.25]])


def test_a_batch_takes_little_memory_whatever_the_model() -> None:
    small, wide = gpt2_shaped("initial", vocabulary=7), gpt2_shaped("initial", vocabulary=50_000)
    assert at_once(wide.config, 8) < at_once(small.config, 8) <= 1 << 15


def test_ids_that_are_none() -> None:
    model = gpt2_shaped("initial", vocabulary=7)
    for ids in ([[0, 1]], np.zeros((2, 0), dtype=int), np.array([[0.5]]), np.array([[0, 7]]), np.zeros((1, 99), dtype=int)):
        with pytest.raises(InputError):
            list(logits_at(Prepared(model), ids, [0]))


def test_leads_and_losses_against_balls() -> None:
    """Lemmas 32 and 33: also where several tokens are right, and where one is far behind."""
    for scale in (0.01, 1.0, 20.0, 300.0):
        mid = RANDOM.standard_normal((40, 5)) * scale
        radius = 10.0 ** RANDOM.uniform(-15, -3, 40)
        true = mid + RANDOM.uniform(-1, 1, mid.shape) * radius[:, None] * 0.999
        logits = Ball(mid, 0, np.broadcast_to(radius[:, None], mid.shape))
        right = np.stack([RANDOM.integers(0, 5, 40), RANDOM.integers(-1, 5, 40)], axis=1)
        low, high = leads(logits, right)
        for n in range(40):
            own = {int(i) for i in right[n] if i >= 0}
            lead = max(true[n, i] for i in own) - max((true[n, i] for i in range(5) if i not in own), default=-math.inf)
            assert low[n] <= lead <= high[n]
        targets = right[:, 0]
        ends = cross_entropies(logits, targets)
        with precision(300):
            losses = [
                sum((arb(x).exp() for x in row), arb(0)).log() - arb(row[t]) for row, t in zip(true.tolist(), targets, strict=True)
            ]
            total = sum(losses, arb(0))
            assert arb(ends[0]) <= total <= arb(ends[1])


def test_a_loss_of_nearly_nothing_is_known_to_many_digits() -> None:
    logits = Ball(np.array([[0.0, -40.0]]), 0, np.full((1, 2), 1e-13))
    low, high = cross_entropies(logits, np.array([0]))
    assert low <= math.exp(-40) <= high < low * (1 + 1e-10)


def test_what_is_not_a_number_decides_nothing() -> None:
    logits = Ball(np.array([[1.0, 0.0], [1.0, 0.0]]), 0, np.array([[np.inf] * 2, [np.nan] * 2]))
    low, high = leads(logits, np.array([[0], [0]]))
    assert not (low > 0).any()
    assert not (high < 0).any()
    assert cross_entropies(logits, np.array([0, 0]))[1] == math.inf
