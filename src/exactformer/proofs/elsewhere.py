"""Cases that are computed elsewhere: what they need is opened there, from a path that all processes share, and never sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Generic, TypeVar

from exactformer.proofs.chunks import RunError

Found = TypeVar("Found")


@dataclass(frozen=True)
class Elsewhere(ABC, Generic[Found]):
    """A function of cases that opens what it computes with once in every process, and checks that it is what the run began with."""

    open: Callable[[], Found]
    digest: str  # of all that results depend on

    @abstractmethod
    def fingerprint(self, found: Found) -> str:
        """The digest of what was opened, with this function's own settings."""

    @cached_property
    def opened(self) -> Found:
        found = self.open()
        if self.fingerprint(found) != self.digest:
            raise RunError("what is computed with is not what the run began with: a file was changed")
        return found

    def begun_with(self, found: Found) -> None:
        """In the process that began the run it is open already."""
        self.__dict__["opened"] = found

    def __getstate__(self) -> dict[str, Any]:
        """What was opened stays where it is."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
