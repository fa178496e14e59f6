"""Fields of configurations, and weights with their axes, as the layers declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, field, fields
from typing import TYPE_CHECKING, Any, Literal

from exactformer.messages import Refused, quoted
from exactformer.model.axes import Axis
from exactformer.numbers import Exact

if TYPE_CHECKING:
    from exactformer.model.config import Config

Array = Any  # numpy.ndarray of numbers or of floats
_FEW = 4  # weights that are named in a short text
Condition = Callable[["Config"], bool]


class ConfigError(Refused):
    """A field of a configuration, or a weight, that does not fit. `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field, self.problem = field, problem


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(name, f"{quoted(value)} is not one of {', '.join(allowed)}")


def whole(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise ConfigError(name, f"{quoted(value)} is not a whole number of at least {least}")


def positive(name: str, value: object) -> None:
    """None, or an exact number that is positive."""
    if value is not None and not isinstance(value, Exact):
        raise ConfigError(name, f'{quoted(value)} is not an exact number: write exact("30")')
    if value is not None and value <= 0:
        raise ConfigError(name, f"{value} is not positive")


def setting(default: Any = MISSING, *, worksheet: Literal["may", "must", "cannot"] = "may", needs: str = "") -> Any:
    """A field of a configuration: whether a worksheet may say it, and another field without which it means nothing."""
    metadata = {"worksheet": "must" if default is MISSING else worksheet, "needs": needs}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def _always(config: Config) -> bool:
    return True


def along(
    *axes: Axis,
    when: Condition = _always,
    goes_with: str = "",
    optional: bool = False,
    usual: Callable[[Config], Array] | None = None,
) -> Any:
    """A weight: its axes; which models have it, and in words; may these do without; and what a worksheet means that is silent."""
    metadata = {"axes": axes, "when": when, "goes_with": goes_with, "optional": optional, "usual": usual}
    return field(default=None, metadata=metadata) if optional or when is not _always else field(metadata=metadata)


def group(kind: type, when: Condition = _always, goes_with: str = "") -> Any:
    """Weights of a layer: which models have it, and in words."""
    metadata = {"kind": kind, "when": when, "goes_with": goes_with}
    return field(metadata=metadata) if when is _always else field(default=None, metadata=metadata)


class Part:
    """Weights of a model or of a layer of it."""

    def named(self, prefix: str = "") -> Iterator[tuple[str, Array]]:
        """Every weight that is there, with its name."""
        for each in fields(self):  # type: ignore[arg-type]
            value, name = getattr(self, each.name), prefix + each.name
            if each.name == "blocks":
                for n, block in enumerate(value):
                    yield from block.named(f"{name}.{n}.")
            elif "kind" in each.metadata and value is not None:
                yield from value.named(f"{name}.")
            elif value is not None:
                yield name, value

    def __repr__(self) -> str:
        held = list(self.named())
        few = [f"{name} {' × '.join(map(str, value.shape))}" for name, value in held[:_FEW]]
        more = [f"… {len(held)} weights"] if len(held) > _FEW else []
        return f"<{type(self).__name__}: {', '.join(few + more)}>"
