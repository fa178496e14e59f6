"""What is computed once of a model, whatever is asked of it later: slices, verified norms, and how radii grow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from exactformer.certificates.passes import Pass
from exactformer.certified.scheduling import Outlook, scout
from exactformer.certified.store import Store
from exactformer.model import InputError, Model
from exactformer.model.cache import Cache
from exactformer.numbers import Undecided


class Prepared:
    """A model with its slices and norms, made when first needed and kept for the next prompt.

    Slices take eight bytes for each weight, or more: without `keep`, they are made anew for each pass.

    Where there is an outlook, all norms are known: the scout that finds it asks for every one of them. An outlook proves nothing.
    """

    def __init__(self, model: Model, keep: bool = True) -> None:
        if type(model) is not Model:
            raise InputError(f"a model of the class {type(model).__name__}: certified passes take a Model itself")
        self.model = model
        self.outlook: Outlook | None = None
        self.store = Store()
        self.store.keeping.kept = keep
        for name, array in model.weights.named():
            self.store.name(array, name)
        self.store.name(np.transpose(model.weights.W_E), "W_E.T")

    @property
    def norms(self) -> dict[str, float]:
        """Every verified norm so far, by name."""
        return self.store.verified.as_dict()

    @classmethod
    def of(cls, model: Model, prepared: Prepared | None) -> Prepared:
        """What is given, if it is this model that is prepared in it; or a new one."""
        if prepared is None:
            return cls(model)
        if type(prepared) is not Prepared or not prepared.model.same_as(model):
            raise InputError("prepared: is the preparation of another model")
        return prepared

    def prepare(self, progress: Callable[[str], None] = lambda step: None) -> None:
        """Compute every norm and see how radii grow, unless that is known. A model whose scout goes astray has no outlook."""
        if self.outlook is None:
            with contextlib.suppress(Undecided), self.store.passing_through():
                self.outlook = scout(self.model, self.store, progress)

    def passed(self, asked: Pass, cache: Cache | None = None, progress: Callable[[str], None] = lambda step: None) -> Pass:
        """A whole pass, in this process."""
        return asked.through(self, range(self.model.config.blocks), cache, progress)
