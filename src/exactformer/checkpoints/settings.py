"""config.json of a GPT-2-shaped model: as the transformers library writes it, or with the fields of minGPT and nanoGPT."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.families import GPT2, MINGPT_AND_NANOGPT
from exactformer.checkpoints.fields import GPT2_ACTIVATIONS, Fields
from exactformer.model.arithmetics.roles import Activation
from exactformer.numbers import Exact
from exactformer.reading import described

Head = Literal["tied", "own", "none", "as found"]  # as found: its own where the file has one, else tied


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What config.json says, under the names of the transformers library."""

    path: Path
    n_layer: int
    n_head: int
    n_embd: int
    n_inner: int
    n_positions: int
    vocab_size: int
    epsilon: Exact
    activation: Activation
    head: Head
    biases: bool = True
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False

    def error(self, field: str, problem: str) -> CheckpointError:
        return CheckpointError(self.path, field, problem)


def settings(fields: Fields) -> Settings:
    """The settings of a config.json.

    >>> from exactformer.reading import Decimal
    >>> given = {"n_layer": 2, "n_head": 2, "n_embd": 8, "vocab_size": 5, "layer_norm_epsilon": Decimal("1e-05")}
    >>> settings(Fields(given | {"model_type": "gpt2", "n_positions": 6}, Path("config.json"))).epsilon
    exact('1/100000')
    """
    family = _Small(fields) if "block_size" in fields.raw else _Library(fields)
    width, heads = fields.count("n_embd"), fields.count("n_head")
    if width % heads:
        raise fields.error("n_head", f"{heads} heads do not divide n_embd, which is {width}")
    return Settings(
        path=fields.path,
        n_layer=fields.count("n_layer", least=0),
        n_head=heads,
        n_embd=width,
        n_inner=fields.count("n_inner", 4 * width),
        n_positions=family.positions(),
        vocab_size=fields.count("vocab_size"),
        epsilon=fields.epsilon("layer_norm_epsilon", "1e-5"),
        activation=_activation(fields, family.activation),
        head=family.head(),
        biases=fields.flag("bias", True),  # of nanoGPT
        scale_attn_weights=fields.flag("scale_attn_weights", True),
        scale_attn_by_inverse_layer_idx=fields.flag("scale_attn_by_inverse_layer_idx", False),
    )


def _activation(fields: Fields, default: str | None) -> Activation:
    field = "activation_function"
    if default is None and field not in fields.raw:
        raise fields.error(field, "is missing, and nothing shows whether this is minGPT (gelu_new) or nanoGPT (gelu)")
    return fields.choice(field, GPT2_ACTIVATIONS, default)


class _Library:
    """GPT-2 as the transformers library has it. What an older file leaves out has the library's default."""

    activation = "gelu_new"

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        GPT2.check(fields.raw, fields.path)

    def positions(self) -> int:
        field = "n_positions" if self.fields.get("n_positions") is not None or self.fields.get("n_ctx") is None else "n_ctx"
        return self.fields.count(field)

    def head(self) -> Head:
        architectures = self.fields.get("architectures")
        known: dict[object, Head] = {
            "GPT2LMHeadModel": "tied" if self.fields.flag("tie_word_embeddings", True) else "own",
            "GPT2Model": "none",
        }
        if architectures is None:
            return known["GPT2LMHeadModel"]
        name = architectures[0] if isinstance(architectures, list) and len(architectures) == 1 else None
        if not isinstance(name, str) or name not in known:
            raise self.fields.error(
                "architectures", f"{described(name or architectures)} is not supported; supported: {', '.join(map(str, known))}"
            )
        return known[name]


class _Small:
    """minGPT (tanh-GELU, a head of its own, `model_type` and `embd_pdrop`) or nanoGPT (GELU, tied, `bias` and `dropout`)."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        MINGPT_AND_NANOGPT.check(fields.raw, fields.path)
        nano = any(field in fields.raw for field in ("bias", "dropout"))
        mini = any(field in fields.raw for field in ("model_type", "embd_pdrop", "resid_pdrop", "attn_pdrop"))
        self.nano = nano and not mini
        self.activation = None if nano == mini else "gelu" if nano else "gelu_new"

    def positions(self) -> int:
        return self.fields.count("block_size")

    def head(self) -> Head:
        if "tie_word_embeddings" in self.fields.raw:
            return "tied" if self.fields.flag("tie_word_embeddings", True) else "own"
        return "as found" if self.nano else "own"
