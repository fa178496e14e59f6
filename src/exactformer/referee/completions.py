"""Outputs as servers write them: JSON Lines of completions with `logprobs`, of vLLM, of llama.cpp, or of what speaks as they do.

A line is the server's answer, with the ids of the prompt and the temperature that was asked for beside it:

    {"prompt_token_ids": [1, 403], "temperature": 0, "choices": [{"token_ids": [407, 261], "logprobs": {…}}]}

Tokens are taken by their ids alone: a text can be cut into tokens in more than one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exactformer.messages import quoted
from exactformer.numbers.formats import FORMATS, Format
from exactformer.reading import Decimal, json_lines
from exactformer.referee.outputs import Engine, Given, OutputsError

_LONGEST = 64 << 20  # bytes of a line
_BY_ID = re.compile(r"token_id:([0-9]{1,9})")
_RECIPE = "docs/judge.md says how to get them"


def read_completions(path: Path, dtype: Format | None, quantised: bool) -> Engine:
    """The engine of a file, named after it. Where a temperature is above 0 tokens are drawn, and none of them is right or wrong."""
    prompts: list[Given] = []
    sampled = False
    for where, answer in json_lines(path, _LONGEST, OutputsError):
        sampled |= _temperature(answer, where) > 0
        prompts.extend(_given(answer, where))
    if not prompts:
        raise OutputsError(f"{path}: holds no completions")
    return Engine(path.stem, dtype or FORMATS["float32"], prompts, quantised, sampled)


def _temperature(answer: dict[str, Any], where: str) -> float:
    request = answer.get("request")
    said = answer.get("temperature", request.get("temperature") if isinstance(request, dict) else None)
    if said is None:
        raise OutputsError(f"{where}: temperature: is missing: without it nobody knows whether tokens were drawn by chance")
    if type(said) not in (int, Decimal) or not 0 <= float(said) < 1e6:
        raise OutputsError(f"{where}: temperature: {quoted(said)} is not a number from 0")
    return float(said)


def _given(answer: dict[str, Any], where: str) -> Iterator[Given]:
    choices = answer.get("choices", [answer])
    if not isinstance(choices, list) or not choices:
        raise OutputsError(f"{where}: choices: is not a list of completions")
    for n, choice in enumerate(choices):
        if not isinstance(choice, dict):
            raise OutputsError(f"{where}: choices[{n}]: is not a table")
        prompt = _prompt(answer, choice, where)
        tokens, picked = _chosen(choice, f"{where}: choices[{n}]")
        ids = (*prompt, *tokens[:-1])
        yield Given(ids, len(prompt) - 1, picked=picked, tokens=tokens, fed_back=True)


def _prompt(answer: dict[str, Any], choice: dict[str, Any], where: str) -> tuple[int, ...]:
    for table in (answer, choice, answer.get("request")):
        for name in ("prompt_token_ids", "prompt"):
            if isinstance(table, dict) and isinstance(table.get(name), list):
                return _ids(table[name], f"{where}: {name}")
    raise OutputsError(f"{where}: prompt_token_ids: is missing: the ids of the prompt are needed, not its text; {_RECIPE}")


def _ids(values: Any, where: str) -> tuple[int, ...]:
    if not isinstance(values, list) or not values or not all(type(value) is int and 0 <= value < 1 << 31 for value in values):
        raise OutputsError(f"{where}: is not a list of ids of tokens")
    return tuple(values)


def _chosen(choice: dict[str, Any], where: str) -> tuple[tuple[int, ...], tuple[dict[int, float], ...]]:
    """The ids of the tokens, and the log-probabilities that are given for each place."""
    logprobs = choice.get("logprobs")
    places = choice.get("completion_probabilities") or (logprobs.get("content") if isinstance(logprobs, dict) else None)
    if isinstance(places, list):  # llama.cpp, and chat completions
        rows = [_row(place, f"{where}: logprobs.content[{n}]") for n, place in enumerate(places)]
        tokens = tuple(token for token, _ in rows)
        return tokens, tuple(row for _, row in rows)
    tokens = _token_ids(choice, logprobs, where)
    if not isinstance(logprobs, dict):
        return tokens, ()
    single, several = logprobs.get("token_logprobs"), logprobs.get("top_logprobs")
    if not isinstance(single, list) or len(single) != len(tokens):
        raise OutputsError(f"{where}: logprobs.token_logprobs: are not {len(tokens):,} numbers, one a token")
    rows_of: list[dict[int, float]] = []
    for n, (token, value) in enumerate(zip(tokens, single, strict=True)):
        others = several[n] if isinstance(several, list) and n < len(several) and isinstance(several[n], dict) else {}
        at = f"{where}: logprobs.top_logprobs[{n}]"
        named = {_by_id(name, at): _number(x, at) for name, x in others.items() if _BY_ID.fullmatch(name)}
        rows_of.append(named | {token: _number(value, f"{where}: logprobs.token_logprobs[{n}]")})
    return tokens, tuple(rows_of)


def _token_ids(choice: dict[str, Any], logprobs: Any, where: str) -> tuple[int, ...]:
    for name in ("token_ids", "tokens"):
        if isinstance(choice.get(name), list) and choice[name]:
            return _ids(choice[name], f"{where}: {name}")
    names = logprobs.get("tokens") if isinstance(logprobs, dict) else None
    if isinstance(names, list) and names:
        return tuple(_by_id(name, f"{where}: logprobs.tokens[{n}]") for n, name in enumerate(names))
    raise OutputsError(f"{where}: token_ids: is missing: ids of tokens are needed, not their texts; {_RECIPE}")


def _by_id(name: Any, where: str) -> int:
    found = _BY_ID.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise OutputsError(f"{where}: {quoted(name)} is a text, where token_id:N is needed; {_RECIPE}")
    return int(found[1])


def _row(place: Any, where: str) -> tuple[int, dict[int, float]]:
    """The token at one place, and what is said of it and of others."""
    if not isinstance(place, dict):
        raise OutputsError(f"{where}: is not a table")
    own = _identified(place, where)
    found = {}
    for other in place.get("top_logprobs") or ():
        if isinstance(other, dict):
            found[_identified(other, where)] = _number(other.get("logprob"), where)
    return own, found | {own: _number(place.get("logprob"), where)}


def _identified(place: dict[str, Any], where: str) -> int:
    if type(place.get("id")) is int:
        return int(place["id"])
    if isinstance(place.get("token"), str) and _BY_ID.fullmatch(place["token"]):
        return _by_id(place["token"], where)
    raise OutputsError(f"{where}: id: is missing: ids of tokens are needed, not their texts; {_RECIPE}")


def _number(value: Any, where: str) -> float:
    """The float64 next to what is written, as every reader of JSON gives it."""
    if type(value) not in (int, Decimal):
        raise OutputsError(f"{where}: {quoted(value)} is not a log-probability")
    return float(value)
