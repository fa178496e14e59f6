"""The built-in lesson: the checker finds what is wrong in it, and only that."""

from __future__ import annotations

from exactformer.checking import Verdict, check_file, check_text, fix_text, lesson_text


def test_the_slips_of_the_lesson() -> None:
    report = check_file("attention")
    assert [(f.place, f.printed, f.true) for f in report.slips] == [
        ("X·Xᵀ[0, 1]", "-0.04", "0.00"),
        ("X·Xᵀ[0, 2]", "-0.01", "-0.02"),
        ("X·Xᵀ[1, 0]", "-0.04", "0.00"),
        ("X·Xᵀ[1, 2]", "0.04", "0.01"),
        ("X·Xᵀ[2, 0]", "-0.01", "-0.02"),
        ("X·Xᵀ[2, 1]", "0.04", "0.01"),
        ("part of I[1]", "0.099", "0.098"),
    ]
    assert report.first_wrong is report.slips[0]
    assert report.status == 1


def test_what_is_carried_on_and_what_is_right() -> None:
    found = {finding.place: finding for finding in check_file("attention").findings}
    carried = {place for place, finding in found.items() if finding.carried_on}
    for step in ("blocks.0.attn.qk", "blocks.0.attn.scores"):
        assert {f"{step}[0, 0, 1]", f"{step}[0, 1, 0]", f"{step}[0, 1, 2]", f"{step}[0, 2, 1]"} <= carried
    assert {"blocks.0.attn.pattern[0, 1, 0]", "blocks.0.attn.pattern[0, 1, 1]", "blocks.0.attn.z[0, 2, 1]"} <= carried
    weight = found["blocks.0.attn.pattern[0, 1, 0]"]
    assert (weight.printed, weight.true, weight.more) == ("0.489", "0.491", "0.49063")
    right = [place for place, finding in found.items() if finding.verdict is Verdict.RIGHT]
    assert {"X·Xᵀ[0, 0]", "blocks.0.attn.qk[0, 0, 0]", "blocks.0.attn.masked[0, 0, 1]", "blocks.0.attn.pattern[0, 3, 3]"} <= {
        *right
    }


def test_the_lesson_fails_is_fixed_and_passes() -> None:
    text = lesson_text("attention")
    report = check_text(text, "lesson.md")
    fixed = fix_text(text, report)
    again = check_text(fixed, "lesson.md")
    assert report.status == 1
    assert again.counts[Verdict.RIGHT] == len(again.findings) == len(report.findings)
    assert fix_text(fixed, again) == fixed
    changed = [(a, b) for a, b in zip(text.splitlines(), fixed.splitlines(), strict=True) if a != b]
    assert ('  ["0.39", "-0.04", "-0.01", "0.02"],', '  ["0.39", "0.00", "-0.02", "0.02"],') in changed
    assert all('"' in before for before, _ in changed)
