"""A sample of the forgeries of `python -m benchmarks.trials forgeries`."""

from __future__ import annotations

from benchmarks.trials import forgeries


def test_what_is_accepted_is_true() -> None:
    found = forgeries.sample(200, 1)
    assert [one.failed for one in found if one.failed] == []
    outcomes = {one.outcome for one in found}
    assert outcomes == {"accepted, and true", "bad input", "refused"}
    assert [found[n].outcome for n in range(8, 200, 10)] == ["refused"] * 20  # a witness that is not the one
