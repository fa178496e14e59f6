"""The model: its configuration, its weights, the wiring, and the arithmetics that it runs on."""

from exactformer.model.arithmetic import Arithmetic, Choice, Note
from exactformer.model.config import Config, ConfigError
from exactformer.model.errors import InputError
from exactformer.model.forward import Model, forward
from exactformer.model.weights import AttentionWeights, BlockWeights, MlpWeights, NormWeights, Weights

__all__ = [
    "ARITHMETICS", "Arithmetic", "AttentionWeights", "BlockWeights", "Choice", "Config", "ConfigError", "InputError", "MlpWeights",
    "Model", "NormWeights", "Note", "Weights", "arithmetic", "forward",
]  # fmt: skip

ARITHMETICS = ("exact", "arb", "certified", "float64", "float32")


def arithmetic(name: str) -> Arithmetic:
    """The arithmetic of that name.

    >>> arithmetic("exact").name
    'exact'
    """
    if name == "exact":
        from exactformer.model.wide_arithmetic import WideExactArithmetic

        return WideExactArithmetic()
    if name == "arb":
        from exactformer.model.arb_arithmetic import ArbArithmetic

        return ArbArithmetic()
    if name == "certified":
        from exactformer.certified import CertifiedArithmetic

        return CertifiedArithmetic(traced=True)
    if name in ("float64", "float32"):
        from exactformer.model.float_arithmetic import FloatArithmetic

        return FloatArithmetic(name)
    raise ValueError(f"{name!r} is not an arithmetic: there are {', '.join(ARITHMETICS)}")
