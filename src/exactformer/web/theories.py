"""What the page proves of heads and MLPs: a lead without them, where heads look, what circuits do, and how large they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from exactformer.circuits import circuits
from exactformer.circuits.sizes import sizes
from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.model.ablating import ModelPart, without
from exactformer.proofs import Sequences, prove
from exactformer.proofs.attending import prove_pattern
from exactformer.proofs.chunks import RunError
from exactformer.proofs.patterns import PatternClaim
from exactformer.render import circuit_sizes, explanations, theorems
from exactformer.render.values import midpoint
from exactformer.trace import Trace
from exactformer.trace.ablation import ablate
from exactformer.web import document
from exactformer.web.sources import RequestError, Source, trace_of, worksheet_of
from exactformer.worksheets.cost import one_by_one

_MOST_PAIRS = 20_000  # of tokens, laid out against each other
_MOST_SEQUENCES = 2_000_000  # whose patterns are looked at: 10 µs each where the model is tiny
_LARGEST = 3  # entries of a circuit that are named


def ablated(
    source: Source, position: int, parts: Sequence[str], token: str | None = None, over: str | None = None,
    prompts: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """What parts do to a lead, in the words of the command; with floats near it, by which it is drawn."""
    if token is not None and over is None:
        raise RequestError("over: what a part does is measured by a lead: give the other token, too")
    if any(part.partition("=")[2].strip() == "mean" for part in parts) and not prompts:
        raise RequestError("prompts: give the prompts of the mean, one a line")
    trace = trace_of(source)
    found = ablate(trace, parts, token, over, position, _passes(trace, prompts))
    near = {name: midpoint(getattr(found, name)) for name in explanations.LEADS}
    return explanations.ablation_document(found, document.DIGITS, document.written) | {
        "told": explanations.ablation_told(found),
        "sizes": {name: size if math.isfinite(size) else None for name, size in near.items()},
    }


def _passes(trace: Trace, prompts: Sequence[str]) -> Iterator[Trace]:
    for line, prompt in enumerate(prompts, 1):
        try:
            yield trace.again(prompt)
        except Refused as error:
            raise RequestError(f"prompts: line {line}: {error}") from None


def looking(source: Source, claim: str, length: int, omitted: Sequence[str] = ()) -> dict[str, Any]:
    """A theorem about a pattern. `read` is the position that the weight nearest to the bound is put on."""
    worksheet = worksheet_of(source)
    model = _omitting(worksheet.model, omitted)
    try:
        claimed = PatternClaim.read(claim, model.config)
    except RunError as error:
        raise RequestError(f"claim: {str(error).removeprefix('--pattern: ')}") from None
    if model.config.length is not None and length > model.config.length:
        raise RequestError(f"length: {length} positions are needed, the model has {model.config.length}")
    every = Sequences(model.config.vocabulary, length).size
    if every > _MOST_SEQUENCES:
        raise RequestError(f"length: there are {every:,} sequences; the page goes through up to {_MOST_SEQUENCES:,}")
    worksheet.fits_together(length)
    report = prove_pattern(model, claimed, length, workers=1, alone=one_by_one(model, length))
    found = theorems.pattern_document(report) | {
        "told": theorems.pattern_told(report),
        "lines": theorems.pattern_lines(report),
        "step": f"blocks.{claimed.block}.attn.pattern",
        "head": claimed.head,
    }
    if report.nearest is not None:
        tokens, position, _, _ = report.nearest
        read = dict(claimed.sources(len(tokens), model.config))[position]
        found["nearest"] |= {"weight": theorems.nearest_weight(report), "read": read}
    return found


def theorem(source: Source, length: int, claim: str = "everywhere", omitted: Sequence[str] = ()) -> dict[str, Any]:
    """What a circuit's rule says of it; or that the rule fails somewhere, or holds nowhere, where parts are left out."""
    worksheet = worksheet_of(source)
    if worksheet.circuit is None or worksheet.rule is None:
        raise RequestError("source: has no circuit, so there is no rule to prove")
    if length > worksheet.circuit.length:
        if any("[" in edit for edit in source.edits):
            raise RequestError(f"length: a circuit with changed weights has {worksheet.circuit.length} positions")
        worksheet = worksheet_of(source, length)
    rule = worksheet.rule
    assert rule is not None
    report = prove(
        _omitting(worksheet.model, omitted), Sequences(worksheet.model.config.vocabulary, length), rule,
        circuit=worksheet.circuit, arithmetic_name=source.arithmetic, workers=1,
    )  # fmt: skip
    report.asked = claim
    return theorems.document(report) | {"text": theorems.text(report), "lines": theorems.failure_lines(report)}


def _omitting(model: Model, omitted: Sequence[str]) -> Model:
    for name in omitted:
        model = without(model, ModelPart.named(name, model.config))
    return model


def heads(source: Source) -> dict[str, Any]:
    """The QK and OV circuits of every head, with their largest entries and their norms."""
    worksheet = worksheet_of(source)
    config, circuit = worksheet.model.config, worksheet.circuit
    if len(config.vocabulary) ** 2 > _MOST_PAIRS:
        raise RequestError(f"circuits: {len(config.vocabulary):,} tokens are too many to be laid out against each other")
    found: list[dict[str, Any]] = []
    for block in range(config.blocks):
        for head in range(config.heads):
            tables = circuits(worksheet.model, block, head, None if circuit is None else circuit.directions)
            sentence = circuit.layers[block][head].sentence if circuit is not None and head < len(circuit.layers[block]) else ""
            found.append({"block": block, "head": head, "sentence": sentence, "tables": [_table(table) for table in tables]})
    return {"heads": found}


def _table(table: Any) -> dict[str, Any]:
    values = [[document.written(x) for x in row] for row in table.values]
    sized = circuit_sizes.document(table, sizes(table, _LARGEST), document.DIGITS) if table.values.size else None
    return {
        "title": table.title, "meaning": table.meaning, "rows": list(table.rows), "columns": list(table.columns), "values": values,
        "sizes": sized and {
            "largest": sized["largest"], "smallest": sized["smallest"],
            "norms": [[words, sized["norms"][name]] for name, words in circuit_sizes.NORMS.items() if sized["norms"][name]],
        },
    }  # fmt: skip
