"""Models of Llama's kind, drawn with every option: the pass and its gradients against PyTorch in float64, written apart from ours,
and against finite differences with a step of 1e-35.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from flint import arb

from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import adjoints
from exactformer.model import Config, Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.weights import assembled, declared
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision
from exactformer.trace.gradient import gradient
from exactformer.trace.trace import run as traced

NUMBER = 300
_CLOSE = 1e-9
_OF_THE_STEP = 1e-55  # a central difference with a step of 1e-35 is wrong by some 1e-70 times a third derivative
_ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "identity")


def drawn_config(rng: random.Random) -> Config:
    heads = rng.choice([1, 2, 4])
    norm = rng.choice(["none", "pre", "pre", "pre", "post"])
    mlp = rng.choice([0, 3, 5])
    parallel = norm != "post" and rng.random() < 0.25
    blocks = rng.choice([1, 2])
    positions = rng.choice(["none", "rotary", "rotary", "rotary"])
    window = rng.choice([0, 0, 1, 2, 3])
    qk_norm = rng.random() < 0.3
    final_norm = rng.random() < 0.5
    normed = norm != "none" or final_norm or qk_norm
    shared = parallel and norm == "pre" and mlp > 0 and rng.random() < 0.5
    rotary: dict[str, Any] = {}
    if positions == "rotary":
        rotary = {
            "rotary_base": exact(rng.choice([10, 10000, 500000])),
            "rotary_fraction": exact(rng.choice(["1", "1/2"])),
            "rotary_pairs": rng.choice(["halves", "neighbours"]),
        }
        if rng.random() < 0.2:
            pairs = int(2 * rotary["rotary_fraction"].value)
            rotary["rotary_frequencies"] = tuple(exact(rng.choice(["1/3", "2", "1/7"])) for _ in range(pairs))
        if window and rng.random() < 0.5:
            rotary["window_rotary_base"] = exact(100)
    return Config(
        vocabulary=tuple("abcde"), dim=4, heads=heads, head_dim=4, kv_heads=rng.choice([h for h in (1, 2, 4) if heads % h == 0]),
        blocks=blocks, norm=norm, norm_kind=rng.choice(["layer", "rms", "rms"]), norm_unit=normed and rng.random() < 0.3,
        post_norms=norm == "pre" and rng.random() < 0.3, final_norm=final_norm, qk_norm=qk_norm,
        epsilon=exact(rng.choice(["1e-5", "1/8"])) if normed else None, mask="causal",
        scale=rng.choice(["none", "sqrt", exact("1/3")]), positions=positions, window=window,
        full_blocks=(0,) if window and rng.random() < 0.3 else (), score_cap=rng.choice([None, None, exact(2)]),
        logit_cap=rng.choice([None, None, exact(3)]), embedding_scale=rng.choice(["none", "sqrt", exact("3/2")]), mlp=mlp,
        mlp_kind=rng.choice(["plain", "gated", "gated"]), activation=rng.choice(_ACTIVATIONS) if mlp else None,
        unembedding=rng.choice(["tied", "own"]), parallel=parallel, shared_norm=shared, **rotary,
    )  # fmt: skip


def drawn_model(rng: random.Random, config: Config) -> Model:
    values = {}
    for name, weight in declared(config).items():
        if not weight.optional or rng.random() < 0.5:
            values[name] = np.array([rng.randint(-40, 40) / 32 for _ in range(int(np.prod(weight.shape)))]).reshape(weight.shape)
    return Model(config, assembled(config, values))


# -- the same model in PyTorch
def _norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, config: Config) -> torch.Tensor:
    assert config.epsilon is not None
    gain = 1 + w if config.norm_unit else w
    if config.norm_kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    y = gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + float(config.epsilon.to_float()))
    return y if b is None else y + b


def _head_norm(x: torch.Tensor, w: torch.Tensor, config: Config) -> torch.Tensor:
    assert config.epsilon is not None
    gain = 1 + w if config.norm_unit else w
    return gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + config.epsilon.to_float())


def _rotated(x: torch.Tensor, config: Config, block: int) -> torch.Tensor:
    """By complex numbers."""
    local = config.window and block not in config.full_blocks
    width = int(config.rotary_fraction.value * config.head_dim)
    base = (config.window_rotary_base if local and config.window_rotary_base is not None else config.rotary_base).to_float()
    steps = [base ** (-2 * i / width) for i in range(width // 2)]
    if config.rotary_frequencies and not (local and config.window_rotary_base is not None):
        steps = [f.to_float() for f in config.rotary_frequencies]
    turn = torch.polar(
        torch.ones(x.shape[1], width // 2, dtype=torch.float64),
        torch.outer(torch.arange(x.shape[1]).double(), torch.tensor(steps, dtype=torch.float64)),
    )
    head, rest = x[..., :width], x[..., width:]
    if config.rotary_pairs == "neighbours":
        turned = torch.view_as_real(torch.view_as_complex(head.reshape(*head.shape[:-1], -1, 2).contiguous()) * turn).flatten(-2)
    else:
        pairs = torch.complex(head[..., : width // 2], head[..., width // 2 :]) * turn
        turned = torch.cat([pairs.real, pairs.imag], -1)
    return torch.cat([turned, rest], -1)


_FUNCTIONS = {
    "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "relu": torch.relu, "identity": lambda x: x,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}  # fmt: skip


def torch_pass(config: Config, w: dict[str, torch.Tensor], ids: list[int]) -> torch.Tensor:
    x = w["W_E"][ids]
    x = x * config.embedding_factor.to_float()
    length = len(ids)
    far = torch.arange(length)[:, None] - torch.arange(length)[None, :]

    def normed(x: torch.Tensor, name: str) -> torch.Tensor:
        return _norm(x, w[f"{name}.w"], w.get(f"{name}.b"), config)

    for n in range(config.blocks):
        p = f"blocks.{n}."
        start = x
        y = first = normed(x, p + "ln1") if config.norm == "pre" else x
        q, k, v = (torch.einsum("td,hde->hte", y, w[f"{p}attn.W_{c}"]) for c in "QKV")
        q, k, v = (t + w[f"{p}attn.b_{c}"][:, None] if f"{p}attn.b_{c}" in w else t for t, c in zip((q, k, v), "QKV", strict=True))
        if config.qk_norm:
            q, k = _head_norm(q, w[p + "attn.q_norm.w"], config), _head_norm(k, w[p + "attn.k_norm.w"], config)
        if config.positions == "rotary":
            q, k = _rotated(q, config, n), _rotated(k, config, n)
        k, v = (t.repeat_interleave(config.heads // config.key_heads, 0) for t in (k, v))
        scores = q @ k.transpose(1, 2) * config.scale_at(n).to_float()
        if config.score_cap is not None:
            c = config.score_cap.to_float()
            scores = c * torch.tanh(scores / c)
        hidden = far < 0
        if config.window and n not in config.full_blocks:
            hidden = hidden | (far >= config.window)
        z = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ v
        y = torch.einsum("hte,hed->td", z, w[p + "attn.W_O"]) + w.get(p + "attn.b_O", torch.zeros(()))
        y = normed(y, p + "ln1_post") if config.post_norms else y
        x = x + y
        x = normed(x, p + "ln1") if config.norm == "post" else x
        if config.mlp:
            if config.shared_norm:
                y = first
            else:
                y = start if config.parallel else x
                y = normed(y, p + "ln2") if config.norm == "pre" else y
            assert config.activation is not None
            act, inner = _FUNCTIONS[config.activation], y @ w[p + "mlp.W_in"] + w.get(p + "mlp.b_in", torch.zeros(()))
            if config.mlp_kind == "gated":
                inner = act(y @ w[p + "mlp.W_gate"] + w.get(p + "mlp.b_gate", torch.zeros(()))) * inner
            else:
                inner = act(inner)
            y = inner @ w[p + "mlp.W_out"] + w.get(p + "mlp.b_out", torch.zeros(()))
            y = normed(y, p + "ln2_post") if config.post_norms else y
            x = x + y
            x = normed(x, p + "ln2") if config.norm == "post" else x
    x = normed(x, "ln_final") if config.final_norm else x
    logits = x @ (w["W_E"].T if config.unembedding == "tied" else w["W_U"]) + w.get("b_U", torch.zeros(()))
    if config.logit_cap is not None:
        c = config.logit_cap.to_float()
        logits = c * torch.tanh(logits / c)
    return logits


def tried(seed: int) -> str:
    """What did not hold for the model of a seed; "" where all did."""
    rng = random.Random(seed)
    config = drawn_config(rng)
    model = drawn_model(rng, config)
    length = rng.randint(1, 5)
    ids, targets = [rng.randrange(5) for _ in range(length)], [rng.randrange(5) for _ in range(length)]
    named = lambda numbers: tuple(config.vocabulary[i] for i in numbers)  # noqa: E731
    trace = traced(model, named(ids), "float64", "")
    ours = gradient(trace, named(targets))
    weights = {name: torch.tensor(np.array(array, dtype=np.float64), requires_grad=True) for name, array in model.weights.named()}
    logits = torch_pass(config, weights, ids)
    if not np.allclose(trace["logits"].values, logits.detach().numpy(), rtol=_CLOSE, atol=_CLOSE):
        return f"model {seed}: the logits are not PyTorch's"
    torch.nn.functional.cross_entropy(logits, torch.tensor(targets)).backward()  # type: ignore[no-untyped-call]
    for name, weight in weights.items():
        theirs = torch.zeros_like(weight) if weight.grad is None else weight.grad
        if not np.allclose(ours.weights[name], theirs.numpy(), rtol=1e-7, atol=_CLOSE):
            return f"model {seed}: the gradient of {name} is not PyTorch's"
    if config.activation == "relu":
        return ""  # a step may cross its kink
    return _differences(model, ids, targets, rng, seed)


def _differences(model: Model, ids: list[int], targets: list[int], rng: random.Random, seed: int) -> str:
    """(L(w + h) − L(w − h))/2h of one weight, in balls of 400 bits."""
    ops = ArbArithmetic(400)
    name, array = rng.choice(list(model.weights.named()))
    place = tuple(rng.randrange(n) for n in array.shape)
    step = exact("1e-35")
    values = {other: ops_exact(weights) for other, weights in model.weights.named()}

    def loss(sign: int) -> Any:
        moved = values[name].copy()
        moved[place] = moved[place] + sign * step
        shifted = Model(model.config, assembled(model.config, values | {name: moved}))
        return ops.cross_entropy(forward(shifted, ids, ops), targets)[0]

    after, before = loss(1), loss(-1)
    vocabulary = model.config.vocabulary
    trace = traced(model, tuple(vocabulary[i] for i in ids), "arb", "")
    found = gradient(trace, tuple(vocabulary[i] for i in targets)).weights[name][place]
    with precision(400):
        slope = (after - before) / (2 * ops.constant(step))
        within = found.overlaps(slope + arb(0, _OF_THE_STEP))
        near = float(abs(slope - found.mid()).upper()) <= 1e-25 * max(1.0, abs(float(found.mid())))
    return "" if within and near else f"model {seed}: the gradient of {name}{list(place)} is not that of finite differences"


def ops_exact(weights: Any) -> Any:
    return adjoints("exact").load(weights)


def run(progress: Progress) -> Result:
    failed = []
    for seed in range(NUMBER):
        if problem := tried(seed):
            failed.append(problem)
        if seed % 25 == 24:
            progress(f"llamas: {seed + 1} of {NUMBER}")
    told = (
        "Configurations are drawn with every option that Llama's kind has, weights are multiples of 1/32. The logits and the "
        "gradients of all weights are compared with PyTorch's in float64 (a pass written apart from ours, gradients by autograd), "
        "and one gradient of each model, a ball, with a finite difference of step 1e-35 in balls of 400 bits: it lies in the "
        "ball, and within 1e-25 of its middle."
    )
    rows = (("drawn", f"{NUMBER}"), ("as PyTorch and finite differences say", f"{NUMBER - len(failed)}"))
    return Result(
        "trials_llamas",
        "Models of Llama's kind against PyTorch",
        (told, Table(("models", "number"), rows)),
        {"models": NUMBER, "failed": failed},
    )
