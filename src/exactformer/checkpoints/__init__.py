"""Model files of others: safetensors, config.json, and the GPT-2-shaped models that are made of them."""

from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.opening import ENDINGS, Checkpoint, open_checkpoint

__all__ = ["ENDINGS", "Checkpoint", "CheckpointError", "open_checkpoint"]
