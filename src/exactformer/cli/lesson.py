"""exactformer lesson: new lessons, built lessons, and the list of those that come with the program."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exactformer.cli.check import command as check_command
from exactformer.cli.common import BAD_INPUT, DONE, REFUTED, UNDECIDED
from exactformer.cli.helping import Commands
from exactformer.files import write_whole
from exactformer.messages import Refused, printable

_ENDING = ".md"


@click.group("lesson", cls=Commands)
def command() -> None:
    """Write lessons: Markdown with numbers, tables and views that are bound to a pass (docs/lessons.md)."""


@command.command("new")
@click.argument("name")
@click.option("--title", default="", help="The title; by default the name.")
def new(name: str, title: str) -> None:
    """Write a commented lesson to start from, NAME.md, which is built and right."""
    from exactformer.lessons import built, read
    from exactformer.lessons.template import template

    path = Path(name if name.endswith(_ENDING) else name + _ENDING)
    shown = " ".join((title or path.stem.replace("-", " ").capitalize()).split())
    if path.exists():
        raise click.ClickException(f"{path}: is there already")
    if not path.parent.is_dir():
        raise click.ClickException(f"{path}: there is no such folder to write to")
    _write(path, built(read(template(shown), str(path), path.parent)))
    click.echo(f"{path}: written. Change it, then: exactformer lesson build {path}")


@command.command("build")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; status 1 where building would change a file.")
def build(files: tuple[str, ...], check: bool) -> None:
    """Write numbers and views into lessons, and nothing else. All files are written, or none.

    Claims are proved: status 1 where one is wrong, 3 where one is undecided. A line says where numbers that you typed are
    written over.
    """
    from exactformer.lessons.building import build as build_lesson
    from exactformer.lessons.built_in import partly_read_lesson
    from exactformer.lessons.checking import problems, reported
    from exactformer.numbers import Undecided

    changed: list[tuple[Path, str]] = []
    lines: list[str] = []
    status, verdict = DONE, DONE
    for name in files:
        try:
            lesson = partly_read_lesson(Path(name))
            made = build_lesson(lesson)
            found = reported(made.found)
        except (Refused, Undecided) as error:
            for problem in getattr(error, "problems", [str(error)]):
                click.echo(f"exactformer: {printable(problem)}", err=True)
            status = BAD_INPUT if isinstance(error, Refused) else status or UNDECIDED
            continue
        lines += [*made.changes, *problems(found)]
        verdict = REFUTED if found.status == REFUTED else verdict or found.status
        if made.text != lesson.page.source:
            changed.append((Path(name), made.text))
    if status != DONE:
        click.echo("exactformer: nothing was written", err=True) if len(files) > 1 else None
        sys.exit(status)
    for line in lines:
        click.echo(printable(line))
    for path, text in changed:
        if not check:
            _write(path, text)
        click.echo(f"{path}: {'would change' if check else 'built'}")
    current = len(files) - len(changed)
    if current:
        click.echo(f"{current} {'lesson is' if current == 1 else 'lessons are'} current")
    sys.exit(REFUTED if check and changed else verdict)


command.add_command(check_command, "check")


@command.command("glossary")
@click.option("--language", default="en", show_default=True, help="In this language.")
def glossary(language: str) -> None:
    """List the terms and signs that the page explains, each with its other forms."""
    from exactformer.lessons.languages import words

    for entry in words(language).glossary.values():
        click.echo(f"{', '.join((entry.term, *entry.also))}: {entry.text}")


@command.command("list")
@click.option("--language", default="en", show_default=True, help="Of lessons in this language.")
@click.option("--missing", metavar="LANGUAGE", help="List what a language has not: lessons, and strings of its catalogue.")
def listing(language: str, missing: str | None) -> None:
    """List the built-in lessons, or what is missing in a language."""
    from exactformer.lessons.built_in import built_in, lessons
    from exactformer.lessons.languages import missing as missing_strings
    from exactformer.lessons.languages import words

    if missing is not None:
        words(missing)
        lines = [f"lesson {name}: is missing" for name in lessons() if name not in lessons(missing)] + list(
            missing_strings(missing)
        )
        for line in lines or [f"{missing}: nothing is missing"]:
            click.echo(line)
        return
    words(language)
    for name in lessons(language):
        lesson = built_in(name, language)
        click.echo(f"{name:<22} {printable(lesson.title)}\n{'':<22} {printable(lesson.summary)}")


def _write(path: Path, text: str) -> None:
    target = path.resolve()
    try:
        write_whole(target, text, target.stat().st_mode & 0o777 if target.exists() else 0o644)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None
