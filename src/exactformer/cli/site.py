"""exactformer site: the page as a folder of files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from exactformer.progress import Progress


@click.command("site")
@click.argument("folder", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--lesson", "own", multiple=True, metavar="LESSON.md", help="A lesson of your own, before the built-in ones; repeatable."
)
def command(folder: Path, own: tuple[str, ...]) -> None:
    """Write all lessons and examples as static files, for any web server or to open from disk. A site that is there is replaced."""
    from exactformer.web.site import write

    with Progress() as progress:
        size = write(folder, partial(progress.cases, of="pages"), own=own)
    click.echo(f"{folder}: {size / 1e6:.1f} MB; open {folder / 'index.html'}")
