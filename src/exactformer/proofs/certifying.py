"""Many prompts, certified: independent cases, in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactformer.certificates import Prepared
from exactformer.certificates.certificate import Certificate, Claim, certificate_of
from exactformer.certificates.file import document, parsed
from exactformer.certificates.hash import model_hash
from exactformer.certificates.proving import CAP, Certified, prove_tokens, proved_by
from exactformer.certificates.storage import prepared
from exactformer.hashing import Digest
from exactformer.model import InputError, Model
from exactformer.proofs.elsewhere import Elsewhere
from exactformer.proofs.runner import run
from exactformer.proofs.spread import Spread
from exactformer.proofs.spread import spread as spread_over

if TYPE_CHECKING:
    from exactformer.checkpoints import Origin


@dataclass(frozen=True)
class Certifying(Elsewhere[Model]):
    """Certifies the tokens after one prompt; the model is prepared once a process."""

    tokens: int = 1
    top: int = 5
    cap: int = CAP
    digits: int = 0
    origin: Origin | None = None  # the files of the model, for the checker that needs Python alone

    def fingerprint(self, found: Model) -> str:
        from exactformer import __version__

        settings = (self.tokens, self.top, self.cap, self.digits)
        digest = Digest("exactformer certificates").add(__version__, settings, model_hash(found))
        if self.origin is not None:
            digest.add(self.origin.reading, *sorted(self.origin.hashes.items()))
        return digest.hexdigest()

    @cached_property
    def _prepared(self) -> Prepared:
        with prepared(self.opened) as ready:
            ready.prepare()
        return ready

    def __call__(self, ids: Sequence[int]) -> dict[str, Any]:
        proved = prove_tokens(
            self.opened, ids, self.tokens, prepared=self._prepared, top=self.top, cap=self.cap, digits=self.digits
        )
        return self._written(ids, proved)

    def by(self, passes: Spread, ids: Sequence[int]) -> dict[str, Any]:
        """The same by passes over several workers, asked for in this thread."""
        with passes.turn:
            return self._written(ids, proved_by(passes, ids, self.tokens, self.top, self.cap, self.digits), passes.tables)

    def _written(self, ids: Sequence[int], proved: Iterable[Certified], tables: Collection[str] = ()) -> dict[str, Any]:
        claims = [Claim.of(each) for each in proved]
        return document(certificate_of(self.opened, ids, self.cap, claims, elsewhere=tables, origin=self.origin))


def certify_all(
    open_model: Callable[[], Model],
    prompts: Sequence[Sequence[int]],
    tokens: int = 1,
    *,
    top: int = 5,
    cap: int = CAP,
    digits: int = 0,
    journal: Path | Callable[[str], Path | None] | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    spread: bool = False,
    origin: Origin | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[tuple[int, Certificate]]:
    """Certificates of the tokens after each prompt, with their numbers, as they are finished.

    `open_model` is called in every process that computes: it holds a path rather than weights. With `spread` every worker of the
    `cluster` reads, prepares and keeps some blocks of it, and the prompts go from one to the next. With the `origin` of a model,
    certificates have what the checker needs that is Python alone.

    >>> from exactformer.worksheets import load
    >>> found = dict(certify_all(lambda: load("capstone").model, [[0, 1], [1]]))
    >>> found[0].continuation, found[1].proved
    ((0,), True)
    """
    if spread and cluster is None:
        raise InputError("spread: goes with a cluster, whose workers have the blocks")
    model = open_model()
    asked = Certifying(open_model, "", tokens, top, cap, digits, origin)
    certifying = replace(asked, digest=asked.fingerprint(model))
    certifying.begun_with(model)
    cases = [tuple(ids) for ids in prompts]
    fingerprint = Digest("exactformer prompts").add(certifying.digest, len(cases), *cases).hexdigest()
    book = journal(fingerprint) if callable(journal) else journal
    how: dict[str, Any] = {"fingerprint": fingerprint, "journal": book, "check": parsed, "progress": progress}
    found = (
        _spread(certifying, cases, cluster, how)
        if spread and cluster is not None
        else run(certifying, cases, workers=workers, cluster=cluster, **how)
    )
    return ((number, parsed(said)) for number, said in found)


def _spread(certifying: Certifying, cases: list[tuple[int, ...]], cluster: str, how: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Two prompts on their way for every worker: one is computed, one waits at its door."""
    with spread_over(certifying.open, certifying.opened, cluster) as passes:
        yield from run(partial(certifying.by, passes), cases, workers=2 * len(passes.seats), threads=True, **how)
