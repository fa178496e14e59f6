"""The files of engines before the referee, in parallel, with a journal: what was judged is not judged again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.engines.outputs import ENGINES
from exactformer.checkpoints.modules import module_steps
from exactformer.numbers.formats import FORMATS
from exactformer.referee import Engine, Judgements, Models, judge_all, read_outputs
from exactformer.worksheets import load

OWN = " (its own weights)"


@dataclass(frozen=True)
class Opened:
    """A folder, opened in whichever process asks. Rotary angles are the floats that engines compute, as far as there are any."""

    folder: Path

    def __call__(self) -> Models:
        worksheet = load(str(self.folder))
        return Models((load(str(self.folder), "stored") if worksheet.reading else worksheet).model)


@dataclass(frozen=True)
class Files:
    """Outputs of some engines for one model, of which one that is held against its `own` weights is no longer quantised."""

    work: Path
    folder: Path
    names: tuple[str, ...]
    own: bool = False

    def __call__(self) -> Sequence[Engine]:
        modules = module_steps(self.folder, load(str(self.folder)).model.config)
        return [self._read(name, modules) for name in self.names]

    def _read(self, name: str, modules: dict[str, str]) -> Engine:
        said = ENGINES[name]
        engine = read_outputs(
            self.work / f"{name}.npz", dtype=FORMATS[said.format], modules=modules, quantised=said.quantised and not self.own
        )
        return replace(engine, name=name + OWN) if self.own else engine


def judged(work: Path, folder: Path, names: Sequence[str], workers: int, progress: Callable[[str], None]) -> list[Judgements]:
    """All engines against the folder's weights; then each that has weights of its own against these."""
    runs = [(folder, Files(work, folder, tuple(names)), "all")]
    own = [name for name in names if ENGINES[name].dequantised is not None]
    runs += [(work / f"{name}-weights", Files(work, folder, (name,), own=True), name) for name in own]
    found = []
    for model, files, title in runs:

        def heard(done: int, total: int, title: str = title) -> None:
            if done % 10 == 0 or done == total:
                progress(f"{work.name}: {title}: {done} of {total} texts judged")

        found.append(judge_all(Opened(model), files, journal=work / f"{title}.journal", workers=workers, progress=heard))
    return found
