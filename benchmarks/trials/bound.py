"""Numbers bound in pages of every kind: right ones, rounded from passes of random models, are all passed, and wrong ones, in which
one digit is another, are all found; what `--fix` writes is right, and it touches nothing else.

What is right is decided here without the checker: the true value is enclosed by 300 bits, and rounded as a fraction.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from benchmarks.result import Progress, Result, Table
from exactformer.lessons.checking import check_text, fix_text
from exactformer.numbers import Exact, Named
from exactformer.worksheets import loads

NUMBER = 1_000  # of right numbers, and as many wrong ones
_BITS = 300
MODEL = """[model]
vocabulary = ["a", "b", "c"]
dim = 2
blocks = 1
norm = "pre"
epsilon = 1e-5
mask = "causal"
scale = "sqrt"
positions = "none"
mlp = 3
activation = "gelu"
unembedding = "tied"
[weights]
W_E = {W_E}
[[weights.blocks]]
attn = {{ W_Q = {W_Q}, W_K = "identity", W_V = "2 identity" }}
mlp = {{ W_in = {W_in}, W_out = {W_out} }}
[input]
tokens = "a b c"
"""
STEPS = ("scores", "pattern", "attn.z", "ln1.normalised", "mlp.post", "resid_post", "logits", "probs")
KINDS = ("prose", "table", "matrix", "code", "rst", "notebook", "claims")


class Case(NamedTuple):
    """A page in which one number was drawn: the page, its name, the number as printed, and where it stands in it."""

    text: str
    name: str
    printed: str
    true: Fraction
    wrong: bool


def model(draw: random.Random) -> str:
    def matrix(rows: int, columns: int) -> str:
        return json.dumps([[f"{draw.randint(-200, 200) / 100:.2f}" for _ in range(columns)] for _ in range(rows)])

    return MODEL.format(W_E=matrix(3, 2), W_Q=matrix(2, 2), W_in=matrix(2, 3), W_out=matrix(3, 2))


def middle(x: Exact | Named) -> Fraction:
    return x.fraction if isinstance(x, Exact) else sum(x.enclosure(_BITS), Fraction(0)) / 2


def decimal(units: int, decimals: int) -> str:
    digits = str(abs(units)).zfill(decimals + 1)
    return ("-" if units < 0 else "") + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def written(true: Fraction, draw: random.Random, wrong: bool) -> str | None:
    """The number rounded to some decimals, as people write it; of a wrong one, one digit is another. None where it is not."""
    decimals = draw.randint(1, 8)
    percent = draw.random() < 0.1
    value = true * 100 if percent else true
    unit = Fraction(1, 10**decimals)
    text = decimal(round(value / unit), decimals)
    if wrong:
        place = draw.choice([n for n, c in enumerate(text) if c.isdigit()])
        text = text[:place] + draw.choice([d for d in "0123456789" if d != text[place]]) + text[place + 1 :]
        said = Fraction(text)
        cut = abs(said) <= abs(value) < abs(said) + unit and said * value >= 0  # cut off instead of rounded: allowed
        if abs(said - value) <= unit / 2 or cut:
            return None
    return text + (" %" if percent else "")


def page(kind: str, sheet: str, step: str, values: Any, place: tuple[int, ...], printed: str) -> tuple[str, str]:
    """A page of a kind in which one number of a step is the one that was drawn, and its name."""
    index = ", ".join(map(str, place))
    shape = values.shape
    rows = [["…"] * shape[-1] for _ in range(shape[-2])]
    rows[place[-2]][place[-1]] = printed
    fence = f"```toml exactformer\n{sheet}```\n"
    match kind:
        case "prose":
            return f"{fence}\nIt is <!-- exactformer: {step}[{index}] -->{printed}, and 0.5 otherwise.\n", "page.md"
        case "table":
            lines = "".join(f"| row | {' | '.join(row)} |\n" for row in rows)
            return f"{fence}\n<!-- exactformer: {step} -->\n| | {'| ' * shape[-1]}|\n|---|{'---|' * shape[-1]}\n{lines}", "page.md"
        case "matrix":
            body = r" \\ ".join(" & ".join(row) for row in rows).replace("%", r"\%")
            return f"{fence}\n<!-- exactformer: {step} -->\n$$\\begin{{bmatrix}} {body} \\end{{bmatrix}}$$\n", "page.qmd"
        case "code":
            body = "\n".join(" ".join(row) for row in rows).replace(" %", "")
            return f"{fence}\n<!-- exactformer: {step} -->\n```\n{body}\n```\n", "page.md"
        case "rst":
            border = " ".join(["=" * 20] * shape[-1])
            lines = "\n".join(" ".join(cell.ljust(20) for cell in row).rstrip() for row in rows)
            sheet = "".join(f"   {line}\n" for line in sheet.splitlines())
            return f".. code-block:: toml\n\n{sheet}\n.. exactformer: {step}\n\n{border}\n{lines}\n{border}\n", "page.rst"
        case "notebook":
            out = [" ".join(row) + "\n" for row in rows]
            cells = [
                {"cell_type": "markdown", "metadata": {}, "source": fence.splitlines(keepends=True)},
                {"cell_type": "code", "metadata": {}, "source": [f"# exactformer: {step}\n", "show()"], "execution_count": 1,
                 "outputs": [{"output_type": "stream", "name": "stdout", "text": [line.replace(" %", "") for line in out]}]},
            ]  # fmt: skip
            return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1), "page.ipynb"
        case _:
            full = f'step = "{step}"\nindex = [{index}]\nvalue = "{printed}"\n'
            return f"{sheet}\n[[claims]]\n{full}", "page.toml"


def cases(seed: int, count: int) -> Iterator[tuple[str, Case]]:
    """As many right as wrong numbers, of every kind of page in turn."""
    draw = random.Random(seed)
    made, sheet, trace = 0, "", None
    while made < 2 * count:
        if made % 20 == 0 or trace is None:
            sheet = model(draw)
            trace = loads(sheet).trace()
        step = draw.choice([step for step in trace.steps if step.name.endswith(STEPS) and step.values.ndim >= 2])
        place = tuple(draw.randrange(n) for n in step.values.shape)
        x = step.values[place]
        if not isinstance(x, Exact | Named):
            continue
        true, wrong = middle(x), made % 2 == 1
        kind = KINDS[made // 2 % len(KINDS)]
        printed = written(true, draw, wrong)
        if printed is None or (kind in ("code", "notebook") and "%" in printed):
            continue
        text, name = page(kind, sheet, step.name, step.values, place, printed)
        made += 1
        yield kind, Case(text, name, printed, true, wrong)


def failure(case: Case) -> str:
    """What is not as it should be; empty where all is."""
    report = check_text(case.text, case.name)
    if len(report.findings) != 1:
        return f"{len(report.findings)} numbers are found, not 1"
    found = report.findings[0].bad
    if found != case.wrong:
        return f"{case.printed} is {'missed' if case.wrong else 'a false alarm'} (true value near {float(case.true)})"
    if case.wrong:
        fixed = fix_text(case.text, report)
        if check_text(fixed, case.name).status != 0:
            return f"{case.printed} is not fixed"
        if _rest(fixed, case.text) != "":
            return f"more than {case.printed} is rewritten"
    return ""


def _rest(fixed: str, text: str) -> str:
    """What two texts differ by, but for one number."""
    start = next((n for n, (a, b) in enumerate(zip(fixed, text, strict=False)) if a != b), 0)
    ends = zip(reversed(fixed[start:]), reversed(text[start:]), strict=False)
    end = next((n for n, (a, b) in enumerate(ends) if a != b), 0)
    return text[start : len(text) - end].strip("0123456789.+-")


def run(progress: Progress) -> Result:
    counts: Counter[tuple[str, bool]] = Counter()
    failed: list[str] = []
    for n, (kind, case) in enumerate(cases(20, NUMBER), 1):
        counts[kind, case.wrong] += 1
        if said := failure(case):
            failed.append(f"{kind}: {said}")
        if n % 200 == 0:
            progress(f"{n:,} of {2 * NUMBER:,} numbers, {len(failed)} failed")
    rows = tuple((kind, f"{counts[kind, False]:,}", f"{counts[kind, True]:,}") for kind in KINDS)
    right, wrong = (sum(count for (_, bad), count in counts.items() if bad is which) for which in (False, True))
    about = (
        f"{right:,} right and {wrong:,} wrong numbers of passes of random models, bound in pages of every kind. A right one is the "
        "true value rounded to one to eight decimals; in a wrong one, one digit is another. What is right is decided without the "
        "checker."
    )
    ended = f"{len(failed)} failed: a false alarm, a wrong number that is missed or not fixed, or a fix that touches anything else."
    return Result(
        "trials_bound", "Bound numbers", (about, Table(("page", "right", "wrong"), rows), ended),
        {"right": right, "wrong": wrong, "failed": failed},
    )  # fmt: skip
