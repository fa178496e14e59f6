"""Changes to a worksheet, each a line such as `tokens=b a`, `mask=none` or `W_E[0,1]=1/2`, made one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, get_args

from exactformer.model import Config, ConfigError, Model, Weights
from exactformer.model.arithmetics.roles import Activation
from exactformer.model.changing import with_norm, with_weights
from exactformer.model.layers.norm import Norm
from exactformer.model.sight import Mask
from exactformer.numbers import Exact, exact
from exactformer.worksheets import Worksheet


def edited(worksheet: Worksheet, edits: Iterable[str]) -> Worksheet:
    """
    >>> from exactformer.worksheets import load
    >>> changed = edited(load("capstone"), ["tokens=b a", "norm=none", "W_E[0,1]=1/2"])
    >>> changed.tokens, changed.model.config.norm, changed.model.weights.W_E[0, 1]
    (('b', 'a'), 'none', exact('1/2'))
    """
    for edit in edits:
        field, _, value = edit.partition("=")
        change = _FIELDS.get(field.strip())
        if change is not None:
            worksheet = change(worksheet, value.strip())
        else:
            worksheet = replace(worksheet, model=with_weights(worksheet.model, [edit]))
    return worksheet


def _tokens(worksheet: Worksheet, value: str) -> Worksheet:
    """Tokens with spaces between them; as a JSON list where tokens themselves have spaces."""
    words: Any = value.split()
    if value.startswith("["):
        try:
            listed = json.loads(value)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(token, str) for token in listed):
            words = listed
    if not words:
        raise ConfigError("tokens", "the input is empty: give at least one token")
    return replace(worksheet, tokens=tuple(words))


def _mask(worksheet: Worksheet, value: str) -> Worksheet:
    mask: Any = _chosen("mask", value, get_args(Mask))
    changed = _configured(worksheet, mask=mask)
    if worksheet.circuit is None:
        return changed
    return replace(
        changed, circuit=replace(worksheet.circuit, mask=mask), rule=worksheet.rule and replace(worksheet.rule, mask=mask)
    )


def _norm(worksheet: Worksheet, value: str) -> Worksheet:
    norm: Any = _chosen("norm", value, get_args(Norm))
    return replace(worksheet, model=with_norm(worksheet.model, norm))


def _scale(worksheet: Worksheet, value: str) -> Worksheet:
    return _configured(worksheet, scale=value if value in ("none", "sqrt") else _number("scale", value))


def _activation(worksheet: Worksheet, value: str) -> Worksheet:
    if not worksheet.model.config.mlp:
        raise ConfigError("activation", "the model has no MLP")
    return _configured(worksheet, activation=_chosen("activation", value, get_args(Activation)))


def _epsilon(worksheet: Worksheet, value: str) -> Worksheet:
    return _configured(worksheet, epsilon=_number("epsilon", value))


def _configured(worksheet: Worksheet, **changes: Any) -> Worksheet:
    return _rebuilt(worksheet, replace(worksheet.model.config, **changes), worksheet.model.weights)


def _rebuilt(worksheet: Worksheet, config: Config, weights: Weights) -> Worksheet:
    return replace(worksheet, model=Model(config, weights))


def _chosen(field: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(field, f"{value!r} is not one of {', '.join(allowed)}")
    return value


def _number(field: str, value: str) -> Exact:
    try:
        return exact(value)
    except ValueError as error:
        raise ConfigError(field, str(error)) from None


_FIELDS: dict[str, Callable[[Worksheet, str], Worksheet]] = {
    "tokens": _tokens, "mask": _mask, "norm": _norm, "scale": _scale, "activation": _activation, "epsilon": _epsilon,
}  # fmt: skip
