"""The pass of a worksheet with claims, or of none."""

from __future__ import annotations

from typing import Any

from exactformer.model import InputError
from exactformer.model.arithmetics.wide import WIDE
from exactformer.trace import Trace
from exactformer.worksheets.reader import Table
from exactformer.worksheets.worksheet import OF_CLAIMS, read


def trace_of(raw: dict[str, Any], file: str) -> Trace | None:
    """The pass of a worksheet; None of claims alone."""
    table = Table(raw, file)
    if not any(field in raw for field in ("model", "weights", "input", "circuit")):
        for field in ("claims", *OF_CLAIMS):
            table.take(field, None)
        table.text("title", "")
        table.text("about", "")
        table.finish()
        return None
    try:
        worksheet = read(raw, file)
        config = worksheet.model.config
        tokens = len(config.spoken)
        if tokens >= WIDE:
            raise table.error(
                "model.outputs" if config.outputs else "model.vocabulary",
                f"has {tokens:,} tokens; claims are checked about fewer than {WIDE:,}",
            )
        return worksheet.trace()
    except InputError as error:
        raise table.error("input.tokens:", str(error)) from None
