"""exactformer certify: one question, token after token, from its start to its status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import DONE, INTERRUPTED, REFUTED, UNDECIDED, emit, fitted, paint
from exactformer.cli.independent import write_witness
from exactformer.interruption import undivided
from exactformer.messages import listed, many, printable
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.certificates import Prepared
    from exactformer.certificates.certificate import Claim
    from exactformer.certificates.expected import Saved


@dataclass
class Run:
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

    @cached_property
    def stored(self) -> str:
        """The kind of number of the weights, where nobody said what tolerance the logits have, and they are too far off."""
        origin = self.worksheet.origin
        asked = self.expected is not None and self.expected.agrees is False and self.tolerance is None
        return origin.dtype if asked and origin is not None else ""

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

        def heard(step: str) -> None:
            progress.part(len(self.claims), self.tokens)
            progress(f"token {len(self.claims) + 1:,}: {step}")

        for certified in prove_tokens(self.model, self.ids, self.tokens, prepared=ready, progress=heard, **options):
            with undivided():  # what is told of an interruption is what was shown before it
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
            click.echo(f"exactformer: interrupted: {self._left()}", err=True)
            return INTERRUPTED
        if self.audit is not None and not self.audit.agrees:
            click.echo(f"exactformer: the audit contradicts it: {self.audit.contradictions[0]}", err=True)
            return REFUTED
        if self.expected is not None and not self.expected.agrees:
            click.echo(f"exactformer: {expected_text(self.expected, self.name, self.stored)}", err=True)
            return REFUTED if self.expected.agrees is False else UNDECIDED
        last = self.claims[-1]
        if last.token is None:
            click.echo(f"exactformer: token {len(self.claims)}: {last.why}", err=True)
            return UNDECIDED
        return self._sharpness()

    def _left(self) -> str:
        """What an interruption left, what it left out, and how to go on."""
        count = sum(claim.token is not None for claim in self.claims)
        tokens = f"the {many(count, 'token')} {'shown' if self.output is None else f'in {self.output}'}"
        told = [f"{tokens} {'are' if count != 1 else 'is'} proved" if count else "nothing is proved"]
        looks = {
            "--expect": self.saved is not None and self.expected is None,
            "--audit": self.audited and self.audit is None,
            "--compare": bool(self.kinds) and not self.floats,
        }
        if left_out := [option for option, missing in looks.items() if missing]:
            told.append(f"{listed(left_out)} {'were' if len(left_out) > 1 else 'was'} not done")
        if 0 < count < self.tokens and not self.model.config.outputs:  # outputs of their own have other ids
            told.append("to go on, give --ids those of the input and then those of the tokens")
        return "; ".join(told)

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
            looked = (self.audit, self.floats, self.expected)
            emit(page(certificate, self.title, self.name, *looked, self.reads, self.stored), self.output)
            return
        colours = paint(self.output)
        parts = [] if self.streams else [self.heading]
        if not self.streams:
            parts += [certificates.claim_text(claim, n, self.name, colours) for n, claim in enumerate(self.claims, start=1)]
        parts += [self._whole_text()]
        parts += [] if self.audit is None else [certificates.audit_text(self.audit)]
        parts += [] if self.expected is None else [f"\n{certificates.expected_text(self.expected, self.name, self.stored)}\n"]
        parts += [certificates.floats_text(errors, self.name) for errors in self.floats]
        emit(fitted("".join(parts), self.output), self.output)
