"""Golden files: the true values of some prompts, with margins and proved errors, made once and read by anybody.

Two files: arrays in safetensors, and beside them a JSON document that says what they are, with the digits that are proved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.certificates.comparison import step_errors
from exactformer.certificates.ends import outward_decimals, proved_digits
from exactformer.certificates.hash import model_hash
from exactformer.certificates.proving import CAP
from exactformer.certified.ball import Ball
from exactformer.certified.choosing import Lead, largest
from exactformer.checkpoints.safetensors import read_tensors, tensors_as_bytes
from exactformer.messages import Refused
from exactformer.numbers.formats import FORMATS
from exactformer.reading import json_table, read_regular
from exactformer.referee.judging import Referee, largest_row
from exactformer.referee.truth import Truth, truths

FORMAT = "exactformer golden 1"
_SHOWN = 5  # logits whose digits are written out
_DIGITS = 17
_LARGEST = 1 << 30  # bytes of the document
_PADDING = -1
_WIDTH = math.log2(FORMATS["float64"].epsilon) - 8


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


def make(
    referee: Referee,
    prompts: Sequence[tuple[int, ...]],
    title: str,
    reading: str,
    *,
    all_positions: bool = False,
    steps: bool = False,
    cap: int = CAP,
    progress: Callable[[str], None] = lambda step: None,
) -> Golden:
    """The true values of some prompts: after the last token of each or after all, and every step of the pass where asked for."""
    from exactformer import __version__

    longest, size = max(map(len, prompts)), len(referee.model.config.spoken)
    shape = (len(prompts), longest) if all_positions else (len(prompts),)
    arrays: dict[str, Any] = {
        "ids": np.full((len(prompts), longest), _PADDING, dtype=np.int64),
        "logits": np.zeros((*shape, size)),
        "logits_error": np.zeros(shape),
        **{f"careful.{name}": np.zeros((*shape, 2)) for name in FORMATS},
    }
    document: dict[str, Any] = {
        "format": FORMAT, "made_with": f"exactformer {__version__}", "model": model_hash(referee.model), "title": title,
        "reading": reading, "prompts": [],
    }  # fmt: skip
    for number, ids in enumerate(prompts):
        arrays["ids"][number, : len(ids)] = ids
        truth = _settled(referee, ids, all_positions or steps, steps, cap, progress)
        positions = range(len(ids)) if all_positions else range(len(ids) - 1, len(ids))
        document["prompts"].append({"ids": list(ids), "positions": [_said(truth, position) for position in positions]})
        for position in positions:
            index = (number, position) if all_positions else (number,)
            row = truth.logits[position - truth.first : position - truth.first + 1]
            arrays["logits"][index] = row.midpoint()[0]
            arrays["logits_error"][index] = step_errors("logits", row.midpoint(), row, "float64").high.max()
            for name, format in FORMATS.items():
                careful = referee.careful(format).steps(ids)["logits"][position : position + 1]
                arrays[f"careful.{name}"][index] = step_errors("logits", careful, row, name).largest
        if steps:
            document["prompts"][-1]["steps"] = _add_steps(referee, truth, ids, number, arrays)
    return Golden(document, arrays)


def _settled(
    referee: Referee, ids: tuple[int, ...], everywhere: bool, traced: bool, cap: int, progress: Callable[[str], None]
) -> Truth:
    """A pass that knows every token that it can know."""
    found: Truth | str = "undecided"
    for found in truths(referee.prepared, ids, _WIDTH, all_positions=everywhere, traced=traced, cap=cap, progress=progress):
        if isinstance(found, Truth) and not any(isinstance(found.lead(found.first + n), str) for n in range(len(found.logits))):
            return found
    if isinstance(found, str):
        raise GoldenError(f"ids {', '.join(map(str, ids[:8]))}: {found}")
    return found


def _said(truth: Truth, position: int) -> dict[str, Any]:
    lead, row = truth.lead(position), position - truth.first
    digits = [[token, proved_digits(*truth.logit(position, token), _DIGITS)] for token in largest(truth.logits, row, _SHOWN)]
    if isinstance(lead, str):
        return {"position": position, "token": None, "why": lead, "largest": digits}
    margin = None if lead.margin is None else list(outward_decimals(*lead.margin))
    return {
        "position": position, "token": lead.winner, "ties": list(lead.ties), "runner_up": lead.runner_up, "margin": margin,
        "largest": digits,
    }  # fmt: skip


def _add_steps(referee: Referee, truth: Truth, ids: tuple[int, ...], number: int, arrays: dict[str, Any]) -> dict[str, Any]:
    """Every step as an array of its own, with its largest error and those of careful passes: L2 norms of rows."""
    said = {}
    for name, ball in truth.steps.items():
        if isinstance(ball, Ball) and name != "logits":
            near = ball.midpoint()
            known = np.isfinite(ball.spread())
            arrays[f"steps.{number}.{name}"] = np.ascontiguousarray(np.where(known, near, 0.0))
            own = step_errors(name, near, ball, "float64").high
            rows = len(ball)
            careful = {kind: referee.careful(format).largest(ids, truth, name, 0, rows)[1] for kind, format in FORMATS.items()}
            said[name] = {"error": largest_row(own, known), "careful": careful}
    return said


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
