"""Golden files: the true values of some prompts, with margins and proved errors, made once and read by anybody.

Two files: arrays in safetensors, and beside them a JSON document that says what they are, with the digits that are proved.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from exactformer.certified.choosing import Lead
from exactformer.checkpoints.safetensors import read_tensors, tensors_as_bytes
from exactformer.messages import Refused
from exactformer.reading import json_table, read_regular

FORMAT = "exactformer golden 1"
_LARGEST = 1 << 30  # bytes of the document


class GoldenError(Refused):
    """Why a golden file is refused, in one line."""


@dataclass(frozen=True, eq=False)
class Golden:
    """What a pair of golden files holds. It is asked for the true token and logits as a certified pass is."""

    document: dict[str, Any]
    arrays: dict[str, Any]

    def row(self, prompt: int, position: int | None = None) -> GoldenRow:
        """One position of a prompt; by default its last."""
        said = self.document["prompts"]
        if not 0 <= prompt < len(said):
            raise GoldenError(f"prompt {prompt}: there are {len(said):,}")
        places = {place["position"]: n for n, place in enumerate(said[prompt]["positions"])}
        at = max(places) if position is None else position
        if at not in places:
            raise GoldenError(f"prompt {prompt}: position {at}: {_holding(len(said[prompt]['ids']), places)}")
        return GoldenRow(self, prompt, at, said[prompt]["positions"][places[at]], self._index(prompt, at))

    def _index(self, prompt: int, position: int) -> tuple[int, ...]:
        return (prompt, position) if self.arrays["logits"].ndim == 3 else (prompt,)


def _holding(tokens: int, places: Collection[int]) -> str:
    if len(places) == tokens:
        return f"the prompt has {tokens:,} tokens, so positions 0 to {tokens - 1:,}"
    return f"the file has only the last one, {max(places):,}: make it with --all-positions"


@dataclass(frozen=True, eq=False)
class GoldenRow:
    """What is known of one position."""

    golden: Golden
    prompt: int
    position: int
    said: dict[str, Any]
    index: tuple[int, ...]

    @cached_property
    def logits(self) -> Any:
        return self.golden.arrays["logits"][self.index]

    @cached_property
    def error(self) -> float:
        """Of each of these floats, proved."""
        return float(self.golden.arrays["logits_error"][self.index])

    def careful(self, format: str) -> tuple[float, float]:
        low, high = (float(x) for x in self.golden.arrays[f"careful.{format}"][self.index])
        return low, high

    def lead(self, position: int) -> Lead | str:
        if self.said["token"] is None:
            return str(self.said["why"])
        return Lead(self.said["token"], tuple(self.said["ties"]))

    def logit(self, position: int, token: int) -> tuple[Fraction, Fraction]:
        near, error = Fraction(float(self.logits[token])), Fraction(self.error)
        return near - error, near + error


def files(golden: Golden, path: Path) -> tuple[bytes, str]:
    """What goes into the two files: arrays, and the document with their checksum."""
    content = tensors_as_bytes(golden.arrays, {"format": FORMAT})
    document = golden.document | {"arrays": path.name, "sha256": sha256(content).hexdigest()}
    return content, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read(path: Path) -> Golden:
    """The golden file of that name (.safetensors, with the .json beside it)."""
    beside = path.with_suffix(".json")
    document = json_table(read_regular(beside, _LARGEST, "a golden file", GoldenError), GoldenError, beside)
    if document.get("format") != FORMAT:
        raise GoldenError(f"{beside}: is not of the format {FORMAT}")
    tensors = read_tensors(path)
    digest = sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    if document.get("sha256") != digest.hexdigest():
        raise GoldenError(f"{path}: is not the file that {beside.name} was written with")
    arrays = {name: tensor.whole_numbers() if name == "ids" else tensor.array() for name, tensor in tensors.items()}
    return Golden(document, arrays)
