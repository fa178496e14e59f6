"""exactformer site: the page as a folder of files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exactformer.cli.common import INTERRUPTED
from exactformer.progress import Progress


@click.command("site")
@click.argument("folder", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--lesson", "own", multiple=True, metavar="LESSON.md", help="A lesson of your own, before the built-in ones; repeatable."
)
def command(folder: Path, own: tuple[str, ...]) -> None:
    """Write all lessons and examples as static files, for any web server or to open from disk. A site that is there is replaced."""
    from exactformer.web.site import write

    all_done = False

    def tell(done: int, total: int) -> None:
        nonlocal all_done
        all_done = done == total
        progress.cases(done, total, of="pages")

    with Progress() as progress:
        try:
            size = write(folder, tell, own=own)
        except KeyboardInterrupt:
            progress.clear()
            click.echo(f"exactformer: interrupted{'' if all_done else ': nothing was written'}", err=True)
            sys.exit(INTERRUPTED)
    click.echo(f"{folder}: {size / 1e6:.1f} MB; open {folder / 'index.html'}")
