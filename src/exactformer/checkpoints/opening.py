"""From a folder to a model."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from exactformer.checkpoints.decoder import Plan, build, reading_in_words
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.families import described_model
from exactformer.checkpoints.fields import Fields
from exactformer.checkpoints.foreign import FOREIGN, PICKLES, converted, refusal
from exactformer.checkpoints.gemma import gemma, gemma2, gemma3
from exactformer.checkpoints.gpt2 import gpt2
from exactformer.checkpoints.gpt_neo import gpt_neo
from exactformer.checkpoints.gpt_neox import gpt_neox
from exactformer.checkpoints.lecture import is_lecture, lecture
from exactformer.checkpoints.lens import is_lens, lens
from exactformer.checkpoints.llama import llama, mistral, qwen2, qwen3
from exactformer.checkpoints.phi import phi
from exactformer.checkpoints.rope import READINGS, Reading
from exactformer.checkpoints.safetensors import Tensor, read_document, read_shards, read_tensors
from exactformer.checkpoints.settings import settings
from exactformer.messages import quoted
from exactformer.model import Model
from exactformer.model.weights import pieces, widened
from exactformer.reading import described
from exactformer.showing import Saved

PLANS: Mapping[str, Callable[[Fields], Plan]] = {
    "llama": llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3, "gemma": gemma, "gemma2": gemma2, "gemma3_text": gemma3,
    "phi": phi, "gpt_neox": gpt_neox, "gpt_neo": gpt_neo,
}  # fmt: skip
FAMILIES = ("gpt2", *PLANS)
CONFIG = "config.json"
WHOLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_COUNTS = (
    "head_dim", "hidden_size", "intermediate_size", "n_embd", "n_head", "n_inner", "n_layer", "num_attention_heads",
    "num_hidden_layers", "num_heads", "num_layers", "vocab_size",
)  # fmt: skip
_MOST_TOKENS, _MOST_BLOCKS, _WIDEST = 1 << 22, 1 << 12, 1 << 17  # of an outline, which no file has to be large for
_DTYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32", "float64": "F64"}
ENDINGS = (".safetensors", *PICKLES)  # of files that hold weights, whether they are read or refused


@dataclass(frozen=True)
class Origin:
    """The files that a model is made of, config.json first, and the reading that they were opened with."""

    folder: Path
    files: tuple[str, ...]
    reading: Reading

    @cached_property
    def hashes(self) -> dict[str, str]:
        """SHA-256 by name."""
        return {name: _hash(self.folder / name) for name in self.files}

    @cached_property
    def dtype(self) -> str:
        """The kind of number that most of its weights are stored in: F64, F32, F16 or BF16."""
        return _sizes(_tensors(self.folder)).most_common(1)[0][0]


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Checkpoint(Saved):
    """A model from a folder. Its weights are views of the files, which must stay as they are while it is used."""

    model: Model
    name: str
    folder: Path
    reading: str = ""  # how constants are read that are real numbers, and that a library rounds; empty: there are none
    origin: Origin | None = None  # None: the file of weights is not one that a folder is opened with

    def __repr__(self) -> str:
        return f"<checkpoint {quoted(self.name)}: {self.model!r}>"

    def check_finite(self) -> None:
        """Refuse a weight that is not a number, or infinite. This reads all weights, so opening does not do it."""
        for name, values in self.model.weights.named():
            if not all(np.isfinite(widened(piece)).all() for piece in pieces(values)):
                raise CheckpointError(self.folder, name, "has an entry that is infinite or not a number")


def open_checkpoint(path: Path | str, vocabulary: Sequence[str] | None = None, reading: Reading = "ideal") -> Checkpoint:
    """The model in a folder with `config.json` and `model.safetensors`, or in shards, or with the safetensors file `path`.

    `vocabulary` gives the tokens their names, as a tokenizer has them; without one they are called "0", "1", …
    `reading` says how the angles of rotary positions are meant: "ideal", over the reals, or "stored", the floats that the
    transformers library computes for them. Weights are views of the files: they are read when they are computed with.

    >>> open_checkpoint("no such folder")
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: no such folder: there is no such folder
    """
    if reading not in READINGS:
        raise ValueError(f"reading: {reading!r} is not one of {', '.join(READINGS)}")
    path = Path(path)
    if path.is_dir():
        folder, tensors = path, _tensors(path)
    elif _readable(path) and path.suffix == ".safetensors":
        folder, tensors = path.parent, read_tensors(path)
    else:
        raise CheckpointError(path, "is not a model folder" if path.exists() else "there is no such folder")
    config = folder / CONFIG
    if not config.exists():
        raise CheckpointError(folder, "has no config.json")
    model, said = model_of(_fields(config), tensors, vocabulary, reading)
    return Checkpoint(model, folder.resolve().name, folder, said, _origin(path, folder, tensors, reading))


def _fields(config: Path) -> Fields:
    return Fields(described_model(read_document(config), config), config)


def _origin(path: Path, folder: Path, tensors: Mapping[str, Tensor], reading: Reading) -> Origin | None:
    if path != folder and path.name != WHOLE:
        return None
    weights = sorted({tensor.path.name for tensor in tensors.values()})
    return Origin(folder, ("config.json", *([] if weights == [WHOLE] else [_INDEX]), *weights), reading)


@dataclass(frozen=True)
class Outline:
    """What a configuration says of a model: its weights are shapes, and nobody may compute with them."""

    model: Model
    name: str
    folder: Path | None  # where its weights are, if they are at hand
    dtype: str  # of the floats: F64, F32, F16 or BF16
    size: int  # bytes of the files of weights; 0 where they are not at hand

    def __repr__(self) -> str:
        return f"<outline {quoted(self.name)}: {self.model!r} of {self.dtype}>"


def outline_checkpoint(path: Path | str, vocabulary: Sequence[str] | None = None) -> Outline:
    """The model of a config.json, or of a folder with one, without reading weights; where a folder has them, shapes must fit."""
    path = Path(path)
    config = path / "config.json" if path.is_dir() else path
    if not config.exists():
        raise CheckpointError(path, "has no config.json" if path.is_dir() else "there is no such file")
    fields = _fields(config)
    stored = path.is_dir() and any((path / f"model.safetensors{end}").exists() for end in ("", ".index.json"))
    tensors = _tensors(path) if stored else None
    for field in _COUNTS:
        most = _MOST_TOKENS if field == "vocab_size" else _MOST_BLOCKS if "layer" in field else _WIDEST
        if type(fields.get(field)) is int and fields.get(field) > most:
            raise fields.error(field, f"{fields.get(field):,} is more than a plan is made for: up to {most:,}")
    model, _ = model_of(fields, tensors, vocabulary, "ideal")
    name = config.resolve().parent.name if config.name == "config.json" else config.stem
    if tensors is None:
        return Outline(model, name, None, _dtype(fields), 0)
    sizes = _sizes(tensors)
    return Outline(model, name, path, sizes.most_common(1)[0][0], sizes.total())


def _sizes(tensors: Mapping[str, Tensor]) -> Counter[str]:
    """How many bytes there are of each kind of number."""
    sizes: Counter[str] = Counter()
    for tensor in tensors.values():
        sizes[tensor.dtype] += tensor.bytes
    return sizes


def _dtype(fields: Fields) -> str:
    """In which floats the weights are said to be: where nothing is said, in float32, as the transformers library takes it."""
    field = "torch_dtype" if fields.get("torch_dtype") is not None else "dtype"
    return "F32" if fields.get(field) is None else fields.choice(field, _DTYPES)


def model_of(
    fields: Fields, tensors: dict[str, Tensor] | None, vocabulary: Sequence[str] | None, reading: Reading
) -> tuple[Model, str]:
    """The model, and how its constants are read."""
    kind = fields.get("model_type")
    if tensors is not None and is_lecture(tensors):
        return lecture(fields, tensors, vocabulary), ""
    if is_lens(fields):
        return lens(fields, tensors, vocabulary), ""
    if "block_size" in fields.raw or kind == "gpt2":
        return gpt2(settings(fields), tensors, vocabulary), ""
    if not isinstance(kind, str) or kind not in PLANS:
        problem = "is missing" if kind is None else f"{described(kind)} is not supported"
        raise fields.error("model_type", f"{problem}; supported: {', '.join(FAMILIES)}")
    plan = PLANS[kind](fields)
    return build(plan, tensors, vocabulary, reading), reading_in_words(plan, reading)


def _tensors(folder: Path) -> dict[str, Tensor]:
    whole, index = folder / WHOLE, folder / _INDEX
    for path, read in ((whole, read_tensors), (index, read_shards)):
        if path.exists() and _readable(path):
            return read(path)
    for file in sorted(file for file in folder.iterdir() if file.suffix in (*PICKLES, *FOREIGN)):
        _readable(file)
    raise CheckpointError(folder, f"has no {WHOLE}")


def _readable(path: Path) -> bool:
    """True; a file of a kind that is known and not read is refused by what it is."""
    if path.is_file() and (problem := refusal(path) or (converted(path) if path.suffix in PICKLES else None)) is not None:
        raise CheckpointError(path, problem)
    return True
