"""exactformer completion: what a shell needs to complete commands, options, examples and steps."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from exactformer.cli.common import emit, refuse

_PROGRAM, _VARIABLE = "exactformer", "_EXACTFORMER_COMPLETE"
_PLACES = {  # a variable that names a folder, the folder where it does not, and the file that a shell looks for in it
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/exactformer"),
    "zsh": ("ZDOTDIR", "", ".zfunc/_exactformer"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/exactformer.fish"),
}
_WHEN = {
    "bash": "the next bash that you start looks there if the package bash-completion is installed\n"
    "without it, ~/.bashrc needs the line: source {path}",
    "zsh": "the next zsh that you start looks there if ~/.zshrc has the line: fpath+=({folder}); autoload -Uz compinit && compinit",
    "fish": "it is there in the next fish that you start",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(tuple(_PLACES)))
@click.option("--install", is_flag=True, help="Write it to where the shell looks for it, instead of printing it.")
@click.pass_context
def command(context: click.Context, shell: str, install: bool) -> None:
    """Complete commands, options, examples and names of steps in your shell: exactformer completion bash --install."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(context.find_root().command, {}, _PROGRAM, _VARIABLE)
    try:
        text = script.source() + "\n"
    except RuntimeError as error:  # the shell itself is asked for its version
        raise click.ClickException(f"{shell}: {error}") from None
    if not install:
        emit(text, None)
        return
    variable, usual, file = _PLACES[shell]
    path = Path(os.environ.get(variable) or Path.home() / usual) / file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(True, f"{path.parent}: cannot be made: {error.strerror}")
    emit(text, path)
    click.echo(f"{path}: written; {_WHEN[shell].format(folder=shlex.quote(str(path.parent)), path=shlex.quote(str(path)))}")
