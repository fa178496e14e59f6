"""exactformer check: the printed numbers of worked examples."""

from __future__ import annotations

import sys

import click


@click.command("check")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--fix", is_flag=True, help="Rewrite the printed numbers that are not right, and nothing else.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(files: tuple[str, ...], fix: bool, form: str) -> None:
    """Check the printed numbers of worked examples: worksheets, Markdown pages with claims, lessons, or built-in lessons."""
    from exactformer.lessons.checking import check_files

    checked = check_files(files, fix, form == "json")
    click.echo(checked.report, nl=False)
    for problem in checked.problems:
        click.echo(f"exactformer: {problem}", err=True)
    sys.exit(checked.status)
