"""exactformer check: the printed numbers of worked examples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exactformer.cli.common import color_option, paint, writable
from exactformer.cli.helping import offered, pages
from exactformer.cli.inputs import tell_namesake


@click.command("check")
@click.argument("files", metavar="FILE|FOLDER|PATTERN|-...", nargs=-1, required=True, shell_complete=offered(pages))
@click.option("--fix", is_flag=True, help="Rewrite the printed numbers that are not right, and nothing else.")
@click.option("--strict", is_flag=True, help="Numbers that are cut off instead of rounded fail, and so do files without claims.")
@click.option("--pass-over", is_flag=True, help="Files that have nothing of ours are passed over, as in folders.")
@click.option("--baseline", type=click.Path(path_type=Path), help="A file of known slips, which do not fail and are not rewritten.")
@click.option(
    "--write-baseline", type=click.Path(path_type=Path), callback=writable, help="Write all that is not right to such a file."
)
@click.option("--format", "form", type=click.Choice(("text", "json", "sarif", "github")), default="text", show_default=True)
@color_option
def command(files: tuple[str, ...], **asked: Any) -> None:
    """Check the printed numbers of worked examples: worksheets, pages in Markdown or reStructuredText, notebooks, built-in lessons;
    of a folder, all of these in it. - is standard input."""
    from exactformer.lessons.checking import check_files

    known = tuple(pages(click.get_current_context()))
    for name in dict.fromkeys(files):
        if name in known:
            tell_namesake(name, "lesson")
    checked = check_files(files, paint=paint(), **asked)
    click.echo(checked.report, nl=False)
    for problem in checked.problems:
        click.echo(f"exactformer: {problem}", err=True)
    sys.exit(checked.status)
