"""A program as a worksheet: a model like any other, which can be traced, written to a file, shown on the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from exactformer.model import Model
from exactformer.model.sight import Mask
from exactformer.numbers import Exact, exact
from exactformer.programs.compiling import BOS
from exactformer.programs.leaks import Leak, leaks
from exactformer.programs.program import Program
from exactformer.worksheets import Worksheet, WorksheetError


@dataclass(frozen=True)
class ProgramSheet(Worksheet):
    """The worksheet of a program that was compiled for a length, with a strength."""

    program: Program | None = None
    length: int = 0
    strength: Exact | None = None

    def changed(
        self, *, strength: Any = None, length: int | None = None, mask: Mask | None = None, hard: bool = False
    ) -> ProgramSheet:
        """The same program, compiled for another length or strength, or with hard attention."""
        assert self.program is not None
        if mask is not None:
            raise WorksheetError(f"{self.title}: --mask: which positions look at which is what the program says")
        kept = self.strength if length is None else None
        made = sheet(self.program, length or self.length, kept if strength is None else strength, hard or self.model.config.hard)
        return replace(made, tokens=self.tokens if len(self.tokens) <= made.length + 1 else made.tokens)

    def leaks(self) -> list[Leak]:
        """The largest leak of every head over all inputs; with hard attention there is none."""
        assert self.program is not None
        assert self.strength is not None
        if self.model.config.hard:
            return []
        return leaks(self.program.compiled(self.length), self.program.inputs(self.length), self.strength)

    @property
    def text(self) -> str:
        """The worksheet as a file: TOML, in which the program is no longer known but its weights are. It has soft attention."""
        config = self.model.config
        fields = {
            "vocabulary": list(config.vocabulary), "dim": config.dim, "blocks": config.blocks, "heads": config.heads,
            "head_dim": config.head_dim, "norm": config.norm, "mask": config.mask, "scale": config.scale,
            "positions": config.positions, "unembedding": config.unembedding,
        } | ({"mlp": config.mlp, "activation": config.activation} if config.mlp else {})  # fmt: skip
        lines = [f"title = {_text(self.title)}", f"about = {_text(self.about)}", "", "[model]"]
        lines += [f"{name} = {_text(value)}" for name, value in fields.items()]
        lines += ["", "[input]", f"tokens = {_text(list(self.tokens))}", "", "[weights]"]
        table = ""
        for name, array in sorted(self.model.weights.named(), key=lambda item: (item[0].startswith("blocks."), _order(item[0]))):
            *path, field = name.split(".")
            if path and path[1] != table:
                table = path[1]
                lines += ["", "[[weights.blocks]]"]
            lines.append(f"{'.'.join([*path[2:], field])} = {_numbers(array)}")
        return "\n".join(lines) + "\n"


def sheet(program: Program, length: int, strength: Any = None, hard: bool = False) -> ProgramSheet:
    strong = exact(1) if hard and strength is None else exact(program.enough(length) if strength is None else strength)
    model: Model = program.model(length, strong, hard)
    own = next((given for given in reversed(program.inputs(min(length, 4)))), (BOS,))
    return ProgramSheet(model, own, program.name, program.about, program=program, length=length, strength=strong)


def _order(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _numbers(array: Any) -> str:
    """Nested lists, in which fractions are texts."""
    if isinstance(array, Exact):
        return str(array) if array.fraction.denominator == 1 else f'"{array}"'
    return f"[{', '.join(map(_numbers, array))}]"
