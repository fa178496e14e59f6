"""Many clients at once, for a short while; the long run is in docs/web.md."""

from __future__ import annotations

from pathlib import Path

from web.load import load
from web.serving import Serving, awaited


def resident() -> int:
    """Kilobytes that this process and the computing ones below it hold."""
    mine = Path("/proc/self/status").read_text()
    return int(mine.split("VmRSS:")[1].split()[0])


def test_a_hundred_clients_step_and_edit(server: Serving) -> None:
    awaited(load(server.address, 20, 1))  # everything that is made once is there
    before = resident()
    for tally in awaited(load(server.address, 100, 4, own=20)):
        assert tally.errors == []
        assert tally.lost == 0
        assert tally.requests > 20
    assert resident() - before < 120_000  # of which answers that are kept have at most 32 MB
