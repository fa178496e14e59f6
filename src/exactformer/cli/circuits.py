"""exactformer circuits: the QK and OV circuits of heads as exact matrices."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import Whole, emit, keep_the_source, output_option, refuse, set_option
from exactformer.cli.inputs import opened, reading_option, source_argument


@click.command("circuits")
@source_argument("induction")
@click.option("--head", metavar="BLOCK.HEAD", help="One head, e.g. 1.0. Default: all.")
@click.option("--distance", type=Whole(0, 1_000_000), help="With rotary positions: how far back the key is.  [default: 0]")
@click.option("--decimals", type=Whole(0, 1000), help="Round numbers to this many decimals, proved.")
@set_option
@reading_option
@output_option
def command(
    source: str, head: str | None, distance: int | None, decimals: int | None, changes: tuple[str, ...], reading: str,
    output: Path | None,
) -> None:  # fmt: skip
    """Print the QK and OV circuits of every head in token space, exact."""
    from exactformer.circuits import circuits
    from exactformer.render import tables

    keep_the_source(source, output)
    worksheet = opened(source, changes, reading=reading)
    worksheet.checked()
    config = worksheet.model.config
    refuse(distance is not None and config.positions != "rotary", "--distance goes with rotary positions: this model has none")
    heads = [(n, h) for n in range(config.blocks) for h in range(config.heads)]
    wanted = [(n, h) for n, h in heads if head in (None, f"{n}.{h}")]
    refuse(not wanted, f"--head: there is no head {head!r} ({', '.join(f'{n}.{h}' for n, h in heads)})")
    labels = None if worksheet.circuit is None else worksheet.circuit.directions
    shown = []
    for n, h in wanted:
        if worksheet.circuit is not None and h < len(worksheet.circuit.layers[n]):
            shown.append(f"block {n}, head {h}: {worksheet.circuit.layers[n][h].sentence}\n")
        shown += [tables.circuit(table, decimals) for table in circuits(worksheet.model, n, h, labels, distance or 0)]
    emit("\n".join(shown), output)
