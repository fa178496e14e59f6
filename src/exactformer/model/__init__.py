"""The model: its configuration, its weights, its layers with their operations, and the arithmetics that it runs on."""

from exactformer.model.arithmetics.roles import Choice, Values
from exactformer.model.config import Config
from exactformer.model.errors import InputError
from exactformer.model.fields import ConfigError
from exactformer.model.forward import Model, forward
from exactformer.model.layers.attention import AttentionWeights
from exactformer.model.layers.mlp import MlpWeights
from exactformer.model.layers.norm import NormWeights
from exactformer.model.recorder import Note, following
from exactformer.model.step import Step
from exactformer.model.weights import BlockWeights, Weights

__all__ = [
    "AttentionWeights", "BlockWeights", "Choice", "Config", "ConfigError", "InputError", "MlpWeights", "Model", "NormWeights",
    "Note", "Step", "Values", "Weights", "following", "forward",
]  # fmt: skip
