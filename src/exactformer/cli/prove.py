"""exactformer prove: theorems over all inputs, and schedules that compute the same."""

from __future__ import annotations

import sys
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
    digits_option,
    emit,
    given,
    keep_the_source,
    kind,
    output_option,
    refuse,
    settled_arithmetic,
    signs_of_life,
)
from exactformer.cli.inputs import changed, ids_of, input_options, loaded, opened, reading_option, source_argument
from exactformer.cli.journals import Kept, how_to_go_on, in_the_cache, run_options
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input

SEARCH = "search"
_OF_SCHEDULES = ("tile", "forget_rescaling", "prompt", "ids", "tokens", "digits")
_MOST_INPUTS = 5_000_000
_OF_THEOREMS = ("length", "rule", "strength", "journal", "workers", "cluster", "form", "arithmetic", "changes", "hard", "mask")


@click.command("prove")
@source_argument()
@click.option("--length", type=Whole(1, 64), help="Prove the rule for every sequence up to this length.")
@click.option(
    "--rule", type=click.Choice(("sorted", "relative")),
    help="The rule to prove, where the worksheet has none: the model sorts its input; scores depend on distances alone.",
)  # fmt: skip
@click.option(
    "--strength",
    metavar="NUMBER|search",
    help="For a circuit: the strength of every head; or search for the smallest integer that is enough.",
)
@run_options
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
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@output_option
def command(
    source: str, length: int | None, rule: str | None, strength: str | None, journal: Path | None, workers: int | None,
    cluster: str | None, schedule: str | None, tile: int, forget_rescaling: bool, asked: Input, reading: str,
    changes: tuple[str, ...], hard: bool, mask: str | None, digits: int, arithmetic: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Prove a theorem: a circuit does what its rule says, on all inputs; or another schedule computes the same."""
    from exactformer.worksheets.cost import PROVING

    keep_the_source(source, output)
    refuse(
        schedule is None and length is None,
        "--length: is missing: up to which length is the theorem to be proved? (or: --schedule)",
    )
    for option in _OF_THEOREMS if schedule is not None else _OF_SCHEDULES:
        name = {"form": "format", "changes": "set"}.get(option, option).replace("_", "-")
        refuse(given(option), f"--{name}: does not go with {'--schedule' if schedule is not None else '--length'}")
    if schedule is not None:
        _schedule(source, schedule, tile, forget_rescaling, asked, reading, digits, output)
        return
    assert length is not None
    searching = strength == SEARCH
    refuse(
        searching and bool(changes or hard or rule or form != "text"),
        "--strength search: does not go with --set, --hard, --rule or --format json",
    )
    refuse(cluster is not None and workers is not None, "--workers: does not go with --cluster, which has its own")
    if rule == "relative":
        extra = next((name for name in ("strength", "journal", "workers", "cluster", "form", "arithmetic") if given(name)), None)
        refuse(extra is not None, f"--{'format' if extra == 'form' else extra}: does not go with --rule relative")
        _relative(opened(source, changes, reading=reading), source, length, output)
        return
    worksheet = loaded(source, reading)
    longer = length if worksheet.circuit is not None and length > worksheet.circuit.length else None
    worksheet = changed(worksheet, changes, hard, mask, None if searching else strength, longer)
    if searching:
        refuse(worksheet.circuit is None, f"--strength search: {source} has no circuit")
        _search(worksheet, length, arithmetic, journal, workers, cluster, output)
    else:
        question = _Question(worksheet, rule, length, source)
        if worksheet.circuit is None:  # the logits of circuits may tie, which only exact numbers prove
            arithmetic = settled_arithmetic(arithmetic, worksheet, question.longest, PROVING)
        command = ["exactformer", "trace", source, *(part for change in changes for part in ("--set", change)), *["--hard"] * hard]
        options = {
            "mask": mask,
            "strength": strength,
            "length": longer,
            "arithmetic": arithmetic if arithmetic != "exact" else None,
        }
        command += [part for name, value in options.items() if value is not None for part in (f"--{name}", str(value))]
        _theorem(question, arithmetic, journal, workers, cluster, form, output, command)


def _relative(worksheet: Any, source: str, length: int, output: Path | None) -> None:
    from exactformer.proofs.relative import relative

    refuse(worksheet.model.config.positions != "rotary", f"{source}: positions are not rotary: scores do not go by distances")
    found = relative(worksheet.model.config, length)
    verdicts = {True: "proved", False: "refuted", None: "undecided"}
    lines = [
        f"{worksheet.title}: scores of turned queries and keys depend on the distance i - j alone, positions below {length}",
        "",
    ]
    for turn in found:
        place = "" if turn.place is None else f", first at i = {turn.place[0]}, j = {turn.place[1]}"
        lines.append(f"  {turn.where:<12} angle {turn.angle}: {verdicts[turn.equal]}{place}")
    answers = {turn.equal for turn in found}
    whole = False if False in answers else None if None in answers else True
    emit("\n".join([*lines, "", verdicts[whole], ""]), output)
    sys.exit({True: DONE, False: REFUTED, None: UNDECIDED}[whole])


class _Question:
    """What is to be proved: the domain, the rule, and how many tokens."""

    def __init__(self, worksheet: Any, rule: str | None, length: int, source: str) -> None:
        from exactformer.proofs import Sequences, Sorted

        vocabulary, longest = worksheet.model.config.vocabulary, worksheet.model.config.length
        self.worksheet = worksheet
        self.rule, self.steps, shortest = worksheet.rule, 1, 1
        if rule == "sorted":
            self.rule, self.steps, shortest = Sorted(length, vocabulary), length, length
        refuse(worksheet.model.config.unembedding == "none", f"{source}: the model has no logits: there is no token to prove")
        refuse(self.rule is None, f"{source}: has no circuit and so no rule of its own; give one: --rule sorted")
        needed = length + self.steps - 1
        refuse(longest is not None and needed > longest, f"--length: {needed} positions are needed, the model has {longest}")
        self.longest = needed
        self.domain = Sequences(vocabulary, length, shortest)
        refuse(
            self.domain.size > _MOST_INPUTS,
            f"--length: there are {self.domain.size:,} inputs; a proof takes up to {_MOST_INPUTS:,}",
        )


def _theorem(
    question: _Question, arithmetic: str, journal: Path | None, workers: int | None, cluster: str | None, form: str,
    output: Path | None, command: list[str],
) -> None:  # fmt: skip
    from exactformer.proofs import prove
    from exactformer.render import theorems

    worksheet, model, domain = question.worksheet, question.worksheet.model, question.domain
    if not kind(arithmetic).stepwise:  # takes a model of any size
        worksheet.checked()
    else:
        worksheet.fits(arithmetic, question.longest)
    with Progress() as progress:
        kept = Kept(journal, progress)
        try:
            report = prove(
                model, domain, question.rule, circuit=worksheet.circuit, steps=question.steps, arithmetic_name=arithmetic,
                journal=kept.named, workers=workers, cluster=cluster, progress=kept.heard,
            )  # fmt: skip
        except KeyboardInterrupt:
            kept.interrupted()
            sys.exit(INTERRUPTED)
    kept.done()
    with signs_of_life("all cases are done, writing the report"):
        shown = theorems.RENDERERS[form](report, worksheet, command)
    emit(shown, output)
    sys.exit({"proved": DONE, "refuted": REFUTED, "undecided": UNDECIDED}[report.verdict])


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
        at = f"length {length}, strength {strength}"
        if place is None:
            return None
        kept.append(place.with_name(f"{place.name}.{length}.{strength}"))
        return kept[-1]

    with Progress() as progress:
        try:
            strengths = smallest_strengths(worksheet.circuit, worksheet.rule, length, arithmetic, workers, cluster, named, progress)
            found = list(strengths)
        except KeyboardInterrupt:
            progress.clear()
            click.echo(f"exactformer: interrupted at {at}; {how_to_go_on(place)}", err=True)
            sys.exit(INTERRUPTED)
    if journal is None:
        for path in kept:
            path.unlink(missing_ok=True)
    emit(theorems.strengths(found, worksheet), output)
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
    with signs_of_life(f"proving {sum(step.values.size for step in steps):,} numbers equal"):
        result = flash(trace, tile, not forget_rescaling) if schedule == "flash" else kv_cache(trace)
    emit(rendering.render(result, digits), output)
    sys.exit({True: DONE, False: REFUTED, None: UNDECIDED}[result.verdict])
