"""Files of prompts: JSON Lines, each a table with the ids of the tokens, or a text for the model's tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exactformer.messages import Refused
from exactformer.model import InputError
from exactformer.reading import json_lines
from exactformer.worksheets.inputs import Input

_LONGEST = 1 << 24  # bytes of a line


def read_prompts(path: Path, worksheet: Any) -> list[tuple[int, ...]]:
    """The ids of every prompt, in order."""
    found = [_ids(said, where, worksheet) for where, said in json_lines(path, _LONGEST, InputError)]
    if not found:
        raise InputError(f"{path}: holds no prompts")
    return found


def _ids(said: dict[str, Any], where: str, worksheet: Any) -> tuple[int, ...]:
    if len(said) != 1 or set(said) - {"ids", "prompt"}:
        raise InputError(f'{where}: is not {{"ids": [1, 2]}} or {{"prompt": "text"}}')
    if "ids" in said:
        if not isinstance(said["ids"], list) or not all(type(token) is int for token in said["ids"]):
            raise InputError(f"{where}: ids: is not a list of whole numbers")
        ids = said["ids"]
    else:
        if not isinstance(said["prompt"], str):
            raise InputError(f"{where}: prompt: is not a text")
        ids = Input(said["prompt"]).of(worksheet)
    try:
        return tuple(worksheet.model.checked(ids))
    except Refused as error:
        raise InputError(f"{where}: {error}") from None
