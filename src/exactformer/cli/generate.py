"""exactformer generate: a continuation, token by token, each choice proved where the arithmetic can."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import (
    DONE,
    INTERRUPTED,
    UNDECIDED,
    Whole,
    columns,
    digits_of_named_numbers,
    digits_option,
    emit,
    fitted,
    format_option,
    given,
    keep_the_source,
    kind,
    max_option,
    output_option,
    refuse,
    settled_arithmetic,
    sized_arithmetic_option,
)
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.interruption import undivided
from exactformer.messages import many, printable
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.decoding import Chosen, End, Strategy
    from exactformer.worksheets import Input, Worksheet

_NOTHING = "before the first token; nothing was written"


@click.command("generate")
@source_argument("capstone")
@input_options
@reading_option
@max_option(20, "The most tokens that are to follow.")
@click.option("--top-k", type=Whole(1), metavar="K", help="Draw only from the K largest logits.")
@click.option("--top-p", metavar="P", help="Draw from the smallest set whose probabilities reach P, e.g. 0.9 or 9/10.")
@click.option("--temperature", metavar="T", help="Divide logits by this number first, e.g. 0.7 or 2/3; 0 is greedy.")
@click.option("--seed", type=Whole(-(10**18)), help="The seed of what is drawn. Default: a new one, which is printed.")
@click.option("--stop", metavar="TOKEN", multiple=True, help="End with this token of the vocabulary; repeatable.")
@digits_option
@sized_arithmetic_option
@format_option("text", "json")
@output_option
def command(
    source: str, asked: Input, reading: str, most: int, top_k: int | None, top_p: str | None, temperature: str | None,
    seed: int | None, stop: tuple[str, ...], digits: int, arithmetic: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Continue a text: greedily, or with --top-k, --top-p, --temperature or --seed by drawing, which is proved too."""
    from exactformer.decoding import DecodingError, End, generate
    from exactformer.decoding.generating import fresh_seed
    from exactformer.worksheets.cost import GENERATING

    keep_the_source(source, output)
    digits_of_named_numbers(arithmetic)
    refuse(not kind(arithmetic).stepwise, f"--arithmetic {arithmetic}: exactformer certify proves tokens with it, one by one")
    try:
        strategy = _strategy(top_k, top_p, temperature, seed)
        worksheet = opened(source, reading=reading)
        ids = ids_of(asked, worksheet)
        if not given("digits"):  # which goes with exact alone
            positions = min(len(ids) + most - 1, worksheet.model.config.length or len(ids) + most - 1)
            arithmetic = settled_arithmetic(arithmetic, worksheet, positions, GENERATING)
        worksheet.fits(arithmetic, len(ids))
        seed = None if strategy.greedy else fresh_seed() if seed is None else seed
        with Progress() as progress:
            stream = _Stream(progress, form == "text" and output is None)
            choices = generate(
                worksheet.model, ids, steps=most, arithmetic=arithmetic, strategy=strategy, stop=stop, seed=seed,
                tokenizer=worksheet.tokenizer, progress=stream.progress,
            )  # fmt: skip
            interrupted = stream.follow(choices)
    except DecodingError as error:
        raise click.ClickException(f"--{error}") from None
    except KeyboardInterrupt:  # while the model is read
        click.echo(f"exactformer: interrupted {_NOTHING}", err=True)
        sys.exit(INTERRUPTED)
    chosen, count = stream.chosen, sum(choice.id is not None for choice in stream.chosen)
    end = chosen[-1].end if chosen else None
    end = End("interrupted", f"interrupted after {many(count, 'token')}") if end is None else end
    if chosen and form == "text":
        text = "" if stream.shown else f"{stream.text}\n"
        emit(text + fitted(_text(chosen, end, arithmetic, strategy, seed, digits, worksheet, columns(output)), output), output)
    elif chosen:
        names = [worksheet.model.config.vocabulary[i] for i in ids]
        emit(_json(chosen, end, worksheet.title, arithmetic, strategy, seed, names, digits), output)
    if interrupted:
        where = f", {'which is' if count == 1 else 'which are'} {'shown' if output is None else f'in {output}'}"
        told = f"after {many(count, 'token')}{where}" if chosen else _NOTHING
        click.echo(f"exactformer: interrupted {told}", err=True)
        sys.exit(INTERRUPTED)
    if end.kind == "undecided":
        click.echo(f"exactformer: {end.text}", err=True)
    sys.exit(UNDECIDED if end.kind == "undecided" else DONE)


def _strategy(top_k: int | None, top_p: str | None, temperature: str | None, seed: int | None) -> Strategy:
    from exactformer.decoding import GREEDY, Strategy

    options = {"--top-k": top_k, "--top-p": top_p, "--seed": seed}
    if temperature is None and all(value is None for value in options.values()):
        return GREEDY
    strategy = Strategy("1" if temperature is None else temperature, top_k, top_p)
    for option, value in options.items():
        refuse(strategy.greedy and value is not None, f"{option}: does not go with --temperature 0, which draws nothing")
    return strategy


class _Stream:
    """Text as it comes. Signs of life stop with the first of it, for they would wipe it from a terminal."""

    def __init__(self, progress: Progress, shown: bool) -> None:
        self.signs, self.shown = progress, shown
        self.chosen: list[Chosen] = []
        self.text = ""

    def progress(self, step: str) -> None:
        if not (self.shown and self.text):
            self.signs(step)

    def follow(self, choices: Iterator[Chosen]) -> bool:
        """Was it interrupted?"""
        interrupted = False
        try:
            for choice in choices:
                if not self.text:
                    self.signs.clear()
                piece = printable(choice.text, besides="\n\t")
                with undivided():
                    self.chosen.append(choice)
                    self.text += piece
                    if self.shown:
                        click.echo(piece, nl=False)
                        sys.stdout.flush()
        except KeyboardInterrupt:
            interrupted = True
        if self.shown and (self.chosen or not interrupted):
            click.echo()
        return interrupted


def _text(
    chosen: list[Chosen], end: End, arithmetic: str, strategy: Strategy, seed: int | None, digits: int, worksheet: Worksheet,
    room: int | None,
) -> str:  # fmt: skip
    from exactformer.certificates.question import namer
    from exactformer.render.tables import grid

    drawn = "" if seed is None else f", seed {seed}"
    lines = ["", f"{strategy}{drawn}, arithmetic {arithmetic}", ""]
    found = [choice for choice in chosen if choice.id is not None]
    if found:
        named = ["probability", "", "rank", "runner-up", "margin"]
        name, ids = namer(worksheet, said=True), {token: id for id, token in enumerate(worksheet.model.config.spoken)}
        called = {
            each: printable(name(ids[each])) for choice in found for each in (choice.token, choice.runner_up) if each is not None
        }
        tokens = [called[str(choice.token)] for choice in found]
        lines += grid(tokens, named, [_cells(choice, called, digits) for choice in found], room)
    return "\n".join([*(line.rstrip() for line in lines), "", f"end: {end.text}"]) + "\n"


def _cells(choice: Chosen, called: dict[str, str], digits: int) -> list[str]:
    return [
        _number(choice.probability, digits),
        "proved" if choice.proved else "not proved",
        "undecided" if choice.rank is None else str(choice.rank),
        "undecided" if choice.runner_up is None else called[choice.runner_up],
        "" if choice.margin is None else _number(choice.margin, digits),
    ]


def _number(value: Any, digits: int) -> str:
    from exactformer.render.values import show

    shown = show(value, digits)
    return f"{shown.text} ≈ {shown.digits}" if shown.digits and not shown.too_long else shown.text


def _json(
    chosen: list[Chosen], end: End, title: str, arithmetic: str, strategy: Strategy, seed: int | None, tokens: list[str],
    digits: int,
) -> str:  # fmt: skip
    from exactformer.render.json import value

    document = {
        "format": "exactformer continuation 1",
        "title": title,
        "arithmetic": arithmetic,
        "strategy": {
            "temperature": str(strategy.temperature),
            "top_k": strategy.top_k,
            "top_p": None if strategy.top_p is None else str(strategy.top_p),
        },
        "seed": seed,
        "tokens": tokens,
        "text": "".join(choice.text for choice in chosen),
        "chosen": [
            {
                "position": choice.position,
                "id": choice.id,
                "token": choice.token,
                "text": choice.text,
                "proved": choice.proved,
                "probability": value(choice.probability, digits),
                "rank": choice.rank,
                "runner_up": choice.runner_up,
                "margin": None if choice.margin is None else value(choice.margin, digits),
                "bits": choice.bits,
            }
            for choice in chosen
            if choice.id is not None
        ],
        "end": {"kind": end.kind, "text": end.text},
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
