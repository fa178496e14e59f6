"""exactformer grad: the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exactformer.cli.common import (
    FORMATS,
    Arithmetic,
    able,
    change_options,
    color_option,
    digits_of_named_numbers,
    digits_option,
    emit,
    fitted,
    format_option,
    keep_the_source,
    kind,
    number,
    output_option,
    paint,
    refuse,
    upstream,
    width,
)
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.messages import short
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input


@click.command("grad")
@source_argument("capstone")
@input_options
@reading_option
@change_options
@click.option("--target", metavar="NAMES", help="Target tokens, one for each position: the loss is their mean cross-entropy.")
@click.option(
    "--upstream", "rows", metavar="ROWS", help='∂L/∂ of the last step, e.g. "0 0; 1 1/2". Default: ones at the last position.'
)
@click.option("--step", "rate", metavar="NUMBER", help="Take one step of gradient descent, e.g. 1/10.")
@digits_option
@click.option("--arithmetic", type=Arithmetic(lambda kind: kind.differentiates), default="exact", show_default=True)
@format_option(*FORMATS[:4])
@color_option
@output_option
def command(
    source: str, asked: Input, reading: str, changes: tuple[str, ...], hard: bool, mask: str | None, target: str | None,
    rows: str | None, rate: str | None, digits: int, arithmetic: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Trace the backward pass: the gradient of every step and weight. A model with logits needs --target."""
    from exactformer.numbers import exact
    from exactformer.render import gradients
    from exactformer.trace import descend, gradient

    keep_the_source(source, output)
    step = None if rate is None else number("--step", rate, exact)
    refuse(rate is not None and form != "text", "--step: goes with --format text")
    refuse(
        rate is not None and kind(arithmetic).numbers == "balls",
        f"--step: weights are numbers, not balls; it goes with {able(lambda kind: kind.numbers != 'balls')}",
    )
    digits_of_named_numbers(arithmetic)
    with Progress() as progress:
        worksheet = opened(source, changes, hard, mask, reading=reading)
        config = worksheet.model.config
        has_logits = config.unembedding != "none"
        outputs = ", ".join(map(short, config.outputs[:8])) + ", …" * (len(config.outputs) > 8)
        refuse(
            has_logits and target is None and rows is None,
            "--target: is missing: the loss is the cross-entropy of target tokens: give one for each position"
            + f", of the outputs {outputs}" * bool(outputs),
        )
        refuse(target is not None and not has_logits, "--target: the model has no logits, so it has no loss: give --upstream")
        refuse(
            rows is not None and has_logits,
            "--upstream: the model has logits, so the gradient starts at the loss of target tokens: give --target",
        )
        refuse(rate is not None and not has_logits, "--step: the model has no loss to take a step against")
        progress.blocks = worksheet.model.config.blocks
        forward = worksheet.trace(ids_of(asked, worksheet), arithmetic, progress=progress)
        result = gradient(forward, target, None if has_logits else upstream(rows, forward), progress)
    room = width(to_terminal=output is None)
    with Progress("the gradients are done, writing them down"):
        renderers: dict[str, Callable[..., str]] = {
            **gradients.RENDERERS,
            "text": partial(gradients.text, paint=paint(output), width=room),
        }
        shown = renderers[form](result, digits)
        if step is not None:
            shown += "\n" + "\n".join(gradients.descent_lines(descend(result, step), str(step), digits, room)) + "\n"
    emit(fitted(shown, output, form), output)
