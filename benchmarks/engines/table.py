"""What the referee found, as rows: plain data for the JSON, and tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.engines.judged import OWN
from benchmarks.engines.outputs import ENGINES
from benchmarks.result import Table
from exactformer.referee import Judgements

SHOWN = 5  # wrong tokens of an engine that are shown; the JSON has all
_COLUMNS = ("right", "true tie", "near tie", "wrong by rounding", "wrong", "undecided")
NOT_RIGHT = ("text", "after position", "verdict", "its tokens", "true token", "the true one leads by at least")  # a row of these

Row = dict[str, Any]


def rows(found: Sequence[Judgements]) -> list[Row]:
    """One for each engine: first those held against the weights that they were given."""
    return [_row(judgements, engine.name) for judgements in found for engine in judgements.engines]


def _row(judgements: Judgements, name: str) -> Row:
    records = list(judgements.of(name))
    errors = [record["error"] for record in records if record["error"][1] is not None]
    steps = [record for record in judgements.records if record["engine"] == name and record["position"] is None]
    return {
        "engine": name, "tokens": judgements.counts(name), "of": records[0]["of"],
        "largest_error": max(errors, key=lambda error: error[1], default=None), "without_bound": len(records) - len(errors),
        "median_ulps": median(record["ulps_median"] for record in records if record["ulps_median"] is not None),
        "worst_step": _worst(steps), "first_steps": dict(Counter(record["first_step"] for record in steps if record["first_step"])),
        "not_right": [_short(record) for record in records if record["verdict"] != "right"],
    }  # fmt: skip


def _short(record: Row) -> list[Any]:
    """The largest number may be that of several tokens."""
    tokens = [record["token"], *record.get("as_large", ())]
    lead = float(record["short"][0]) if "short" in record else None
    return [record["prompt"], record["position"], record["verdict"], tokens, record["true_token"], lead]


def _worst(records: Sequence[Row]) -> Row | None:
    """The step whose proved error is the largest multiple of that of careful floats, over all texts."""
    steps = [
        (step["error"][0] / step["careful"], step["step"]) for record in records for step in record["steps"] if step["careful"]
    ]
    ratio, name = max(steps, default=(None, None))
    return None if ratio is None else {"step": name, "times_careful": ratio}


def tokens_table(found: Sequence[Row]) -> Table:
    return Table(
        ("engine", *_COLUMNS, "largest error", "median ulps", "farthest from careful floats"),
        tuple(
            (
                row["engine"],
                *(f"{row['tokens'][verdict]:,}" for verdict in _COLUMNS),
                _error(row),
                f"{row['median_ulps']:.3g}",
                _step(row),
            )
            for row in found
        ),
    )


def wrong_table(found: Sequence[Row]) -> Table:
    """Tokens that are not right, those with the largest margins first."""
    return Table(
        ("engine", "verdict", "text", "after position", "its token", "true token", "the true one leads by"),
        tuple(line for row in found for line in _wrong(row)),
    )


def _wrong(row: Row) -> Iterator[tuple[str, ...]]:
    listed = sorted((each for each in row["not_right"] if each[-1] is not None), key=lambda each: -each[-1])
    for text, position, verdict, tokens, true, lead in listed[:SHOWN]:
        yield row["engine"], verdict, str(text), str(position), " = ".join(map(str, tokens)), str(true), f"{lead:.4g}"
    if len(listed) > SHOWN:
        yield row["engine"], f"and {len(listed) - SHOWN:,} more", "", "", "", "", f"down to {listed[-1][-1]:.2g}"


def settings_table(versions: dict[str, dict[str, str]]) -> Table:
    return Table(
        ("engine", "settings", "judged in", "versions"),
        tuple(
            (name, ENGINES[name].settings, ENGINES[name].format + (", quantised" if ENGINES[name].quantised else ""),
             ", ".join(f"{package} {version}" for package, version in found.items()))
            for name, found in versions.items()
        ),
    )  # fmt: skip


def unable_table(reasons: Sequence[tuple[str, str, str]]) -> Table:
    return Table(("engine", "model", "why it did not run"), tuple(reasons))


def _error(row: Row) -> str:
    if row["largest_error"] is None:
        return "not known"
    besides = " (log-probabilities)" if row["of"] == "logprobs" else ""
    return f"{row['largest_error'][1]:.3g}{besides}"


def _step(row: Row) -> str:
    if row["worst_step"] is None:
        return "only log-probabilities were given"
    if row["engine"].endswith(OWN) or ENGINES[row["engine"]].quantised:
        return f"{row['worst_step']['times_careful']:,.0f} ×"
    first = max(row["first_steps"], key=row["first_steps"].get, default="")
    beyond = f"; beyond 3 × in {sum(row['first_steps'].values())} texts, first at {first}" if first else ""
    return f"{row['worst_step']['times_careful']:.2f} × at {row['worst_step']['step']}{beyond}"
