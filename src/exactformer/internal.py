"""Mistakes of this program itself: one line with the version, and the traceback for those who ask for it.

They are asked for by `exactformer --debug …`, which sets a variable of the environment, so that worker processes know of it too.
"""

from __future__ import annotations

import os
import traceback

from exactformer import __version__
from exactformer.messages import short

DEBUG = "EXACTFORMER_DEBUG"


def debugging() -> bool:
    return os.environ.get(DEBUG, "") not in ("", "0")


def internal_error(error: BaseException) -> str:
    """The message about it: a line, before it the traceback where that is wanted.

    >>> internal_error(TypeError("one\\ntwo")).startswith("internal error (exactformer ")
    True
    """
    what = short(" ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":"), 300)
    line = f"internal error (exactformer {__version__}): {what}"
    if debugging():
        return "".join(traceback.format_exception(error)) + line
    return f"{line}; this is a defect of exactformer (exactformer --debug … shows the traceback)"
