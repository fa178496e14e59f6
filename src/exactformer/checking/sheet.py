"""A worksheet with claims, or claims alone."""

from __future__ import annotations

import tomllib
from typing import Any

from exactformer.model import InputError
from exactformer.trace import Trace
from exactformer.worksheets import Worksheet, WorksheetError
from exactformer.worksheets.reader import Decimal, Table
from exactformer.worksheets.weights import read_model
from exactformer.worksheets.worksheet import _tokens


def parse(text: str, file: str) -> dict[str, Any]:
    """TOML whose decimals are kept as they are written."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise WorksheetError(f"{file}: is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise WorksheetError(f"{file}: is not TOML: {error}") from None
    except ValueError:  # Python reads integers of up to 4,300 digits
        raise WorksheetError(f'{file}: an integer has more than 4,300 digits; write it as a text, "123…"') from None


def trace_of(raw: dict[str, Any], file: str) -> Trace | None:
    """The pass of a worksheet; None of claims alone."""
    table = Table({field: value for field, value in raw.items() if field != "claims"}, file)
    if not any(field in raw for field in ("model", "weights", "input")):
        table.text("title", "")
        table.text("about", "")
        table.finish(claims="")
        return None
    model = read_model(table)
    given = table.table("input")
    tokens = _tokens(given)
    given.finish()
    worksheet = Worksheet(model, tokens, table.text("title", ""), table.text("about", ""))
    table.finish()
    try:
        return worksheet.trace()
    except InputError as error:
        raise WorksheetError(f"{file}: input.tokens: {error}") from None
