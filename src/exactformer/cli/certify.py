"""exactformer certify: the next tokens, each proved; certificates made and verified."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exactformer.cli.common import (
    Whole,
    cap_option,
    check_place,
    color_option,
    format_option,
    given,
    keep_the_source,
    max_option,
    number,
    output_option,
    refuse,
)
from exactformer.cli.independent import verified_independently
from exactformer.cli.inputs import ids_of, input_options, opened, reading_option, source_argument
from exactformer.cli.journals import run_options
from exactformer.cli.many_prompts import Many
from exactformer.cli.planned import planned
from exactformer.cli.proving import Run
from exactformer.cli.verified import verified

if TYPE_CHECKING:
    from exactformer.checkpoints import Reading
    from exactformer.worksheets import Input

_NOT_TO_VERIFY = (
    "prompt", "ids", "tokens", "most", "top", "cap", "digits", "audit", "compare", "expect", "tolerance", "form", "output",
)  # fmt: skip
_NOT_WITH_PROMPTS = ("prompt", "ids", "tokens", "verify", "independent", "witness", "audit", "compare", "expect", "tolerance")
_NOT_TO_PLAN = (
    "verify",
    "independent",
    "witness",
    "top",
    "cap",
    "digits",
    "audit",
    "compare",
    "expect",
    "tolerance",
    "reading",
    "prompts",
    "journal",
    "cluster",
    "spread",
)
_LONGEST = 65_536  # tokens of an input


@click.command("certify")
@source_argument()
@input_options
@reading_option
@max_option(1, "How many tokens are to be proved, one after the other.")
@click.option("--top", type=Whole(1, 1000), default=5, show_default=True, help="How many of the largest logits to show.")
@cap_option
@click.option("--digits", type=Whole(0, 80), default=0, help="Prove this many decimals of the largest logits.")
@click.option("--audit", is_flag=True, help="Compute it again in the slow arithmetic arb, and check that both agree.")
@click.option(
    "--compare",
    metavar="KINDS",
    help="float16, bfloat16, float32, float64, or several with commas: what such floats get wrong, proved for every number.",
)
@click.option(
    "--expect", metavar="FILE", type=click.Path(path_type=Path),
    help="Logits that your own run saved (.npy): are they those of this network?",
)  # fmt: skip
@click.option(
    "--tolerance", metavar="NUMBER", help="With --expect: how far a logit may be off. Default: by the type of the floats."
)
@format_option("text", "json", "html")
@click.option(
    "--verify",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Instead of proving tokens: check a certificate, with new passes.",
)
@click.option("--independent", is_flag=True, help="With --verify: by the checker that needs Python alone, in a process of its own.")
@click.option(
    "--witness", metavar="FILE", type=click.Path(path_type=Path),
    help="Write the products of all matrices, which make that checker faster; with --independent: read them.",
)  # fmt: skip
@click.option("--plan", is_flag=True, help="Instead of proving tokens: what it is expected to take. A config.json alone will do.")
@click.option("--length", type=Whole(1, _LONGEST), help="With --plan: tokens of the prompt. Default: those of the input, or 8.")
@click.option(
    "--prompts", metavar="FILE", type=click.Path(path_type=Path),
    help='Certify many: JSON Lines, each {"ids": [1, 2]} or {"prompt": "text"}; with --format json a certificate a line.',
)  # fmt: skip
@click.option("--spread", is_flag=True, help="Spread the blocks over the workers of --cluster: each keeps a part of the model.")
@run_options
@color_option
@output_option
def command(
    source: str, asked: Input, reading: Reading, most: int, top: int, cap: int, digits: int, audit: bool,
    compare: str | None, expect: Path | None, tolerance: str | None, form: str, verify: Path | None, independent: bool,
    witness: Path | None, plan: bool, length: int | None, prompts: Path | None, spread: bool, journal: Path | None,
    workers: int | None, cluster: str | None, output: Path | None,
) -> None:  # fmt: skip
    """Prove the next tokens of a model: each the argmax of the exact network, with its margin and proved digits."""
    keep_the_source(source, output)
    if plan:
        for option in _NOT_TO_PLAN:
            refuse(given(option), f"--{option}: does not go with --plan")
        refuse(form == "html", "--format html: does not go with --plan")
        planned(source, asked, length, most, workers or 1, form, output)
        return
    refuse(given("length"), "--length: goes with --plan")
    if prompts is not None:
        for option in _NOT_WITH_PROMPTS:
            refuse(given(option), f"--{option}: does not go with --prompts")
        refuse(form == "html", "--format html: does not go with --prompts")
        refuse(cluster is not None and workers is not None, "--workers: does not go with --cluster, which has its own")
        refuse(spread and cluster is None, "--spread: goes with --cluster, whose workers the blocks are spread over")
        many = Many(source, reading, prompts, most, top, cap, digits, spread)
        sys.exit(many.certified(journal, workers, cluster, form, output))
    for option in ("journal", "cluster", "spread"):
        refuse(given(option), f"--{option}: goes with --prompts")
    refuse(given("workers") and not independent, "--workers: goes with --prompts, --plan or --independent")
    if verify is not None:
        for option in _NOT_TO_VERIFY:
            name = {"form": "format", "most": "max"}.get(option, option)
            refuse(given(option), f"--{name}: does not go with --verify")
        if independent:
            refuse(given("reading"), "--reading: does not go with --independent: the certificate names it")
            sys.exit(verified_independently(source, verify, witness, workers))
        refuse(witness is not None, "--witness: goes with --verify where --independent does")
        verified(source, verify, reading)
        return
    refuse(independent, "--independent: goes with --verify")
    refuse(witness is not None and (form != "json" or output is None), "--witness: goes with --format json and -o FILE")
    if witness is not None and output is not None:
        check_place(witness)
        refuse(witness.resolve() == output.resolve(), f"--witness: {witness} is the file of -o, too")
    from exactformer.certificates.expected import read_logits
    from exactformer.certificates.question import check_question

    kinds, allowed = _kinds(compare), _tolerance(tolerance, expect)
    count = (asked.tokens or "").strip()
    refuse(
        count.isascii() and count.isdigit(),
        f"--tokens: {count[:40]} is not a count any more: --max {count[:40]} proves that many tokens (one token as input: --ids)",
    )
    worksheet = opened(source, reading=reading)
    ids = ids_of(asked, worksheet)
    title = worksheet.title or source
    check_question(worksheet.model, source, ids, most)
    saved = None if expect is None else read_logits(expect, len(ids), len(worksheet.model.config.spoken))
    run = Run(worksheet, title, ids, most, top, cap, digits, kinds, audit, saved, allowed, form, output, witness)
    run.follow()
    sys.exit(run.finish())


def _kinds(text: str | None) -> tuple[str, ...]:
    from exactformer.numbers.formats import FORMATS

    kinds = tuple(dict.fromkeys(kind.strip() for kind in text.split(","))) if text is not None else ()
    for kind in kinds:
        refuse(kind not in FORMATS, f"--compare: {kind!r} is not one of {', '.join(FORMATS)}")
    return kinds


def _tolerance(text: str | None, expect: Path | None) -> Fraction | None:
    from exactformer.numbers import exact

    refuse(text is not None and expect is None, "--tolerance: goes with --expect")
    if text is None:
        return None
    allowed: Fraction = number("--tolerance", text, exact).fraction
    refuse(allowed < 0, f"--tolerance: {text[:40]} is negative")
    return allowed
