"""exactformer circuits: the QK and OV circuits of heads as exact matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exactformer.cli.common import Whole, columns, emit, fitted, format_option, keep_the_source, output_option, refuse, set_option
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input

_MOST = 2_000_000  # numbers that are computed and written down: a minute


@click.command("circuits")
@source_argument("induction")
@input_options
@click.option("--head", metavar="BLOCK.HEAD", help="One head, e.g. 1.0. Default: all.")
@click.option("--distance", type=Whole(0, 1_000_000), help="With rotary positions: how far back the key is.  [default: 0]")
@click.option("--largest", type=Whole(1, 1000), help="Instead of tables: so many of the largest and smallest entries, and norms.")
@format_option("text", "json", help="json: with --largest.")
@click.option("--decimals", type=Whole(0, 1000), help="Round numbers to this many decimals, proved.")
@set_option
@reading_option
@output_option
def command(
    source: str, asked: Input, head: str | None, distance: int | None, largest: int | None, form: str, decimals: int | None,
    changes: tuple[str, ...], reading: str, output: Path | None,
) -> None:  # fmt: skip
    """Print the QK and OV circuits of every head in token space, exact; where an input is given, those of its tokens alone."""
    from exactformer.circuits import circuits
    from exactformer.circuits.matrices import CircuitTable, extent
    from exactformer.circuits.sizes import sizes
    from exactformer.render import circuit_sizes, tables

    keep_the_source(source, output)
    refuse(form == "json" and largest is None, "--format json: goes with --largest")
    refuse(decimals is not None and largest is not None, "--decimals: goes with tables, not with --largest")
    worksheet = opened(source, changes, reading=reading)
    worksheet.checked()
    model, config, circuit = worksheet.model, worksheet.model.config, worksheet.circuit
    refuse(distance is not None and config.positions != "rotary", "--distance goes with rotary positions: this model has none")
    heads = [(n, h) for n in range(config.blocks) for h in range(config.heads)]
    wanted = [(n, h) for n, h in heads if head in (None, f"{n}.{h}")]
    refuse(not wanted, f"--head: there is no head {head!r} ({', '.join(f'{n}.{h}' for n, h in heads)})")
    chosen = list(dict.fromkeys(ids_of(asked, worksheet))) if any((asked.prompt, asked.ids, asked.tokens)) else None
    extents = [extent(model, n, len(config.vocabulary) if chosen is None else len(chosen)) for n, _ in wanted]
    many, entries = (sum(each) for each in zip(*extents, strict=True))
    ways = ["--head 0.0"] * (head is None) + ["some tokens (--tokens, --prompt or --ids)"] * (chosen is None)
    size = f"{source}: its circuits are {many:,} tables of {entries:,} numbers; at most {_MOST:,} are computed"
    refuse(entries > _MOST, f"{size}: give {' and '.join(ways) or 'fewer tokens'}")
    labels = None if circuit is None else circuit.directions

    def found(n: int, h: int) -> Iterator[CircuitTable]:
        for table in circuits(model, n, h, labels, distance or 0, chosen):
            progress.part(len(done), many)
            yield table
            done.append(table.title)

    done: list[str] = []
    with Progress("multiplying the matrices") as progress:
        if largest is not None:
            sized = [(table, sizes(table, largest)) for n, h in wanted for table in found(n, h) if table.values.size]
        else:
            shown = []
            for n, h in wanted:
                if circuit is not None and h < len(circuit.layers[n]):
                    shown.append(f"block {n}, head {h}: {circuit.layers[n][h].sentence}\n")
                shown += [tables.circuit(table, decimals, columns(output)) for table in found(n, h)]
    if largest is None:
        emit(fitted("\n".join(shown), output), output)
    elif form == "json":
        emit(circuit_sizes.json_text(sized), output)
    else:
        emit(fitted(circuit_sizes.text(sized, width=columns(output)), output), output)
