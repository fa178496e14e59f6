"""exactformer: transformers computed without rounding.

>>> import exactformer as xf
>>> t = xf.load("capstone").trace("a b")
>>> print(t["blocks.0.attn.pattern"][0, 1, 0], t.token(1))
1/(1+e) a
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that `import exactformer` and `exactformer --help` answer at once.
_PLACES = {
    "numbers": [
        "Budget", "Enclosure", "Exact", "Named", "Number", "Undecided", "Undefined", "UndefinedValue", "argmax", "array", "cos",
        "erf", "erfc", "exact", "exp", "from_float", "log", "maximum", "pi", "ranking", "recover", "sin", "sqrt", "tanh",
    ],
    "model": [
        "AttentionWeights", "BlockWeights", "Config", "ConfigError", "InputError", "MlpWeights", "Model", "NormWeights", "Weights",
    ],
    "trace": [
        "Ablation", "Descent", "Explanation", "Gradient", "Output", "Step", "Trace", "ablate", "descend", "explain", "gradient",
        "run",
    ],
    "circuits": ["Circuit", "CircuitError", "Head"],
    "decoding": ["Chosen", "DecodingError", "Strategy", "distribution", "generate", "ranked"],
    "tokenizers": ["TokenizerError", "load_tokenizer"],
    "checkpoints": ["CheckpointError", "open_checkpoint"],
    "certificates": ["Certificate", "CertificateError", "certify"],
    "referee": ["OutputsError", "judge"],
    "proofs": ["Demand", "Lookup", "Product", "Report", "Sequences", "Sorted", "prove"],
    "messages": ["Refused"],
    "checking": ["CheckReport", "check_file", "check_text"],
    "exercises": ["Exercise", "ExerciseError", "Judgement", "exercise"],
    "worksheets": ["Worksheet", "WorksheetError", "examples", "load", "loads"],
}  # fmt: skip
_PACKAGES = ("oracle", "programs")  # of many operations, whose names are their own
_HOME = {name: module for module, names in _PLACES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"exactformer.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'exactformer' has no attribute {name!r}")
    return getattr(import_module(f"exactformer.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
