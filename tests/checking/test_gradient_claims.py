"""Claims of gradients and of the loss: judged, followed and put right like the numbers of the pass."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from checking.random_claims import claimed_number, middle, model
from checking.test_following import VARIANTS
from exactformer.checking import Finding, Verdict, check_text, fix_text
from exactformer.checking.gradients import nodes
from exactformer.checking.steps import record_of
from exactformer.numbers import Undefined
from exactformer.numbers.arrays import Array
from exactformer.trace import Gradient, gradient
from exactformer.worksheets import example_text, loads
from sampling import parts

CAPSTONE, LENGTH4 = example_text("capstone"), example_text("length4")
LAST = "upstream = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]"


def gradient_of(text: str, **changes: bool) -> Gradient:
    sheet = loads(text)
    trace = replace(sheet, model=replace(sheet.model, config=replace(sheet.model.config, **changes))).trace()
    if trace.model.config.unembedding == "none":
        return gradient(trace, upstream=xf.array([[1, 0, 0, 2]] * 4))
    return gradient(trace, trace.tokens[::-1])


@pytest.mark.parametrize("changes", [{}, {"stable": True}, {"late_mask": True}], ids=["plain", "stable", "late_mask"])
@pytest.mark.parametrize("text", [CAPSTONE, LENGTH4, *VARIANTS])
def test_every_gradient_can_be_computed_again(text: str, changes: dict[str, bool]) -> None:
    found = gradient_of(text, **changes)
    known = record_of(found.trace).nodes | {node.name: node for node in nodes(found)}
    again = 0
    for node in nodes(found):
        if node.reads:
            values = node.compute([known[read].truth for read in node.reads])
            assert values.shape == node.truth.shape, node.name
            for index in np.ndindex(*values.shape):
                assert _same(values[index], node.truth[index]), (node.name, index)
            again += 1
    assert again >= 10


def _same(a: Any, b: Any) -> bool:
    """To more digits than chance could make agree; many zeros here lie too deep for a proof."""
    return abs(middle(a) - middle(b)) < Fraction(1, 10**30)


def changed(x: Array) -> Array:
    return np.array([v * 2 + 1 + n for n, v in enumerate(x.flat)], dtype=object).reshape(x.shape)


@pytest.mark.parametrize("text", [LENGTH4, VARIANTS[0]])
def test_a_gradient_changes_with_what_it_reads(text: str) -> None:
    """Else nothing would ever be said to follow from a printed number."""
    found = gradient_of(text)
    known = record_of(found.trace).nodes | {node.name: node for node in nodes(found)}
    seen = 0
    for node in nodes(found):
        for n in range(len(node.reads)):
            inputs = [known[name].truth for name in node.reads]
            inputs[n] = changed(inputs[n])
            values = node.compute(inputs)
            same = all(_same(a, b) for a, b in zip(values.flat, node.truth.flat, strict=True))
            assert same == node.name.endswith("b_K"), (node.name, node.reads[n])  # which a softmax does not see
            seen += 1
    assert seen > 20


def claimed(seed: int, change: bool) -> tuple[Finding, ...]:
    """Claims for the loss and every gradient of a random model: rounded, or with one digit changed."""
    chance = random.Random(seed)
    text = model(chance)
    target = " ".join(chance.choices("abc", k=3))
    found = gradient(loads(text).trace(), target)
    lines = []
    for name, values in [("loss", np.array(found.loss, dtype=object)), *((step.name, step.values) for step in found.steps)]:
        for index in np.ndindex(*values.shape):
            x = values[index]
            number = None if isinstance(x, Undefined) else claimed_number(x, chance, change)
            if number is not None:
                lines.append(f'[[claims]]\nstep = "{name}"\nindex = {list(index)}\nvalue = "{number}"\n')
    lines[0] += f'target = "{target}"\n'
    return check_text(text + "".join(lines)).findings


@pytest.mark.parametrize("seed", range(3))
def test_right_claims(seed: int) -> None:
    findings = claimed(seed, change=False)
    assert len(findings) > 100
    assert {finding.verdict for finding in findings} == {Verdict.RIGHT}


@pytest.mark.parametrize("seed", parts(0, 6, 1))
def test_a_changed_digit_is_never_called_right(seed: int) -> None:
    findings = claimed(seed, change=True)
    assert len(findings) > 100
    assert not {finding.verdict for finding in findings} & {Verdict.RIGHT, Verdict.UNDECIDED}


def test_the_loss_of_the_capstone() -> None:
    for printed, verdict in (("0.40760596444", "right"), ("0.407", "truncated"), ("0.409", "wrong")):
        (finding,) = check_text(f'{CAPSTONE}\n[[claims]]\nstep = "loss"\ntarget = ["a", "a"]\nvalue = "{printed}"\n').findings
        assert (finding.place, str(finding.verdict)) == ("loss", verdict)


def test_gradients_of_the_lesson() -> None:
    """Of ones at the last position: ∂v is the last row of the pattern in every column, ∂pattern the sums of v."""
    sums = '[["0.7", "0.2", "0.7", "0.2"]]'
    text = f"""{LENGTH4}
[[claims]]
step = "grad.blocks.0.attn.pattern"
{LAST}
row = 3
values = {sums[1:-1]}
[[claims]]
step = "grad.blocks.0.attn.W_V"
index = [0, 0]
value = "0.15"
"""
    findings = check_text(text).findings
    assert [str(finding.verdict) for finding in findings] == ["right"] * 5
    assert check_text(text.replace("[1, 1, 1, 1]", "[1, 1, 1, 2]")).status == 1


SLIP = """
[[claims]]
step = "{step}"
target = "a a"
row = {row}
values = {values}
[[claims]]
step = "{reader}"
{claim}
"""


@pytest.mark.parametrize(
    ("step", "values", "reader", "claim", "carried"),
    [
        ("probs", '["0.5", "0.3", "0.2"]', "grad.logits", 'row = 0\nvalues = ["-0.25", "0.15", "0.10"]', [True, True, True]),
        ("probs", '["0.5", "0.3", "0.2"]', "grad.logits", 'row = 0\nvalues = ["-0.24", "0.15", "0.10"]', [False, True, True]),
        ("logits", '["1", "1", "1"]', "loss", 'value = "{}"', [True]),
        ("grad.logits", '["-1", "1", "0"]', "grad.blocks.0.ln2.out", 'row = 0\nvalues = ["-1", "1"]', [True, True]),
        ("grad.logits", '["-1", "1", "0"]', "grad.blocks.0.ln2.out", 'row = 0\nvalues = ["-1", "2"]', [True, False]),
    ],
)
def test_slips_are_followed_into_gradients(step: str, values: str, reader: str, claim: str, carried: list[bool]) -> None:
    loss = (xf.log(3) + xf.log(1 + xf.exp(1) + xf.exp(2)) - 2) / 2  # ln 3 at position 0, where the printed logits are equal
    text = CAPSTONE + SLIP.format(step=step, row=0, values=values, reader=reader, claim=claim.format(loss.digits(6)))
    findings = [finding for finding in check_text(text).findings if finding.subject == reader]
    assert all(finding.bad for finding in findings)
    assert [finding.carried_on for finding in findings] == carried


def test_a_slip_of_the_pass_is_followed_into_the_gradient() -> None:
    """∂v = patternᵀ ∂z: with ones at the last position, the printed weights themselves."""
    text = f"""{LENGTH4}
[[claims]]
step = "blocks.0.attn.pattern"
row = 3
values = ["0.10", "0.20", "0.30", "0.40"]
[[claims]]
step = "grad.blocks.0.attn.v"
{LAST}
index = [0, 1, 2]
value = "{{}}"
"""
    for printed, carried in (("0.20", True), ("0.21", False), ("0.25", False)):
        finding = check_text(text.replace("{}", printed)).findings[-1]
        assert (finding.bad, finding.carried_on) == (printed != "0.25", carried)


def test_operations_read_gradients() -> None:
    text = f"""{CAPSTONE}
[[claims]]
operation = "sum"
target = "a a"
of = "grad.logits"
values = ["0.00", "0.01"]
"""
    assert [str(finding.verdict) for finding in check_text(text).findings] == ["right", "last digit off"]


def test_a_page_says_once_what_the_gradients_are_of() -> None:
    claims = '```toml exactformer\n[[claims]]\nstep = "loss"\n{}value = "0.408"\n```\n'
    page = f"```toml\n{CAPSTONE}```\n" + claims.format('target = "a a"\n') + "text\n" + claims.format("")
    again = f"```toml\n{CAPSTONE}```\n" + claims.format('target = "a b"\n')  # another model, so another loss
    findings = check_text(page + again, "page.md").findings
    assert [str(finding.verdict) for finding in findings] == ["right", "right", "wrong"]


def test_a_lesson_with_gradients_and_tokens_fails_is_fixed_and_passes() -> None:
    text = f"""{CAPSTONE}
[[claims]]
step = "token"
values = ["a", "c"]
[[claims]]
step = "grad.logits"
target = "a a"
values = [["-0.16", "0.05", "0.13"], ["-0.16", "0.05", "0.12"]]
[[claims]]
step = "loss"
value = 0.5
"""
    report = check_text(text)
    fixed = fix_text(text, report)
    assert report.status == 1
    assert check_text(fixed).counts[Verdict.RIGHT] == len(report.findings) == 9
    changed = [(a, b) for a, b in zip(text.splitlines(), fixed.splitlines(), strict=True) if a != b]
    assert changed == [
        ('values = ["a", "c"]', 'values = ["a", "a"]'),
        (
            'values = [["-0.16", "0.05", "0.13"], ["-0.16", "0.05", "0.12"]]',
            'values = [["-0.17", "0.05", "0.12"], ["-0.17", "0.05", "0.12"]]',
        ),
        ("value = 0.5", "value = 0.4"),
    ]


def test_gradients_that_do_not_exist() -> None:
    text = CAPSTONE.replace('"a b"', '"c b"') + '\n[[claims]]\nstep = "loss"\ntarget = "a a"\nvalue = "0.5"\n'
    (finding,) = check_text(text).findings
    assert finding.verdict is Verdict.WRONG
    assert "the variance is 0" in finding.true
