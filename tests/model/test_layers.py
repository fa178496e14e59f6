"""What the book says of softmax, LayerNorm, masks and ties, one fact a test."""

from __future__ import annotations

import random

import pytest

from exactformer.arithmetics import arithmetic
from exactformer.model import Config, ConfigError, Model, Weights
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.positions import sinusoidal
from exactformer.numbers import Exact, Undefined, array, cos, erf, exact, exp, log, pi, sin, sqrt, tanh
from exactformer.trace import run
from random_models import random_model

OPS = arithmetic("exact")


def normalised(values: list[object], epsilon: str = "0") -> tuple[object, object]:
    x = array([values])
    centered = OPS.center(x, OPS.mean(x))
    std = OPS.deviation(OPS.variance(centered), exact(epsilon))
    return std[0, 0], OPS.normalise(centered, std, array([1] * len(values)), array([0] * len(values)), "ln")[0]


def test_one_entry_softmax_is_exactly_one() -> None:
    row = OPS.softmax(array([[sqrt(2)]]))[0]
    assert isinstance(row[0], Exact)
    assert row[0] == 1


def test_masked_entries_are_exactly_zero() -> None:
    scores = array([[1, 2]])
    scores[0, 1] = MASKED
    assert [str(v) for v in OPS.softmax(scores)[0]] == ["1", "0"]


def test_softmax_is_named_and_sums_to_one() -> None:
    row = OPS.softmax(array([[1, 2, "1/2"]]))[0]
    assert all(value.status == "named" for value in row)
    assert sum(row) == 1


def test_softmax_of_equal_named_scores_is_recovered() -> None:
    score = log(3) * exp(sqrt(2))
    row = OPS.softmax(array([[score, score + 0, 2 * score - score]]))[0]
    assert [str(v) for v in row] == ["1/3"] * 3
    assert all(value.recovered for value in row)


def test_layernorm_of_1_2_3_has_std_root_two_thirds() -> None:
    std, out = normalised([1, 2, 3])
    assert str(std) == "√(2/3)"
    assert [str(v) for v in out] == ["-√(3/2)", "0", "√(3/2)"]


def test_layernorm_of_variance_zero_is_undefined_not_divided() -> None:
    std, out = normalised([2, 2, 2])
    assert isinstance(std, Exact)
    assert std == 0
    assert all(isinstance(v, Undefined) and "variance is 0" in v.why for v in out)


def test_layernorm_of_named_equal_entries_is_proved_undefined() -> None:
    x = exp(1) / (1 + exp(1))
    _, out = normalised([x, 1 - 1 / (1 + exp(1)), exp(1) * (1 / (1 + exp(1)))])
    assert all(isinstance(v, Undefined) and not v.undecided for v in out)


def test_layernorm_with_epsilon_of_variance_zero_is_zero() -> None:
    std, out = normalised([2, 2], "1e-5")
    assert std == sqrt(exact("1e-5"))
    assert [str(v) for v in out] == ["0", "0"]


def test_layernorm_in_two_dimensions_is_recovered() -> None:
    _, out = normalised([exp(sqrt(2)), log(7)])
    assert [str(v) for v in out] == ["1", "-1"]
    assert all(v.recovered for v in out)


def test_activations_are_their_formulas() -> None:
    x = array([[2, "-1/2", 0]])
    assert [str(v) for v in OPS.activate(x, "relu")[0]] == ["2", "0", "0"]
    assert [str(v) for v in OPS.activate(x, "identity")[0]] == ["2", "-1/2", "0"]
    gelu = OPS.activate(x, "gelu")[0]
    assert gelu[0] == 1 + erf(sqrt(2))
    assert str(gelu[2]) == "0"
    assert OPS.activate(x, "gelu_tanh")[0][0] == 1 + tanh(sqrt(2 / pi()) * (2 + exact("0.044715") * 8))


def test_relu_of_a_named_zero_is_zero() -> None:
    x = array([[sqrt(2) * sqrt(3) - sqrt(6), sqrt(3) - sqrt(2), sqrt(2) - sqrt(3)]])
    assert [v.sign() for v in OPS.activate(x, "relu")[0]] == [0, 1, 0]


def test_argmax_ties_go_to_the_lowest_index_and_are_reported() -> None:
    half = exp(1) / (2 * exp(1))
    choice = OPS.choose(array([[0, half, "1/2", sqrt(exact("1/4"))]]))[0]
    assert (choice.index, choice.ties, choice.proved) == (1, (2, 3), True)
    assert choice.margin == 0


def test_ranked_order_of_the_book() -> None:
    choice = OPS.choose(array([[3, 1, 2]]))[0]
    assert (choice.index, choice.runner_up, str(choice.margin)) == (0, 2, "1")


def test_strict_mask_leaves_the_first_row_empty_and_says_so() -> None:
    model = random_model(random.Random(1), mask="strict", norm="none", final_norm=False, positions="none")
    step = run(model, model.config.vocabulary[:2])["blocks.0.attn.pattern"]
    assert all(str(v) == "0" for v in step[0, 0])
    assert step.remarks[0] == (0, "position 0 may look nowhere: its weights are zeros")


def test_undefined_travels_on_but_not_through_the_mask() -> None:
    """Position 0 is undefined after its first block; position 1 reads it in the second, position 0 never reads position 1."""
    config = Config(
        vocabulary=("a", "c"), dim=2, blocks=2, norm="post", epsilon=exact(0), mask="causal", scale="none", mlp=0
    )  # fmt: skip
    model = random_model(random.Random(3), config)
    identity = array([[[1, 0], [0, 1]]])
    blocks = tuple(
        type(b)(attn=type(b.attn)(W_Q=identity, W_K=identity, W_V=identity, W_O=identity), ln1=b.ln1) for b in model.weights.blocks
    )
    model = Model(config, Weights(W_E=array([[1, 0], [1, 1]]), blocks=blocks))
    first = run(model, "c a")
    assert [out.token for out in first.output] == [None, None]
    assert "position 0" in first.output[1].why
    second = run(model, "a c")
    assert second.token(0) is not None
    floats = run(model, "a c", "float64")
    assert floats.token(0) == second.token(0)


def test_sinusoidal_positions() -> None:
    table = sinusoidal(3, 4)
    assert str(table[0, 0]) == "0"
    assert str(table[0, 1]) == "1"
    assert table[2, 0] == sin(2)
    assert table[2, 1] == cos(2)
    assert table[1, 2] == sin(exact("1/100"))
    assert table[2, 3] == cos(exact("1/50"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"vocabulary": ()}, "vocabulary"),
        ({"vocabulary": ("a", "a")}, "vocabulary"),
        ({"dim": 0}, "dim"),
        ({"dim": 3, "heads": 2}, "heads"),
        ({"norm": "layer"}, "norm"),
        ({"mask": "bidirectional"}, "mask"),
        ({"scale": "1/sqrt"}, "scale"),
        ({"norm": "pre"}, "epsilon"),
        ({"norm": "pre", "epsilon": exact("-1")}, "epsilon"),
        ({"epsilon": exact("1e-5")}, "epsilon"),
        ({"mlp": 4}, "activation"),
        ({"mlp": 4, "activation": "swish"}, "activation"),
    ],
)
def test_wrong_configurations_name_the_field(change: dict[str, object], field: str) -> None:
    good: dict[str, object] = {"vocabulary": ("a",), "dim": 2, "blocks": 1, "norm": "none", "mask": "causal", "scale": "none"}
    Config(**good)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        Config(**(good | change))  # type: ignore[arg-type]
    assert caught.value.field == field


def test_wrong_weights_name_the_weight() -> None:
    model = random_model(random.Random(2), blocks=1, unembedding="tied")
    with pytest.raises(ConfigError, match="W_E: has the shape"):
        Model(model.config, Weights(W_E=array([[1]]), W_pos=model.weights.W_pos, blocks=model.weights.blocks))
