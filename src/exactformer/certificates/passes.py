"""One certified pass: whole in this process, or some blocks at a time wherever these are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.certified.arithmetic import CertifiedArithmetic, LimbSchedule
from exactformer.certified.ball import Ball
from exactformer.certified.limbs import BITS
from exactformer.model import Step
from exactformer.model.cache import Cache
from exactformer.model.forward import through
from exactformer.model.recorder import Handle
from exactformer.numbers import Undecided

if TYPE_CHECKING:
    from exactformer.certificates.preparation import Prepared


class Proving(CertifiedArithmetic):
    """The passes of proofs: keys and values that other passes have kept, or have handed to others, are none of theirs."""


@dataclass(frozen=True)
class LayerReport:
    """After a block: the bits of the fraction (53 stands for float64), and the largest L2 radius of a token; or that of a logit."""

    name: str
    bits: int
    radius: float


@dataclass(frozen=True)
class Pass:
    """A pass on its way: what is asked, the stream as far as it has come, and what was seen; or why it went no further."""

    ids: tuple[int, ...]
    schedule: LimbSchedule
    stream: Handle | None = None
    layers: tuple[LayerReport, ...] = ()
    tables: frozenset[str] = frozenset()  # hashes of those of other processes that it was computed with
    why: str = ""

    @property
    def logits(self) -> Ball | None:
        """Of the last position, once it is through."""
        return None if self.stream is None else self.stream.value

    def through(
        self, prepared: Prepared, blocks: range, cache: Cache | None = None, progress: Callable[[str], None] = lambda step: None
    ) -> Pass:
        """The same, some blocks further."""
        if self.why:
            return self
        layers = list(self.layers)
        ops = Proving(prepared.store, self.schedule, last_only=True)

        def note(step: Step) -> Any:
            name, value = step.name, step.values
            progress(name)
            if name.endswith("resid_post") or name in ("logits", "blocks.0.resid_pre"):
                radii = value.radius[-1] if name == "logits" else value.radius
                layers.append(LayerReport(name, BITS * (value.n - 1) if value.n else 53, float(np.max(radii))))
            return value

        prepared.store.trim(ops.limbs_at)
        ids = list(self.ids) if cache is None else cache.after(self.ids)
        try:
            stream = through(prepared.model, ids, ops, blocks, self.stream, note, cache)
        except Undecided as error:
            return replace(self, stream=None, layers=tuple(layers), why=str(error) or "undecided")
        return replace(self, stream=stream, layers=tuple(layers))
