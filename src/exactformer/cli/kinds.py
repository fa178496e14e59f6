"""The kinds of theorems that `exactformer prove` has, which options go with each, and its help by these kinds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import click

from exactformer.cli.common import refuse


@dataclass(frozen=True)
class Section:
    """Options that stand together in the help, below a line that says what they are for. `options` are names of parameters."""

    title: str
    about: str
    options: tuple[str, ...]


_RULE = Section(
    "A rule, for all inputs",
    'What the worksheet claims, or --rule over --length or --domain: prove sorter, prove largest --rule max --domain "0..9 0..9".',
    ("length", "domain", "rule", "steps", "positions", "claim", "wrong", "strength", "arithmetic"),
)
_COUNT = Section(
    "How many inputs are right",
    "--count goes with the options of a rule, but --claim; --sets also without --steps and --positions.",
    ("count", "sets", "budget"),
)
_PATTERN = Section("Where a head looks", "Instead of a rule, for every sequence up to --length.", ("pattern",))
_SCHEDULE = Section(
    "Another order of computation",
    "Instead of a rule, about one input: flash attention, or the KV cache, gives the same numbers.",
    ("schedule", "tile", "forget_rescaling", "prompt", "ids", "tokens", "digits"),
)
_MODEL = Section("The model", "Changes to it: for rules, counts and patterns.", ("changes", "ablated", "hard", "mask"))
_RUN = Section("A long run", "For rules, counts and patterns.", ("journal", "workers", "cluster"))
_ALL = Section(
    "The report",
    "--format is for rules, counts and patterns; html for counts alone.",
    ("form", "output", "color", "reading", "help"),
)
SECTIONS = (_RULE, _COUNT, _PATTERN, _SCHEDULE, _MODEL, _RUN, _ALL)
_EVERYWHERE = ("source", "output", "color", "reading")


@dataclass(frozen=True)
class Kind:
    """`sign` is what chooses it on the command line; for a rule, nothing needs to."""

    sign: str
    takes: frozenset[str]


def _kind(sign: str, *takes: str, but: Collection[str] = ()) -> Kind:
    return Kind(sign, frozenset((*takes, *_EVERYWHERE)) - set(but))


_AT_LENGTH = ("form", *_MODEL.options, *_RUN.options)
RULE = _kind("", *_RULE.options, *_AT_LENGTH)
COUNT = _kind("--count", "count", *_RULE.options, *_AT_LENGTH, but=("claim",))
SETS = _kind("--sets", *_COUNT.options, *_RULE.options, *_AT_LENGTH, but=("claim", "steps", "positions"))
PATTERN = _kind("--pattern", "pattern", "length", *_AT_LENGTH)
RELATIVE = _kind("--rule relative", "rule", "length")
SEARCH = _kind("--strength search", "strength", "length", "mask", "arithmetic", *_RUN.options)
SCHEDULE = _kind("--schedule", *_SCHEDULE.options)
KINDS = (RULE, COUNT, SETS, PATTERN, RELATIVE, SEARCH, SCHEDULE)


def kind_asked(schedule: str | None, pattern: str | None, rule: str | None, strength: str | None, count: bool, sets: bool) -> Kind:
    """Which kind the options choose; of several, the one that is furthest from a rule."""
    if schedule is not None:
        return SCHEDULE
    if pattern is not None:
        return PATTERN
    if rule == "relative":
        return RELATIVE
    if strength == "search":
        return SEARCH
    return SETS if sets else COUNT if count else RULE


def check_options(kind: Kind, given: Collection[str], spelled: dict[str, str]) -> None:
    """Refuse, in a line that names both, an option that has no meaning beside those that are given.

    >>> check_options(SCHEDULE, ["schedule", "rule"], {"schedule": "--schedule", "rule": "--rule"})
    Traceback (most recent call last):
    click.exceptions.ClickException: --rule: does not go with --schedule
    """
    refuse("budget" in given and kind in (RULE, COUNT), "--budget: goes with --sets")
    extra = next((name for name in given if name not in kind.takes), None)
    if extra is not None:
        if kind is not RULE:
            refuse(True, f"{spelled[extra]}: does not go with {kind.sign}")
        wanted = next(other.sign for other in (COUNT, SETS, PATTERN, SCHEDULE) if extra in other.takes)
        beside = next((name for name in given if name in kind.takes and name not in _EVERYWHERE), None)
        refuse(beside is None, f"{spelled[extra]}: goes with {wanted}")
        refuse(True, f"{spelled[extra]}: does not go with {spelled[str(beside)]} alone: it goes with {wanted}")
    refuse("length" in given and "domain" in given, "--length: does not go with --domain, which says it")
    refuse("workers" in given and "cluster" in given, "--workers: does not go with --cluster, which has its own")
    refuse(kind is SETS and "count" not in given, "--sets: goes with --count")


class Grouped(click.Command):
    """A command whose help has its options by kind."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        helping = self.get_help_option(ctx)
        named = {"help" if param is helping else param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        for section in SECTIONS:
            with formatter.section(section.title):
                formatter.write_text(section.about)
                formatter.write_dl([record for name in section.options if (record := named[name]) is not None])
