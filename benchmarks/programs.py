"""The five programs of the library: up to which length they are proved, with which strength, and what their heads leak."""

from __future__ import annotations

from benchmarks.result import Progress, Result, Table
from exactformer.programs import PROGRAMS, Program
from exactformer.proofs.search import Strength

LENGTHS = {"histogram": 6, "reverse": 6, "sort": 4, "brackets": 6, "fraction": 6}  # soft
HARD = {"histogram": 4, "reverse": 4, "sort": 4, "brackets": 4, "fraction": 5}
_COLUMNS = (
    "program",
    "up to",
    "inputs",
    "blocks × dim",
    "enough",
    "smallest",
    "with one less",
    "largest leak at the smallest",
    "hard, up to",
)


def _wrong(found: Strength) -> str:
    below = found.below
    if below is None:
        return ""
    return f"`{' '.join(below.tokens)}`, position {below.position}: {below.token}, not {' or '.join(below.right)}"


def _row(name: str, program: Program) -> tuple[str, ...]:
    length = LENGTHS[name]
    found, config = program.smallest_strength(length), program.compiled(length).config
    assert found.strength is not None
    assert found.report is not None
    assert found.report.verdict == program.prove(length).verdict == program.prove(HARD[name], hard=True).verdict == "proved"
    leaks = [leak for leak in program.leaks(length, found.strength) if leak.exactly]
    worst = max(leaks, key=lambda leak: leak.weight.to_float())
    shape, enough = f"{config.blocks} × {config.dim}", str(program.enough(length))
    return (
        name, str(length), f"{found.report.sequences:,}", shape, enough, str(found.strength), _wrong(found), str(worst.weight),
        str(HARD[name]),
    )  # fmt: skip


def run(progress: Progress) -> Result:
    rows = []
    for name, program in PROGRAMS.items():
        rows.append(_row(name, program))
        progress(" | ".join(rows[-1]))
    text = (
        "*enough*: a strength at which Lemmas 1 and 2 of docs/programs.md prove the theorem without looking at inputs; all inputs "
        "prove it too. *smallest*: every smaller whole number is refuted. The leak is that of heads that read exact codes."
    )
    table = Table(_COLUMNS, tuple(rows))
    return Result(
        "programs", "Programs that are proved", (text, table), {"rows": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}
    )
