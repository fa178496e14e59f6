"""The command line. Exit status: 0 done and proved, 1 a claim is wrong, 2 bad usage or bad input, 3 undecided."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from exactformer.files import write_whole
from exactformer.progress import Progress

FORMATS = ("text", "markdown", "latex", "json", "html")
DONE, REFUTED, BAD_INPUT, UNDECIDED = 0, 1, 2, 3
_MOST_DIGITS = 1000


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="exactformer")
@click.pass_context
def commands(context: click.Context) -> None:
    """Transformers computed without rounding: every number exact, or named with proved digits."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command()
@click.argument("source", metavar="[EXAMPLE|WORKSHEET]", default="capstone")
@click.option("--tokens", metavar="TEXT", help='Input tokens, e.g. "a b". Default: those of the worksheet.')
@click.option("--stable", is_flag=True, help="Subtract each row's largest score before the softmax, as a step of its own.")
@click.option("--break", "mistakes", metavar="MISTAKE", multiple=True, help="Make a mistake on purpose and compare; repeatable.")
@click.option("--target", metavar="TEXT", help="With --break: the tokens wanted, to compare the gradients too.")
@click.option("--stop-at-named", is_flag=True, help="End each position at its first named step.")
@click.option(
    "--digits", type=click.IntRange(1, _MOST_DIGITS), default=12, show_default=True, help="Proved digits of named numbers."
)
@click.option("--arithmetic", type=click.Choice(("exact", "float64", "float32")), default="exact", show_default=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file, whole or not at all.")
def trace(
    source: str, tokens: str | None, stable: bool, mistakes: tuple[str, ...], target: str | None, stop_at_named: bool, digits: int,
    arithmetic: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Trace a forward pass line by line: a built-in example (the capstone alone) or your own worksheet."""
    from exactformer.worksheets import load

    if output is not None and output.exists() and Path(source).exists() and output.samefile(source):
        raise click.ClickException(f"{output}: is the worksheet itself; write to another file")
    if stop_at_named and arithmetic != "exact":
        raise click.ClickException(f"--stop-at-named: no number of {arithmetic} is named; it goes with --arithmetic exact")
    with Progress() as progress:
        worksheet = load(source)
        if stable:
            worksheet = replace(worksheet, model=replace(worksheet.model, config=replace(worksheet.model.config, stable=True)))
        result = worksheet.trace(tokens, arithmetic, stop_at_named, progress)
        if mistakes:
            _emit(_comparison(worksheet, result, mistakes, target, digits), output)
            return
    _emit(_render(result, form, digits, to_terminal=output is None), output)
    if arithmetic == "exact" and not result.decided:
        for out in result.output:
            if not out.proved and result.stopped[out.position] is None:
                click.echo(f"exactformer: position {out.position}: {out.why}", err=True)
        sys.exit(UNDECIDED)


@commands.command()
@click.argument("source", metavar="[EXAMPLE|WORKSHEET]", default="capstone")
@click.option("--tokens", metavar="TEXT", help="Input tokens. Default: those of the worksheet.")
@click.option("--target", metavar="TEXT", help="The token wanted at each position: the loss is their mean cross-entropy.")
@click.option("--upstream", metavar="ROWS", help='∂L/∂ of the last step, e.g. "0 0; 1 1/2". Default: ones at the last position.')
@click.option("--step", "rate", metavar="NUMBER", help="Take one step of gradient descent, e.g. 1/10.")
@click.option("--digits", type=click.IntRange(1, _MOST_DIGITS), default=12, show_default=True, help="Digits of named numbers.")
@click.option("--arithmetic", type=click.Choice(("exact", "float64", "float32")), default="exact", show_default=True)
@click.option("--format", "form", type=click.Choice(FORMATS[:4]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file, whole or not at all.")
def grad(
    source: str, tokens: str | None, target: str | None, upstream: str | None, rate: str | None, digits: int, arithmetic: str,
    form: str, output: Path | None,
) -> None:  # fmt: skip
    """Trace the backward pass: the gradient of every step and weight. Models with logits need --target."""
    from exactformer.numbers import exact
    from exactformer.render import gradients, text
    from exactformer.trace import descend, gradient
    from exactformer.worksheets import load

    step = None if rate is None else _number("--step", rate, exact)
    if rate is not None and form != "text":
        raise click.ClickException("--step: goes with --format text")
    with Progress() as progress:
        forward = load(source).trace(tokens, arithmetic, progress=progress)
        given = _upstream(upstream, forward) if forward.model.config.unembedding == "none" else None
        result = gradient(forward, target, given, progress)
        if form == "text" and output is None and _colour():
            shown = gradients.text(result, digits, text.coloured)
        else:
            shown = gradients.RENDERERS[form](result, digits)
        if step is not None:
            if result.loss is None:
                raise click.ClickException("--step: the model has no loss to take a step against")
            shown += "\n" + "\n".join(gradients.descent_lines(descend(result, step), str(step), digits)) + "\n"
    _emit(shown, output)


@commands.command()
@click.argument("source", metavar="[EXAMPLE|WORKSHEET]")
@click.option(
    "--schedule", type=click.Choice(("flash", "kv-cache")), required=True, help="The order of computation to prove equal."
)
@click.option("--tile", type=click.IntRange(1), default=2, show_default=True, help="Keys in a tile of flash attention.")
@click.option("--forget-rescaling", is_flag=True, help="Make the classic mistake of flash attention: it must be refuted.")
@click.option("--tokens", metavar="TEXT", help="Input tokens. Default: those of the worksheet.")
@click.option("--digits", type=click.IntRange(1, _MOST_DIGITS), default=12, show_default=True, help="Digits of named numbers.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file, whole or not at all.")
def prove(
    source: str, schedule: str, tile: int, forget_rescaling: bool, tokens: str | None, digits: int, output: Path | None
) -> None:
    """Prove that another schedule computes the same: flash attention in tiles, or decoding with a KV cache."""
    from exactformer.render import schedules as rendering
    from exactformer.trace.schedules import flash, kv_cache
    from exactformer.worksheets import load

    with Progress() as progress:
        trace = load(source).trace(tokens, progress=progress)
        if schedule == "kv-cache" and trace.model.config.mask == "none":
            raise click.ClickException("--schedule kv-cache: without a mask, earlier positions read later ones")
        result = flash(trace, tile, not forget_rescaling) if schedule == "flash" else kv_cache(trace)
    _emit(rendering.render(result, digits), output)
    sys.exit({True: DONE, False: REFUTED, None: UNDECIDED}[result.verdict])


@commands.command()
@click.argument("source", metavar="[EXAMPLE|WORKSHEET]")
@click.option("--lengths", default="4,32,2048", show_default=True, help="Lengths, with commas between them.")
@click.option("--head-dim", type=click.IntRange(1, 256), help="Another width of the heads.")
@click.option("--tile", type=click.IntRange(1), default=2, show_default=True, help="Keys in a tile of flash attention.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file, whole or not at all.")
def budget(source: str, lengths: str, head_dim: int | None, tile: int, output: Path | None) -> None:
    """Count the operations of the pass and its gradient, by stage."""
    from exactformer.render import budgets as rendering
    from exactformer.trace.budget import budgets, resized
    from exactformer.worksheets import load

    wanted = [text.strip() for text in lengths.split(",")]
    if not all(text.isdecimal() and 0 < int(text) <= 10**9 for text in wanted):
        raise click.ClickException(f"--lengths: {lengths!r} is not a list of whole numbers such as 4,32,2048")
    worksheet = load(source)
    found = budgets(worksheet.model, tuple(sorted({int(text) for text in wanted})), tile, head_dim)
    _emit(rendering.render(worksheet.title, found, resized(worksheet.model.config, head_dim), tile), output)


@commands.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--fix", is_flag=True, help="Rewrite the printed numbers that are not right, and nothing else.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def check(files: tuple[str, ...], fix: bool, form: str) -> None:
    """Check the printed numbers of worked examples: worksheets or Markdown pages with claims, or the lesson `attention`."""
    from exactformer.checking import run

    report, status = run(files, fix, form == "json")
    click.echo(report, nl=False)
    sys.exit(status)


def _comparison(worksheet: Any, right: Any, mistakes: tuple[str, ...], target: str | None, digits: int) -> str:
    from exactformer.model.breaking import broken
    from exactformer.render import comparison
    from exactformer.trace import gradient

    wrong = replace(worksheet, model=broken(worksheet.model, mistakes)).trace(right.tokens, right.arithmetic)
    given = _upstream(None, right) if right.model.config.unembedding == "none" else None
    both = None if given is None and target is None else (gradient(right, target, given), gradient(wrong, target, given))
    return comparison.render(right, wrong, mistakes, both, digits)


def _upstream(text: str | None, forward: Any) -> Any:
    """A matrix from "a b; c d"; by default ones at the last position."""
    from exactformer.numbers import array, exact

    shape = forward.steps[-1].values.shape
    if text is None:
        return array([[int(i == shape[0] - 1)] * shape[1] for i in range(shape[0])])
    rows = [[_number("--upstream", entry, exact) for entry in row.split()] for row in text.split(";")]
    if len({len(row) for row in rows}) != 1:
        raise click.ClickException("--upstream: its rows differ in length")
    return array(rows)


def _number(option: str, text: str, exact: Any) -> Any:
    try:
        return exact(text)
    except ValueError as error:
        raise click.ClickException(f"{option}: {error}") from None


@commands.command()
@click.argument("name", required=False)
def examples(name: str | None) -> None:
    """List the built-in examples, or print the worksheet of one: a start for your own."""
    from exactformer.worksheets import example_text, load
    from exactformer.worksheets import examples as names

    if name is not None:
        click.echo(example_text(name), nl=False)
        return
    for name in names():
        worksheet = load(name)
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} exactformer trace {name}")


def _render(result: Any, form: str, digits: int, to_terminal: bool) -> str:
    if form == "text":
        from exactformer.render import text

        colour = to_terminal and _colour()
        width = max(80, os.get_terminal_size().columns) if to_terminal and sys.stdout.isatty() else 120
        return text.render(result, digits, text.coloured if colour else text.plain, width)
    from importlib import import_module

    rendered: str = import_module(f"exactformer.render.{form}").render(result, digits)
    return rendered


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _emit(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    if output.is_dir() or not output.parent.is_dir():
        raise click.ClickException(f"{output}: {'is a folder' if output.is_dir() else 'there is no such folder to write to'}")
    umask = os.umask(0)
    os.umask(umask)
    write_whole(output, text, 0o666 & ~umask)


def main() -> None:
    """Run a command; whatever is wrong with its input becomes one line and status 2."""
    try:
        commands.main(standalone_mode=False)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except click.ClickException as error:
        _fail(" ".join(error.format_message().split()), BAD_INPUT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: nothing more to say
        sys.exit(DONE)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror}", BAD_INPUT)
    except Exception as error:
        from exactformer.model import ConfigError, InputError
        from exactformer.numbers import Undecided
        from exactformer.worksheets import WorksheetError

        if isinstance(error, Undecided):
            _fail(str(error), UNDECIDED)
        if isinstance(error, ConfigError | InputError | WorksheetError):
            _fail(str(error), BAD_INPUT)
        raise


def _fail(problem: str, status: int) -> None:
    click.echo(f"exactformer: {problem}", err=True)
    sys.exit(status)
