"""What is to be proved, from the options of `prove`: the domain, the rule, how many tokens, or at which positions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactformer.cli.common import refuse
from exactformer.cli.inputs import program_of

if TYPE_CHECKING:
    from exactformer.proofs.domain import Places


_OF_PROGRAM = "--domain, --positions, --steps: a program says itself what it is about, up to --length"


class Question:
    """A rule over a domain of inputs. `longest` is how many positions the longest pass has."""

    domain: Any
    rule: Any
    positions: Places | None

    def __init__(
        self, worksheet: Any, source: str, rule: str | None, length: int | None, domain: str | None, positions: str | None,
        steps: int | None,
    ) -> None:  # fmt: skip
        from exactformer.proofs.expressions import read_rule

        config = worksheet.model.config
        self.worksheet, self.vocabulary, self.outputs = worksheet, config.vocabulary, config.spoken
        if (program := program_of(worksheet)) is not None and rule is None:
            assert length is not None
            refuse(domain is not None or positions is not None or steps is not None, _OF_PROGRAM)
            self.domain, self.rule, self.positions = program.inputs(length), program.rule(length), program.answered
            self.steps, self.longest = 1, worksheet.length + 1
            return
        refuse(config.unembedding == "none", f"{source}: the model has no logits: there is no token to prove")
        self.stated = worksheet.theorem
        inner = _inner(rule) if rule is not None else worksheet.rule if self.stated is None else read_rule(self.stated.rule)
        refuse(
            inner is None,
            f"{source}: has no circuit and so no rule of its own; give one: --rule sorted, max, a formula, table.csv, file.py:f",
        )
        refuse(steps is not None and not _counts_steps(inner), "--steps: this rule says itself how many tokens it demands")
        self.domain = self._domain(inner, length, domain)
        shortest, self.longest = _lengths(self.domain)
        at = self.positions = None if positions is None else _positions(positions, shortest, self.longest)
        self.steps, self.rule = self._fitted(inner, shortest, steps, at)
        self.longest += self.steps - 1
        if config.length is not None and self.longest > config.length:
            option = "length" if domain is None and length is not None else "domain"
            refuse(True, f"--{option}: {self.longest} positions are needed, the model has {config.length}")

    def _domain(self, inner: Any, length: int | None, domain: str | None) -> Any:
        from exactformer.proofs import Sequences
        from exactformer.proofs.expressions import Formula
        from exactformer.proofs.tables import TableRule, read_domain, read_inputs

        if domain is not None:
            return read_inputs(Path(domain)) if Path(domain).is_file() else read_domain(domain, self.vocabulary)
        if isinstance(inner, TableRule) and length is None:
            return inner.inputs
        if self.stated is not None and length is None:
            return read_domain(self.stated.domain, self.vocabulary)
        refuse(length is None, "--length: is missing: up to which length is the theorem to be proved? (or: --schedule)")
        assert length is not None
        whole = isinstance(inner, Formula) or (hasattr(inner, "answers") and inner.answers(2) > 1)
        return Sequences(self.vocabulary, length, length if whole else 1)

    def _fitted(self, inner: Any, shortest: int, steps: int | None, at: tuple[int, ...] | None) -> tuple[int, Any]:
        """How many tokens follow, each fed back, and the rule that says which."""
        from exactformer.proofs import Sorted
        from exactformer.proofs.expressions import Words
        from exactformer.proofs.fitting import Fitted

        if not hasattr(inner, "answers"):
            return steps or 1, inner
        if not hasattr(inner, "arrays") and not hasattr(inner, "whole"):
            return 1, inner
        if at is not None:
            return 1, Fitted(inner, self.vocabulary, None, at, self.outputs)
        number = inner.answers(shortest)
        refuse(number > 1 and shortest != self.longest, "--domain: inputs of one length are needed, as several tokens follow each")
        if inner == Words("sorted"):
            return number, Sorted(shortest, self.vocabulary)
        return number, Fitted(inner, self.vocabulary, shortest if number > 1 else None, None, self.outputs)


def _inner(rule: str) -> Any:
    from exactformer.proofs.expressions import read_rule
    from exactformer.proofs.tables import load_function, read_table

    if rule.endswith(".csv"):
        return read_table(Path(rule))
    return load_function(rule) if ".py:" in rule else read_rule(rule)


def _counts_steps(inner: Any) -> bool:
    """Is it a function, of which nobody knows how many tokens it names?"""
    return not hasattr(inner, "answers")


def _lengths(domain: Any) -> tuple[int, int]:
    if isinstance(domain, list):
        return min(map(len, domain)), max(map(len, domain))
    return (domain.shortest, domain.longest) if hasattr(domain, "longest") else (len(domain.choices), len(domain.choices))


def _positions(text: str, shortest: int, longest: int) -> tuple[int, ...]:
    if text == "all":
        refuse(shortest != longest, "--positions all: inputs of one length are needed")
        return tuple(range(longest))
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        refuse(True, f"--positions {text}: give numbers from 0 separated by commas, or all")
    refuse(
        list(found) != sorted(set(found)) or found[0] < 0 or found[-1] >= shortest,
        f"--positions {text}: give positions of every input, from 0 to {shortest - 1}, in order",
    )
    return found
