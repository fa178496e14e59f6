"""The built-in models: folders as the transformers library writes them, and worksheets with their weights beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from exactformer.checkpoints.hub import in_the_cache


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


@cache
def networks() -> tuple[str, ...]:
    """The built-in networks: worksheets with their weights beside them, each trained for the theorem that it states.

    >>> networks()
    ('adder', 'balancer', 'largest', 'largest-of-ten', 'modular', 'sorter')
    """
    return tuple(sorted(path.parent.name for path in model_folder("").glob("*/worksheet.toml")))


def built_in() -> tuple[str, ...]:
    """The names of all built-in models."""
    return (*MODELS, *networks())


def place_of(source: str) -> Path:
    """Where a source is: a built-in model, a path, or a model in the local cache of the Hugging Face hub.

    >>> place_of("stories").name, place_of("adder").name, str(place_of("sheet.toml"))
    ('stories', 'worksheet.toml', 'sheet.toml')
    """
    if source in built_in():
        return model_folder(source) / "worksheet.toml" if source in networks() else model_folder(source)
    path = Path(source)
    return path if path.exists() else in_the_cache(source) or path
