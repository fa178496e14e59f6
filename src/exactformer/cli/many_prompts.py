"""exactformer certify --prompts: many prompts, in parallel, resumable."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import DONE, INTERRUPTED, UNDECIDED, emit, refuse
from exactformer.cli.inputs import STDIN, opened
from exactformer.cli.journals import Kept
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.certificates import Certificate
    from exactformer.checkpoints import Reading
    from exactformer.model import Model


def _model(source: str, reading: str, whole: bool = True) -> Model:
    """In whichever process asks. Whoever computes with some blocks alone looks at the weights of these."""
    worksheet = opened(source, reading=reading)
    if whole:
        worksheet.checked()
    return worksheet.model


@dataclass(frozen=True)
class Many:
    """What is asked about many prompts."""

    source: str
    reading: Reading
    prompts: Path
    tokens: int
    top: int
    cap: int
    digits: int
    spread: bool

    def certified(self, journal: Path | None, workers: int | None, cluster: str | None, form: str, output: Path | None) -> int:
        """Certificates in the order of the prompts, as text or as JSON Lines; the status."""
        from exactformer.certificates.memory import check_memory
        from exactformer.certificates.question import check_question
        from exactformer.proofs.certifying import certify_all
        from exactformer.worksheets.prompts import read_prompts

        refuse(self.source == STDIN, "-: many prompts are certified of a model from a file or a folder")
        worksheet = opened(self.source, reading=self.reading)
        asked = read_prompts(self.prompts, worksheet)
        for number, ids in enumerate(asked):
            check_question(worksheet.model, f"{self.prompts}: prompt {number}", list(ids), self.tokens)
        if not self.spread:
            check_memory(worksheet.model, worksheet.title, max(map(len, asked)), self.cap, self.tokens)
        with Progress() as progress:
            kept = Kept(journal, progress)
            try:
                found = certify_all(
                    partial(_model, self.source, self.reading, not self.spread), asked, self.tokens,
                    top=self.top, cap=self.cap, digits=self.digits, journal=kept.named, workers=workers,
                    cluster=cluster, progress=kept.heard, spread=self.spread, origin=None if self.spread else worksheet.origin,
                )  # fmt: skip
                certificates = [certificate for _, certificate in sorted(found, key=lambda each: each[0])]
            except KeyboardInterrupt:
                kept.interrupted()
                sys.exit(INTERRUPTED)
        kept.done()
        emit(_lines(certificates) if form == "json" else _text(certificates, worksheet), output)
        open_ = sum(not certificate.proved for certificate in certificates)
        if open_:
            click.echo(f"exactformer: {open_:,} of {len(certificates):,} prompts are undecided", err=True)
        return UNDECIDED if open_ else DONE


def _lines(certificates: list[Certificate]) -> str:
    from exactformer.certificates.file import document

    return "".join(json.dumps(document(certificate), separators=(",", ":")) + "\n" for certificate in certificates)


def _text(certificates: list[Certificate], worksheet: Any) -> str:
    """A line for each prompt: its tokens, and the smallest margin of them."""
    from exactformer.certificates.question import namer

    name = namer(worksheet, said=True)
    lines = []
    for number, certificate in enumerate(certificates):
        tokens = " ".join(map(name, certificate.continuation)) or "nothing"
        margins = [claim.margin[0] for claim in certificate.tokens if claim.margin is not None]
        least = f", margin {min(margins, key=float)}" if margins else ""
        lines.append(f"{number}: {tokens}{', proved' if certificate.proved else ', then undecided'}{least}")
    return "\n".join(lines) + "\n"
