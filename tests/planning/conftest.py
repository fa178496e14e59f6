"""Nothing is written to the user's own cache folder, and nothing is timed unless a test is about that."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exactformer.planning import planner, timing


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "exactformer" / "certified"


class MadeUp(timing.Calibration):
    """A machine on which a weight takes a microsecond a token and limb, and an entry ten."""

    built, norms, memory = 0.25, 1e-10, 1e-10

    @property
    def product(self) -> Any:
        return SimpleNamespace(cut=1e-8, checked=0.125, slices={"BF16": 1, "F16": 1}.get(self.kind, 2))

    @property
    def probes(self) -> Any:
        widths = ({"attn": 1, "mlp": 8, "stream": 8, "head": 8}, {"attn": 2, "mlp": 16, "stream": 16, "head": 16})
        few = dict.fromkeys(widths[0], 0)
        models = [SimpleNamespace(config=replace(self.config, dim=dim)) for dim in (8, 16)]
        return [
            SimpleNamespace(widths=each, weights=few, prepared_in=1.0 + n, model=model)
            for n, (each, model) in enumerate(zip(widths, models, strict=True))
        ]

    def rate(self, limbs: int, length: int) -> float:
        return 1e-6 * (limbs + 1) * length

    def timed(self, limbs: int, length: int, past: int = 0, whole: bool = False) -> list[dict[str, float]]:
        each = 1e-5 * (limbs + 1) * (length + past)
        return [{part: 1e-3 + width * each for part, width in probe.widths.items()} for probe in self.probes]

    def tables(self, schedule: Any) -> float:
        return 0.5


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "Calibration", MadeUp)
