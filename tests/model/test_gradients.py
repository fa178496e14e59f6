"""The backward pass, held against PyTorch's autograd, finite differences to 35 digits, and what is known exactly."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.model import Config, Model, Weights
from exactformer.model.weights import rebuilt_weights
from exactformer.numbers import Exact, Named, Undecided, Undefined, array, exact
from exactformer.numbers.enclosure import ball
from exactformer.trace import Gradient, gradient, run
from random_models import random_config, random_model, random_tokens

FLOAT_SEEDS = range(240)
EXACT_SEEDS = range(8000, 8044)


# -- random models, generic: no pre-activation is 0, so that no ReLU stands on its kink
def generic(rng: random.Random, config: Config) -> Model:
    bare = config.unembedding == "none"
    model = random_model(rng, replace(config, unembedding="tied") if bare else config)
    if bare:
        model = Model(config, replace(model.weights, b_U=None))
    drawn = {name: np.empty_like(values) for name, values in model.weights.named()}
    for values in drawn.values():
        for place in np.ndindex(*values.shape):
            values[place] = exact(f"{rng.choice((-1, 1)) * rng.randint(1, 96)}/97")
    return replace(model, weights=rebuilt_weights(model.weights, drawn))


def any_config(rng: random.Random, **fixed: object) -> Config:
    """Every option, those that `random_config` leaves alone too. ε is not small: float errors stay so."""
    options: dict[str, Any] = {"unembedding": rng.choice(("tied", "tied", "own", "own", "none")), "stable": rng.random() < 0.3}
    options["late_mask"] = rng.random() < 0.1
    options |= {"head_dim": rng.choice((0, 0, 0, 1, 3)), "epsilon": exact("1/100")} | fixed
    config = random_config(rng, **options)
    return replace(config, blocks=0) if rng.random() < 0.03 else config


def small_config(rng: random.Random, **fixed: object) -> Config:
    length, blocks = rng.choice(((3, 1), (2, 1), (2, 2)))
    return any_config(rng, **({"dims": (2, 2, 3, 4), "length": length, "blocks": blocks, "head_dim": 0} | fixed))


def problem(model: Model, rng: random.Random) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Tokens, and the targets or the upstream gradient for them."""
    tokens = random_tokens(rng, model)
    if model.config.unembedding == "none":
        return tokens, {"upstream": array([[f"{rng.randint(-96, 96)}/97" for _ in range(model.config.dim)] for _ in tokens])}
    return tokens, {"targets": random_tokens(rng, model, len(tokens))}


def floats(values: Any) -> np.ndarray:
    return np.array([as_float(v) for v in values.flat], dtype=np.float64).reshape(values.shape)


def as_float(value: Any) -> float:
    """Of a number whose sign is undecided, 0: what cancels is not always proved to, but it is below 10⁻¹⁰⁰ then."""
    if not isinstance(value, xf.Number):
        return float(value)
    try:
        return value.to_float()
    except Undecided:
        assert abs(ball(value, 512)) < 1e-100
        return 0.0


def agree(ours: Gradient, given: dict[str, Any], tolerance: float) -> None:
    """The loss, and the gradient of every weight and of every step that the peer names, relative to the largest weight's."""
    torch_peer = pytest.importorskip("torch_peer")
    given = {key: floats(value) if key == "upstream" else value for key, value in given.items()}
    theirs = torch_peer.peer(ours.trace.model, ours.trace.tokens, **given)
    if ours.loss is not None:
        assert as_float(ours.loss) == pytest.approx(theirs.loss, rel=tolerance)
    assert ours.weights.keys() == theirs.weights.keys()
    largest = max(np.abs(values).max() for values in theirs.weights.values())
    for name, expected in {**theirs.weights, **theirs.steps}.items():
        found = floats(ours[f"grad.{name}"].values)
        assert found.shape == expected.shape, name
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest, err_msg=name)
    for name, values in ours.weights.items():
        assert values is ours[f"grad.{name}"].values


# -- PyTorch
@pytest.mark.parametrize("seed", FLOAT_SEEDS)
def test_float64_agrees_with_pytorch(seed: int) -> None:
    pytest.importorskip("torch")
    rng = random.Random(seed)
    model = generic(rng, any_config(rng))
    tokens, given = problem(model, rng)
    agree(gradient(run(model, tokens, "float64"), **given), given, 1e-9)


@pytest.mark.parametrize("seed", EXACT_SEEDS)
def test_exact_agrees_with_pytorch(seed: int) -> None:
    pytest.importorskip("torch")
    rng = random.Random(seed)
    model = generic(rng, small_config(rng))
    tokens, given = problem(model, rng)
    agree(gradient(run(model, tokens), **given), given, 1e-9)


def test_exact_agrees_with_pytorch_where_epsilon_is_zero() -> None:
    pytest.importorskip("torch")
    undefined = 0
    for seed in range(10):
        rng = random.Random(2000 + seed)
        fixed: dict[str, Any] = {"norm": rng.choice(("pre", "post")), "epsilon": exact(0), "dims": (3, 4), "blocks": 1, "length": 2}
        if seed > 6:  # position 0 sees nothing, so that LayerNorm reads zeros unless there is a bias
            fixed |= {"norm": "post", "mask": "strict", "residual": False, "late_mask": False}
        model = generic(rng, small_config(rng, **fixed))
        tokens, given = problem(model, rng)
        trace = run(model, tokens)
        if any(type(x) is Undefined for step in trace.steps if step.op != "argmax" for x in step.values.flat):
            undefined += 1
        else:
            agree(gradient(trace, **given), given, 1e-7)
    assert 0 < undefined < 5


def test_the_random_models_take_every_option() -> None:
    configs = [any_config(random.Random(seed)) for seed in FLOAT_SEEDS]
    assert_every_option(configs)
    assert_every_option([small_config(random.Random(seed)) for seed in EXACT_SEEDS])
    assert {config.blocks for config in configs} == {0, 1, 2, 3}
    assert any(config.head_dim * config.heads != config.dim for config in configs)


def assert_every_option(configs: list[Config]) -> None:
    def seen(field: str) -> set[Any]:
        return {getattr(config, field) for config in configs}

    assert seen("norm") == {"none", "pre", "post"}
    assert seen("mask") == {"causal", "strict", "none"}
    assert seen("positions") == {"table", "sinusoidal", "none"}
    assert seen("activation") == {None, "relu", "identity", "gelu", "gelu_tanh"}
    assert seen("unembedding") == {"tied", "own", "none"}
    assert seen("heads") == {1, 2}
    assert {str(scale) for scale in seen("scale")} == {"none", "sqrt", "1/3"}
    for field in ("final_norm", "residual", "stable", "late_mask"):
        assert seen(field) == {False, True}, field


def test_weights_that_are_floats() -> None:
    """As a checkpoint has them: both arithmetics take their exact values."""
    pytest.importorskip("torch")
    rng = random.Random(3)
    model = generic(rng, small_config(rng, norm="pre", mlp=3, activation="gelu", unembedding="own", mask="causal"))
    floating = Model(model.config, as_floats(model.weights))
    for arithmetic in ("float64", "exact"):
        agree(gradient(run(floating, "a b", arithmetic), "b a"), {"targets": ("b", "a")}, 1e-9)


def as_floats(group: Any) -> Any:
    changes = {}
    for field in group.__dataclass_fields__:
        value = getattr(group, field)
        if isinstance(value, tuple):
            changes[field] = tuple(map(as_floats, value))
        elif isinstance(value, np.ndarray):
            changes[field] = floats(value)
        elif value is not None:
            changes[field] = as_floats(value)
    return replace(group, **changes)


@pytest.mark.parametrize("seed", range(20))
def test_float32_stays_float32(seed: int) -> None:
    rng = random.Random(seed)
    model = generic(rng, any_config(rng))
    tokens, given = problem(model, rng)
    single, double = (gradient(run(model, tokens, arithmetic), **given) for arithmetic in ("float32", "float64"))
    largest = max(np.abs(values).max() for values in double.weights.values())
    for ours, theirs in zip(single.steps, double.steps, strict=True):
        assert ours.values.dtype == np.float32, ours.name
        assert ours.name == theirs.name
    for name, values in single.weights.items():
        np.testing.assert_allclose(values, double.weights[name], rtol=0, atol=1e-3 * largest, err_msg=name)


# -- finite differences, with exact numbers
def shifted(model: Model, name: str, place: tuple[int, ...], h: Exact) -> Model:
    weights: Weights = copy.deepcopy(model.weights)
    values = dict(weights.named())[name]
    values[place] = values[place] + h
    return Model(model.config, weights)


@pytest.mark.parametrize("seed", range(10))
def test_finite_differences_agree_to_35_digits(seed: int) -> None:
    rng = random.Random(4000 + seed)
    norm = ("none", "pre", "post")[seed % 3]
    activation = ("relu", "gelu", "gelu_tanh", "identity")[seed % 4]
    fixed: dict[str, Any] = {"dims": (2,), "length": 2, "blocks": 1, "unembedding": rng.choice(("tied", "own"))}
    fixed |= {"stable": False, "late_mask": False}
    model = generic(rng, small_config(rng, norm=norm, mlp=2, activation=activation, **fixed))
    tokens = ("b", "a")
    targets = random_tokens(rng, model, 2)
    ours = gradient(run(model, tokens), targets)
    h = exact("1e-20")
    for name, values in rng.sample(sorted(ours.weights.items()), min(5, len(ours.weights))):
        place = tuple(rng.randrange(size) for size in values.shape)
        above, below = (loss(shifted(model, name, place, step), tokens, targets).enclosure(300) for step in (h, -h))  # 90 digits
        slope = (above.low - below.low) / Fraction(2, 10**20)
        assert abs(slope - values[place].enclosure(300).low) < Fraction(1, 10**35), (name, place)


def loss(model: Model, tokens: tuple[str, ...], targets: tuple[str, ...]) -> Any:
    """From the logits alone: the mean of log Σ e^x − x at the target."""
    rows = run(model, tokens).logits
    places = [model.config.vocabulary.index(target) for target in targets]
    each = [xf.log(sum((xf.exp(x) for x in row), exact(0))) - row[t] for row, t in zip(rows, places, strict=True)]
    return sum(each, exact(0)) / len(each)


# -- what is known exactly
@pytest.fixture(scope="module")
def capstone() -> Gradient:
    return gradient(xf.load("capstone").trace("a b"), "a a")


def test_the_gradients_of_the_capstone(capstone: Gradient) -> None:
    """LayerNorm of two dimensions gives ±1 whatever it reads: nothing before the last one matters, and that is proved."""
    named = {name for name, values in capstone.weights.items() if all(type(v) is Named for v in values.flat)}
    zero = {name for name, values in capstone.weights.items() if all(type(v) is Exact and v == 0 for v in values.flat)}
    assert named == {"W_E", "blocks.0.ln2.w", "blocks.0.ln2.b"}
    assert zero == set(capstone.weights) - named
    assert str(capstone.loss) == "-2+log(1+e+e^2)"
    assert [str(v) for v in capstone.weights["blocks.0.ln2.b"]] == ["-1/(1+e+e^2)", "(1+e)/(1+e+e^2)"]
    assert [str(v) for v in capstone.weights["W_E"][0]] == ["(-1-e)/(1+e+e^2)", "(1+e)/(1+e+e^2)"]
    assert [[str(v) for v in row] for row in capstone["grad.blocks.0.resid_post"].values] == [["0", "0"], ["0", "0"]]


def test_every_step_and_every_weight_has_a_gradient(capstone: Gradient) -> None:
    trace = capstone.trace
    steps = [f"grad.{step.name}" for step in reversed(trace.steps) if step.name not in ("probs", "token")]
    weights = [f"grad.{name}" for name, _ in trace.model.weights.named()]
    assert [step.name for step in capstone.steps] == steps + weights
    known = {step.name for step in trace.steps} | set(steps) | {name for name, _ in trace.model.weights.named()}
    for step in capstone.steps:
        assert step.shape == (trace[step.name[5:]].shape if step.name in steps else capstone.weights[step.name[5:]].shape)
        assert known.issuperset(step.reads), step.name
        assert step.formula
        assert step.latex
    with pytest.raises(KeyError, match=r"no gradient 'grad\.nothing'; they are grad\.logits, "):
        capstone["grad.nothing"]


@pytest.mark.parametrize("seed", range(12))
def test_every_step_of_random_models_has_a_gradient(seed: int) -> None:
    rng = random.Random(5000 + seed)
    model = generic(rng, any_config(rng))
    tokens, given = problem(model, rng)
    ours = gradient(run(model, tokens, "float64"), **given)
    for step in ours.trace.steps:
        if step.name not in ("probs", "token"):
            assert ours[f"grad.{step.name}"].shape == step.shape


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("mask", ["causal", "strict"])
def test_what_is_masked_has_gradient_zero(arithmetic: str, stable: bool, mask: str) -> None:
    rng = random.Random(6)
    config = random_config(rng, dims=(2,), length=3, blocks=1, norm="none", final_norm=False, mask=mask, stable=stable, heads=2)
    ours = gradient(run(generic(rng, config), "a b a", arithmetic), "b a b")
    seen = 0
    for name in ("scores", "masked", *(["shifted"] if stable else [])):
        for (_, i, j), value in np.ndenumerate(ours[f"grad.blocks.0.attn.{name}"].values):
            if not config.sight_at(0).sees(i, j):
                assert value == 0, (name, i, j)
                assert arithmetic == "float64" or type(value) is Exact
            seen += bool(value != 0)
    assert seen


def test_rows_of_tokens_and_positions_that_do_not_occur_have_gradient_zero() -> None:
    rng = random.Random(7)
    fixed = {"vocabulary": tuple("abcd"), "positions": "table", "unembedding": "own", "norm": "none", "final_norm": False}
    ours = gradient(run(generic(rng, small_config(rng, residual=True, length=3, **fixed)), "c a"), "a a")
    zero = {name: [all(v == 0 for v in row) for row in ours.weights[name]] for name in ("W_E", "W_pos")}
    assert zero == {"W_E": [False, True, False, True], "W_pos": [False, False, True]}


def test_the_gradient_of_a_tied_embedding_is_the_sum_of_both_uses() -> None:
    rng = random.Random(8)
    tied = generic(
        rng, small_config(rng, dims=(2,), norm="none", final_norm=False, mlp=2, activation="gelu", unembedding="tied", length=3)
    )
    untied = Model(replace(tied.config, unembedding="own"), replace(tied.weights, W_U=tied.weights.W_E.T.copy()))
    once, twice = (gradient(run(model, "a b a"), "b b a") for model in (tied, untied))
    assert once.loss == twice.loss
    difference = once.weights["W_E"] - (twice.weights["W_E"] + twice.weights["W_U"].T)
    for value in difference.flat:
        assert abs(value) < exact("1e-60")
    for name in set(once.weights) - {"W_E"}:
        assert all(abs(a - b) < exact("1e-60") for a, b in zip(once.weights[name].flat, twice.weights[name].flat, strict=True)), (
            name
        )


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_the_kink_of_relu_is_remarked(arithmetic: str) -> None:
    """x W_in is (1, 0) at position 0 and (0, −1) at position 1."""
    one = array([[[1, 0], [0, 1]]])
    config = Config(
        vocabulary=("a", "b"), dim=2, blocks=1, norm="none", mask="causal", scale="none", mlp=2, activation="relu",
    )  # fmt: skip
    none = array([[[0, 0], [0, 0]]])
    weights = Weights(
        W_E=array([[1, 0], [0, -1]]),
        blocks=(
            xf.BlockWeights(
                attn=xf.AttentionWeights(W_Q=one, W_K=one, W_V=none, W_O=one),
                mlp=xf.MlpWeights(W_in=one[0], W_out=array([[1, 2], [3, 4]])),
            ),
        ),
    )
    ours = gradient(run(Model(config, weights), "a b", arithmetic), "b b")
    remarks = ours["grad.blocks.0.mlp.pre"].remarks
    assert remarks == (
        (0, "ReLU′(0) = 0, by convention, at position 0, unit 1"),
        (1, "ReLU′(0) = 0, by convention, at position 1, unit 0"),
    )
    pre, post = ours["grad.blocks.0.mlp.pre"], ours["grad.blocks.0.mlp.post"]
    assert [[bool(v != 0) for v in row] for row in pre.values] == [[True, False], [False, False]]
    assert all(v != 0 for v in post.values.flat)
    assert pre[0, 0] == post[0, 0]
    assert not any(step.remarks for step in ours.steps if step.name != "grad.blocks.0.mlp.pre")


def test_no_remark_without_a_kink() -> None:
    for activation in ("relu", "gelu"):
        rng = random.Random(9)
        model = generic(rng, small_config(rng, norm="none", final_norm=False, mlp=2, activation=activation, unembedding="own"))
        assert not any(step.remarks for step in gradient(run(model, "a b"), "a b").steps)


@pytest.mark.parametrize("tokens", ["a b", "a b a"])
def test_a_bias_of_the_keys_never_matters(tokens: str) -> None:
    """It adds the same to every score of a row, and softmax does not see that. Proved for two positions, undecided for three."""
    one = array([[[1, 0], [0, 1]]])
    attention = xf.AttentionWeights(W_Q=one, W_K=one, W_V=one, W_O=one, b_K=array([["1/3", "1/2"]]))
    weights = Weights(W_E=array([[1, 2], [3, "1/2"]]), blocks=(xf.BlockWeights(attn=attention),))
    config = Config(vocabulary=("a", "b"), dim=2, blocks=1, norm="none", mask="causal", scale="none")
    ours = gradient(run(Model(config, weights), tokens), tokens)
    assert all(v == 0 for v in ours.weights["blocks.0.attn.b_K"].flat)


# -- undefined
def constant_row(unembedding: str) -> Model:
    """The embedding of a has variance 0, that of b has not; ε is 0."""
    config = Config(
        vocabulary=("a", "b"), dim=2, blocks=0, norm="none", final_norm=True, epsilon=exact(0), mask="causal", scale="none",
        unembedding=unembedding,  # type: ignore[arg-type]
    )  # fmt: skip
    norm = xf.NormWeights(w=array([1, 1]), b=array([0, 0]))
    return Model(config, Weights(W_E=array([[1, 1], [1, 2]]), ln_final=norm))


def test_an_undefined_loss_has_undefined_gradients() -> None:
    ours = gradient(run(constant_row("tied"), "a b"), "a b")
    assert type(ours.loss) is Undefined
    assert "the variance is 0 and ε is 0" in ours.loss.why
    assert all(type(v) is Undefined for v in ours.weights["W_E"][0])


def test_the_gradient_of_an_undefined_step_is_undefined() -> None:
    ours = gradient(run(constant_row("none"), "a b"), upstream=array([[1, 2], [3, 4]]))
    assert all(type(v) is Undefined for v in ours.weights["W_E"][0])
    assert all(type(v) is Exact for v in ours.weights["W_E"][1])


# -- descent
def test_a_step_of_descent_lowers_the_loss_and_that_is_proved(capstone: Gradient) -> None:
    step = xf.descend(capstone, exact("1/10"))
    assert step.before is capstone.loss
    assert step.after < step.before
    again = gradient(run(step.model, "a b"), "a a")
    assert again.loss.digits(30) == step.after.digits(30)
    before, after = dict(capstone.trace.model.weights.named()), dict(step.model.weights.named())
    assert before.keys() == after.keys()
    for name, values in before.items():
        expected = values - capstone.weights[name] * exact("1/10")
        assert all((a - b).digits(5) == "0" or a == b for a, b in zip(after[name].flat, expected.flat, strict=True)), name


@pytest.mark.parametrize("seed", range(6))
def test_descent_of_random_models(seed: int) -> None:
    rng = random.Random(7000 + seed)
    arithmetic = ("exact", "float64")[seed % 2]
    model = generic(rng, small_config(rng, dims=(2,), length=2, blocks=1, unembedding="own"))
    trace = run(model, random_tokens(rng, model, 2), arithmetic)
    step = xf.descend(gradient(trace, random_tokens(rng, model, 2)), exact("1/1000"))
    assert step.after < step.before


# -- input at fault
def test_targets_that_do_not_fit(capstone: Gradient) -> None:
    trace = capstone.trace
    with pytest.raises(xf.InputError, match="the token 'z' is not in the vocabulary"):
        gradient(trace, "a z")
    with pytest.raises(xf.InputError, match="1 target for 2 positions"):
        gradient(trace, "a")
    with pytest.raises(xf.InputError, match="3 targets for 2 positions"):
        gradient(trace, ["a", "b", "c"])
    with pytest.raises(xf.InputError, match="give one for each position"):
        gradient(trace)
    with pytest.raises(xf.InputError, match="give one for each position"):
        gradient(trace, "a a", upstream=array([[0, 0, 0], [0, 0, 0]]))


def test_a_model_without_logits() -> None:
    rng = random.Random(10)
    trace = run(generic(rng, small_config(rng, dims=(2,), unembedding="none")), "a b")
    with pytest.raises(xf.InputError, match="the model has no logits"):
        gradient(trace, "a b")
    with pytest.raises(xf.InputError, match="the model has no logits"):
        gradient(trace)
    with pytest.raises(xf.InputError, match="the upstream gradient has the shape 2 × 3, not 2 × 2"):
        gradient(trace, upstream=array([[1, 2, 3], [4, 5, 6]]))
    ours = gradient(trace, upstream=array([[1, 2], [3, 4]]))
    assert (ours.loss, ours.targets) == (None, ())


def test_no_descent_without_a_loss() -> None:
    ours = gradient(run(constant_row("none"), "b"), upstream=array([[1, 2]]))
    with pytest.raises(xf.InputError):
        xf.descend(ours, exact("1/10"))
