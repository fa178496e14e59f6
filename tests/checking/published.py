"""Published worked examples as worksheets with claims, made from ../shared/data/published/examples.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDERS = [folder / "shared/data/published/examples.json" for folder in Path(__file__).resolve().parents]
FILE = next((file for file in _FOLDERS if file.exists()), None)


def examples() -> dict[str, dict[str, Any]]:
    assert FILE is not None
    return {example["id"]: example for example in json.loads(FILE.read_text(encoding="utf-8"))}


def claim(**fields: Any) -> str:
    return "\n[[claims]]\n" + "".join(f"{field} = {json.dumps(value)}\n" for field, value in fields.items())


def attention(X: list[list[str]], scale: str, **weights: Any) -> str:
    """A worksheet of one head that is not masked, over the rows of X."""
    tokens = [f"t{n}" for n in range(len(X))]
    width = len(X[0])
    head_dim = len(weights["W_Q"][0]) if weights else width
    attn = {**{f"W_{letter}": "identity" for letter in "QKV"}, **weights, **({"W_O": "zeros"} if head_dim != width else {})}
    return f"""
[model]
vocabulary = {json.dumps(tokens)}
dim = {width}
head_dim = {head_dim}
blocks = 1
norm = "none"
mask = "none"
scale = "{scale}"
positions = "none"
residual = false
unembedding = "none"
[weights]
W_E = {json.dumps(X)}
[[weights.blocks]]
[weights.blocks.attn]
{"".join(f"{name} = {json.dumps(value)}" + chr(10) for name, value in attn.items())}
[input]
tokens = {json.dumps(tokens)}
"""


def steps(published: dict[str, Any], **names: str) -> str:
    return "".join(claim(step=f"blocks.0.attn.{step}", values=published[field]) for field, step in names.items())


def text_of(name: str) -> str:
    example = examples()[name]
    given, published = example["inputs"], example["published"]
    match name:
        case "mody_gelu":
            return claim(operation="gelu_tanh", of=given["x"], values=published["gelu"])
        case "mody_softmax" | "slp3_softmax":
            return claim(operation="softmax", of=given["x"], values=published["softmax"])
        case "mody_layernorm":
            norm = claim(operation="layer_norm", name="out", of=given["x"], epsilon=given["eps"], values=published["out"])
            return norm + claim(operation="variance", of="out", values=published["var_of_out"])
        case "layernorm_1357":
            x, gamma, beta = given["x"], ["1.5", "1", "0.5", "2"], ["0", "1", "-1", "0.5"]
            return "".join(
                [
                    claim(operation="mean", of=x, value=published["mean"]),
                    claim(operation="std", of=x, value=published["std"]),
                    claim(operation="layer_norm", of=x, epsilon=0, values=published["normalized"]),
                    claim(operation="layer_norm", of=x, epsilon=0, gamma=gamma, beta=beta, values=published["out"]),
                    claim(operation="std", of=x, value=published["std_on_the_slide"]),
                ]
            )
        case "prakash_attention":
            return attention(given["X"], "sqrt") + steps(published, scores="qk", scaled="scores", pattern="pattern", z="z")
        case "raschka_ch03":
            return attention(given["X"], "none") + steps(published, scores="scores", pattern="pattern", z="z")
        case "cards_by_hand":
            sheet = attention(given["X"], "sqrt", W_Q=given["Wq"], W_K=given["Wk"], W_V=given["Wv"])
            return sheet + steps(published, q="q", k="k", v="v", scaled="scores", pattern="pattern", z="z")
    raise ValueError(f"{name}: a new example: say here how it is computed")
