"""exactformer budget: operations counted."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import emit, keep_the_source, output_option, refuse

_LONGEST = 10**9


@click.command("budget")
@click.argument("source", metavar="[EXAMPLE|WORKSHEET|MODEL_DIR]")
@click.option("--lengths", default="4,32,2048", show_default=True, help="Lengths, with commas between them.")
@click.option("--head-dim", type=click.IntRange(1, 256), help="Another width of the heads.")
@click.option("--tile", type=click.IntRange(1), default=2, show_default=True, help="Keys in a tile of flash attention.")
@output_option
def command(source: str, lengths: str, head_dim: int | None, tile: int, output: Path | None) -> None:
    """Count the operations of the pass and its gradient, by stage."""
    from exactformer.render import budgets as rendering
    from exactformer.trace.budget import budgets, resized
    from exactformer.worksheets import load

    keep_the_source(source, output)
    wanted = [text.strip() for text in lengths.split(",")]
    for text in wanted:
        refuse(
            not (text.isascii() and text.isdigit()), f"--lengths: {text[:40]!r} is not a whole number; give some such as 4,32,2048"
        )
        refuse(len(text) > 10 or not 1 <= int(text) <= _LONGEST, f"--lengths: {text[:40]} is not between 1 and {_LONGEST:,}")
    worksheet = load(source)
    found = budgets(worksheet.model, tuple(sorted({int(text) for text in wanted})), tile, head_dim)
    emit(rendering.render(worksheet.title, found, resized(worksheet.model.config, head_dim), tile), output)
