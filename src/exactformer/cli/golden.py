"""exactformer judge --golden: the true values of prompts, as files for other test suites."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exactformer.cli.common import DONE, INTERRUPTED, UNDECIDED, check_place, given, refuse
from exactformer.cli.inputs import ids_of
from exactformer.cli.journals import Kept
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.model import Model
    from exactformer.referee.golden import Golden
    from exactformer.worksheets import Input, Worksheet


def _model(opened: Callable[[], Worksheet]) -> Model:
    """In whichever process asks."""
    worksheet = opened()
    worksheet.checked()
    return worksheet.model


@dataclass(frozen=True)
class GoldenFiles:
    """What is asked for."""

    path: Path  # of the arrays
    opened: Callable[[], Worksheet]
    cap: int
    all_positions: bool
    steps: bool

    def written(self, asked: Input, prompts: Path | None, journal: Path | None, workers: int | None, cluster: str | None) -> int:
        """Of one prompt, or of the many in a file; the status."""
        from exactformer.certificates.memory import check_memory
        from exactformer.worksheets.prompts import read_prompts

        check_place(self.path)
        worksheet = self.opened()
        alone = ids_of(asked, worksheet) if prompts is None else []
        refuse(
            prompts is not None and any((asked.prompt, asked.ids, asked.tokens)),
            "--prompts: does not go with --prompt, --ids or --tokens",
        )
        wanted = [tuple(alone)] if prompts is None else read_prompts(prompts, worksheet)
        worksheet.checked()
        longest = max(map(len, wanted))
        check_memory(worksheet.model, worksheet.title, longest, self.cap, compared=self.all_positions or self.steps)
        if prompts is not None:
            return self._of_many(worksheet, wanted, journal, workers, cluster)
        for option in ("journal", "workers", "cluster"):
            refuse(given(option), f"--{option}: with --golden it goes with --prompts")
        return self._said(self._of_one(worksheet, wanted[0]))

    def _of_one(self, worksheet: Worksheet, ids: tuple[int, ...]) -> Golden:
        """In this process, whose steps are shown."""
        from exactformer.certificates.storage import prepared
        from exactformer.referee.judging import Referee
        from exactformer.referee.making import joined, made

        with Progress() as progress, prepared(worksheet.model) as ready:
            part = made(Referee(ready, self.cap), ids, all_positions=self.all_positions, steps=self.steps, progress=progress)
        return joined(worksheet.model, [part], worksheet.title, worksheet.reading, self.all_positions)

    def _of_many(
        self, worksheet: Worksheet, wanted: list[tuple[int, ...]], journal: Path | None, workers: int | None, cluster: str | None
    ) -> int:
        from exactformer.referee.making import make

        with Progress() as progress:
            kept = Kept(journal, progress)
            try:
                found = make(
                    partial(_model, self.opened), wanted, worksheet.title, worksheet.reading, all_positions=self.all_positions,
                    steps=self.steps, cap=self.cap, journal=kept.named, workers=workers, cluster=cluster, progress=kept.heard,
                )  # fmt: skip
            except KeyboardInterrupt:
                kept.interrupted()
                sys.exit(INTERRUPTED)
        status = self._said(found)
        kept.done()
        return status

    def _said(self, found: Golden) -> int:
        from exactformer.files import write_whole
        from exactformer.messages import many
        from exactformer.referee import golden

        content, document = golden.files(found, self.path)
        beside = self.path.with_suffix(".json")
        write_whole(self.path, content, 0o644)
        write_whole(beside, document, 0o644)
        prompts = found.document["prompts"]
        tokens = [place["token"] for each in prompts for place in each["positions"]]
        click.echo(
            f"{self.path} and {beside.name}: {many(len(prompts), 'prompt')}, {many(len(tokens), 'position')}, every value proved"
        )
        if unknown := tokens.count(None):
            click.echo(f"exactformer: undecided: {many(unknown, 'token')}", err=True)
        return UNDECIDED if unknown else DONE
