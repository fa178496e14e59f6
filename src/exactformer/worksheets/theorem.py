"""The theorem of a worksheet whose model is no circuit: a rule in a few words, and the inputs that it is about."""

from __future__ import annotations

from dataclasses import dataclass

from exactformer.messages import Refused
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.tables import read_domain
from exactformer.worksheets.reader import Table


@dataclass(frozen=True)
class Stated:
    """As `exactformer prove` takes them: `--rule` and `--domain`. Neither names a file, and nothing of them is run."""

    rule: str
    domain: str


def read_theorem(worksheet: Table, vocabulary: tuple[str, ...]) -> Stated | None:
    if "theorem" not in worksheet.raw:
        return None
    fields = worksheet.table("theorem")
    stated = Stated(fields.text("rule"), fields.text("domain"))
    fields.finish(match="a circuit", similar="a circuit")
    try:
        read_rule(stated.rule)
        read_domain(stated.domain, vocabulary)
    except Refused as error:
        raise worksheet.error("theorem", str(error)) from None
    return stated
