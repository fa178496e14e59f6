"""Journals of long work: where they are kept, and how it goes on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from exactformer.cli.common import Whole
from exactformer.progress import Progress


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--journal, --workers and --cluster, for commands of many cases."""
    for option in (
        click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, e.g. tcp://host:8786, instead of this machine."),
        click.option("--workers", type=Whole(1), help="How many processes compute. Default: one for each core."),
        click.option(
            "--journal", metavar="FILE", type=click.Path(path_type=Path),
            help="Keep finished cases in this file, also when all are done.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def in_the_cache(key: str) -> Path | None:
    """The journal of a run whose user names none; without a place for it, the run goes on without one."""
    from exactformer.files import cache_folder

    folder = cache_folder("proofs")
    if folder is None:
        click.echo(
            "exactformer: the cache folder cannot be written to, so finished cases are not kept; --journal FILE keeps them",
            err=True,
        )
        return None
    return folder / f"{key[:32]}.journal"


def how_to_go_on(kept: Path | None, done: bool = True) -> str:
    """What an interruption leaves; where nothing is `done` yet, there is nothing to go on from."""
    if kept is None:
        return "; nothing of it is kept; --journal FILE does that"
    return "; the same command goes on from there" if done else ""


class Kept:
    """The journal of one run: that of the user, or one in the cache, which is removed when all is done."""

    def __init__(self, journal: Path | None, progress: Progress) -> None:
        self.journal, self.progress = journal, progress
        self.path = journal
        self.finished = 0

    def named(self, key: str) -> Path | None:
        self.path = self.journal or in_the_cache(key)
        return self.path

    def heard(self, done: int, total: int) -> None:
        if self.progress.reached == "nothing" and done:
            click.echo(f"exactformer: resuming: {done:,} of {total:,} cases are in {self.path}", err=True)
        self.finished = done
        self.progress.cases(done, total)

    def interrupted(self) -> None:
        self.progress.clear()
        reached = self.progress.reached
        told = f"after {reached}{how_to_go_on(self.path, self.finished > 0)}" if reached != "nothing" else "before the first case"
        click.echo(f"exactformer: interrupted {told}", err=True)

    def done(self) -> None:
        if self.journal is None and self.path is not None:
            self.path.unlink(missing_ok=True)
