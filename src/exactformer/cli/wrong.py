"""All inputs that are not proved right, in a table that is written while they are found."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from exactformer.proofs.tally import Wrong

_DIGITS = 8


@contextmanager
def written(path: Path | None) -> Iterator[Callable[[Wrong], None] | None]:
    """A function that adds a line; the file has its name when all is done. Without a path there is none."""
    from exactformer.files import usual_mode, whole_file
    from exactformer.numbers.decimals import outwards

    if path is None:
        yield None
        return

    def line(*cells: str) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        return text.getvalue().encode("utf-8")

    try:
        with whole_file(path, usual_mode()) as file:
            file.write(line("input", "fed back", "demanded", "answer", "verdict", "lead"))

            def add(wrong: Wrong) -> None:
                failure, lead = wrong
                said = " ".join(token for token in (failure.token, *failure.ties) if token is not None)
                least = "" if lead is None else outwards(lead.numerator, lead.denominator, _DIGITS, down=True)
                own = failure.tokens[len(failure.given) :]
                file.write(line(*map(" ".join, (failure.given, own, failure.right)), said, failure.verdict, least))

            yield add
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None
