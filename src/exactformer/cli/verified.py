"""exactformer certify --verify: a certificate, checked by new passes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exactformer.cli.common import DONE, REFUTED, UNDECIDED, paint
from exactformer.cli.inputs import opened
from exactformer.painting import judged
from exactformer.progress import Progress

_SHOWN = 10  # problems of a certificate


def verified(source: str, file: Path, reading: str) -> None:
    """Check a certificate; what differs is shown with its line."""
    from exactformer.certificates import Prepared
    from exactformer.certificates.file import read
    from exactformer.certificates.memory import check_memory, made_anew
    from exactformer.certificates.verifying import verify

    written = read(file)
    worksheet = opened(source, reading=reading)
    certificate, title = written.certificate, worksheet.title or source
    keep = check_memory(worksheet.model, title, len(certificate.ids) + len(certificate.tokens), certificate.cap)
    if not keep:
        click.echo(f"exactformer: {made_anew(title)}", err=True)
    worksheet.checked()
    with Progress() as progress:
        ready = Prepared(worksheet.model, keep)  # norms are computed anew
        verdict = verify(
            certificate, worksheet.model, intact=written.intact, prepared=ready, origin=worksheet.origin, progress=progress
        )
    for line in _first([f"refused: {file}, line {written.line(problem.place)}: {problem}" for problem in verdict.problems]):
        click.echo(judged(line, False, paint()))
    notes = [f"line {written.line(note.place)}: {note}" for note in verdict.notes] + [*verdict.remarks] * (not verdict.confirmed)
    if notes:
        click.echo("this may be what was changed:")
    for line in _first(notes):
        click.echo(f"  {line}")
    if verdict.confirmed:
        count = len(certificate.continuation)
        said = f"confirmed: {file}: {count:,} token{'s' * (count != 1)}, every claim proved again by new passes"
        click.echo(judged(said, True, paint()))
        for remark in verdict.remarks:
            click.echo(f"  {remark}")
        if not certificate.proved:
            click.echo(f"exactformer: token {len(certificate.tokens)}: {certificate.tokens[-1].why}", err=True)
            sys.exit(UNDECIDED)
    sys.exit(DONE if verdict.confirmed else REFUTED)


def _first(lines: list[str]) -> list[str]:
    """Those that are shown, and how many there are beside them."""
    return lines[:_SHOWN] + [f"and {len(lines) - _SHOWN:,} more"] * (len(lines) > _SHOWN)
