"""What is said of an input that does not fit."""

from __future__ import annotations

from exactformer.messages import Refused


class InputError(Refused):
    """Tokens that the model cannot take, or work for them that cannot be gone on from."""
