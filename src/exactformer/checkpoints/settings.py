"""config.json of a GPT-2-shaped model: as the transformers library writes it, or with the fields of minGPT and nanoGPT."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from exactformer.checkpoints.documents import Decimal
from exactformer.checkpoints.errors import CheckpointError, shown
from exactformer.checkpoints.families import GPT2, MINGPT_AND_NANOGPT
from exactformer.model.arithmetics.roles import Activation
from exactformer.numbers import Exact, exact

_ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
_LARGEST = (1 << 31) - 1
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


def settings(document: dict[str, Any], path: Path) -> Settings:
    """The settings in `document`, which was read from `path`.

    >>> fields = {"n_layer": 2, "n_head": 2, "n_embd": 8, "vocab_size": 5, "layer_norm_epsilon": Decimal("1e-05")}
    >>> settings(fields | {"model_type": "gpt2", "n_positions": 6}, Path("config.json")).epsilon
    exact('1/100000')
    >>> settings(fields | {"model_type": "llama", "n_positions": 6}, Path("config.json"))
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: config.json: model_type: 'llama' is not supported; supported: gpt2
    """
    fields = _Fields(document, path)
    family = _Small(fields) if "block_size" in document else _Library(fields)
    width, heads = fields.count("n_embd"), fields.count("n_head")
    if width % heads:
        raise fields.error("n_head", f"{heads} heads do not divide n_embd, which is {width}")
    return Settings(
        path=path,
        n_layer=fields.count("n_layer", least=0),
        n_head=heads,
        n_embd=width,
        n_inner=fields.count("n_inner", 4 * width),
        n_positions=family.positions(),
        vocab_size=fields.count("vocab_size"),
        epsilon=fields.epsilon(),
        activation=fields.activation(family.activation),
        head=family.head(),
        biases=fields.flag("bias", True),  # of nanoGPT
        scale_attn_weights=fields.flag("scale_attn_weights", True),
        scale_attn_by_inverse_layer_idx=fields.flag("scale_attn_by_inverse_layer_idx", False),
    )


class _Fields:
    """Typed access to the fields of a document. A count that is null counts as not given; a flag that is null is refused, as other
    programs take it for false where a missing one is true.
    """

    def __init__(self, document: dict[str, Any], path: Path) -> None:
        self.document, self.path = document, path

    def error(self, field: str, problem: str) -> CheckpointError:
        return CheckpointError(self.path, field, problem)

    def get(self, field: str) -> Any:
        return self.document.get(field)

    def count(self, field: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(field)
        if value is None:
            if default is None:
                raise self.error(field, "is missing")
            return default
        if type(value) is not int or not least <= value <= _LARGEST:
            raise self.error(field, f"{shown(value)} is not a whole number from {least} to {_LARGEST:,}")
        return value

    def flag(self, field: str, default: bool) -> bool:
        if field not in self.document:
            return default
        value = self.get(field)
        if not isinstance(value, bool):
            raise self.error(field, f"{shown(value)} is not true or false")
        return value

    def epsilon(self) -> Exact:
        """The decimal as it is written: 1e-05 is 1/100000."""
        field = "layer_norm_epsilon"
        if field not in self.document:
            return exact("1e-5")
        value = self.get(field)
        if type(value) is not int and not isinstance(value, Decimal):
            raise self.error(field, f"{shown(value)} is not a number")
        try:
            number = exact(str(value))
        except ValueError as error:
            raise self.error(field, str(error)) from None
        if not 0 <= number <= 1:
            raise self.error(field, f"{shown(value)} is not between 0 and 1")
        return number

    def activation(self, default: str | None) -> Activation:
        field = "activation_function"
        name = self.document.get(field, default)
        if name is None and field not in self.document:
            raise self.error(field, "is missing, and nothing shows whether this is minGPT (gelu_new) or nanoGPT (gelu)")
        if not isinstance(name, str) or name not in _ACTIVATIONS:
            raise self.error(field, f"{shown(name)} is not one of {', '.join(_ACTIVATIONS)}")
        return _ACTIVATIONS[name]


class _Library:
    """GPT-2 as the transformers library has it. What an older file leaves out has the library's default."""

    activation = "gelu_new"

    def __init__(self, fields: _Fields) -> None:
        self.fields = fields
        kind = fields.get("model_type")
        if kind != "gpt2":
            problem = "is missing" if kind is None else f"{shown(kind)} is not supported"
            raise fields.error("model_type", f"{problem}; supported: gpt2")
        GPT2.check(fields.document, fields.path)

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
                "architectures", f"{shown(name or architectures)} is not supported; supported: {', '.join(map(str, known))}"
            )
        return known[name]


class _Small:
    """minGPT (tanh-GELU, a head of its own, `model_type` and `embd_pdrop`) or nanoGPT (GELU, tied, `bias` and `dropout`)."""

    def __init__(self, fields: _Fields) -> None:
        self.fields = fields
        MINGPT_AND_NANOGPT.check(fields.document, fields.path)
        nano = any(field in fields.document for field in ("bias", "dropout"))
        mini = any(field in fields.document for field in ("model_type", "embd_pdrop", "resid_pdrop", "attn_pdrop"))
        self.nano = nano and not mini
        self.activation = None if nano == mini else "gelu" if nano else "gelu_new"

    def positions(self) -> int:
        return self.fields.count("block_size")

    def head(self) -> Head:
        if "tie_word_embeddings" in self.fields.document:
            return "tied" if self.fields.flag("tie_word_embeddings", True) else "own"
        return "as found" if self.nano else "own"
