"""What is ours in a page, or nearly so: a slip in our own name is reported, and never passed over in silence."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

OURS = "exactformer"
_FIRST = re.compile(r"\s*/?\s*([A-Za-z_-]+)")


def near(word: str) -> bool:
    """
    >>> [near(word) for word in ("exactformer", "exactfromer", "exact-former", "transformer", "example")]
    [True, True, True, False, False]
    """
    return SequenceMatcher(None, word, OURS).ratio() > 0.79


def like_ours(comment: str) -> bool:
    """Is it a directive, or nearly one?

    >>> like_ours(" exactformer: use capstone "), like_ours(" exactfromer use"), like_ours(" a note ")
    (True, True, False)
    """
    first = _FIRST.match(comment)
    return first is not None and near(first[1].lower())
