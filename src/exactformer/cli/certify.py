"""exactformer certify: the next tokens, each proved; certificates made and verified."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import (
    DONE,
    INTERRUPTED,
    REFUTED,
    UNDECIDED,
    Whole,
    color_option,
    emit,
    fitted,
    format_option,
    given,
    keep_the_source,
    max_option,
    number,
    output_option,
    paint,
    refuse,
)
from exactformer.cli.independent import verified_independently, write_witness
from exactformer.cli.inputs import STDIN, ids_of, input_options, opened, reading_option, source_argument
from exactformer.cli.journals import run_options
from exactformer.cli.many_prompts import Many
from exactformer.messages import printable
from exactformer.painting import judged
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.certificates import Prepared
    from exactformer.certificates.certificate import Claim
    from exactformer.certificates.expected import Saved
    from exactformer.checkpoints import Reading
    from exactformer.worksheets import Input

_SHOWN = 10  # problems of a certificate
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
@click.option(
    "--cap",
    type=Whole(4, 19),
    default=19,
    show_default=True,
    help="The most precision to try, in limbs of 21 bits; then it is undecided.",
)
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
        _plan(source, asked, length, most, workers or 1, form, output)
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
    for option in ("workers", "journal", "cluster", "spread"):
        refuse(given(option), f"--{option}: goes with --prompts{' or --plan' * (option == 'workers')}")
    if verify is not None:
        for option in _NOT_TO_VERIFY:
            name = {"form": "format", "most": "max"}.get(option, option)
            refuse(given(option), f"--{name}: does not go with --verify")
        if independent:
            refuse(given("reading"), "--reading: does not go with --independent: the certificate names it")
            sys.exit(verified_independently(source, verify, witness))
        refuse(witness is not None, "--witness: goes with --verify where --independent does")
        _verify(source, verify, reading)
        return
    refuse(independent, "--independent: goes with --verify")
    refuse(witness is not None and (form != "json" or output is None), "--witness: goes with --format json and -o FILE")
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
    run = _Run(worksheet, title, ids, most, top, cap, digits, kinds, audit, saved, allowed, form, output, witness)
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


@dataclass
class _Run:
    """One question from its start to its status."""

    worksheet: Any
    title: str
    ids: list[int]
    tokens: int
    top: int
    cap: int
    digits: int
    kinds: tuple[str, ...]
    audited: bool
    saved: Saved | None
    tolerance: Fraction | None
    form: str
    output: Path | None
    witness: Path | None = None
    claims: list[Claim] = field(default_factory=list)
    interrupted: bool = False
    audit: Any = None
    expected: Any = None
    floats: tuple[Any, ...] = ()

    @property
    def model(self) -> Any:
        return self.worksheet.model

    @cached_property
    def name(self) -> Callable[[int], str]:
        """What the tokens are called that the model says."""
        from exactformer.certificates.question import namer

        return namer(self.worksheet, said=True)

    @cached_property
    def reads(self) -> Callable[[int], str]:
        """What those are called that it reads."""
        from exactformer.certificates.question import namer

        return namer(self.worksheet)

    @property
    def heading(self) -> str:
        from exactformer.render.certificates import heading

        return heading(self.title, self.ids, self.reads)

    @property
    def streams(self) -> bool:
        """Is each token shown as soon as it is proved?"""
        return self.form == "text" and self.output is None

    def follow(self) -> None:
        """Prove token after token, tell each, and then look at it in the ways that were asked for."""
        from exactformer.certificates.audit import check_size
        from exactformer.certificates.hash import model_hash
        from exactformer.certificates.memory import check_memory, made_anew
        from exactformer.certificates.storage import prepared

        all_logits = bool(self.kinds) or (self.saved is not None and len(self.saved.values) > 1)
        keep = check_memory(self.model, self.title, len(self.ids), self.cap, self.tokens, all_logits)
        if not keep:
            click.echo(f"exactformer: {made_anew(self.title)}", err=True)
        if self.audited:
            check_size(self.model, self.title)
        self.worksheet.checked()
        with Progress() as progress:
            model_hash(self.model, progress)  # which the certificate has, and which takes a while
            with prepared(self.model, keep=keep) as ready:
                ready.prepare(progress)
                if self.streams:
                    progress.clear()
                    click.echo(fitted(self.heading, None), nl=False)
                try:
                    self._prove(ready, progress)
                    self._look(ready, progress)
                except KeyboardInterrupt:
                    self.interrupted = True

    def _prove(self, ready: Prepared, progress: Progress) -> None:
        from exactformer.certificates import prove_tokens
        from exactformer.certificates.certificate import Claim
        from exactformer.render.certificates import claim_text

        options = {"top": self.top, "cap": self.cap, "digits": self.digits}

        def told(step: str) -> None:
            progress.part(len(self.claims), self.tokens)
            progress(f"token {len(self.claims) + 1:,}: {step}")

        for certified in prove_tokens(self.model, self.ids, self.tokens, prepared=ready, progress=told, **options):
            self.claims.append(Claim.of(certified))
            progress.clear()
            if self.streams:
                click.echo(fitted(claim_text(self.claims[-1], len(self.claims), self.name, paint()), None), nl=False)
                sys.stdout.flush()

    def _look(self, ready: Prepared, progress: Progress) -> None:
        from exactformer.certificates.audit import audit
        from exactformer.certificates.comparison import compare
        from exactformer.certificates.expected import expect

        if self.saved is not None:
            self.expected = expect(
                self.model, self.ids, self.saved, self.tolerance, schedule=self.claims[0].schedule, cap=self.cap, prepared=ready,
                progress=progress,
            )  # fmt: skip
        proved = [claim for claim in self.claims if claim.token is not None]
        if self.audited and proved:
            self.audit = audit(self.model, self.ids, proved, prepared=ready, progress=progress)
        if self.kinds and proved:
            before = [self.model.fed_back(claim.token) for claim in proved[:-1] if claim.token is not None]
            true = {len(self.ids) - 1 + n: claim.token for n, claim in enumerate(proved)}
            limbs = max(max(claim.schedule) for claim in proved)
            self.floats = compare(
                self.model, [*self.ids, *before], self.kinds, proved=true, prepared=ready, limbs=max(limbs, 4), progress=progress
            )

    def finish(self) -> int:
        """Hand out what there is, and say how it ended."""
        from exactformer.render.certificates import expected_text

        if self.claims:
            self._hand_out()
        if self.interrupted:
            count = sum(claim.token is not None for claim in self.claims)
            tokens = f"the {count:,} token{'s' * (count != 1)} {'shown' if self.output is None else f'in {self.output}'}"
            kept = f"{tokens} {'are' if count != 1 else 'is'} proved" if count else "nothing is proved"
            click.echo(f"exactformer: interrupted: {kept}", err=True)
            return INTERRUPTED
        if self.audit is not None and not self.audit.agrees:
            click.echo(f"exactformer: the audit contradicts it: {self.audit.contradictions[0]}", err=True)
            return REFUTED
        if self.expected is not None and not self.expected.agrees:
            click.echo(f"exactformer: {expected_text(self.expected, self.name)}", err=True)
            return REFUTED if self.expected.agrees is False else UNDECIDED
        last = self.claims[-1]
        if last.token is None:
            click.echo(f"exactformer: token {len(self.claims)}: {last.why}", err=True)
            return UNDECIDED
        return self._sharpness()

    def _sharpness(self) -> int:
        """Are all logits known to the digits asked for?"""
        for n, claim in enumerate(self.claims if self.digits else (), start=1):
            if any(Fraction(bound.high) - Fraction(bound.low) > Fraction(1, 10**self.digits) for bound in claim.top):
                line = f"token {n}: its logits are not known to {self.digits} decimals with {self.cap} limbs"
                click.echo(f"exactformer: {line}", err=True)
                return UNDECIDED
        return DONE

    def _whole_text(self) -> str:
        """Several tokens are read more easily as the text that they are."""
        proved = [claim.token for claim in self.claims if claim.token is not None]
        if self.worksheet.tokenizer is None or len(proved) < 2:
            return ""
        text = printable(self.worksheet.tokenizer.decode([*self.ids, *proved]), besides="\n\t")
        return f"\n{len(proved):,} tokens, each proved:\n{text}\n"

    def _hand_out(self) -> None:
        from exactformer.certificates.certificate import certificate_of
        from exactformer.render import certificates
        from exactformer.render.certificate_page import page

        origin = None if self.form == "text" else self.worksheet.origin
        certificate = certificate_of(self.model, self.ids, self.cap, self.claims, origin=origin)
        if self.witness is not None:
            write_witness(certificate, self.worksheet.origin, self.witness)
        if self.form == "json":
            emit(certificates.as_json(certificate, self.audit, self.floats, self.expected), self.output)
            return
        if self.form == "html":
            emit(page(certificate, self.title, self.name, self.audit, self.floats, self.expected, self.reads), self.output)
            return
        colours = paint(self.output)
        parts = [] if self.streams else [self.heading]
        if not self.streams:
            parts += [certificates.claim_text(claim, n, self.name, colours) for n, claim in enumerate(self.claims, start=1)]
        parts += [self._whole_text()]
        parts += [] if self.audit is None else [certificates.audit_text(self.audit)]
        parts += [] if self.expected is None else [f"\n{certificates.expected_text(self.expected, self.name)}\n"]
        parts += [certificates.floats_text(errors, self.name) for errors in self.floats]
        emit(fitted("".join(parts), self.output), self.output)


def _verify(source: str, file: Path, reading: str) -> None:
    """Check a certificate; what differs is shown with its line."""
    from exactformer.certificates import Prepared
    from exactformer.certificates.file import read
    from exactformer.certificates.memory import check_memory, made_anew
    from exactformer.certificates.verifying import verify

    written = read(file)
    worksheet = opened(source, reading=reading)
    certificate, title = written.certificate, worksheet.title or source
    keep = check_memory(worksheet.model, title, len(certificate.ids) + len(certificate.tokens), certificate.cap)
    if not keep:
        click.echo(f"exactformer: {made_anew(title)}", err=True)
    worksheet.checked()
    with Progress() as progress:
        ready = Prepared(worksheet.model, keep)  # norms are computed anew
        verdict = verify(certificate, worksheet.model, intact=written.intact, prepared=ready, progress=progress)
    for problem in verdict.problems[:_SHOWN]:
        click.echo(judged(f"refused: {file}, line {written.line(problem.place)}: {problem}", False, paint()))
    if verdict.confirmed:
        count = len(certificate.continuation)
        said = f"confirmed: {file}: {count:,} token{'s' * (count != 1)}, every claim proved again by new passes"
        click.echo(judged(said, True, paint()))
        for remark in verdict.remarks:
            click.echo(f"  {remark}")
        if not certificate.proved:
            click.echo(f"exactformer: token {len(certificate.tokens)}: {certificate.tokens[-1].why}", err=True)
            sys.exit(UNDECIDED)
    sys.exit(DONE if verdict.confirmed else REFUTED)


def _plan(source: str, asked: Input, length: int | None, most: int, workers: int, form: str, output: Path | None) -> None:
    """What a proof is expected to take, from the shapes of the weights, and from what an earlier run kept of them."""
    from exactformer.planning import LENGTH, plan
    from exactformer.render.plans import plan_json, plan_text
    from exactformer.worksheets import outlined

    refuse(source == STDIN, "-: a plan is made of an example, of a file or of a folder")
    spoken = asked.prompt is not None or asked.tokens is not None
    refuse(length is not None and (spoken or asked.ids is not None), "--length: does not go with an input, which has its own")
    worksheet, outline = outlined(source, text=spoken)
    config = worksheet.model.config
    if length is None and (spoken or asked.ids is not None or worksheet.tokens):
        length = len(ids_of(asked, worksheet))
    title = worksheet.title or source
    with Progress() as progress:
        seen = _seen(source, worksheet, outline, progress)
        found = plan(
            worksheet.model, title, "exact" if outline is None else outline.dtype,
            min(LENGTH, config.length or LENGTH) if length is None else length, most, workers, seen, progress=progress,
        )  # fmt: skip
    emit(plan_json(found) if form == "json" else fitted(plan_text(found), output), output)


def _seen(source: str, worksheet: Any, outline: Any, progress: Progress) -> Any:
    """What is kept of a model whose weights are at hand, if there is anything to look for, and memory to look for it in."""
    from exactformer.certificates.memory import available
    from exactformer.certificates.storage import any_kept, kept

    if not any_kept() or (outline is not None and outline.folder is None):
        return None
    free = available()
    if outline is not None and free is not None and 3 * outline.size > free:
        return None
    progress("the weights, for what is kept of them")
    return kept(worksheet.model if outline is None else opened(source).model)
