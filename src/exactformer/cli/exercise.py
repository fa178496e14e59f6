"""exactformer exercise: a sheet of exercises with blanks, and its key."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import Whole, emit, format_option, given, keep_the_source, output_option, refuse, writable
from exactformer.cli.inputs import STDIN, source_argument, standard_input


@click.command("exercise")
@source_argument("capstone", metavar="EXAMPLE|WORKSHEET|-", programs=False)
@click.option("--level", type=Whole(1, 3), default=2, show_default=True, help="1: fractions; 2: formulas of fractions; 3: harder.")
@click.option("--seed", type=Whole(0), default=0, show_default=True, help="Which sheet: each seed makes another, always the same.")
@click.option("--count", type=Whole(1, 50), default=6, show_default=True, help="How many exercises.")
@click.option(
    "--vary", type=click.Choice(("tokens", "weights", "cells")),
    help="What another seed changes: cells; and the input; and some of W_E. Default: all of it, where W_E is small.",
)  # fmt: skip
@click.option("--tokens", metavar="NAMES", help='Keep to this input: "a b". Default: one that the seed draws.')
@click.option(
    "--cell",
    "cells",
    metavar="STEP[i, j]",
    multiple=True,
    help='Ask for this number, instead of drawn ones: "pattern[0, 1, 0]", or "sum pattern[0, 1]"; repeatable.',
)
@click.option("--decimals", type=Whole(1, 50), default=3, show_default=True, help="The fewest decimals that count as right.")
@click.option("--answers", is_flag=True, help="Print the answers and how they come about as well.")
@click.option(
    "--key", type=click.Path(path_type=Path), callback=writable, help="Write the key to this file, for exactformer grade."
)
@format_option("markdown", "latex", "html", "moodle", "stack", "key")
@output_option
def command(
    source: str, level: int, seed: int, count: int, vary: str | None, tokens: str | None, cells: tuple[str, ...], decimals: int,
    answers: bool, key: Path | None, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Make a sheet of exercises on a worksheet: numbers of its pass that are left blank, and a key that grades them."""
    from exactformer.exercises.asking import worksheet_text
    from exactformer.exercises.key import written
    from exactformer.exercises.sheet import make_sheet
    from exactformer.render import exercises, moodle

    refuse(answers and form in ("moodle", "stack", "key"), f"--answers: --format {form} holds them anyway")
    refuse(bool(cells) and (given("level") or given("count")), "--cell: the cells are given, so --level and --count have no effect")
    refuse(tokens is not None and vary in ("tokens", "cells"), "--tokens: the input is given, so --vary has no effect")
    refuse(tokens is not None and not tokens.split(), "--tokens: the input is empty: give at least one token")
    for written_to in (output, key):
        keep_the_source(source, written_to)
    refuse(key is not None and output is not None and key.resolve() == output.resolve(), "--key: is the file of the sheet itself")
    text = standard_input() if source == STDIN else worksheet_text(source)
    name = "standard input" if source == STDIN else source
    words = None if tokens is None else tokens.split()
    sheet = make_sheet(text, name, level, seed, count, vary, decimals, cells, words)  # type: ignore[arg-type]
    if len(sheet.cells) < (len(cells) or count):
        click.echo(f"exactformer: {name}: {len(sheet.cells)} exercises of this level were found, not {count}", err=True)
    match form:
        case "key":
            shown = written(sheet)
        case "moodle":
            shown = moodle.numerical(sheet)
        case "stack":
            shown = moodle.stack(sheet)
        case _:
            shown = {"markdown": exercises.markdown, "latex": exercises.latex, "html": exercises.html}[form](sheet, answers)
    if key is not None:
        emit(written(sheet), key)
    emit(shown, output)
