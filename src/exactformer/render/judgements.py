"""What the referee found, as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from exactformer.messages import many
from exactformer.painting import Paint, judged, plain
from exactformer.referee.report import Judgements
from exactformer.referee.verdicts import BY_ROUNDING, RIGHT, UNDECIDED, VERDICTS, WRONG
from exactformer.render.markdown import cell
from exactformer.render.tables import grid

Name = Callable[[int], str]
SHOWN = 20  # positions that are not right, and steps, in a text
COLUMNS = ("format", "positions", *VERDICTS, "largest error", "most ulps", "median ulps", "first step beyond careful floats")


def summary_rows(report: Judgements) -> dict[str, list[str]]:
    """By engine: counts of verdicts, errors, and the step at which it leaves what careful floats do."""
    rows = {}
    for engine in report.engines:
        records = list(report.of(engine.name))
        counts = report.counts(engine.name)
        errors = [record["error"][1] for record in records if "error" in record]
        picked = [each for record in records for each in record.get("logprob", ())]
        errors += [each["error"][1] for each in picked]
        units = [record["ulps"] for record in records if "ulps" in record] + [each["ulps"] for each in picked]
        medians = [record["ulps_median"] for record in records if "ulps_median" in record]
        rows[engine.name] = [
            engine.format.name + (", quantised" if engine.quantised else ""), f"{len(records):,}",
            *("-" if engine.sampled else f"{counts[verdict]:,}" for verdict in VERDICTS),
            short(_most(errors)), short(_most(units)), short(_median(medians)), _first(report, engine.name),
        ]  # fmt: skip
    return rows


def _first(report: Judgements, engine: str) -> str:
    found = report.first_steps(engine)
    looked = sum(record["engine"] == engine and "first_step" in record for record in report.records)
    if not looked:
        return "-"
    if not found:
        return "none"
    (name, times), *others = found.most_common()
    return name if not others and looked == times else f"{name} ({times:,} of {looked:,} prompts)"


def _most(values: list[float | None]) -> float | None:
    """The largest; infinite where one is not known."""
    return None if not values else float("inf") if None in values else max(x for x in values if x is not None)


def _median(values: list[float | None]) -> float | None:
    known = sorted(float("inf") if x is None else x for x in values)
    return known[len(known) // 2] if known else None


def short(x: float | None) -> str:
    """
    >>> short(None), short(0.0), short(1.23456e-7), short(float("inf"))
    ('-', '0', '1.23e-07', 'not a number')
    """
    return "-" if x is None else "not a number" if x == float("inf") else "0" if x == 0 else f"{x:.3g}"


def problems(report: Judgements) -> list[dict[str, Any]]:
    """The records whose token is not simply right, the other reading included."""
    return [
        record
        for record in report.records
        if record["position"] is not None and (record["verdict"] not in (RIGHT, None) or "other_reading" in record)
    ]


def described(record: dict[str, Any], name: Name) -> str:
    """One position in words."""
    where = f"{record['engine']}, prompt {record['prompt']}, after position {record['position']}: {record['verdict']}"
    if record["verdict"] == RIGHT:
        return f"{where}{_other(record, name)}"
    said = "no token" if record["token"] is None else name(record["token"])
    more = f" and {len(record['as_large'])} or more others with the same number" if record.get("as_large") else ""
    if record.get("true_token") is None:
        return f"{where}: it says {said}{more}; {record.get('why', '')}"
    true = f"the true token is {name(record['true_token'])}"
    lead = f", ahead of {name(record['runner_up'])} by {_plain(record['margin'])}" if record.get("margin") else ""
    behind = f", ahead of the engine's by {_plain(record['short'])}" if "short" in record else ""
    tied = f", tied with {', '.join(map(name, record['ties']))}" if record.get("ties") else ""
    why = f" ({record['why']})" if record.get("why") else ""
    return f"{where}: it says {said}{more}; {true}{tied or lead}{behind}{why}{_other(record, name)}"


def _other(record: dict[str, Any], name: Name) -> str:
    other = record.get("other_reading")
    if other is None:
        return ""
    token = "undecided" if other["true_token"] is None else name(other["true_token"])
    return f"; with ideal rotary angles the true token is {token}"


def _plain(ends: list[str]) -> str:
    """The lower end, to the digits that both have."""
    low, high = float(ends[0]), float(ends[1])
    for digits in range(6, 1, -1):
        if f"{low:.{digits}g}" == f"{high:.{digits}g}":
            return f"{low:.{digits}g}"
    return f"{low:.2g} to {high:.2g}"


def conclusions(report: Judgements) -> list[str]:
    """What a reader should know before the details."""
    lines = []
    for engine in report.engines:
        if engine.narrower:
            lines.append(
                f"{engine.name}: judged as {engine.format.name}, but all its numbers are {engine.narrower}'s: "
                f"--dtype {engine.name}={engine.narrower} judges it so"
            )
        counts, first = report.counts(engine.name), report.first_steps(engine.name)
        wrong = sum(counts.values()) - counts[RIGHT]
        if first and not wrong and not engine.sampled:
            step = next(iter(first))
            lines.append(
                f"{engine.name}: every token is right, but its numbers are farther off than careful floats: from {step} on"
            )
    return lines


def _right(record: dict[str, Any]) -> bool | None:
    return {WRONG: False, BY_ROUNDING: False, UNDECIDED: None}.get(record["verdict"], True)


def text(report: Judgements, title: str, name: Name, paint: Paint = plain, width: int | None = None) -> str:
    rows = summary_rows(report)
    said = f"{title}: {many(len(report.prompts), 'prompt')}; the true values are proved"
    lines = [judged(said, report.verdict(), paint), ""]
    lines += ["  " + line for line in grid(list(rows), COLUMNS, list(rows.values()), width)]
    lines += ["", *(f"  {line}" for line in conclusions(report))] if conclusions(report) else []
    wrong = problems(report)
    lines += [""] * bool(wrong) + [f"  {judged(described(record, name), _right(record), paint)}" for record in wrong[:SHOWN]]
    lines += [f"  and {len(wrong) - SHOWN:,} more: --format json has all"] if len(wrong) > SHOWN else []
    for record in report.records:
        if record.get("first_step") and len(record["steps"]) > 1:
            lines += ["", *_steps(record)]
            break
    return "\n".join(lines) + "\n"


def _steps(record: dict[str, Any]) -> list[str]:
    """The steps of one prompt, beside careful floats."""
    columns = ["error", "careful floats", "times", "most ulps", "careful"]
    cells = [
        [
            short(step["error"][1]), short(step["careful"]), times(step), short(step["ulps"]), short(step["careful_ulps"]),
        ]
        for step in record["steps"]
    ]  # fmt: skip
    names = [step["step"] + (" <- first" if step["step"] == record["first_step"] else "") for step in record["steps"]]
    head = f"{record['engine']}, prompt {record['prompt']}: the largest L2 norm of the errors of a row, proved"
    return [head, *("  " + line for line in grid(names, columns, cells))]


def times(step: dict[str, Any]) -> str:
    if not step["careful"] or step["error"][1] is None:
        return "-"
    return short(step["error"][1] / step["careful"])


def markdown(report: Judgements, title: str, name: Name) -> str:
    rows = summary_rows(report)
    lines = [f"# {cell(title)}", "", f"{many(len(report.prompts), 'prompt')}; the true values are proved.", ""]
    lines += ["| engine | " + " | ".join(COLUMNS) + " |", "|---|" + "---|" * len(COLUMNS)]
    lines += [f"| {cell(engine)} | " + " | ".join(map(cell, row)) + " |" for engine, row in rows.items()]
    wrong = problems(report)
    lines += ["", *(f"- {cell(described(record, name))}" for record in wrong)] if wrong else []
    return "\n".join(lines) + "\n"


def as_json(report: Judgements, title: str, name: Name) -> str:
    """A list of records."""
    return json.dumps(report.records, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
