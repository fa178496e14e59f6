"""Published worked examples get the verdicts that are expected of them."""

from __future__ import annotations

from collections import Counter

import pytest

from checking.published import FILE, examples, text_of
from exactformer.checking import CheckReport, Verdict, check_text

pytestmark = pytest.mark.skipif(FILE is None, reason="shared/data/published/examples.json is not there")


def check(name: str) -> CheckReport:
    return check_text(text_of(name), f"{name}.toml")


def verdicts(name: str) -> dict[str, int]:
    return dict(Counter(str(finding.verdict) for finding in check(name).findings))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mody_gelu", {"right": 4}),
        ("mody_softmax", {"wrong": 4}),
        ("mody_layernorm", {"right": 8}),
        ("prakash_attention", {"right": 14, "wrong": 18, "last digit off": 3, "truncated": 1}),
        ("cards_by_hand", {"right": 42}),
        ("raschka_ch03", {"right": 90}),
        ("layernorm_1357", {"right": 10, "truncated": 1}),
        ("slp3_softmax", {"right": 6}),
    ],
)
def test_verdicts(name: str, expected: dict[str, int]) -> None:
    assert verdicts(name) == expected


def test_every_example_is_checked() -> None:
    for name in examples():
        assert check(name).findings, name


def test_the_first_wrong_step() -> None:
    first = check("prakash_attention").first_wrong
    assert first is not None
    assert first.subject == "blocks.0.attn.qk"  # the page's scores, before they are scaled
    assert not first.carried_on


def test_the_slip_of_the_scores_is_carried_on() -> None:
    found = {finding.place: finding for finding in check("prakash_attention").findings}
    assert found["blocks.0.attn.scores[0, 1, 1]"].carried_on
    assert not found["blocks.0.attn.pattern[0, 1, 1]"].carried_on  # nor do the page's weights follow from its own scores


def test_the_slide_cuts_off() -> None:
    slide = check("layernorm_1357").findings[-1]
    assert (slide.printed, slide.verdict, slide.more) == ("2.23", Verdict.TRUNCATED, "2.2361")


def test_a_third_is_meant_exactly() -> None:
    text = text_of("cards_by_hand") + '\n[[claims]]\nstep = "blocks.0.attn.pattern"\nrow = 2\nvalues = ["1/3", "1/3", "1/3"]\n'
    assert check_text(text).status == 0
    assert check_text(text.replace('"1/3"', '"333/1000"')).counts[Verdict.WRONG] == 3
