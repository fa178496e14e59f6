"""exactformer explain: where an answer comes from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import (
    UNDECIDED,
    Whole,
    change_options,
    columns,
    digits_of_named_numbers,
    digits_option,
    emit,
    fitted,
    format_option,
    given,
    keep_the_source,
    kind,
    output_option,
    refuse,
    settled_arithmetic,
    sized_arithmetic_option,
)
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.trace import Trace
    from exactformer.worksheets import Input, Worksheet


@click.command("explain")
@source_argument("induction")
@input_options
@reading_option
@change_options
@click.option("--logit", metavar="TOKEN", help="The token whose logit is explained. Default: the token that the model says.")
@click.option("--lead", nargs=2, metavar="TOKEN OTHER", help="Explain the lead of one token over another instead.")
@click.option("--position", type=Whole(0, 10**6), help="The position after which the token would stand. Default: the last.")
@click.option("--parts", "most", type=Whole(0, 10**6), default=5, show_default=True, help="Source positions and units to show.")
@click.option("--lens", is_flag=True, help="What the model would say after each block instead, proved.")
@click.option(
    "--ablate", "ablated", metavar="PART=HOW", multiple=True,
    help="What a lead is without a head or an MLP instead: blocks.0.attn.head.3=zero, blocks.0.mlp=mean, …=from TEXT; repeatable.",
)  # fmt: skip
@click.option("--over", "file", type=click.Path(path_type=Path), help="With =mean: the prompts of the mean, a file of JSON Lines.")
@digits_option
@sized_arithmetic_option
@format_option("text", "json")
@output_option
def command(
    source: str, asked: Input, reading: str, changes: tuple[str, ...], hard: bool, mask: str | None, logit: str | None,
    lead: tuple[str, str] | None, position: int | None, most: int, lens: bool, ablated: tuple[str, ...], file: Path | None,
    digits: int, arithmetic: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Explain a logit as a sum of what each part of the model adds, proved to add up; or what a part does to a lead."""
    from exactformer.worksheets.cost import EXPLAINING

    keep_the_source(source, output)
    refuse(logit is not None and lead is not None, "--lead: does not go with --logit: one of them says what is explained")
    refuse(lens and bool(ablated), "--lens: does not go with --ablate")
    refuse(lens and (logit is not None or lead is not None), "--lens: tells the token itself, without --logit and --lead")
    refuse(logit is not None and bool(ablated), "--ablate: tells the change of a lead: give --lead, not --logit")
    refuse(file is not None and not any(each.endswith("=mean") for each in ablated), "--over: goes with --ablate PART=mean")
    refuse(given("most") and (lens or bool(ablated)), "--parts: goes with neither --lens nor --ablate")
    digits_of_named_numbers(arithmetic)
    with Progress() as progress:
        worksheet = opened(source, changes, hard, mask, reading=reading)
        refuse(worksheet.model.config.unembedding == "none", f"{source}: the model has no logits: there is nothing to explain")
        ids = ids_of(asked, worksheet)
        if not given("digits"):
            arithmetic = settled_arithmetic(arithmetic, worksheet, len(ids), EXPLAINING)
        trace = worksheet.trace(ids, arithmetic, progress=progress)
        place = trace.place(-1 if position is None else position)
        if ablated:
            shown, proved = _ablation(worksheet, trace, ablated, file, lead, place, form, digits, progress)
        elif lens:
            shown, proved = _lens(trace, place, form, digits)
        else:
            shown, proved = _explanation(trace, logit, lead, place, most, form, digits, columns(output))
    emit(fitted(shown, output, form), output)
    if kind(arithmetic).proves and not proved:
        sys.exit(UNDECIDED)


def _explanation(
    trace: Trace, logit: str | None, lead: tuple[str, str] | None, place: int, most: int, form: str, digits: int,
    room: int | None,
) -> tuple[str, bool]:  # fmt: skip
    from exactformer.render import explanations

    token, over = (logit, None) if lead is None else lead
    found = trace.explain(token, over, place)
    shown = explanations.text(found, digits, most, room) if form == "text" else explanations.json_text(found, digits, most)
    return shown, found.proof in ("equal", "enclosed")


def _lens(trace: Trace, place: int, form: str, digits: int) -> tuple[str, bool]:
    from exactformer.render import explanations

    found = trace.lens(place)
    return explanations.lens_text(found) if form == "text" else explanations.lens_json(found, digits), found.proved


def _ablation(
    worksheet: Worksheet, before: Trace, asked: tuple[str, ...], file: Path | None, lead: tuple[str, str] | None, place: int,
    form: str, digits: int, progress: Any,
) -> tuple[str, bool]:  # fmt: skip
    from exactformer.render import explanations
    from exactformer.trace.ablation import ablate, sign
    from exactformer.worksheets.prompts import read_prompts

    means = () if file is None else [worksheet.trace(ids, before.arithmetic) for ids in read_prompts(file, worksheet)]
    token, over = lead or (None, None)
    found = ablate(before, asked, token, over, place, means, progress)
    render = explanations.ablation_text if form == "text" else explanations.ablation_json
    return render(found, digits), found.undefined is not None or sign(found.change) is not None
