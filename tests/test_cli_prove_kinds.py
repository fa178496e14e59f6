"""Options of `prove` by kinds of theorems: each pair goes together in a kind, or is refused in a line that names both."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from cli_runs import refused, run
from exactformer.cli.kinds import KINDS, SECTIONS
from exactformer.cli.prove import command

# every option once or more: what is written for it
WRITTEN: dict[str, tuple[str, ...]] = {
    "length": ("--length", "2"), "domain": ("--domain", "a b"), "rule": ("--rule", "max"), "relative": ("--rule", "relative"),
    "steps": ("--steps", "2"), "positions": ("--positions", "all"), "claim": ("--claim", "fails"), "wrong": ("--wrong", "w.csv"),
    "strength": ("--strength", "3"), "search": ("--strength", "search"), "arithmetic": ("--arithmetic", "certified"),
    "count": ("--count",), "sets": ("--count", "--sets"), "budget": ("--count", "--sets", "--budget", "9"),
    "pattern": ("--pattern", "0.0 previous >= 0.9"), "schedule": ("--schedule", "flash"), "tile": ("--tile", "2"),
    "forget_rescaling": ("--forget-rescaling",), "prompt": ("--prompt", "a"), "ids": ("--ids", "0"), "tokens": ("--tokens", "a"),
    "digits": ("--digits", "3"), "changes": ("--set", "W_E[0,0]=1"), "ablated": ("--ablate", "blocks.0.attn.head.0=zero"),
    "hard": ("--hard",), "mask": ("--mask", "none"), "journal": ("--journal", "j"), "workers": ("--workers", "1"),
    "cluster": ("--cluster", "tcp://localhost:1"), "form": ("--format", "json"),
}  # fmt: skip
PARAMETER = {"relative": "rule", "search": "strength"}  # where two entries are of one option
EVERYWHERE = {"source", "output", "color", "reading"}
SCHEDULED = {"tile", "forget_rescaling", "prompt", "ids", "tokens", "digits"}


def test_each_option_stands_in_one_section_and_goes_with_some_kind() -> None:
    names = [str(param.name) for param in command.params if param.name != "source"]
    told = [name for section in SECTIONS for name in section.options if name != "help"]
    assert sorted(told) == sorted(names)
    assert {PARAMETER.get(name, name) for name in WRITTEN} == set(names) - EVERYWHERE
    for name in names:
        assert any(name in kind.takes for kind in KINDS)


@pytest.fixture
def without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that go together end here."""

    def stop(*given: Any, **options: Any) -> Any:
        raise KeyError("they go together")

    for name in ("opened", "loaded"):
        monkeypatch.setattr(f"exactformer.cli.prove.{name}", stop)


def test_every_pair_has_a_meaning_or_is_refused_by_name(without_work: None) -> None:
    refusals = meanings = 0
    for one, other in combinations(WRITTEN, 2):
        if PARAMETER.get(one, one) == PARAMETER.get(other, other):
            continue  # the same option twice
        # as much as it takes for them to mean something at all
        needed = ("--length", "2") if {one, other}.isdisjoint({"length", "domain", "schedule"} | SCHEDULED) else ()
        both = (*WRITTEN[one], *(part for part in WRITTEN[other] if part not in WRITTEN[one] or not part.startswith("--")))
        done = run("prove", "largest", *both, *needed)
        said = done.stderr.removeprefix("exactformer: ")
        if done.returncode == 70:
            assert "they go together" in said
            taken = [kind for kind in KINDS if {PARAMETER.get(name, name) for name in (one, other)} <= kind.takes]
            assert taken, (one, other)
            meanings += 1
            continue
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (one, other, done)
        named = [name for name in (one, other) if any(part in said for part in WRITTEN[name] if part.startswith("--"))]
        of_schedules = {one, other} <= SCHEDULED and "goes with --schedule" in said
        missing = "--length: is missing" in said
        assert len(named) == 2 or of_schedules or missing, (one, other, said)
        refusals += 1
    assert min(refusals, meanings) > 100


def test_the_help_is_by_kinds_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("40", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = run("prove", "--help").stdout.splitlines()
        assert max(map(len, lines)) <= int(columns)
        heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
        assert heads == [f"{section.title}:" for section in SECTIONS]
        assert any("--help" in line for line in lines)


def test_an_option_of_another_kind_says_with_what_it_goes() -> None:
    assert refused("prove", "largest", "--tile", "2") == "--tile: goes with --schedule"
    said = refused("prove", "largest", "--length", "2", "--tile", "2")
    assert said == "--tile: does not go with --length alone: it goes with --schedule"
    assert (
        refused("prove", "largest", "--rule", "relative", "--length", "2", "--hard") == "--hard: does not go with --rule relative"
    )
    assert refused("prove", "largest", "--schedule", "flash", "-o", "x.json") == "--format json: does not go with --schedule"
