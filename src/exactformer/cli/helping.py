"""Help that is not cut off, at any width from 40 columns on; and what a shell offers to complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from shutil import get_terminal_size

import click
from click.shell_completion import CompletionItem

_NARROWEST, _WIDEST = 40, 80  # columns of help
_ROOM = 60  # columns below which what is explained stands above its explanation
_WHOLE = 10_000  # characters of a short help: all of them
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Formatter(click.HelpFormatter):
    """As click's, and narrower where the terminal is."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        narrow = max(_NARROWEST, min(get_terminal_size().columns, max_width or _WIDEST)) - 2
        super().__init__(indent_increment, width or narrow, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        if self.width >= _ROOM:
            super().write_dl(rows, col_max, col_spacing)
            return
        for name, meaning in rows:
            self.write_text(name)
            with self.indentation():
                self.write_text(meaning)


class Context(click.Context):
    formatter_class = Formatter


class Commands(click.Group):
    """A group whose list of commands has the whole first sentence of each."""

    context_class = Context

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.list_commands(ctx)])

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.context_class = Context
        super().add_command(cmd, name)


def offered(names: Callable[[click.Context], Iterable[str]], or_files: bool = True) -> Completer:
    """Names that begin as the word does; where none does, files."""

    def complete(context: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names(context) if name.startswith(begun)]
        return found or [CompletionItem(begun, type="file")] * or_files

    return complete


def sources(context: click.Context) -> Iterable[str]:
    from exactformer.programs import PROGRAMS
    from exactformer.worksheets import examples
    from exactformer.worksheets.models import built_in

    return (*examples(), *PROGRAMS, *built_in())


def pages(context: click.Context) -> Iterable[str]:
    from exactformer.checking.lessons import lessons as worksheets
    from exactformer.lessons.built_in import lessons

    return (*lessons(), *worksheets())


def steps(context: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of steps that begin as the word does; where none does, short ones, if they can mean only one step."""
    names = _steps(context)
    ends = Counter(name[at + 1 :] for name in names for at, letter in enumerate(name) if letter == ".")
    short = [end for end, steps in ends.items() if steps == 1]
    whole = [name for name in names if name.startswith(begun)]
    return [CompletionItem(name) for name in whole or short if name.startswith(begun)]


def _steps(context: click.Context) -> list[str]:
    """Of the source before it on the line, where it is a worksheet: of a large model, nobody waits for them."""
    from exactformer.messages import Refused
    from exactformer.worksheets.worksheet import loads, worksheet_text

    source = next(iter(context.args), None) or context.params["source"]  # the first: what is left where an option is not yet whole
    try:
        return [step.name for step in loads(worksheet_text(source), source).trace(arithmetic="float64").steps]
    except (Refused, OSError, ArithmeticError):
        return []
