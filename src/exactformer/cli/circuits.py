"""exactformer circuits: the QK and OV circuits of heads as exact matrices."""

from __future__ import annotations

from pathlib import Path

import click

from exactformer.cli.common import Whole, emit, format_option, keep_the_source, output_option, refuse, set_option
from exactformer.cli.inputs import opened, reading_option, source_argument
from exactformer.progress import Progress


@click.command("circuits")
@source_argument("induction")
@click.option("--head", metavar="BLOCK.HEAD", help="One head, e.g. 1.0. Default: all.")
@click.option("--distance", type=Whole(0, 1_000_000), help="With rotary positions: how far back the key is.  [default: 0]")
@click.option("--largest", type=Whole(1, 1000), help="Instead of tables: so many of the largest and smallest entries, and norms.")
@format_option("text", "json", help="json: with --largest.")
@click.option("--decimals", type=Whole(0, 1000), help="Round numbers to this many decimals, proved.")
@set_option
@reading_option
@output_option
def command(
    source: str, head: str | None, distance: int | None, largest: int | None, form: str, decimals: int | None,
    changes: tuple[str, ...], reading: str, output: Path | None,
) -> None:  # fmt: skip
    """Print the QK and OV circuits of every head in token space, exact."""
    from exactformer.circuits import circuits
    from exactformer.circuits.sizes import sizes
    from exactformer.render import circuit_sizes, tables

    keep_the_source(source, output)
    refuse(form == "json" and largest is None, "--format json: goes with --largest")
    refuse(decimals is not None and largest is not None, "--decimals: goes with tables, not with --largest")
    worksheet = opened(source, changes, reading=reading)
    worksheet.checked()
    config = worksheet.model.config
    refuse(distance is not None and config.positions != "rotary", "--distance goes with rotary positions: this model has none")
    heads = [(n, h) for n in range(config.blocks) for h in range(config.heads)]
    wanted = [(n, h) for n, h in heads if head in (None, f"{n}.{h}")]
    refuse(not wanted, f"--head: there is no head {head!r} ({', '.join(f'{n}.{h}' for n, h in heads)})")
    labels = None if worksheet.circuit is None else worksheet.circuit.directions
    if largest is not None:
        every = (table for n, h in wanted for table in circuits(worksheet.model, n, h, labels, distance or 0))
        render = circuit_sizes.text if form == "text" else circuit_sizes.json_text
        emit(render((table, sizes(table, largest)) for table in every if table.values.size), output)
        return
    shown = []
    with Progress("multiplying the matrices") as progress:
        for done, (n, h) in enumerate(wanted):
            progress.part(done, len(wanted))
            if worksheet.circuit is not None and h < len(worksheet.circuit.layers[n]):
                shown.append(f"block {n}, head {h}: {worksheet.circuit.layers[n][h].sentence}\n")
            shown += [tables.circuit(table, decimals) for table in circuits(worksheet.model, n, h, labels, distance or 0)]
    emit("\n".join(shown), output)
