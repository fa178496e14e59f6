"""The built-in models: folders as the transformers library writes them, and worksheets with their weights beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True)
class BuiltIn:
    title: str
    about: str
    prompt: str  # its input, where none is given


MODELS = {
    "stories": BuiltIn(
        "A Llama that tells little stories",
        "Five blocks, trained on stories of a grammar: names, pronouns, who has what. docs/stories.md says how well.",
        "Once upon a time",
    )
}


def model_folder(name: str) -> Path:
    """Where a built-in model is.

    >>> sorted(file.name for file in model_folder("stories").iterdir())
    ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']
    """
    return Path(str(files("exactformer"))) / "models" / name


BY_SETS = ("largest-of-ten",)  # networks whose theorem is about more inputs than anybody goes through


@cache
def sheets() -> tuple[str, ...]:
    """The built-in networks: worksheets with their weights beside them."""
    return tuple(sorted(path.parent.name for path in model_folder("").glob("*/worksheet.toml")))


def networks() -> tuple[str, ...]:
    """Those that are proved input by input, each trained for the theorem of its worksheet. docs/theorems.md has them proved.

    >>> networks()
    ('adder', 'brackets', 'largest', 'modular', 'sorter')
    """
    return tuple(name for name in sheets() if name not in BY_SETS)


def built_in() -> tuple[str, ...]:
    """The names of all built-in models."""
    return (*MODELS, *sheets())
