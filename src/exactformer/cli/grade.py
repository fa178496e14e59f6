"""exactformer grade: the answers of a class against the key of a sheet."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exactformer.cli.common import emit, format_option, keep_the_source, output_option
from exactformer.progress import Progress


@click.command("grade")
@click.argument("key", metavar="KEY.toml", type=click.Path(path_type=Path))
@click.argument("answers", metavar="ANSWERS.csv", type=click.Path(path_type=Path))
@format_option("text", "json", "csv", "markdown")
@output_option
def command(key: Path, answers: Path, form: str, output: Path | None) -> None:
    """Grade answers (columns student, cell, answer) by the key of a sheet. Status 1 where one is not right, 3 if undecided."""
    from exactformer.exercises import graded, read_answers, read_key
    from exactformer.render.exercises import GRADES

    for source in (key, answers):
        keep_the_source(str(source), output)
    with Progress("grading"):
        sheet = read_key(key)
        grades = graded(sheet, read_answers(answers, sheet))
        shown = GRADES[form](grades)
    emit(shown, output)
    sys.exit(grades.status)
