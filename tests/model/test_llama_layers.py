"""Models of Llama's kind: against PyTorch and finite differences, some of the 300 that `python -m benchmarks.trials llamas` tries;
and what is proved of turned pairs.
"""

from __future__ import annotations

import pytest
from benchmarks.trials import llamas

from exactformer import load
from exactformer.model import Config, ConfigError
from exactformer.model.operations.rotation import Rotate
from exactformer.model.rotary import Rotary
from exactformer.numbers import compare, exact, recover, sin
from exactformer.proofs import relative as theorem
from exactformer.trace.schedules import flash, kv_cache

PLAIN = {"vocabulary": ("a",), "dim": 4, "blocks": 1, "norm": "none", "mask": "causal", "scale": "none"}


@pytest.mark.parametrize("seed", range(500, 512))
def test_passes_and_gradients_are_those_of_pytorch(seed: int) -> None:
    assert llamas.tried(seed) == ""


def test_a_wrong_gradient_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial itself is tried: pairs that are turned on instead of back."""
    whole = Rotate._turned
    monkeypatch.setattr(Rotate, "_turned", lambda self, ops, x, direction: whole(self, ops, x, 1))
    assert any("gradient" in llamas.tried(seed) for seed in range(500, 512))


def test_a_turn_keeps_lengths_and_says_so() -> None:
    trace = load("llama").trace()
    q, turned = trace["blocks.0.attn.q"], trace["blocks.0.attn.rot_q"]
    for head in range(2):
        assert recover((turned.values[head, 1] ** 2).sum()) == (q.values[head, 1] ** 2).sum()
    assert [position for position, text in turned.remarks if "cos² + sin² = 1" in text] == [1]


@pytest.mark.parametrize("frequencies", [(exact(1),), (exact(1), exact("1/100")), (exact(10000) ** exact("-1/3"), exact("2/3"))])
def test_scores_depend_on_distances_alone(frequencies: tuple[object, ...]) -> None:
    """(R_i q)·(R_j k) = (R_(i−j) q)·k, proved for positions up to 3; and a false claim is not proved."""
    rotary = Rotary(frequencies)  # type: ignore[arg-type]
    own, others = rotary.tables(range(4))
    q, k = [exact(n + 2) for n in range(rotary.width)], [exact(3 * n - 1) for n in range(rotary.width)]

    def turned(x: list, i: int) -> list:
        return [x[j] * own[i, j] + x[rotary.partners[j]] * others[i, j] for j in range(rotary.width)]

    def score(i: int, j: int) -> object:
        return sum(a * b for a, b in zip(turned(q, i), turned(k, j), strict=True))

    for i in range(4):
        for j in range(i + 1):
            assert compare(score(i, j), score(i - j, 0)) == 0
    assert compare(score(3, 1), score(3, 2)) != 0


def test_schedules_of_rotary_models_are_proved() -> None:
    """Cached keys are turned once; flash attention reads turned keys."""
    trace = load("llama").trace()
    assert kv_cache(trace).verdict is True
    assert flash(trace, 1).verdict is True


def test_the_example_comes_out_exact_at_position_0() -> None:
    trace = load("llama").trace()
    assert trace["ln_final.out"].values[0].tolist() == [1, 1, 1, 1]
    assert trace["logits"].values[0].tolist() == [4, 0, 0, 0]
    assert str(trace["blocks.0.mlp.post"].values[0, 0]) == "e/(1+e)"
    assert str(trace["blocks.0.attn.scores"].values[0, 1, 0]) == "2·sin(1)"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 4, "kv_heads": 3}, "kv_heads: 3 heads of keys do not divide the 4 heads of queries"),
        ({"heads": 4, "positions": "rotary"}, "rotary_fraction: 1 of the 1 dimensions of a head cannot be put in pairs"),
        ({"positions": "rotary", "rotary_fraction": exact("1/4")}, "rotary_fraction: 1/4 of the 4 dimensions"),
        ({"positions": "rotary", "rotary_fraction": exact(2)}, "rotary_fraction: 2 of the 4 dimensions"),
        ({"positions": "rotary", "rotary_base": exact(0)}, "rotary_base: 0 is not positive"),
        ({"rotary_base": exact(10)}, 'rotary_base: is given, but positions is not "rotary"'),
        ({"positions": "rotary", "rotary_frequencies": (exact(1),)}, "rotary_frequencies: is not 2 exact numbers"),
        ({"window": -1}, "window: -1 is not a whole number"),
        ({"window": 2, "mask": "none"}, "window: goes with a mask"),
        ({"full_blocks": (0,)}, "full_blocks: is given, but the model has no window"),
        ({"window": 2, "full_blocks": (3,)}, "full_blocks: are not among the 1 blocks"),
        ({"score_cap": exact(-1)}, "score_cap: -1 is not positive"),
        ({"score_cap": 30.0}, "score_cap: 30.0 is not an exact number"),
        ({"logit_cap": exact(0)}, "logit_cap: 0 is not positive"),
        ({"norm_kind": "root"}, "norm_kind: 'root' is not one of layer, rms"),
        ({"norm_unit": True}, "norm_unit: is given, but the model has no norm"),
        ({"qk_norm": True}, "epsilon: is missing"),
        ({"post_norms": True}, "post_norms: goes with norm"),
        ({"mlp_kind": "gate"}, "mlp_kind: 'gate' is not one of plain, gated"),
        ({"shared_norm": True}, "shared_norm: goes with parallel"),
        ({"embedding_scale": "root"}, "embedding_scale: 'root' is not one of none, sqrt"),
    ],
)
def test_what_does_not_fit_is_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**(PLAIN | fields))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_the_theorem_of_distances_and_one_that_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load("llama").model.config
    assert [turn.equal for turn in theorem.relative(config, 6)] == [True]
    monkeypatch.setattr(theorem, "sin", lambda angle: sin(2 * angle))
    assert [(turn.equal, turn.place) for turn in theorem.relative(config, 6)] == [(False, (1, 1))]
