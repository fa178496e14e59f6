"""Golden files are made: each prompt by itself, in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.certificates.comparison import step_errors
from exactformer.certificates.ends import outward_decimals, proved_digits
from exactformer.certificates.hash import model_hash
from exactformer.certificates.proving import CAP
from exactformer.certificates.storage import prepared
from exactformer.certified.ball import Ball
from exactformer.certified.choosing import largest
from exactformer.hashing import Digest
from exactformer.model import Model
from exactformer.numbers.formats import FORMATS
from exactformer.proofs.elsewhere import Elsewhere
from exactformer.proofs.runner import run
from exactformer.referee.golden import FORMAT, Golden, GoldenError
from exactformer.referee.judging import Referee, largest_row
from exactformer.referee.truth import Truth, truths

_SHOWN = 5  # logits whose digits are written out
_DIGITS = 17
_PADDING = -1
_WIDTH = math.log2(FORMATS["float64"].epsilon) - 8
_LONGEST = 1 << 30  # bytes of one prompt in a journal
_FLOATS = "<f8"
_STEP = "steps."

Part = dict[str, Any]  # of one prompt: what the document says of it, and arrays by name


def make(
    open_model: Callable[[], Model],
    prompts: Sequence[tuple[int, ...]],
    title: str,
    reading: str,
    *,
    all_positions: bool = False,
    steps: bool = False,
    cap: int = CAP,
    journal: Path | Callable[[str], Path | None] | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Golden:
    """The true values of some prompts: after the last token of each or after all, and every step of the pass where asked for.

    `open_model` is called in every process that computes. With one worker everything is computed in this process. `journal` is a
    file, or is asked for one with the run's fingerprint.
    """
    model = open_model()
    settings = (all_positions, steps, cap)
    making = Making(open_model, digest_of(model, *settings), *settings)
    making.begun_with(model)
    fingerprint = Digest("prompts of golden files").add(making.digest, len(prompts), *prompts).hexdigest()
    book = journal(fingerprint) if callable(journal) else journal
    size, found = len(model.config.spoken), dict[int, Part]()
    for number, result in run(
        making, prompts, fingerprint=fingerprint, journal=book, check=lambda result: _read(result, size, all_positions),
        longest=_LONGEST, workers=workers, cluster=cluster, progress=progress,
    ):  # fmt: skip
        if "refused" in result:
            raise GoldenError(result["refused"])
        found[number] = _read(result, size, all_positions)
        if found[number]["said"]["ids"] != list(prompts[number]):
            raise GoldenError(f"{book}: case {number}: is about another prompt; delete it, or give another --journal")
    return joined(model, [found[number] for number in range(len(prompts))], title, reading, all_positions)


def digest_of(model: Model, all_positions: bool, steps: bool, cap: int) -> str:
    from exactformer import __version__

    return Digest("exactformer golden files").add(__version__, all_positions, steps, cap, model_hash(model)).hexdigest()


@dataclass(frozen=True)
class Making(Elsewhere[Model]):
    """The true values of one prompt, as JSON; the model is prepared once a process."""

    all_positions: bool = False
    steps: bool = False
    cap: int = CAP

    def fingerprint(self, found: Model) -> str:
        return digest_of(found, self.all_positions, self.steps, self.cap)

    @cached_property
    def _referee(self) -> Referee:
        with prepared(self.opened) as ready:
            ready.prepare()
        return Referee(ready, self.cap)

    def __call__(self, ids: tuple[int, ...]) -> dict[str, Any]:
        try:
            part = made(self._referee, ids, all_positions=self.all_positions, steps=self.steps)
        except GoldenError as error:
            return {"refused": str(error)}
        return {"said": part["said"], "arrays": {name: _written(array) for name, array in part["arrays"].items()}}


def made(
    referee: Referee,
    ids: tuple[int, ...],
    *,
    all_positions: bool = False,
    steps: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> Part:
    """What golden files hold of one prompt."""
    truth = _settled(referee, ids, all_positions or steps, steps, progress)
    first = 0 if all_positions else len(ids) - 1
    row = truth.logits[first - truth.first :]
    arrays = {"logits": row.midpoint(), "logits_error": step_errors("logits", row.midpoint(), row, "float64").high.max(axis=-1)}
    for name, format in FORMATS.items():
        careful = referee.careful(format).steps(ids)["logits"]
        errors = [
            step_errors("logits", careful[position : position + 1], truth.step("logits", position, 1), name).largest
            for position in range(first, len(ids))
        ]
        arrays[f"careful.{name}"] = np.array(errors)
    said: dict[str, Any] = {"ids": list(ids), "positions": [_said(truth, position) for position in range(first, len(ids))]}
    if steps:
        said["steps"] = _add_steps(referee, truth, ids, arrays)
    return {"said": said, "arrays": arrays}


def _settled(referee: Referee, ids: tuple[int, ...], everywhere: bool, traced: bool, progress: Callable[[str], None]) -> Truth:
    """A pass that knows every token that it can know."""
    found: Truth | str = "undecided"
    for found in truths(referee.prepared, ids, _WIDTH, all_positions=everywhere, traced=traced, cap=referee.cap, progress=progress):
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


def _add_steps(referee: Referee, truth: Truth, ids: tuple[int, ...], arrays: dict[str, Any]) -> dict[str, Any]:
    """Every step as an array of its own, with its largest error and those of careful passes: L2 norms of rows."""
    said = {}
    for name, ball in truth.steps.items():
        if isinstance(ball, Ball) and name != "logits":
            near = ball.midpoint()
            known = np.isfinite(ball.spread())
            arrays[f"{_STEP}{name}"] = np.ascontiguousarray(np.where(known, near, 0.0))
            own = step_errors(name, near, ball, "float64").high
            rows = len(ball)
            careful = {kind: referee.careful(format).largest(ids, truth, name, 0, rows)[1] for kind, format in FORMATS.items()}
            said[name] = {"error": largest_row(own, known), "careful": careful}
    return said


def joined(model: Model, parts: Sequence[Part], title: str, reading: str, all_positions: bool) -> Golden:
    """The parts of all prompts, in their order, as golden files hold them."""
    from exactformer import __version__

    prompts = [part["said"]["ids"] for part in parts]
    longest, size = max(map(len, prompts)), len(model.config.spoken)
    shape = (len(prompts), longest) if all_positions else (len(prompts),)
    arrays: dict[str, Any] = {
        "ids": np.full((len(prompts), longest), _PADDING, dtype=np.int64),
        "logits": np.zeros((*shape, size)),
        "logits_error": np.zeros(shape),
        **{f"careful.{name}": np.zeros((*shape, 2)) for name in FORMATS},
    }
    for number, (ids, part) in enumerate(zip(prompts, parts, strict=True)):
        arrays["ids"][number, : len(ids)] = ids
        for name, array in part["arrays"].items():
            if name.startswith(_STEP):
                arrays[f"{_STEP}{number}.{name.removeprefix(_STEP)}"] = array
            else:
                arrays[name][(number, slice(len(ids))) if all_positions else number] = array if all_positions else array[0]
    document = {
        "format": FORMAT, "made_with": f"exactformer {__version__}", "model": model_hash(model), "title": title,
        "reading": reading, "prompts": [part["said"] for part in parts],
    }  # fmt: skip
    return Golden(document, arrays)


def _written(array: Any) -> list[Any]:
    """An array of floats as JSON: its shape, and its bytes as text."""
    return [list(array.shape), b64encode(np.ascontiguousarray(array, dtype=_FLOATS).tobytes()).decode()]


def _read(result: Any, size: int, all_positions: bool) -> Part:
    """What `Making` found, or what a journal says that it did: a ValueError where it cannot be that."""
    match result:
        case {"refused": str()}:
            return {}
        case {"said": {"ids": [*ids], "positions": [*positions]} as said, "arrays": dict(written)}:
            rows = len(ids) if all_positions else 1
        case _:
            raise ValueError("is not what golden files hold of a prompt")
    try:
        arrays = {
            name: np.frombuffer(b64decode(text, validate=True), _FLOATS).reshape(shape) for name, (shape, text) in written.items()
        }
    except (TypeError, ValueError) as error:
        raise ValueError("has arrays that cannot be read") from error
    wanted = {"logits": (rows, size), "logits_error": (rows,), **{f"careful.{name}": (rows, 2) for name in FORMATS}}
    given = {name: array.shape for name, array in arrays.items() if not name.startswith(_STEP)}
    if given != wanted or len(positions) != rows:
        raise ValueError("has arrays of other shapes than golden files of this model")
    return {"said": said, "arrays": arrays}
