"""exactformer man: the manual page, made from the help."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from exactformer.cli.common import emit, output_option

_STATUSES = (
    ("0", "done, and proved where there is something to prove"),
    ("1", "a claim is wrong, a theorem refuted, a certificate refused"),
    ("2", "bad usage or bad input, or work that is too large: one line says what"),
    ("3", "undecided"),
    ("70", "an internal error, that is a defect of exactformer"),
    ("130", "interrupted"),
    ("141", "nobody reads the output any more"),
)
_VARIABLES = (
    ("NO_COLOR", "no colours, where --color says nothing else"),
    ("HF_HUB_CACHE, HF_HOME", "where models of the Hugging Face hub are kept, which are found by name"),
    ("XDG_CACHE_HOME", "where norms of models and journals of proofs are kept"),
    ("EXACTFORMER_DEBUG", "1 shows the traceback of an internal error"),
)


@click.command("man")
@output_option
@click.pass_context
def command(context: click.Context, output: Path | None) -> None:
    """Print the manual page: exactformer man -o exactformer.1, then man ./exactformer.1."""
    emit("\n".join(_page(context.find_root())) + "\n", output)


def _page(root: click.Context) -> Iterator[str]:
    from exactformer import __version__

    about = _text(root.command.help or "")
    yield f'.TH EXACTFORMER 1 "" "exactformer {__version__}" "User Commands"'
    yield from (".SH NAME", f"exactformer \\- {about.rstrip('.')}")
    yield from (".SH SYNOPSIS", ".B exactformer", "[\\-h] [\\-\\-version] [\\-\\-debug] COMMAND [ARGUMENTS]")
    yield from (".SH DESCRIPTION", about)
    yield ".SH COMMANDS"
    yield from _commands(root)
    for title, rows in (("EXIT STATUS", _STATUSES), ("ENVIRONMENT", _VARIABLES)):
        yield f".SH {title}"
        for name, meaning in rows:
            yield from (".TP", f".B {_text(name)}", _text(meaning))


def _commands(above: click.Context) -> Iterator[str]:
    """Every command with its usage, its text and its options; of a group, those in it."""
    group = above.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(above):
        found = group.commands[name]
        context = click.Context(found, above, info_name=name)
        usage = " ".join(found.collect_usage_pieces(context))
        yield from (f".SS {_text(context.command_path.partition(' ')[2])} {_text(usage)}", ".PP")
        for paragraph in cleandoc(found.help or "").split("\n\n"):
            yield from (_text(" ".join(paragraph.split())), ".PP")
        for record in (param.get_help_record(context) for param in found.get_params(context)):
            if record is not None:
                yield from (".TP", f".B {_text(record[0])}", _text(record[1]))
        if isinstance(found, click.Group):
            yield from _commands(context)


def _text(text: str) -> str:
    """Text that roff takes for nothing else.

    >>> _text(".a --b")
    '\\\\&.a \\\\-\\\\-b'
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
