"""exactformer oracle: expected outputs of others, held against the true values of their operations."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exactformer.cli.common import DONE, UNDECIDED, refuse
from exactformer.cli.helping import Commands

if TYPE_CHECKING:
    from exactformer.oracle.onnx_judge import Verdict


@click.group("oracle", cls=Commands)
def command() -> None:
    """How many ulps outputs of others are from the truth (docs/oracle.md)."""


@command.command("onnx")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--installed", is_flag=True, help="The cases that the installed package onnx makes.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The format of the report."
)
@click.pass_context
def onnx(context: click.Context, folder: Path | None, installed: bool, form: str) -> None:
    """The expected outputs of ONNX's node tests: of those in FOLDER, or with --installed.

    Status 3 where something could not be judged.
    """
    from exactformer.oracle import onnx_cases
    from exactformer.oracle.onnx_judge import judged

    refuse((folder is None) != installed, "oracle onnx: give a FOLDER of node tests, or --installed")
    found = list(judged(onnx_cases.of_folder(folder) if folder is not None else onnx_cases.installed()))
    click.echo(_json(found) if form == "json" else _text(found))
    context.exit(UNDECIDED if any(v.reason for v in found) else DONE)


def _json(found: list[Verdict]) -> str:
    rows = [{name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in asdict(v).items()} for v in found]
    return json.dumps({"onnx": rows}, indent=1)


def _text(found: list[Verdict]) -> str:
    """Every expected output, then every operator, then what could not be judged."""
    lines = [f"{'largest':>9} {'median':>9}  {'operator':<18} {'format':<8} case: output"]
    rows = [v for v in found if not v.reason]
    lines += [
        f"{v.most:9.4g} {v.median:9.4g}  {v.operator:<18} {v.dtype:<8} {v.case.removeprefix('test_')}: {v.output}" for v in rows
    ]
    lines += ["", f"{'operator':<18} {'cases':>6} {'outputs':>8} {'largest error in ulps, and where':<40}"]
    for operator in dict.fromkeys(v.operator for v in rows):
        here = [v for v in rows if v.operator == operator]
        worst = max(here, key=lambda v: v.most)
        place = (
            f"{worst.case.removeprefix('test_')}: {worst.output}{list(worst.where)} is {worst.expected}, in truth {worst.truth}…"
        )
        lines.append(f"{operator:<18} {len({v.case for v in here}):6} {len(here):8} {worst.most:9.4g}  {place}")
    refused = [v for v in found if v.reason]
    lines += ["", "every case was judged" if not refused else f"{len(refused)} not judged:"]
    lines += [f"  {v.case} {v.output}: {v.reason}" for v in refused]
    return "\n".join(lines)
