"""Which files are meant: files, folders, patterns, standard input; in folders, those that have something to check."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from exactformer.checking.pages.ours import near
from exactformer.checking.pages.page import ENDINGS
from exactformer.messages import Refused

STDIN = "-"
STANDARD_INPUT = "standard input"
_PASSED_OVER = {"node_modules", "site-packages", "__pycache__", "build", "dist", "venv"}  # and what begins with a dot
_WORD = re.compile(r"\b[eE][A-Za-z_-]{8,12}")  # which could be our name, or nearly
_WORKSHEET = re.compile(r"\[\[\s*claims\s*\]\]|\bclaims\s*=|\[\s*model\s*\]")
_CLAIMS = re.compile(r"^\s*(\[\[\s*claims\s*\]\]|claims\s*=)", re.MULTILINE)


class SourceError(Refused):
    """A pattern or a folder in which there is nothing to check."""


class Source(NamedTuple):
    """A file by its name, and whether it was `named` itself, or found."""

    name: str
    named: bool

    def concerns(self, text: str) -> bool:
        """Is there something in it that could be ours? A file that was found and has nothing is passed over."""
        if self.named:
            return True
        if self.name.endswith(".toml"):
            return _CLAIMS.search(text) is not None
        return _WORKSHEET.search(text) is not None or any(near(word.lower()) for word in set(_WORD.findall(text)))


def sources(names: Sequence[str | os.PathLike[str]], built_in: Container[str] = ()) -> Iterator[Source | SourceError]:
    """Every file once, in order; in a folder by name, whatever its depth. What is wrong with a name comes in its place."""
    seen: set[str] = set()
    for given in names:
        name = os.fspath(given)
        found: list[Source] = [Source(name, True)]
        if name == STDIN:
            found = [Source(STANDARD_INPUT, True)]
        elif name not in built_in and os.path.isdir(name):
            found = [Source(path, False) for path in _folder(name)]
        elif name not in built_in and has_magic(name) and not os.path.exists(name):
            matches = sorted(glob(name, recursive=True))
            found = [Source(path, False) for path in matches if os.path.isfile(path) and _wanted(path)]
        if not found:
            kinds = ", ".join(ENDINGS)
            yield SourceError(f"{name}: {'has no file' if os.path.isdir(name) else 'matches no file'} that is checked ({kinds})")
        for source in (each._replace(name=_plain(each.name, built_in)) for each in found):
            if source.name not in seen:
                seen.add(source.name)
                yield source


def _plain(name: str, built_in: Container[str]) -> str:
    """A path without ./, as annotations and other programs know it, unless it is then the name of something else."""
    plain = str(Path(name)) if name else name
    return name if plain in built_in or plain in (STDIN, STANDARD_INPUT) else plain


def _folder(name: str) -> list[str]:
    paths = []
    for folder, below, files in os.walk(name):
        below[:] = sorted(each for each in below if not each.startswith(".") and each not in _PASSED_OVER)
        paths += [os.path.join(folder, file) for file in files]
    return sorted(filter(_wanted, paths))


def _wanted(path: str) -> bool:
    return Path(path).suffix.lower() in ENDINGS and not _PASSED_OVER & set(Path(path).parts)
