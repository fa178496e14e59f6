"""exactformer prove: theorems over all inputs, and schedules that compute the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import (
    DONE,
    INTERRUPTED,
    REFUTED,
    UNDECIDED,
    Arithmetic,
    Whole,
    change_options,
    color_option,
    columns,
    digits_option,
    emit,
    fitted,
    format_option,
    given,
    keep_the_source,
    kind,
    options_given,
    output_option,
    paint,
    refuse,
    settled_arithmetic,
    writable,
)
from exactformer.cli.heads import pattern_theorem, relative_theorem
from exactformer.cli.inputs import changed, ids_of, input_options, loaded, opened, program_of, reading_option, source_argument
from exactformer.cli.journals import Kept, how_to_go_on, in_the_cache, run_options
from exactformer.cli.kinds import RELATIVE, SEARCH, Grouped, check_options, kind_asked
from exactformer.cli.questions import Question
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input

_MOST_INPUTS = 5_000_000
_BATCHES = "certified"  # the arithmetic that takes many inputs at once
_RULE = (
    "What is demanded, where the worksheet does not say it: sorted, copy, reverse, max, min, majority, first, last, balanced; a "
    'formula such as "(a+b) mod 113" or "3 reversed digits of ab+cd"; a table.csv of inputs and answers; file.py:f, your own '
    "function, whose code is run. Or relative: scores depend on distances alone."
)


@click.command("prove", cls=Grouped)
@source_argument()
@click.option("--length", type=Whole(1, 64), help="Prove the rule for every sequence up to this length.")
@click.option(
    "--domain", metavar="SETS|FILE",
    help='The inputs: sets of tokens, one a position ("digits^4", "0..112 0..112 =", "{a b}^3"), or a file with one a line.',
)  # fmt: skip
@click.option("--rule", metavar="RULE", help=_RULE)
@click.option("--steps", type=Whole(1, 64), help="For a function: how many tokens it demands, each fed back.  [default: 1]")
@click.option("--positions", metavar="NUMBERS|all", help="Read answers at these positions of the input, and not after it.")
@click.option("--count", is_flag=True, help="Count the inputs that satisfy the rule, with leads and the mean cross-entropy.")
@click.option("--sets", is_flag=True, help="With --count: prove whole sets of inputs at once, for domains of any size.")
@click.option("--budget", type=Whole(1), default=2_000_000, show_default=True, help="With --sets: look at so many sets.")
@click.option(
    "--ablate",
    "ablated",
    metavar="PART=zero",
    multiple=True,
    help="Without a head or an MLP: blocks.1.attn.head.0=zero; repeatable.",
)
@click.option(
    "--claim",
    type=click.Choice(("everywhere", "fails", "nowhere")),
    default="everywhere",
    show_default=True,
    help="What is claimed of the rule: that it holds everywhere, fails somewhere, or holds nowhere.",
)
@click.option("--pattern", metavar="CLAIM", help='Instead of a rule: where a head looks, "0.0 previous >= 0.99".')
@click.option(
    "--wrong", metavar="FILE", type=click.Path(path_type=Path), callback=writable,
    help="Write every input that is not proved right to a table (CSV), with its lead.",
)  # fmt: skip
@click.option(
    "--strength",
    metavar="NUMBER|search",
    help="For a circuit or a program: the strength of every head; or search for the smallest integer that is enough.",
)
@run_options
@color_option
@click.option(
    "--schedule",
    type=click.Choice(("flash", "kv-cache")),
    help="Instead of a rule: prove that another order of computation gives the same numbers.",
)
@click.option("--tile", type=Whole(1), default=2, show_default=True, help="Keys in a tile of flash attention.")
@click.option("--forget-rescaling", is_flag=True, help="With --schedule flash: make its classic mistake, which is refuted.")
@input_options
@reading_option
@change_options
@digits_option
@click.option(
    "--arithmetic", type=Arithmetic(lambda kind: kind.proves), default="exact",
    help="What it is proved in. Default: exact for a circuit or a tiny model, arb for a small one, else certified; a line says so.",
)  # fmt: skip
@format_option("text", "json", "html", help="html: with --count.")
@output_option
def command(
    source: str, length: int | None, domain: str | None, rule: str | None, steps: int | None, positions: str | None, count: bool,
    sets: bool, budget: int, ablated: tuple[str, ...], claim: str, pattern: str | None, wrong: Path | None, strength: str | None,
    journal: Path | None, workers: int | None, cluster: str | None, schedule: str | None, tile: int, forget_rescaling: bool,
    asked: Input, reading: str, changes: tuple[str, ...], hard: bool, mask: str | None, digits: int, arithmetic: str, form: str,
    output: Path | None,
) -> None:  # fmt: skip
    """Prove a theorem: a circuit does what its rule says, or a model what its program says, on all inputs; or another schedule
    computes the same."""
    from exactformer.worksheets.cost import PROVING

    keep_the_source(source, output)
    keep_the_source(source, wrong)
    asked_for = kind_asked(schedule, pattern, rule, strength, count, sets)
    check_options(asked_for, *options_given())
    refuse(form != "text" and "form" not in asked_for.takes, f"--format {form}: does not go with {asked_for.sign}")
    refuse(form == "html" and not count, "--format html: goes with --count")
    if schedule is not None:
        _schedule(source, schedule, tile, forget_rescaling, asked, reading, digits, output)
        return
    for part in ablated:
        refuse(not part.rstrip().endswith("=zero"), f"--ablate: {part[:60]!r}: of all inputs, theorems are about PART=zero")
    changes += ablated
    if pattern is not None:
        refuse(length is None, "--length: is missing: --pattern is about every sequence up to which length?")
        assert length is not None
        worksheet = opened(source, changes, hard, mask, reading=reading)
        pattern_theorem(worksheet, pattern, length, journal, workers, cluster, form, output)
        return
    if asked_for is RELATIVE:
        refuse(length is None, "--length: is missing: up to which position?")
        assert length is not None
        relative_theorem(opened(source, reading=reading), source, length, output)
        return
    refuse(sets and given("arithmetic") and arithmetic != _BATCHES, f"--sets: goes with --arithmetic {_BATCHES}")
    searching = asked_for is SEARCH
    worksheet = loaded(source, reading)
    program = program_of(worksheet)
    refuse(program is not None and length is None, "--length: is missing: up to which length is the program to be proved?")
    longer = length if program or (worksheet.circuit is not None and (length or 0) > worksheet.circuit.length) else None
    worksheet = changed(worksheet, changes, hard, mask, None if searching else strength, longer)
    if searching:
        refuse(worksheet.circuit is None and program is None, f"--strength search: {source} has no circuit, and is no program")
        refuse(length is None, "--length: is missing: up to which length?")
        assert length is not None
        _search(worksheet, length, arithmetic, journal, workers, cluster, output)
    else:
        question = Question(worksheet, source, rule, length, domain, positions, steps)
        wide = count or domain or wrong or positions or rule not in (None, "sorted") or (worksheet.theorem and length is None)
        if not given("arithmetic") and program and rule is None:
            arithmetic = "exact" if hard else _BATCHES
        elif not given("arithmetic") and wide:
            arithmetic = _BATCHES
        elif worksheet.circuit is None:  # the logits of circuits may tie, which only exact numbers prove
            arithmetic = settled_arithmetic(arithmetic, worksheet, question.longest, PROVING)
        command = ["exactformer", "trace", source, *(part for change in changes for part in ("--set", change)), *["--hard"] * hard]
        options = {
            "mask": mask,
            "strength": strength,
            "length": longer,
            "arithmetic": arithmetic if arithmetic != "exact" else None,
        }
        command += [part for name, value in options.items() if value is not None for part in (f"--{name}", str(value))]
        plain = program and rule is None and not changes and form == "text" and not count  # heads are those of the program
        leaks = worksheet.leaks if plain else list  # type: ignore[attr-defined]
        searched = budget if sets else None
        _theorem(question, arithmetic, journal, workers, cluster, form, output, command, count, wrong, searched, claim, leaks)


def _theorem(
    question: Question, arithmetic: str, journal: Path | None, workers: int | None, cluster: str | None, form: str,
    output: Path | None, command: list[str], count: bool, wrong: Path | None, sets: int | None, claim: str,
    leaks: Callable[[], list[Any]],
) -> None:  # fmt: skip
    from exactformer.cli.wrong import written
    from exactformer.proofs import Product, prove
    from exactformer.render import counts, theorems
    from exactformer.worksheets.cost import last_arithmetic

    worksheet, model, domain = question.worksheet, question.worksheet.model, question.domain
    if not kind(arithmetic).stepwise:  # takes a model of any size, and a domain of any size
        kind(arithmetic)().check(model.config)
        worksheet.checked()
    else:
        refuse(count, f"--count: goes with --arithmetic {_BATCHES}")
        size = len(domain) if isinstance(domain, list) else domain.size
        refuse(size > _MOST_INPUTS, f"--length: there are {size:,} inputs; one by one, a proof takes up to {_MOST_INPUTS:,}")
        domain = list(domain) if isinstance(domain, Product) else domain
        worksheet.fits(arithmetic, question.longest)
    last = "exact" if program_of(worksheet) else last_arithmetic(model, question.longest)
    with Progress() as progress, written(wrong) as failed:
        kept = Kept(journal, progress)
        try:
            report = prove(
                model, domain, question.rule, circuit=worksheet.circuit, steps=question.steps, positions=question.positions,
                arithmetic_name=arithmetic, journal=kept.named, workers=workers, cluster=cluster, progress=kept.heard,
                loss=count and sets is None, wrong=failed, sets=sets, last=None if kind(arithmetic).stepwise else last,
            )  # fmt: skip
        except KeyboardInterrupt:
            kept.interrupted()
            sys.exit(INTERRUPTED)
    kept.done()
    report.asked = claim
    with Progress("all cases are done, writing the report"):
        if form == "text":
            shown = (counts if count else theorems).text(report, worksheet, command, paint(output), columns(output))
        else:
            shown = (counts.RENDERERS if count else theorems.RENDERERS)[form](report, worksheet, command)
        shown += "".join(f"{line}\n" for line in ("", *leaks())) if leaks is not list else ""
    emit(fitted(shown, output, form), output)
    if count:
        sys.exit(UNDECIDED if report.counts["undecided"] else DONE)
    sys.exit({"proved": DONE, "refuted": REFUTED, "undecided": UNDECIDED}[report.answer])


def _search(
    worksheet: Any, length: int, arithmetic: str, journal: Path | None, workers: int | None, cluster: str | None,
    output: Path | None,
) -> None:  # fmt: skip
    from exactformer.proofs.fingerprint import fingerprint, model_fingerprint
    from exactformer.proofs.search import smallest_strengths
    from exactformer.render import theorems

    place = journal or in_the_cache(fingerprint(model_fingerprint(worksheet.model), (), 1, arithmetic))
    kept: list[Path] = []
    at = ""

    def named(length: int, strength: int) -> Path | None:
        nonlocal at
        at = f" at length {length}, strength {strength}"
        if place is None:
            return None
        kept.append(place.with_name(f"{place.name}.{length}.{strength}"))
        return kept[-1]

    with Progress() as progress:
        try:
            if (program := program_of(worksheet)) is not None:
                found = list(program.strengths(length, workers=workers, cluster=cluster, journal=named, progress=progress))
            else:
                circuit, rule = worksheet.circuit, worksheet.rule
                found = list(smallest_strengths(circuit, rule, length, arithmetic, workers, cluster, named, progress))
        except KeyboardInterrupt:
            progress.clear()
            click.echo(f"exactformer: interrupted{at}{how_to_go_on(place, bool(at))}", err=True)
            sys.exit(INTERRUPTED)
    if journal is None:
        for path in kept:
            path.unlink(missing_ok=True)
    emit(fitted(theorems.strengths(found, worksheet), output), output)
    sys.exit(DONE if found[-1].strength is not None else UNDECIDED)


def _schedule(
    source: str, schedule: str, tile: int, forget_rescaling: bool, asked: Input, reading: str, digits: int, output: Path | None
) -> None:
    from exactformer.render import schedules as rendering
    from exactformer.trace.schedules import flash, kv_cache
    from exactformer.worksheets.cost import check_equalities

    for option in ("tile", "forget_rescaling"):
        refuse(
            given(option) and schedule != "flash", f"--{option.replace('_', '-')}: goes with --schedule flash, not with {schedule}"
        )
    with Progress() as progress:
        worksheet = opened(source, reading=reading)
        trace = worksheet.trace(ids_of(asked, worksheet), progress=progress)
        if schedule == "kv-cache" and trace.model.config.mask == "none":
            raise click.ClickException("--schedule kv-cache: without a mask, earlier positions read later ones")
    steps = [step for step in trace.computed if schedule == "kv-cache" or step.op == "mix"]
    check_equalities(steps, f"--schedule {schedule}")
    with Progress(f"proving {sum(step.values.size for step in steps):,} numbers equal"):
        result = flash(trace, tile, not forget_rescaling) if schedule == "flash" else kv_cache(trace)
    emit(fitted(rendering.render(result, digits, paint(output)), output), output)
    sys.exit({True: DONE, False: REFUTED, None: UNDECIDED}[result.verdict])
