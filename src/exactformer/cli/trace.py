"""exactformer trace: a forward pass, line by line."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli import helping
from exactformer.cli.common import (
    FORMATS,
    UNDECIDED,
    Whole,
    able,
    change_options,
    color_option,
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
    paint,
    refuse,
    settled_arithmetic,
    sized_arithmetic_option,
    upstream,
    width,
)
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input


@click.command("trace")
@source_argument("capstone")
@input_options
@reading_option
@change_options
@click.option(
    "--norm",
    type=click.Choice(("none", "pre", "post")),
    help="Other LayerNorms: none, or before (pre) or after (post) each part of a block; new ones have ε = 1e-5.",
)
@click.option("--strength", metavar="NUMBER", help="For a circuit or a program: the strength of every head.")
@click.option("--length", type=Whole(1, 512), help="For a circuit or a program: make positions for this many tokens.")
@click.option(
    "--step", "steps", metavar="NAME", multiple=True, shell_complete=helping.steps,
    help="Show only this step, as a whole table; repeatable.",
)  # fmt: skip
@click.option("--decimals", type=Whole(0, 1000), help="With --step: round numbers to this many decimals, proved.")
@click.option("--stable", is_flag=True, help="Subtract each row's largest score before the softmax, as a step of its own.")
@click.option("--break", "mistakes", metavar="MISTAKE", multiple=True, help="Make a mistake on purpose and compare; repeatable.")
@click.option("--target", metavar="NAMES", help="With --break: target tokens, to compare the gradients too.")
@click.option(
    "--stop-at-named", is_flag=True, help="End each position at its first step with a formula (a number that is not a fraction)."
)
@digits_option
@sized_arithmetic_option
@format_option(*FORMATS)
@click.option("--summary", is_flag=True, help="A line a step instead of its numbers, and the tokens: for large passes.")
@click.option("--list-steps", is_flag=True, help="Only the names of the steps, with their formulas; nothing is computed exactly.")
@color_option
@output_option
def command(
    source: str, asked: Input, reading: str, norm: Any, changes: tuple[str, ...], hard: bool, mask: str | None,
    strength: str | None, length: int | None,
    steps: tuple[str, ...], decimals: int | None, stable: bool, mistakes: tuple[str, ...], target: str | None, stop_at_named: bool,
    digits: int, arithmetic: str, form: str, summary: bool, list_steps: bool, output: Path | None,
) -> None:  # fmt: skip
    """Trace a forward pass line by line: a built-in example (by default the capstone), your own worksheet, or a model folder."""
    from exactformer.model.changing import with_norm
    from exactformer.render import overview, tables
    from exactformer.worksheets.cost import TRACING

    keep_the_source(source, output)
    refuse(target is not None and not mistakes, "--target: goes with --break; for gradients alone there is exactformer grad")
    refuse(decimals is not None and not steps, "--decimals: goes with --step, which shows whole tables")
    refuse(
        decimals is not None and kind(arithmetic).numbers == "balls",
        f"--decimals: numbers of {arithmetic} show the digits that are proved; it goes with {able(lambda k: k.numbers != 'balls')}",
    )
    refuse(
        stable and not kind(arithmetic).stepwise,
        f"--stable: {arithmetic} arithmetic has no such step; it goes with {able(lambda kind: kind.stepwise)}",
    )
    refuse(bool(steps) and form != "text", "--step: goes with --format text")
    refuse(bool(steps) and bool(mistakes), "--step: does not go with --break, which compares whole passes")
    refuse(stop_at_named and bool(mistakes), "--stop-at-named: does not go with --break, which compares whole passes")
    refuse(bool(mistakes) and form in ("latex", "html"), f"--format {form}: a comparison is written as text, markdown or json")
    refuse(
        stop_at_named and kind(arithmetic).numbers != "exact",
        f"--stop-at-named: no number of {arithmetic} is named; it goes with --arithmetic exact",
    )
    digits_of_named_numbers(arithmetic)
    for name, wanted in (("summary", summary), ("list-steps", list_steps)):
        refuse(wanted and (form != "text" or bool(steps or mistakes)), f"--{name}: does not go with --format, --step or --break")
    refuse(summary and list_steps, "--list-steps: does not go with --summary")
    with Progress() as progress:
        worksheet = opened(source, changes, hard, mask, strength, length, reading)
        if norm is not None:
            worksheet = replace(worksheet, model=with_norm(worksheet.model, norm))
        if stable:
            worksheet = replace(worksheet, model=replace(worksheet.model, config=replace(worksheet.model.config, stable=True)))
        ids = ids_of(asked, worksheet)
        if list_steps:
            progress.clear()
            emit(overview.steps(worksheet.trace(ids, "float64"), width(output is None)), output)
            return
        progress.blocks = worksheet.model.config.blocks
        if not any(map(given, ("digits", "decimals", "stop_at_named"))):  # which go with exact
            arithmetic = settled_arithmetic(arithmetic, worksheet, len(ids), TRACING)
        result = worksheet.trace(ids, arithmetic, stop_at_named, progress)
        if mistakes:
            compared = _comparison(worksheet, result, mistakes, target, form, digits)
            progress.clear()
            emit(fitted(compared, output, form), output)
            return
    if steps:
        names = [step.name for step in result.steps]
        shown = "\n".join(tables.step(result, _full(name, names), decimals, digits, columns(output)) for name in steps)
        shown = fitted(shown, output)
    elif summary:
        shown = overview.summary(result, paint(output), width(output is None))
    else:
        with Progress(f"{len(result.steps)} steps done, writing them down"):
            shown = _render(result, form, digits, output, worksheet.about)
    emit(shown, output)
    if kind(arithmetic).proves and not result.decided:
        for out in result.output:
            if not out.proved and result.stopped[out.position] is None:
                click.echo(f"exactformer: position {out.position}: {out.why}", err=True)
        sys.exit(UNDECIDED)


def _full(name: str, names: list[str]) -> str:
    """The step that is meant by a name or by the end of one."""
    from exactformer.trace.naming import Ambiguous, full_name

    try:
        found = full_name(name, names)
    except Ambiguous as error:
        raise click.ClickException(f"--step: {error}") from None
    refuse(found is None, f"--step: there is no step {name!r} ({', '.join(names)})")
    assert found is not None
    return found


def _comparison(worksheet: Any, right: Any, mistakes: tuple[str, ...], target: str | None, form: str, digits: int) -> str:
    from exactformer.model.breaking import broken
    from exactformer.render import comparison
    from exactformer.trace import gradient

    wrong = replace(worksheet, model=broken(worksheet.model, mistakes)).trace(right.tokens, right.arithmetic)
    given = upstream(None, right) if right.model.config.unembedding == "none" else None
    both = None if given is None and target is None else (gradient(right, target, given), gradient(wrong, target, given))
    return comparison.RENDERERS[form](right, wrong, mistakes, both, digits)


def _render(result: Any, form: str, digits: int, output: Path | None, about: str) -> str:
    if form == "text":
        from exactformer.render import text

        return fitted(text.render(result, digits, paint(output), width(output is None)), output)
    if form == "html":
        from exactformer.web import single_file

        return single_file.render(result, digits, about)
    from importlib import import_module

    rendered: str = import_module(f"exactformer.render.{form}").render(result, digits)
    return rendered
