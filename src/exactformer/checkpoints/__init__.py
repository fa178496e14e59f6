"""Model files of others: safetensors, config.json, and the models of several families that are made of them."""

from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.opening import ENDINGS, FAMILIES, Checkpoint, Origin, Outline, open_checkpoint, outline_checkpoint
from exactformer.checkpoints.rope import Reading
from exactformer.checkpoints.writing import save_checkpoint

__all__ = [
    "ENDINGS", "FAMILIES", "Checkpoint", "CheckpointError", "Origin", "Outline", "Reading", "open_checkpoint", "outline_checkpoint",
    "save_checkpoint",
]  # fmt: skip
