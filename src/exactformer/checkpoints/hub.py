"""Models that are already on this machine: the cache of the Hugging Face hub, looked into without any network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from exactformer.checkpoints.errors import CheckpointError
from exactformer.messages import few

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")


def could_be_named(name: str) -> bool:
    """Is it a name as models of the hub have them: gpt2, openai-community/gpt2, Qwen/Qwen2.5-0.5B? What ends as files do is none.

    >>> [could_be_named(name) for name in ("gpt2", "Qwen/Qwen2.5-0.5B", "sheet.toml", "../x", "a/b/c")]
    [True, True, False, False, False]
    """
    known = _NAME.fullmatch(name) and not any(odd in name for odd in ("--", ".."))
    return bool(known) and not Path(name).suffix[1:].isalpha()


def cache_folder() -> Path:
    """Where the hub's own programs keep models: as HF_HUB_CACHE, HF_HOME or XDG_CACHE_HOME say."""
    for variable, inside in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / inside
    return Path("~/.cache/huggingface/hub").expanduser()


def in_the_cache(name: str) -> Path | None:
    """The folder of a model in the cache, as it was when it was last fetched. A name without its owner is looked for among all."""
    if not could_be_named(name):
        return None
    found = {folder.name: snapshot for folder in _folders(name) if (snapshot := _snapshot(folder)) is not None}
    own = f"models--{name.replace('/', '--')}"
    if own in found or len(found) < 2:
        return found.get(own) or next(iter(found.values()), None)
    raise CheckpointError(name, f"is the name of several models in the cache: give one of {few(map(_called, sorted(found)))}")


def _folders(name: str) -> Iterator[Path]:
    root = cache_folder()
    try:
        yield root / f"models--{name.replace('/', '--')}"
        if "/" not in name:
            yield from sorted(root.glob(f"models--*--{name}"))
    except OSError:  # a folder that may not be read
        return


def _snapshot(folder: Path) -> Path | None:
    """The one that refs/main names; without it, the only one that there is."""
    try:
        commit = (folder / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        commit = ""
    if _COMMIT.fullmatch(commit) and (folder / "snapshots" / commit).is_dir():
        return folder / "snapshots" / commit
    try:
        every = [path for path in (folder / "snapshots").iterdir() if path.is_dir()]
    except OSError:
        return None
    return every[0] if len(every) == 1 else None


def _called(folder: str) -> str:
    return folder.removeprefix("models--").replace("--", "/")
