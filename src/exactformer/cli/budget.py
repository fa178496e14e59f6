"""exactformer budget: operations counted."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import Whole, columns, emit, fitted, keep_the_source, output_option, refuse
from exactformer.cli.inputs import opened, source_argument

_LONGEST = 10**9


@click.command("budget")
@source_argument()
@click.option("--lengths", metavar="NUMBERS", default="4,32,2048", show_default=True, help="For inputs of this many tokens.")
@click.option("--head-dim", type=Whole(1, 256), help="Count with heads of this width.")
@click.option("--tile", type=Whole(1), default=2, show_default=True, help="Keys in a tile of flash attention.")
@output_option
def command(source: str, lengths: str, head_dim: int | None, tile: int, output: Path | None) -> None:
    """Count the operations of the pass and its gradient, by stage."""
    from exactformer.render import costs as rendering
    from exactformer.trace.costs import costs, resized

    keep_the_source(source, output)
    wanted = [text.strip() for text in lengths.split(",")]
    for text in wanted:
        refuse(
            not (text.isascii() and text.isdigit()), f"--lengths: {text[:40]!r} is not a whole number; give some such as 4,32,2048"
        )
        refuse(len(text) > 10 or not 1 <= int(text) <= _LONGEST, f"--lengths: {text[:40]} is not between 1 and {_LONGEST:,}")
    worksheet = opened(source)
    found = costs(worksheet.model, tuple(sorted({int(text) for text in wanted})), tile, head_dim)
    shown = rendering.render(worksheet.title, found, resized(worksheet.model.config, head_dim), tile, columns(output))
    emit(fitted(shown, output), output)
