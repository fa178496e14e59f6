"""What a network is trained for: the theorem of its worksheet, as inputs with the answers that the rule demands."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exactformer.model import Config
from exactformer.numbers import exact
from exactformer.proofs import Sequences
from exactformer.proofs.batches import Box, parts_of
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.tables import read_domain


@dataclass(frozen=True)
class Task:
    """A worksheet whose weights are still to be found."""

    worksheet: Path

    @cached_property
    def said(self) -> dict[str, Any]:
        return tomllib.loads(self.worksheet.read_text())

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        return tuple(self.said["model"]["vocabulary"])

    @cached_property
    def domain(self) -> Any:
        return read_domain(self.said["theorem"]["domain"], self.vocabulary)

    @cached_property
    def box(self) -> Box:
        """The longest inputs: what is asked about shorter ones is asked on the way."""
        box = parts_of(self.domain, self.vocabulary)[-1]
        assert isinstance(box, Box)
        return box

    @cached_property
    def config(self) -> Config:
        choices = {name: exact(repr(value)) if name == "epsilon" else value for name, value in self.said["model"].items()}
        return Config(**choices | {"vocabulary": self.vocabulary, "length": len(self.examples(np.array([0]))[0][0])})

    def examples(self, numbers: Any) -> tuple[Tensor, Tensor]:
        """The inputs of these numbers with the answers that are fed back, and what is demanded at each position: −1 is nothing."""
        ids = self.box.numbered(numbers)
        rule, length = read_rule(self.said["theorem"]["rule"]), ids.shape[1]
        if isinstance(self.domain, Sequences):  # every beginning is an input
            wanted = np.concatenate([rule.arrays(ids[:, :n], self.vocabulary)[0] for n in range(1, length + 1)], axis=1)
            return torch.tensor(ids), torch.tensor(wanted)
        answers = rule.arrays(ids, self.vocabulary)[0]
        wanted = np.concatenate([np.full((len(ids), length - 1), -1), answers], axis=1)
        return torch.tensor(np.concatenate([ids, answers[:, :-1]], axis=1)), torch.tensor(wanted)
