"""What is wrong with a checkpoint, in one line."""

from __future__ import annotations

from exactformer.messages import Refused


class CheckpointError(Refused):
    """A file, a field or a tensor that cannot be read, in one line that names it."""
