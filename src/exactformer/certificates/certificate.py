"""The certificate of a certified pass: what was proved, of which model, and with what; as a file that can be checked again.

The format is described in docs/certify.md. Ends of enclosures are decimals, rounded outwards by at least one unit of their last
place, so that another machine, whose radii differ in their last bits, confirms them in one run.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.certificates.ends import ends, upwards
from exactformer.certificates.hash import model_hash
from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import CAP, Certified, prove_tokens
from exactformer.certified.tables import tables_digest
from exactformer.files import usual_mode, write_whole
from exactformer.hashing import Digest
from exactformer.messages import Refused
from exactformer.model import Config, Model
from exactformer.numbers import Exact, Number
from exactformer.showing import Shown

if TYPE_CHECKING:
    from exactformer.certificates.checkable import Check
    from exactformer.certificates.verifying import Verification
    from exactformer.checkpoints import Origin

VERSION = 3  # of the format: 2 has the first version of the model's hash, and is still read; 4 has what the checker needs
CLAIM = (
    "For each entry of tokens: in the transformer with this hash, whose floats are the rational numbers that they are and whose "
    "operations are those of the real numbers, given ids and the tokens of the entries before, the logit of token is equal to "
    "those of ties and larger than every other, by at least the first end of margin, whose ends enclose its lead over runner_up; "
    "and the two ends of each entry of top enclose the logit of its token."
)
CHECKED = 4
Ends = tuple[str, str]  # decimals


class CertificateError(Refused):
    """A certificate that cannot be read, in one line that names the file and the field."""


@dataclass(frozen=True)
class Bound:
    """The logit of a token, between two decimals."""

    token: int
    low: str
    high: str


@dataclass(frozen=True)
class Layer:
    """A record of the pass, which claims nothing: bits of fractions, and the largest radius of a token, rounded up."""

    name: str
    bits: int
    radius: str


@dataclass(frozen=True)
class Claim:
    """What is claimed of one position. `token` is None where it was not decided, and `why` says so."""

    token: int | None
    ties: tuple[int, ...]
    runner_up: int | None
    margin: Ends | None
    top: tuple[Bound, ...]
    schedule: tuple[int, ...]
    layers: tuple[Layer, ...]
    attempts: int
    why: str

    @classmethod
    def of(cls, certified: Certified) -> Claim:
        """What a pass proved."""
        return cls(
            token=certified.token,
            ties=tuple(certified.ties),
            runner_up=certified.runner_up,
            margin=None if certified.margin is None else ends(*certified.margin),
            top=tuple(Bound(entry.token, *ends(entry.low, entry.high)) for entry in certified.top),
            schedule=tuple(certified.schedule),
            layers=tuple(Layer(layer.name, layer.bits, upwards(layer.radius)) for layer in certified.layers),
            attempts=certified.attempts,
            why=certified.why,
        )


@dataclass(frozen=True)
class Certificate(Shown):
    """Tokens that are proved to follow `ids`, one claim each.

    >>> from exactformer.worksheets import load
    >>> model = load("capstone").model
    >>> certificate = certify(model, [0, 1])
    >>> certificate.continuation, certificate.verify(model).confirmed
    ((0,), True)
    """

    model: str  # the hash, of which formats 2 and 3 have versions 1 and 2
    ids: tuple[int, ...]
    cap: int  # limbs: how far it was gone
    tokens: tuple[Claim, ...]
    versions: dict[str, str]
    tables: str  # the hash
    version: int = VERSION
    reading: str = ""  # which network is meant, in words; "" where there is but one
    check: Check | None = None  # for the checker that needs Python alone

    def __repr__(self) -> str:
        """
        >>> from exactformer.worksheets import load
        >>> certify(load("capstone").model, [0, 1])
        <certificate: of 1 token after 2, 1 proved, model 30cbc9d9f925>
        """
        claimed = f"{len(self.tokens)} token{'s' * (len(self.tokens) != 1)}"
        return f"<certificate: of {claimed} after {len(self.ids)}, {len(self.continuation)} proved, model {self.model[:12]}>"

    @property
    def continuation(self) -> tuple[int, ...]:
        """The tokens that are proved."""
        return tuple(claim.token for claim in self.tokens if claim.token is not None)

    @property
    def proved(self) -> bool:
        """Is every token of it?"""
        return bool(self.tokens) and all(claim.token is not None for claim in self.tokens)

    def text(self) -> str:
        from exactformer.certificates.file import dump

        return dump(self)

    def save(self, path: Path | str) -> None:
        """Write it whole or not at all."""
        write_whole(Path(path), self.text(), usual_mode())

    @classmethod
    def load(cls, path: Path | str) -> Certificate:
        """Read a file strictly, checksum included; what it claims is not yet checked: see `verify`.

        >>> Certificate.load("no such file")
        Traceback (most recent call last):
        exactformer.certificates.certificate.CertificateError: no such file: No such file or directory
        """
        from exactformer.certificates.file import read

        written = read(Path(path))
        if not written.intact:
            raise CertificateError(f"{path}: sha256: the checksum does not fit: the file was changed after it was written")
        return written.certificate

    def verify(self, model: Model, prepared: Prepared | None = None) -> Verification:
        """Run the passes again, without what the first run kept from token to token, and compare all claims."""
        from exactformer.certificates.verifying import verify

        return verify(self, model, prepared)


def certify(
    model: Model,
    ids: Sequence[int],
    tokens: int = 1,
    *,
    top: int = 5,
    cap: int = CAP,
    prepared: Prepared | None = None,
    heard: Callable[[Claim], None] = lambda claim: None,
) -> Certificate:
    """Prove the next tokens of a model; `heard` gets each claim as soon as it is proved.

    >>> from fractions import Fraction
    >>> from exactformer.worksheets import load
    >>> claim = certify(load("capstone").model, [0, 1]).tokens[0]
    >>> claim.token, claim.runner_up, Fraction(claim.margin[0]) > 0
    (0, 2, True)
    """
    ids, claims = model.checked(ids), []
    for certified in prove_tokens(model, ids, tokens, prepared=prepared, top=top, cap=cap):
        claims.append(Claim.of(certified))
        heard(claims[-1])
    return certificate_of(model, ids, cap, claims)


def certificate_of(
    model: Model,
    ids: Sequence[int],
    cap: int,
    claims: Sequence[Claim],
    elsewhere: Collection[str] = (),
    origin: Origin | None = None,
) -> Certificate:
    """The certificate of claims about a model with that origin, proved in this process; or `elsewhere`, with these tables."""
    from exactformer.certificates.checkable import check_of

    check = check_of(model, origin, ids, claims)
    tables = min(elsewhere) if len(elsewhere) == 1 else Digest("tables").add(*sorted(elsewhere)).hexdigest()
    return Certificate(
        model_hash(model), tuple(ids), cap, tuple(claims), versions(), tables if elsewhere else tables_digest(),
        VERSION if check is None else CHECKED, reading_of(model.config), check,
    )  # fmt: skip


def reading_of(config: Config) -> str:
    """Which network is meant, where a library rounds inside its definition: a consequence of what is hashed, in words.

    >>> from exactformer.worksheets import load
    >>> reading_of(load("llama").model.config)
    'rotary angles: position times 10000^(-2i/2), over the reals'
    """
    said = []
    if config.positions == "rotary":
        said.append(f"rotary angles: {_angles(config.rotary_frequencies, config.rotary_base, config.rotary_width)}")
        if config.window_rotary is not config.rotary:
            base = config.window_rotary_base or config.rotary_base
            said.append(f"with a window: {_angles(config.window_rotary_frequencies, base, config.rotary_width)}")
    if config.embedding_scale != "none":
        scale = f"√{config.dim}" if config.embedding_scale == "sqrt" else str(config.embedding_scale)
        said.append(f"embeddings times {scale}")
    return "; ".join(said)


def _angles(frequencies: tuple[Number, ...], base: Exact, width: int) -> str:
    if not frequencies:
        return f"position times {base}^(-2i/{width}), over the reals"
    kind = "the rationals that floats are" if all(isinstance(x, Exact) for x in frequencies) else "closed forms, over the reals"
    return f"position times frequencies that are {kind}"


def versions() -> dict[str, str]:
    """What computed it."""
    import flint

    from exactformer import __version__

    blas: Any = np.show_config(mode="dicts")
    blas = blas.get("Build Dependencies", {}).get("blas", {})
    return {
        "exactformer": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "python-flint": flint.__version__,
        "machine": platform.machine(),
    }
