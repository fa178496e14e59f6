"""What commands share: options, statuses, and how text gets out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from exactformer.files import usual_mode, write_whole
from exactformer.messages import listed
from exactformer.painting import Paint, coloured, plain

if TYPE_CHECKING:
    from exactformer.model import Values

FORMATS = ("text", "markdown", "latex", "json", "html")
DONE, REFUTED, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED, UNREAD = 0, 1, 2, 3, 70, 130, 141
_MOST_DIGITS = 1000
_WHOLE = re.compile(r"-?[0-9]+")
_ENDINGS = {"md": "markdown", "tex": "latex", "htm": "html", "jsonl": "json", "toml": "key"}  # not called like their formats
_KINDS = {
    "json", "html", "markdown", "latex", "csv", "svg", "key", "moodle", "stack", *_ENDINGS,  # what some command writes
    "pdf", "ps", "eps", "doc", "docx", "odt", "rtf", "typ", "rst", "qmd", "rmd", "ipynb", "py", "xml", "yaml", "yml",
    "png", "jpg", "jpeg", "gif", "webp", "xls", "xlsx", "ods", "tsv", "npy", "npz", "parquet", "safetensors", "zip", "gz",
}  # fmt: skip  # endings by which people and programs know what is in a file
_NARROWEST, _WIDE = 40, 120  # columns


class Whole(click.IntRange):
    """Whole numbers in a range, written with the digits 0 to 9 and nothing else."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        option = param.opts[-1] if param is not None else "a number"
        if isinstance(value, str):
            refuse(not _WHOLE.fullmatch(value), f"{option}: {value[:40]!r} is not a whole number")
            assert self.min is not None
            high = 10**18 if self.max is None else int(self.max)
            within = len(value) <= 20 and self.min <= int(value) <= high
            refuse(not within, f"{option}: {value[:40]} is not a whole number from {int(self.min):,} to {high:,}")
        return int(value)


class Arithmetic(click.ParamType):  # type: ignore[type-arg]
    """The arithmetics that can do something. Their classes are asked when it matters, because that reads their modules."""

    name = "arithmetic"

    def __init__(self, can: Callable[[type[Values]], bool] = lambda kind: True) -> None:
        self.can = can

    def _names(self) -> click.Choice[str]:
        from exactformer.arithmetics import able

        return click.Choice(able(self.can))

    def get_metavar(self, *args: Any, **options: Any) -> str | None:
        return self._names().get_metavar(*args, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._names().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._names().shell_complete(ctx, param, incomplete)


def kind(arithmetic: str) -> type[Values]:
    """The class of an arithmetic, on which it says what it can do."""
    from exactformer import arithmetics

    return arithmetics.kind(arithmetic)


def able(can: Callable[[type[Values]], bool]) -> str:
    """The arithmetics whose classes say so, in words."""
    from exactformer import arithmetics

    return listed(arithmetics.able(can))


def digits_option(function: Callable[..., Any]) -> Callable[..., Any]:
    kind = Whole(1, _MOST_DIGITS)
    return click.option("--digits", type=kind, default=12, show_default=True, help="Proved digits of formulas.")(function)


def sized_arithmetic_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the default follows the size of the model (`settled_arithmetic`)."""
    help = "Default: exact, or arb where an exact pass would take long; a line says so."
    return click.option("--arithmetic", type=Arithmetic(), default="exact", help=help)(function)


def max_option(default: int, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How many tokens are to follow."""
    return click.option("--max", "most", type=Whole(1), default=default, show_default=True, help=help)


def cap_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Whose limits are those of certified.limbs, which help does not load."""
    help = "The most precision to try, in limbs of 21 bits; then it is undecided."
    return click.option("--cap", type=Whole(4, 25), default=25, show_default=True, help=help)(function)


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    kind = click.Path(path_type=Path)
    help = "Write to a file, which is written whole or not at all; - is standard output."

    def place(context: click.Context, param: click.Parameter, output: Path | None) -> Path | None:
        if output is not None and str(output) == "-":
            return None
        if output is not None and all(each.name != "form" for each in context.command.params):
            _meant(output, ("text",))
        return writable(context, param, output)

    return click.option("-o", "--output", type=kind, callback=place, is_eager=True, help=help)(function)


def format_option(*formats: str, help: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--format; where nobody says it, the ending of the file of -o does, and else it is the first of the formats."""

    def chosen(context: click.Context, param: click.Parameter, value: str) -> str:
        output = context.params.get("output")  # which is read first, as it is eager
        if output is None or context.get_parameter_source("form") is not ParameterSource.DEFAULT:
            return value
        return _meant(output, formats) or value

    kinds = click.Choice(formats)
    usual = f"as -o ends, else {formats[0]}"
    return click.option("--format", "form", type=kinds, default=formats[0], show_default=usual, callback=chosen, help=help)


def _meant(output: Path, formats: tuple[str, ...]) -> str | None:
    """The format that the ending of a file says, None where it says none. One that the command does not write is refused."""
    ending = output.suffix.lower().removeprefix(".")
    meant = _ENDINGS.get(ending, ending)
    if meant in formats:
        return meant
    more = "; --format says which, whatever the ending" if len(formats) > 1 else ""
    refuse(ending in _KINDS, f"{output}: this command writes {listed(formats, 'or')}, not .{ending}{more}")
    return None


def writable(ctx: click.Context, param: click.Parameter, output: Path | None) -> Path | None:
    """Before any work is done for it: is there a place for the file?"""
    if output is not None:
        check_place(output)
    return output


def check_place(output: Path) -> None:
    if output.is_dir() or not output.parent.is_dir():
        raise click.ClickException(f"{output}: {'is a folder' if output.is_dir() else 'there is no such folder to write to'}")


def set_option(function: Callable[..., Any]) -> Callable[..., Any]:
    help = 'Change a weight: "W_E[0,1]=1/2", or silence a part: "blocks.0.attn.head.0=zero"; repeatable.'
    return click.option("--set", "changes", metavar="WEIGHT=NUMBER", multiple=True, help=help)(function)


def change_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that change the model before it runs."""
    for option in (
        set_option,
        click.option("--hard", is_flag=True, help="Let heads look only at the largest scores: the limit of infinite strength."),
        click.option("--mask", type=click.Choice(("causal", "strict", "none")), help="Use another mask."),
    ):
        function = option(function)
    return function


def upstream(text: str | None, forward: Any) -> Any:
    """A matrix from "a b; c d"; by default ones at the last position."""
    from exactformer.numbers import array, exact
    from exactformer.trace import ones_at_the_end

    if text is None:
        return ones_at_the_end(forward)
    rows = [[number("--upstream", entry, exact) for entry in row.split()] for row in text.split(";")]
    if len({len(row) for row in rows}) != 1:
        raise click.ClickException("--upstream: its rows differ in length")
    return array(rows)


def number(option: str, text: str, exact: Any) -> Any:
    try:
        return exact(text)
    except ValueError as error:
        raise click.ClickException(f"{option}: {error}") from None


def refuse(wrong: bool, problem: str) -> None:
    """An option that would have no effect is refused: silence would mislead."""
    if wrong:
        raise click.ClickException(problem)


def given(option: str) -> bool:
    """Did the user write this option, or is it there by default?"""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def options_given() -> tuple[list[str], dict[str, str]]:
    """The parameters that the user wrote, and how all are spelled on the command line."""
    context = click.get_current_context()
    params = [param for param in context.command.params if param.name is not None]
    spelled = {str(param.name): max(param.opts, key=len) for param in params}
    return [name for name in spelled if given(name)], spelled


def digits_of_named_numbers(arithmetic: str) -> None:
    refuse(
        kind(arithmetic).numbers != "exact" and given("digits"),
        f"--digits: numbers of {arithmetic} have the digits that they have; it goes with --arithmetic exact",
    )


def settled_arithmetic(arithmetic: str, worksheet: Any, length: int, limits: Any) -> str:
    """The arithmetic that was asked for, or the default for a model of this size; a line says so where it is not exact."""
    from exactformer.worksheets.cost import default_arithmetic

    if given("arithmetic"):
        return arithmetic
    arithmetic, why = default_arithmetic(worksheet.model, length, limits)
    if why:
        worksheet.checked()  # bad weights are refused in one line, before this one
        click.echo(f"exactformer: arithmetic {arithmetic}: {why}; choose another with --arithmetic", err=True)
    return arithmetic


def keep_the_source(source: str, output: Path | None) -> None:
    if output is not None and output.exists() and Path(source).exists() and output.samefile(source):
        raise click.ClickException(f"{output}: is the worksheet itself; write to another file")


def width(to_terminal: bool) -> int:
    """As COLUMNS says, or the terminal that is written to, but at least 40; elsewhere 120."""
    known = to_terminal and ("COLUMNS" in os.environ or sys.stdout.isatty())
    return max(_NARROWEST, get_terminal_size((_WIDE, 24)).columns) if known else _WIDE


def columns(output: Path | None) -> int | None:
    """What a table has room in, less an indent; where nobody says how wide it is to be, it is as wide as it is."""
    return width(True) - 2 if output is None and ("COLUMNS" in os.environ or sys.stdout.isatty()) else None


def fitted(text: str, output: Path | None, form: str = "text") -> str:
    """Text whose lines have room where it goes; another format as it is."""
    from exactformer.render.tables import folded

    room = columns(output)
    return text if room is None or form != "text" else folded(text, room + 2)


def color_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--color, which click heeds itself: what it prints loses its colours where they are not wanted."""

    def chosen(context: click.Context, param: click.Parameter, value: str) -> None:
        context.color = {"auto": None, "always": True, "never": False}[value]

    help = "Colours, with ✓ and ✗. auto: on a terminal, unless NO_COLOR is set."
    kinds = click.Choice(("auto", "always", "never"))
    return click.option("--color", type=kinds, default="auto", show_default=True, expose_value=False, callback=chosen, help=help)(
        function
    )


def paint(output: Path | None = None) -> Paint:
    """How text is coloured that goes to a file, or where none is given to standard output."""
    wanted = click.get_current_context().color
    on = sys.stdout.isatty() and not os.environ.get("NO_COLOR") if wanted is None else wanted
    return coloured if on and output is None else plain


def emit(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        if output.exists() and not output.is_file():  # a pipe or a device is written to, not replaced
            with output.open("w", encoding="utf-8") as stream:
                stream.write(text)
            return
        write_whole(output, text, usual_mode())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from None
