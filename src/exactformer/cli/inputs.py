"""One way to say what a command reads: a source, and an input for it as a text, as ids or as names."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import given, number, refuse
from exactformer.cli.helping import offered, sources

if TYPE_CHECKING:
    from exactformer.programs import Program
    from exactformer.worksheets import Input, Worksheet

STDIN = "-"
LENGTH = 4  # of the inputs that a program is compiled for, where nobody says it
_PAGES = (".md", ".markdown", ".qmd", ".rmd", ".myst", ".rst", ".rest", ".ipynb")
Command = Callable[..., Any]


def source_argument(
    default: str | None = None, required: bool = True, metavar: str = "EXAMPLE|WORKSHEET|MODEL_DIR|-", programs: bool = True
) -> Callable[[Command], Command]:
    """What every command on a model reads first, built-in `programs` among it or not."""

    def told(context: click.Context, param: click.Parameter, source: str | None) -> str | None:
        if source is not None and not context.resilient_parsing and given("source"):
            tell_namesakes(source, programs)
        return source

    needed = default is None and required
    return click.argument(
        "source", metavar=metavar if needed else f"[{metavar}]", default=default, required=needed, callback=told,
        shell_complete=offered(sources),
    )  # fmt: skip


def tell_namesakes(source: str, programs: bool = True) -> None:
    """Is a source built in, and a file or folder here called so, too?"""
    if not os.path.exists(source):
        return
    from exactformer.programs import PROGRAMS
    from exactformer.worksheets import examples
    from exactformer.worksheets.models import built_in

    for kind, names in (("example", examples()), ("program", PROGRAMS if programs else ()), ("model", built_in())):
        if source in names:
            tell_namesake(source, kind)


def tell_namesake(name: str, kind: str) -> None:
    """What is built in goes before a file or folder of that name: who has one is told how to name it."""
    if os.path.exists(name):
        there = "folder" if os.path.isdir(name) else "file"
        click.echo(f"exactformer: {name} is the built-in {kind}; there is a {there} {name} here, too: ./{name}", err=True)


def input_options(function: Command) -> Command:
    """--prompt, --ids and --tokens, for every command that takes an input: it is called with what they say as `asked`."""

    @functools.wraps(function)
    def command(*args: Any, prompt: str | None, ids: str | None, tokens: str | None, **options: Any) -> Any:
        from exactformer.worksheets import Input

        given = Input(prompt, ids, tokens)
        if prompt == STDIN:
            refuse(options["source"] == STDIN, "--prompt -: standard input is the worksheet already")
            given = Input(standard_input().removesuffix("\n"))
        return function(*args, asked=given, **options)

    for option in (
        click.option(
            "--tokens", metavar="NAMES", help='The input as names in the vocabulary: "a b". Default: that of the worksheet.'
        ),
        click.option("--ids", metavar="NUMBERS", help="The input as ids of tokens: 0,1,2."),
        click.option("--prompt", metavar="TEXT", help="The input as text, for the model's tokenizer; - reads standard input."),
    ):
        command = option(command)
    return command


def reading_option(function: Command) -> Command:
    """--reading, for commands on a model whose folder leaves it open."""
    help = "For a model folder: rotary angles as real numbers (ideal), or the floats that transformers computes for them (stored)."
    kinds = click.Choice(("ideal", "stored"))
    return click.option("--reading", type=kinds, default="ideal", show_default=True, help=help)(function)


def ids_of(given: Input, worksheet: Worksheet) -> list[int]:
    """The ids that an input is. Numbers in a prompt for a model without a tokenizer are an old spelling of ids."""
    from exactformer.worksheets import Input

    words = (given.prompt or "").split()
    if words and not worksheet.takes_text and all(word.isascii() and word.isdigit() for word in words):
        old = f"--prompt: {worksheet.title} has no tokenizer, so the numbers are taken for ids"
        click.echo(f"exactformer: {old}; the next version refuses this: give --ids", err=True)
        given = Input(ids=" ".join(words))
    return given.of(worksheet)


def standard_input() -> str:
    """All of it, as text, up to the size of a worksheet."""
    from exactformer.reading import decoded
    from exactformer.worksheets import WorksheetError
    from exactformer.worksheets.worksheet import LARGEST

    refuse(sys.stdin is None, "standard input: is closed")
    content = sys.stdin.buffer.read(LARGEST + 1)
    refuse(len(content) > LARGEST, f"standard input: has more than {LARGEST:,} bytes")
    return decoded(content, "standard input", WorksheetError, "utf-8-sig")


def loaded(source: str, reading: Any = "ideal") -> Worksheet:
    """The worksheet of a source; that on standard input can be asked for once."""
    from exactformer.worksheets import load, loads

    worksheet = loads(standard_input(), "standard input") if source == STDIN else read_or_compiled(source) or load(source, reading)
    refuse(reading != "ideal" and not worksheet.reading, f"--reading {reading}: {source} has nothing that can be read in two ways")
    return worksheet


def read_or_compiled(source: str) -> Worksheet | None:
    """The worksheet of a page or of a program; None where the source is neither."""
    return _of_page(source) or _of_program(source)


def _of_page(source: str) -> Worksheet | None:
    """The pass of a page, lesson.md; of one with several, the one that is said: lesson.md#2 or lesson.md#wide."""
    name, _, which = (source, "", "") if "#" not in source or Path(source).exists() else source.rpartition("#")
    if Path(name).suffix.lower() not in _PAGES:
        return None
    from exactformer.lessons.passes import worksheet_in

    return worksheet_in(name, which)


def _of_program(source: str) -> Worksheet | None:
    """A program compiled: one that comes with the library, or p of the user's own file.py:p, whose code is run."""
    from exactformer.worksheets import examples

    if ".py:" not in source and (source in examples() or not source.isidentifier()):
        return None  # programs are not even loaded, which takes longer than some passes do
    from exactformer.programs import PROGRAMS, Program
    from exactformer.proofs.tables import load_function

    if source not in PROGRAMS and ".py:" not in source:
        return None
    program = PROGRAMS[source] if source in PROGRAMS else load_function(source)
    refuse(not isinstance(program, Program), f"{source}: is not a program: write p = program(…)")
    assert isinstance(program, Program)
    return program.worksheet(LENGTH)


def program_of(worksheet: Worksheet) -> Program | None:
    """The program that a worksheet was compiled from."""
    from exactformer.programs.sheet import ProgramSheet

    return worksheet.program if isinstance(worksheet, ProgramSheet) else None


def opened(
    source: str, changes: tuple[str, ...] = (), hard: bool = False, mask: Any = None, strength: str | None = None,
    length: int | None = None, reading: str = "ideal",
) -> Worksheet:  # fmt: skip
    """The worksheet of a source, with the changes that options ask for."""
    return changed(loaded(source, reading), changes, hard, mask, strength, length)


def changed(
    worksheet: Worksheet, changes: tuple[str, ...] = (), hard: bool = False, mask: Any = None, strength: str | None = None,
    length: int | None = None,
) -> Worksheet:  # fmt: skip
    """A worksheet with the changes that options ask for."""
    from exactformer.model.changing import with_weights
    from exactformer.numbers import exact

    if hard or mask is not None or strength is not None or length is not None:
        strong = None if strength is None else number("--strength", strength, exact)
        worksheet = worksheet.changed(strength=strong, length=length, mask=mask, hard=hard)
    return replace(worksheet, model=with_weights(worksheet.model, changes)) if changes else worksheet
