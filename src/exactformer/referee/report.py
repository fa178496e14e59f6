"""What the referee found, as plain records, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exactformer.messages import few
from exactformer.referee.outputs import Engine
from exactformer.referee.verdicts import BY_ROUNDING, UNDECIDED, VERDICTS, WRONG
from exactformer.showing import Shown


@dataclass(frozen=True)
class Judgements(Shown):
    """Records, in the order of prompts, engines and positions: each says its engine, prompt and position."""

    engines: tuple[Engine, ...]  # without what they gave
    prompts: tuple[tuple[int, ...], ...]
    records: tuple[dict[str, Any], ...]
    model: str  # its hash

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts().items() if count)
        engines = few(engine.name for engine in self.engines)
        return f"<judgements of {engines} on {len(self.prompts):,} prompt{'s' * (len(self.prompts) != 1)}: {counts}>"

    def of(self, engine: str) -> Iterator[dict[str, Any]]:
        """The records of one engine that belong to positions."""
        return (record for record in self.records if record["engine"] == engine and record["position"] is not None)

    def counts(self, engine: str | None = None) -> dict[str, int]:
        """How many positions have each verdict, of one engine or of all."""
        found = Counter(record["verdict"] for record in self.records if engine in (None, record["engine"]))
        return {verdict: found[verdict] for verdict in VERDICTS}

    def first_steps(self, engine: str) -> Counter[str]:
        """Of the prompts whose steps were given: the first step beyond a careful computation, and how often it is that."""
        return Counter(record["first_step"] for record in self.records if record["engine"] == engine and record.get("first_step"))

    def verdict(self, allow_rounding: bool = False) -> bool | None:
        """Is all of it right or tied? None where something is undecided, and nothing wrong."""
        counts = self.counts()
        if counts[WRONG] or (counts[BY_ROUNDING] and not allow_rounding):
            return False
        return None if counts[UNDECIDED] else True
