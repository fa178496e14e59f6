"""exactformer circuits: the QK and OV circuits of heads as exact matrices."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import change_options, emit, keep_the_source, opened, output_option, refuse


@click.command("circuits")
@click.argument("source", metavar="[EXAMPLE|WORKSHEET]", default="induction")
@click.option("--head", metavar="BLOCK.HEAD", help="One head, e.g. 1.0. Default: all.")
@click.option("--decimals", type=click.IntRange(0, 1000), help="Numbers rounded to so many decimals, proved.")
@change_options
@output_option
def command(
    source: str, head: str | None, decimals: int | None, changes: tuple[str, ...], hard: bool, mask: str | None, output: Path | None
) -> None:
    """Print the QK and OV circuits of every head in token space, exact."""
    from exactformer.circuits import circuits
    from exactformer.render import tables

    keep_the_source(source, output)
    refuse(hard or mask is not None, "--hard, --mask: circuits are of the weights alone")
    worksheet = opened(source, changes)
    config = worksheet.model.config
    heads = [(n, h) for n in range(config.blocks) for h in range(config.heads)]
    wanted = [(n, h) for n, h in heads if head in (None, f"{n}.{h}")]
    refuse(not wanted, f"--head: there is no head {head!r} ({', '.join(f'{n}.{h}' for n, h in heads)})")
    labels = None if worksheet.circuit is None else worksheet.circuit.directions
    shown = []
    for n, h in wanted:
        if worksheet.circuit is not None and h < len(worksheet.circuit.layers[n]):
            shown.append(f"block {n}, head {h}: {worksheet.circuit.layers[n][h].told}\n")
        shown += [tables.circuit(table, decimals) for table in circuits(worksheet.model, n, h, labels)]
    emit("\n".join(shown), output)
