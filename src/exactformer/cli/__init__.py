"""The command line. Exit status: 0 done and proved, 1 a claim is wrong, 2 bad usage or bad input, 3 undecided, 70 an internal
error, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import os
import sys
from copy import copy
from typing import Any

import click

from exactformer.cli import (
    budget,
    certify,
    check,
    circuits,
    completion,
    examples,
    exercise,
    explain,
    generate,
    grad,
    grade,
    judge,
    lesson,
    man,
    oracle,
    prove,
    serve,
    site,
    trace,
)
from exactformer.cli.common import BAD_INPUT, INTERNAL, INTERRUPTED, UNDECIDED, UNREAD, Whole
from exactformer.cli.helping import Commands
from exactformer.internal import DEBUG, internal_error
from exactformer.messages import Refused, printable, quoted

_LONGEST = 2000  # characters of a message
_LONGEST_NUMBER = 300  # characters of a number that is an option


class _Commands(Commands):
    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BrokenPipeError:  # the reader has gone: nothing more to say, and neither "proved" nor "refuted" was heard
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(UNREAD)


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="exactformer")
@click.option("--debug", is_flag=True, help=f"Show the traceback of an internal error (as {DEBUG}=1 does).")
@click.pass_context
def commands(context: click.Context, debug: bool) -> None:
    """Transformers computed without rounding: every number is a fraction, or a formula with proved digits."""
    if debug:
        os.environ[DEBUG] = "1"
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _in_ascii(option: click.Parameter) -> None:
    """Of a number, take only what ASCII digits write: Python reads digits of every alphabet, and underscores between them."""
    if not isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) or isinstance(option.type, Whole):
        return
    kind = copy(option.type)  # click.INT is one object for all
    convert = kind.convert

    def converted(value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not (value.isascii() and "_" not in value and len(value) <= _LONGEST_NUMBER):
            kind.fail(f"{quoted(value)} is not a number", param, ctx)
        return convert(value, param, ctx)

    kind.convert = converted  # type: ignore[method-assign]
    option.type = kind


for module in (
    trace,
    grad,
    explain,
    generate,
    certify,
    judge,
    prove,
    circuits,
    budget,
    check,
    lesson,
    exercise,
    grade,
    oracle,
    examples,
    serve,
    site,
    completion,
    man,
):
    for option in module.command.params:
        _in_ascii(option)
    commands.add_command(module.command)


def main() -> None:
    """Run a command; whatever is wrong with its input becomes one line and status 2, a mistake of ours one line and status 70."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: nobody reads
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the life of the process
    try:
        commands.main(prog_name="exactformer", standalone_mode=False)
    except click.exceptions.Abort:
        fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        fail(" ".join(error.format_message().split()), BAD_INPUT)
    except OSError as error:
        fail(f"{error.filename or 'output'}: {error.strerror}", BAD_INPUT)
    except MemoryError:
        fail("this machine has too little memory for it", BAD_INPUT)
    except Exception as error:
        from exactformer.numbers import Undecided, UndefinedValue

        if isinstance(error, Undecided | UndefinedValue):
            fail(str(error), UNDECIDED)
        raised_in_a_case = hasattr(error, "__notes__")  # by our own code, in another process (CaseError)
        if isinstance(error, Refused) and not raised_in_a_case:
            fail(str(error), BAD_INPUT)
        fail(internal_error(error), INTERNAL)


def fail(problem: str, status: int) -> None:
    """One line, whatever a message holds of the files and arguments of strangers."""
    line = problem if status == INTERNAL or len(problem) <= _LONGEST else problem[: _LONGEST - 1] + "…"
    click.echo("exactformer: " + printable(line, besides="\n\t"), err=True)
    sys.exit(status)
