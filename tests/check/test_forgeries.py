"""A sample of the forgeries of `python -m benchmarks.trials forgeries`."""

from __future__ import annotations

from benchmarks.trials import forgeries


def test_what_is_accepted_is_true() -> None:
    kinds = list(forgeries.KINDS)
    found = forgeries.sample(20 * len(kinds), 1)
    assert [one.failed for one in found if one.failed] == []
    outcomes = {one.outcome for one in found}
    assert outcomes == {"accepted, and true", "bad input", "refused"}
    assert [one.outcome for one in found[kinds.index("the witness") :: len(kinds)]] == ["refused"] * 20
    assert {one.outcome for one in found[kinds.index("files that are none") :: len(kinds)]} == {"bad input"}
